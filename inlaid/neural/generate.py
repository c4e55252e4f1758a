"""Generate: greedy decoding, sampling and beam search, with a cache, batched.

One token at a time, from a prompt (decoder) or from a source text and a start token (seq2seq), until an end
token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from inlaid.config import Count, Fraction, Positive, Range, Seed, check
from inlaid.errors import SettingError
from inlaid.neural.beam import Beams, BeamSettings, top_words
from inlaid.neural.decoding import DecodingState
from inlaid.neural.model import Model
from inlaid.neural.tokens import make_batch


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """How to choose the next token, and when to stop."""

    method: Literal["greedy", "sample", "beam"] = "greedy"
    """The likeliest token; a token drawn by its probability; the likeliest text found by beam search."""
    max_new_tokens: Positive = 50
    """Most tokens to generate, the end token included."""
    beams: Positive = 4
    """Beam search: hypotheses kept at every step."""
    length_penalty: float = 1.0
    """Beam search: scores are divided by length to this power; higher favors longer texts."""
    early_stopping: bool = False
    """Beam search: stop as soon as `beams` hypotheses have ended, though a running one might still win."""
    temperature: Annotated[float, Range(1e-6)] = 1.0
    """Sampling: logits are divided by it; below 1 likely tokens become likelier."""
    top_k: Count = 0
    """Sampling: only the k likeliest tokens; 0: all."""
    top_p: Fraction = 1.0
    """Sampling: only the fewest tokens whose probabilities sum to p (nucleus sampling)."""
    repetition_penalty: Annotated[float, Range(1e-6)] = 1.0
    """Above 1, words that are in the text already become less likely (Keskar et al. 2019)."""
    seed: Seed = 0
    """Sampling: the same seed draws the same text, whatever else is in the batch."""
    use_cache: bool = True
    """Keep keys and values between steps: the same ids, faster."""

    def __post_init__(self) -> None:
        check(self)


@torch.no_grad()
def generate(
    model: Model, ids: Tensor, mask: Tensor | None = None, settings: GenerationSettings | None = None
) -> list[list[int]]:
    """The new ids of each text, up to and including its end token.

    ids (text, token); prompts of a decoder are padded on the left, `mask` is true where a token is real.
    """
    settings = settings or GenerationSettings()
    state = DecodingState(
        model.network,
        ids,
        mask,
        settings.max_new_tokens,
        use_cache=settings.use_cache,
        track_used=settings.repetition_penalty != 1.0,
    )
    if settings.method == "beam":
        return _beam_search(state, settings, model.config.special.banned)
    generators = [
        torch.Generator().manual_seed((settings.seed * 1_000_003 + row) % (1 << 64))
        for row in range(len(ids))
    ]
    texts = [list[int]() for _ in range(len(ids))]
    unfinished = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(settings.max_new_tokens):
        scores = penalized(state.logits.float(), state.used, settings.repetition_penalty)
        scores = without_banned(scores, model.config.special.banned)
        tokens = scores.argmax(-1) if settings.method == "greedy" else sample(scores, settings, generators)
        for row in unfinished.nonzero().flatten().tolist():
            texts[row].append(int(tokens[row]))
        unfinished &= ~torch.isin(tokens, state.end_ids)
        if not unfinished.any():
            break
        state.append(tokens)
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
    state: DecodingState, settings: GenerationSettings, banned: tuple[int, ...]
) -> list[list[int]]:
    rules = BeamSettings(
        beams=settings.beams,
        max_new_tokens=settings.max_new_tokens,
        length_penalty=settings.length_penalty,
        early_stopping=settings.early_stopping,
    )
    beams = Beams(len(state.logits), state.end_ids, rules)
    state.expand(settings.beams)
    while True:
        log_probabilities = state.logits.float().log_softmax(-1)
        scores = penalized(log_probabilities, state.used, settings.repetition_penalty)
        step = beams.step(*top_words(without_banned(scores, banned), beams.candidates))
        if not beams.running:
            return beams.best()
        state.select(step.rows, step.texts)
        state.append(step.tokens)


def penalized(scores: Tensor, used: Tensor | None, penalty: float) -> Tensor:
    """Scores (row, word), lowered for the words already `used` (row, word)."""
    if used is None:
        return scores
    return torch.where(used, torch.where(scores < 0, scores * penalty, scores / penalty), scores)


def without_banned(scores: Tensor, banned: Sequence[int]) -> Tensor:
    """Scores (row, word), those of banned words set to minus infinity in place."""
    if not banned:
        return scores
    return scores.index_fill_(1, torch.tensor(banned, device=scores.device), -torch.inf)


def sample(scores: Tensor, settings: GenerationSettings, generators: Sequence[torch.Generator]) -> Tensor:
    """One word for each row, drawn by its probability among those that `top_k` and `top_p` leave."""
    scores, order = torch.sort(scores / settings.temperature, stable=True, dim=-1, descending=True)
    if settings.top_k:
        scores[:, settings.top_k :] = -torch.inf
    probabilities = scores.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    probabilities = probabilities * (before < settings.top_p)  # the word that reaches top_p is included
    if settings.top_p == 0:
        probabilities[:, 0] = 1.0
    cumulative = probabilities.double().cumsum(-1)
    draws = [torch.rand(1, generator=each, dtype=torch.float64) for each in generators]
    targets = torch.stack(draws).to(scores.device) * cumulative[:, -1:]
    ranks = torch.searchsorted(cumulative, targets, right=True).clamp(max=scores.shape[1] - 1)
    return order.gather(1, ranks).squeeze(1)
