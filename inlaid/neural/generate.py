"""Generate: greedy decoding, sampling and beam search, with a cache, batched.

One token at a time, from a prompt (decoder) or from a source text and a start token (seq2seq), until an end
token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.beam import BeamChoice, Beams, top_words
from inlaid.neural.constraints import Constraints
from inlaid.neural.decoding import DecodingState
from inlaid.neural.generation import GenerationSettings, Rules
from inlaid.neural.model import Model
from inlaid.neural.products import fast_products
from inlaid.neural.tokens import make_batch


@dataclass(frozen=True)
class TokenChoice:
    """One step of greedy decoding or sampling: what every text was continued with."""

    texts: tuple[int, ...]
    """The numbers of the texts that were unfinished."""
    probabilities: Tensor
    """By which the tokens were chosen (text, word): at the temperature, before `top_k` and `top_p`."""
    tokens: Tensor
    """The chosen ones (text,)."""


Watch = Callable[[TokenChoice | BeamChoice], None]
"""Called at every step of decoding."""


@torch.no_grad()
@fast_products(few_rows=True)
def generate(
    model: Model,
    ids: Tensor,
    mask: Tensor | None = None,
    settings: GenerationSettings | None = None,
    *,
    watch: Watch | None = None,
    numbers: Sequence[int] | None = None,
) -> list[list[int]]:
    """The new ids of each text, up to and including its end token.

    ids (text, token); prompts of a decoder are padded on the left, `mask` is true where a token is real.
    `numbers` are those by which texts draw at random, if they are not the rows of this batch.
    """
    settings = settings or GenerationSettings()
    state = DecodingState(model.network, ids, mask, settings, model.generation)
    rules = state.rules
    constraints = Constraints(rules, state.ids.shape[1], model.config.output_vocab_size, ids.device)
    if rules.method == "beam":
        return _beam_search(state, constraints, watch)
    generators = [
        torch.Generator().manual_seed((rules.seed * 1_000_003 + number) % (1 << 64))
        for number in (range(len(ids)) if numbers is None else numbers)
    ]
    texts = [list[int]() for _ in range(len(ids))]
    tokens = ids[:, -1]
    unfinished = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for step in range(rules.max_new_tokens):
        if step:
            state.append(tokens)
        scores = constraints.apply(state.logits.float(), state.ids, state.used)
        tokens = scores.argmax(-1) if rules.method == "greedy" else sample(scores, rules, generators)
        rows = unfinished.nonzero().flatten()
        if watch is not None:
            temperature = rules.temperature if rules.method == "sample" else 1.0
            probabilities = (scores[rows] / temperature).softmax(-1)
            watch(TokenChoice(tuple(rows.tolist()), probabilities, tokens[rows]))
        for row in rows.tolist():
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


def _beam_search(
    state: DecodingState, constraints: Constraints, watch: Watch | None = None
) -> list[list[int]]:
    beams = Beams(len(state.logits), state.end_ids, state.rules, watch)
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
