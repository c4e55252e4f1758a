"""Generate: greedy decoding, sampling and beam search, with a cache, batched.

One token at a time, from a prompt (decoder) or from a source text and a start token (seq2seq), until an end
token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.beam import Beams, top_words
from inlaid.neural.constraints import Constraints
from inlaid.neural.decoding import DecodingState
from inlaid.neural.generation import GenerationSettings, Rules
from inlaid.neural.model import Model
from inlaid.neural.products import fast_products
from inlaid.neural.tokens import make_batch


@torch.no_grad()
@fast_products(few_rows=True)
def generate(
    model: Model, ids: Tensor, mask: Tensor | None = None, settings: GenerationSettings | None = None
) -> list[list[int]]:
    """The new ids of each text, up to and including its end token.

    ids (text, token); prompts of a decoder are padded on the left, `mask` is true where a token is real.
    """
    settings = settings or GenerationSettings()
    state = DecodingState(model.network, ids, mask, settings, model.generation)
    rules = state.rules
    constraints = Constraints(rules, state.ids.shape[1], model.config.output_vocab_size, ids.device)
    if rules.method == "beam":
        return _beam_search(state, constraints)
    generators = [
        torch.Generator().manual_seed((rules.seed * 1_000_003 + row) % (1 << 64)) for row in range(len(ids))
    ]
    texts = [list[int]() for _ in range(len(ids))]
    tokens = ids[:, -1]
    unfinished = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for step in range(rules.max_new_tokens):
        if step:
            state.append(tokens)
        scores = constraints.apply(state.logits.float(), state.ids, state.used)
        tokens = scores.argmax(-1) if rules.method == "greedy" else sample(scores, rules, generators)
        for row in unfinished.nonzero().flatten().tolist():
            texts[row].append(int(tokens[row]))
        unfinished &= ~torch.isin(tokens, state.end_ids)
        if not unfinished.any():
            break
    return texts


def generate_texts(
    model: Model, texts: Sequence[str], settings: GenerationSettings | None = None
) -> list[str]:
    """The continuation of each text (decoder), or its translation or answer (seq2seq)."""
    if model.tokenizer is None:
        raise SettingError(
            "This model's folder has no tokenizer.json, so it cannot generate text. "
            "Put the tokenizer next to the weights."
        )
    side = "left" if model.config.kind == "decoder" else "right"
    batch = make_batch(model.tokenizer, texts, padding=model.config.special.padding, side=side)
    ids = batch.ids.to(model.device)
    mask = batch.mask.to(model.device)
    return model.tokenizer.decode_batch(generate(model, ids, mask, settings))


def _beam_search(state: DecodingState, constraints: Constraints) -> list[list[int]]:
    beams = Beams(len(state.logits), state.end_ids, state.rules)
    state.expand(beams.beams)
    while True:
        scores = state.logits.float()
        torch.log_softmax(scores, -1, out=scores)  # in place: new memory takes longer
        scores = constraints.apply(scores, state.ids, state.used)
        step = beams.step(*top_words(scores, beams.candidates))
        if not beams.running:
            return beams.best()
        state.select(step.rows, step.texts)
        state.append(step.tokens)


def sample(scores: Tensor, rules: Rules, generators: Sequence[torch.Generator]) -> Tensor:
    """One word for each row, drawn by its probability among those that `top_k` and `top_p` leave."""
    scores = scores / rules.temperature
    if rules.top_k:
        scores, order = top_words(scores, rules.top_k)
    elif rules.top_p < 1.0:
        scores, order = torch.sort(scores, stable=True, dim=-1, descending=True)
    else:
        order = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
    probabilities = scores.softmax(-1)
    if rules.top_p < 1.0:
        before = probabilities.cumsum(-1) - probabilities
        probabilities = probabilities * (before < rules.top_p)  # the word that reaches top_p is included
    if rules.top_p == 0:
        probabilities[:, 0] = 1.0
    cumulative = probabilities.double().cumsum(-1)
    draws = [torch.rand(1, generator=each, dtype=torch.float64) for each in generators]
    targets = torch.stack(draws).to(scores.device) * cumulative[:, -1:]
    ranks = torch.searchsorted(cumulative, targets, right=True).clamp(max=scores.shape[1] - 1)
    return order.gather(1, ranks).squeeze(1)
