"""Claims about attention, measured on a trained masked model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inlaid.messages import Message
from inlaid.report import silent
from inlaid.study.evaluate.statistics import ranks, student
from inlaid.study.use.encoding import encode, token_id
from inlaid.tour.claims import Line, Measured, softmax

SHORTEST = 5
"""Tokens that a sentence needs for a correlation."""


def symmetric_attention(model: Any, sentences: Sequence[str], *, seed: int = 1) -> Measured:
    """Claim: "Attention matrices are symmetric". How far those of a trained model are, and why one shared
    matrix for queries and keys makes the scores symmetric but not the weights.

    |A - Aᵀ| / |A + Aᵀ| is 0 for a symmetric matrix, and 1 where no two tokens attend to each other both ways.
    """
    found = [
        _asymmetry(head)
        for text in sentences
        for heads in model.attention(text).weights.values()
        for head in heads
    ]
    random = np.random.Generator(np.random.Philox(seed))
    shared = random.standard_normal((8, 16)) @ random.standard_normal((16, 16)) / 4
    scores = shared @ shared.T / 4
    interval = student(found)
    value = f"{np.mean(found):.2f} ({interval.low:.2f}, {interval.high:.2f})"
    return Measured(
        (
            Line(
                Message("asymmetry (0: symmetric) of the trained model, mean over heads and sentences, 95 %"),
                value,
            ),
            Line(Message("asymmetry with W_q = W_k: scores before the softmax"), f"{_asymmetry(scores):.2f}"),
            Line(
                Message("asymmetry with W_q = W_k: weights after the softmax"),
                f"{_asymmetry(softmax(scores)):.2f}",
            ),
        )
    )


def _asymmetry(weights: np.ndarray) -> float:
    return float(np.linalg.norm(weights - weights.T) / np.linalg.norm(weights + weights.T))


def attention_as_explanation(model: Any, sentences: Sequence[str]) -> Measured:
    """Claim: "Attention weights explain the answer". A word is masked; each other token is then replaced by
    the unknown word, and the loss of log probability of the right word is its effect. Do the tokens with the
    most attention have the largest effect?

    The attention is that of the masked place, the mean over the heads of the last layer.
    """
    correlations: list[float] = []
    same: list[float] = []
    chance: list[float] = []
    for text in sentences:
        measured = _effects(model, text)
        if measured is None:
            continue
        attended, effects = measured
        correlations.append(_spearman(attended, effects))
        same.append(float(attended.argmax() == effects.argmax()))
        chance.append(1 / len(effects))
    return Measured(
        (
            Line(Message("rank correlation of attention and effect, 95 %"), _interval(correlations)),
            Line(Message("most attended token has the largest effect, 95 %"), _interval(same)),
            Line(Message("by chance"), f"{np.mean(chance):.2f}"),
            Line(Message("sentences"), str(len(same))),
        )
    )


def _effects(model: Any, text: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The attention of the middle token, masked, to the others, and the effect of each of these; None for a
    short sentence."""
    import torch

    encoded = encode(model, text, silent)
    mask = token_id(model.tokenizer, "[MASK]")
    unknown = token_id(model.tokenizer, "[UNK]")
    ids = list(encoded.ids)
    inside = [place for place in range(1, len(ids) - 1) if ids[place] != unknown]
    if len(inside) < SHORTEST or mask is None or unknown is None:
        return None
    masked = inside[len(inside) // 2]
    right = ids[masked]
    ids[masked] = mask
    others = [place for place in inside if place != masked]
    batch = [list(ids)]
    for place in others:
        batch.append([*ids[:place], unknown, *ids[place + 1 :]])
    with torch.no_grad():
        rows = torch.tensor(batch, device=model.device)
        segments = {"segments": torch.zeros_like(rows)} if model.config.segment_types else {}
        output = model.network(rows, attention=[model.config.layers - 1], **segments)
        scores = output.logits[:, masked].float().log_softmax(-1)[:, right]
        weights = output.attention[model.config.layers - 1][0].mean(0)[masked]
    return weights[others].cpu().numpy(), (scores[0] - scores[1:]).cpu().numpy()


def _spearman(one: np.ndarray, two: np.ndarray) -> float:
    even = np.ones((1, len(one)))
    ranked = [ranks(each, even)[0] for each in (one, two)]
    return float(np.corrcoef(*ranked)[0, 1])


def _interval(values: Sequence[float]) -> str:
    interval = student(list(values))
    return f"{np.mean(values):.2f} ({interval.low:.2f}, {interval.high:.2f})"
