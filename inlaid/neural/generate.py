"""Generate: greedy, sampling and beam search, with a cache, batched.

One token at a time: from a prompt (decoder) or from a text that was read and a start symbol (seq2seq), until
an end symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from inlaid import config
from inlaid.config import Count, Fraction, Positive, Range
from inlaid.errors import SettingError
from inlaid.neural.beam import Beams, likeliest
from inlaid.neural.model import Model
from inlaid.neural.tokens import make_batch
from inlaid.neural.writer import Writer


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How to choose the next token, and when to stop."""

    method: Literal["greedy", "sample", "beam"] = "greedy"
    """The likeliest token; one drawn by its probability; the likeliest whole text among `beams`."""
    new_tokens: Positive = 50
    """At most this many, the end symbol included."""
    beams: Positive = 4
    """Beam search: texts kept at every step."""
    length_penalty: float = 1.0
    """Beam search: scores are divided by length to this power; more favours longer texts."""
    early_stop: bool = False
    """Beam search: stop as soon as `beams` texts have ended, though a running one might still win."""
    temperature: Annotated[float, Range(1e-6)] = 1.0
    """Sampling: below 1 the likely becomes likelier."""
    top_k: Count = 0
    """Sampling: among the likeliest so many; 0: among all."""
    top_p: Fraction = 1.0
    """Sampling: among the fewest tokens that together have this probability."""
    repetition_penalty: Annotated[float, Range(1e-6)] = 1.0
    """Above 1, what was said before is less likely to be said again (Keskar et al. 2019)."""
    seed: Count = 0
    """Sampling: the same seed draws the same text, whatever else is in the batch."""
    cached: bool = True
    """Keep keys and values between steps: the same ids, faster."""

    def __post_init__(self) -> None:
        config.check(self)


@torch.no_grad()
def generate(
    model: Model, ids: Tensor, mask: Tensor | None = None, settings: Generation | None = None
) -> list[list[int]]:
    """The new ids of each text, up to and with its end symbol.

    ids (text, token); prompts of a decoder are padded on the left, `mask` true where a token is real.
    """
    settings = settings or Generation()
    writer = Writer(
        model.network,
        ids,
        mask,
        settings.new_tokens,
        cached=settings.cached,
        remember=settings.repetition_penalty != 1.0,
    )
    if settings.method == "beam":
        return _search(writer, settings, model.shape.banned)
    ends = torch.tensor(model.shape.end, dtype=torch.int64, device=ids.device)
    draws = [torch.Generator().manual_seed(settings.seed * 1_000_003 + row) for row in range(len(ids))]
    texts = [list[int]() for _ in range(len(ids))]
    open = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(settings.new_tokens):
        scores = allowed(
            penalized(writer.logits.float(), writer.said, settings.repetition_penalty), model.shape.banned
        )
        chosen = scores.argmax(-1) if settings.method == "greedy" else sample(scores, settings, draws)
        for row in open.nonzero().flatten().tolist():
            texts[row].append(int(chosen[row]))
        open &= ~torch.isin(chosen, ends)
        if not open.any():
            break
        writer.append(chosen)
    return texts


def write(model: Model, texts: Sequence[str], settings: Generation | None = None) -> list[str]:
    """What the model writes after each text (decoder) or in answer to it (seq2seq)."""
    if model.tokenizer is None:
        raise SettingError(
            "This model's folder has no tokenizer.json, so it cannot write text. Put the tokenizer beside the weights."
        )
    side = "left" if model.shape.kind == "decoder" else "right"
    batch = make_batch(model.tokenizer, texts, padding=model.shape.padding, side=side)
    ids = batch.ids.to(model.device)
    mask = batch.mask.to(model.device)
    return model.tokenizer.decode_batch(generate(model, ids, mask, settings))


def _search(writer: Writer, settings: Generation, banned: tuple[int, ...]) -> list[list[int]]:
    beams = Beams(
        len(writer.logits),
        settings.beams,
        new_tokens=settings.new_tokens,
        ends=writer.ends,
        length_penalty=settings.length_penalty,
        early_stop=settings.early_stop,
    )
    writer.spread(settings.beams)
    while True:
        likelihoods = penalized(
            writer.logits.float().log_softmax(-1), writer.said, settings.repetition_penalty
        )
        chosen = beams.step(*likeliest(allowed(likelihoods, banned), beams.width))
        if not beams.running:
            return beams.best()
        writer.select(chosen.rows, chosen.texts)
        writer.append(chosen.tokens)


def penalized(scores: Tensor, said: Tensor | None, penalty: float) -> Tensor:
    """Scores (row, word) with those of the words already `said` (row, word) moved towards unlikely."""
    if said is None:
        return scores
    return torch.where(said, torch.where(scores < 0, scores * penalty, scores / penalty), scores)


def allowed(scores: Tensor, banned: Sequence[int]) -> Tensor:
    """Scores (row, word), those of banned words set to minus infinity in place."""
    return scores.index_fill_(1, torch.tensor(banned, device=scores.device), -torch.inf) if banned else scores


def sample(scores: Tensor, settings: Generation, draws: Sequence[torch.Generator]) -> Tensor:
    """One word for each row, drawn by its probability among those `top_k` and `top_p` leave."""
    scores, order = torch.sort(scores / settings.temperature, stable=True, dim=-1, descending=True)
    if settings.top_k:
        scores[:, settings.top_k :] = -torch.inf
    shares = scores.softmax(-1)
    shares = shares * (
        shares.cumsum(-1) - shares < settings.top_p
    )  # the one that reaches top_p still belongs
    if settings.top_p == 0:
        shares[:, 0] = 1.0
    reached = shares.double().cumsum(-1)
    wanted = torch.stack([torch.rand(1, generator=draw, dtype=torch.float64) for draw in draws]).to(
        scores.device
    )
    places = torch.searchsorted(reached, wanted * reached[:, -1:], right=True).clamp(max=scores.shape[1] - 1)
    return order.gather(1, places).squeeze(1)
