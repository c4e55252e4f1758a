"""`inlaid attend`: what each word of a text attends to, by layer and head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.config import Positive, check
from inlaid.encode.dictionary import words_of
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.attend.weights import (
    PART_NAMES,
    Part,
    TextWeights,
    Weights,
    head_number,
    layer_number,
    text_weights,
    with_attention,
)
from inlaid.study.model_line import model_line

View = Literal["grid", "matrix", "lines", "rollout"]
SHOWN_HEADS = 48
"""Heads listed in a terminal; of larger networks, layers are."""


@dataclass(frozen=True, kw_only=True)
class AttendSettings:
    """Which weights are shown, and how."""

    layer: int | None = None
    """Show this layer; 0 is the first, -1 the last. The mean over all layers when not given."""
    head: int | None = None
    """Show this head, counted from 0. The mean over all heads when not given."""
    part: Part | None = None
    """Of a model with encoder and decoder: the self-attention of one of them, or the cross-attention between
    them, which is shown when nothing is named."""
    view: View | None = None
    """What a .png shows: all heads as a grid, one matrix, lines between words, or attention rollout. Without
    it, lines for one head, and the grid otherwise. A page has all of them."""
    n: Positive = 3
    """How many words to list for each word."""
    tokens: bool = False
    """Show the tokens of the model, not words."""
    special: bool = True
    """Keep tokens that the tokenizer adds, such as [CLS]. `--no-special`: leave them out, and scale each row
    to a sum of 1 again."""

    def __post_init__(self) -> None:
        check(self)
        if self.head is not None and self.layer is None:
            raise SettingError("head is given without layer: every layer has heads of its own. Add layer.")


@dataclass(frozen=True, eq=False)
class Shown:
    """The part, layer and head that were asked for, between words."""

    part: Part
    layer: int | None
    """None: the mean over all."""
    head: int | None
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: np.ndarray
    """(query, key); every row sums to 1."""

    def title(self) -> Message:
        """Which weights these are."""
        part = PART_NAMES[self.part]
        if self.head is not None:
            return Message("{part}, layer {layer}, head {head}", part=part, layer=self.layer, head=self.head)
        if self.layer is not None:
            return Message("{part}, layer {layer}, mean over its heads", part=part, layer=self.layer)
        return Message("{part}, mean over all layers and heads", part=part)


@dataclass(frozen=True, eq=False)
class Attended:
    """The attention weights of a text."""

    found: TextWeights
    shown: Shown
    settings: AttendSettings
    model: Message
    output: Path | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model, self.shown.title()]
        rows += self._word_rows()
        rows.append("")
        rows += _head_rows(self.found.part(self.shown.part))
        return [*rows, *figures.written(self.output)]

    def _word_rows(self) -> list[Row]:
        shown = self.shown
        rows: list[Row] = [(Message("word"), Message("attends to"))]
        for word, weights in zip(shown.queries, shown.weights, strict=True):
            best = np.argsort(-weights, kind="stable")[: self.settings.n]
            cells = [f"{shown.keys[place]} {weights[place]:.2f}" for place in best if weights[place] > 0]
            rows.append((word, "   ".join(cells)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": plain(self.model),
            "text": self.found.text,
            "target": self.found.target,
            "target_generated": self.found.generated,
            "shown": plain(self.shown),
            "parts": {name: _part_dict(part) for name, part in self.found.parts.items()},
            "output": None if self.output is None else str(self.output),
        }


def _part_dict(part: Weights) -> dict[str, Any]:
    return {
        "query_tokens": list(part.queries.tokens),
        "query_words": list(part.queries.words),
        "query_groups": part.queries.groups.tolist(),
        "key_tokens": list(part.keys.tokens),
        "key_words": list(part.keys.words),
        "key_groups": part.keys.groups.tolist(),
        "weights": plain(part.words()),
        "rollout": plain(part.rollout()),
        "entropy": plain(part.entropy()),
        "uniform_entropy": part.uniform_entropy(),
        "distance": plain(part.distance()),
        "uniform_distance": part.uniform_distance(),
    }


def _head_rows(part: Weights) -> list[Row]:
    """Entropy and distance of each head; of a network with many heads, of each layer."""
    entropy = part.entropy()
    distance = part.distance()
    by_layer = entropy.size > SHOWN_HEADS
    header = [Message("layer"), Message("head"), Message("entropy in bits"), Message("mean distance")]
    rows: list[Row] = [tuple(header if distance is not None else header[:-1])]
    for layer, head in np.ndindex(entropy.shape):
        if by_layer and head:
            continue
        values = [
            each[layer].mean() if by_layer else each[layer, head]
            for each in (entropy, distance)
            if each is not None
        ]
        name = Message("mean") if by_layer else str(head)
        rows.append((str(layer), name, *(f"{value:.2f}" for value in values)))
    uniform = [part.uniform_entropy(), part.uniform_distance()]
    rows.append(("", Message("uniform"), *(f"{each:.2f}" for each in uniform if each is not None)))
    return rows


@analysis
@local_only("dictionary")
def attend(
    model: AnyModel,
    text: str,
    settings: AttendSettings | None = None,
    *,
    target: str | None = None,
    dictionary: str | Path | Sequence[str | Path] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Attended:
    """What each word of a text attends to: the attention weights of a model, merged from tokens to words.

    Subwords, characters and bytes of one word are merged: weights are summed over the tokens of the word that
    is attended to, and averaged over those of the word that attends, so every row still sums to 1. Rollout,
    and the entropy and distance of each head, are computed between tokens. Weights say where information may
    flow, not what it does there: `inlaid attribute` compares them with effects on the prediction.

    >>> attend(model, "我喜欢吃苹果", layer=0, head=2)

    Args:
        model: the folder of a model with attention (BERT, GPT-2, Llama, T5, Marian, or one trained here)
        text: a text
        target: for a seq2seq, what its decoder has read, such as a translation; its own when not given
        dictionary: words for the segmenter of Chinese: files with one a line, words, or both
        output: also write a picture (.png), or a page (.html) to choose layers and heads in

    Examples:
        inlaid attend model "The cat sat on the mat."
        inlaid attend model 猫坐在垫子上。 --layer 2 --head 1 -o attention.html
    """
    settings = settings or AttendSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("Attention"), overwrite=overwrite)
    words = Word(dictionary=words_of(dictionary, AUTO))
    found = text_weights(
        loaded, text, target=target, tokenizer=words, merge=not settings.tokens, report=report
    )
    made = Attended(found, shown_weights(found, settings), settings, model_line(loaded), output)
    if output is not None:
        _write(made, output, report)
    return made


def shown_weights(found: TextWeights, settings: AttendSettings) -> Shown:
    """The weights that the settings ask for."""
    part = found.part(settings.part)
    layer = None if settings.layer is None else layer_number(settings.layer, part.layers)
    head = None if settings.head is None else head_number(settings.head, part.heads)
    weights = part.words()
    chosen = weights.mean(0) if layer is None else weights[layer]
    matrix = chosen.mean(0) if head is None else chosen[head]
    queries = part.queries.words
    keys = part.keys.words
    if not settings.special:
        matrix, queries, keys = without_special(part, matrix)
    return Shown(part.part, layer, head, queries, keys, matrix)


def without_special(part: Weights, matrix: np.ndarray) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """The weights between words of the text alone, every row with a sum of 1; and these words."""
    rows = np.flatnonzero(~part.queries.special)
    columns = np.flatnonzero(~part.keys.special)
    if not len(rows) or not len(columns):
        raise SettingError("Without special tokens nothing is left of the text. Leave out --no-special.")
    kept = matrix[..., rows, :][..., columns]
    total = kept.sum(-1, keepdims=True)
    scaled = kept / np.where(total > 0, total, 1)
    return (
        scaled,
        tuple(part.queries.words[place] for place in rows),
        tuple(part.keys.words[place] for place in columns),
    )


def _write(made: Attended, output: Path, report: Report) -> None:
    if output.suffix.lower() == ".html":
        from inlaid.study.attend.page import attention_page

        figures.write(output, attention_page(made))
        return
    from inlaid.study.attend.pictures import draw

    figures.write(output, draw(made, report))
