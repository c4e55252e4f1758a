"""`inlaid attend-step`: the attention of one word in one head, step by step, with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.config import Positive, check
from inlaid.encode.dictionary import words_of
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Note, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.attend.reading import Reading, read_target, read_text
from inlaid.study.attend.weights import (
    PART_NAMES,
    Part,
    head_number,
    layer_number,
    own_target,
    with_attention,
)
from inlaid.study.model_line import model_line

ACROSS = 4
"""Components shown of a vector."""


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """Which attention is computed step by step."""

    layer: int = 0
    """The layer; 0 is the first, -1 the last."""
    head: int = 0
    """The head, counted from 0."""
    part: Part | None = None
    """Of a model with encoder and decoder: the self-attention of one of them, or the cross-attention between
    them, which is shown when nothing is named."""
    target: str | None = None
    """For a model with encoder and decoder: what its decoder has read; its own answer when not given."""
    n: Positive = 50
    """How many keys to show, those with the largest weights; JSON has all."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Steps:
    """The attention of one token in one head. Lists are by key, in the order of the text."""

    model: Message
    token: str
    """The token that attends: the last one of the word."""
    word: str
    part: Part
    layer: int
    head: int
    query: np.ndarray
    """q, as it is compared with the keys: after its norm and its rotation, where the network has them."""
    keys: tuple[str, ...]
    products: np.ndarray
    """q·k"""
    scale: float
    """What they are multiplied by: 1 / sqrt(head_dim), in T5 1."""
    scaled: np.ndarray
    bias: np.ndarray | None
    """What positions add; None where they add nothing."""
    visible: np.ndarray
    """Whether the token may see the key."""
    scores: np.ndarray
    """NaN where it may not."""
    weights: np.ndarray
    """The softmax of the scores."""
    values: np.ndarray
    """(key, head_dim)"""
    mixed: np.ndarray
    """(head_dim,): the values, weighted and summed."""
    rotated: bool
    """Whether positions rotate queries and keys."""
    error: float
    """The largest difference between these numbers and those of the network's own forward pass: weights, and
    the output of all heads together."""
    shown: int
    output: Path | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model]
        rows.append(
            Message(
                "{part}, layer {layer}, head {head}: {token} attends",
                part=PART_NAMES[self.part],
                layer=self.layer,
                head=self.head,
                token=self.token,
            )
        )
        rows += self.query_lines()
        rows += self.key_rows()
        rows += [self.total(), self.checked()]
        return [*rows, *figures.written(self.output)]

    def query_lines(self) -> list[Message | str]:
        lines: list[Message | str] = [f"q = {_vector(self.query)}"]
        if self.rotated:
            lines.append(Message("q and k are rotated by their positions (rotary)"))
        return lines

    def total(self) -> Message:
        return Message("weighted sum of the values: {vector}", vector=_vector(self.mixed))

    def checked(self) -> Message:
        return Message("largest difference from the network's own result: {error:.1e}", error=self.error)

    def key_rows(self) -> list[tuple[Message | str, ...]]:
        scale = f"x {self.scale:.4g}"
        header: list[Message | str] = ["", "q·k", scale, Message("+ bias")]
        if self.bias is None:
            del header[3]
        rows: list[tuple[Message | str, ...]] = [(*header, Message("softmax"), Message("value"))]
        best = set(np.argsort(-self.weights, kind="stable")[: self.shown].tolist())
        for key, name in enumerate(self.keys):
            if key not in best:
                continue
            cells = [name, f"{self.products[key]:+.3f}", f"{self.scaled[key]:+.3f}"]
            if self.bias is not None:
                cells.append(f"{self.scaled[key] + self.bias[key]:+.3f}")
            weight = f"{self.weights[key]:.4f}" if self.visible[key] else Message("masked")
            rows.append((*cells, weight, _vector(self.values[key])))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


def _vector(values: np.ndarray) -> str:
    dots = " …" if len(values) > ACROSS else ""
    return f"({' '.join(f'{value:+.2f}' for value in values[:ACROSS])}{dots})"


@analysis
@local_only("dictionary")
def attend_step(
    model: AnyModel,
    text: str,
    word: str,
    settings: StepSettings | None = None,
    *,
    dictionary: str | Path | Sequence[str | Path] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Steps:
    """One token's attention step by step: q·k, times the scale, plus what positions add, softmax, and the
    weighted sum of the values, with the numbers of the network itself.

    >>> attend_step(model, "我喜欢吃苹果", "苹果", layer=1, head=1)

    Args:
        model: the folder of a model with attention
        text: a text
        word: the word that attends, or its number: [2]; of several tokens the last one
        dictionary: words for the segmenter of Chinese: files with one a line, words, or both
        output: also write a picture (.png) or a page (.html)

    Examples:
        inlaid attend-step model "The cat sat on the mat." cat
        inlaid attend-step model 猫坐在垫子上。 猫 --layer 2 -o step.html
    """
    settings = settings or StepSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("Attention"), overwrite=overwrite)
    words = Word(dictionary=words_of(dictionary, AUTO))
    made = _steps(loaded, text, word, settings.target, (settings, words, output, report))
    if output is not None:
        from inlaid.study.attend.step_pictures import write_steps

        write_steps(made, text, output, report)
    return made


def _steps(model: Any, text: str, word: str, target: str | None, rest: Any) -> Steps:
    settings, words, output, report = rest
    if target is not None and model.config.kind != "seq2seq":
        raise SettingError("A target is for models with an encoder and a decoder. Leave it out.")
    source = read_text(model, text, report, tokenizer=words)
    written = None
    part: Part = "encoder" if model.config.kind == "encoder" else "decoder"
    if model.config.kind == "seq2seq":
        part = settings.part or "cross"
        if part != "encoder":
            target = own_target(model, text, report) if target is None else target
            written = read_target(model, target, tokenizer=words)
    queries = source if part == "encoder" or written is None else written
    keys = written if part == "decoder" and written is not None else source
    place = queries.find(word)
    token = int(queries.tokens_of(place)[-1])
    layer, head, found, error, attention = _computed(model, source, written, settings, part)
    if len(queries.tokens_of(place)) > 1:
        report(
            Note(
                "'{word}' is {count} tokens; its last one, {token}, is shown.",
                word=queries.words[place],
                count=len(queries.tokens_of(place)),
                token=queries.tokens[token],
            )
        )
    scores = found["scores"][head, token]
    bias = found["bias"]
    return Steps(
        model=model_line(model),
        token=queries.tokens[token],
        word=queries.words[place],
        part=part,
        layer=layer,
        head=head,
        query=found["query"][head, token],
        keys=keys.tokens,
        products=found["products"][head, token],
        scale=float(attention.scale),
        scaled=found["scaled"][head, token],
        bias=None if bias is None else np.broadcast_to(bias, found["scores"].shape)[head, token],
        visible=np.isfinite(scores),
        scores=np.where(np.isfinite(scores), scores, np.nan),
        weights=found["weights"][head, token],
        values=found["values"][head],
        mixed=found["mixed"][head, token],
        rotated=part != "cross" and model.config.positions.kind == "rotary",
        error=error,
        shown=settings.n,
        output=output,
    )


def _computed(
    model: Any, source: Reading, written: Reading | None, settings: StepSettings, part: Part
) -> tuple[int, int, dict[str, Any], float, Any]:
    """The layer and head, the steps of all heads as arrays, how far they are from the network's own result,
    and the module."""
    import torch

    from inlaid.neural.inside import attentions, recorded_calls, steps_of
    from inlaid.study.attend.weights import run

    if settings.part is not None and settings.part != part:
        attentions(model.network, settings.part)  # says which parts there are
    modules = attentions(model.network, part)
    layer = layer_number(settings.layer, len(modules))
    module = modules[layer]
    head = head_number(settings.head, module.heads)
    outputs: list[Any] = []
    handle = module.register_forward_hook(lambda *each: outputs.append(each[-1].output))
    try:
        with recorded_calls(module) as calls:
            weights = run(model, source, written)[part][layer]
    finally:
        handle.remove()
    with torch.no_grad():
        steps = steps_of(module, calls[0])
        error = float((steps.output - outputs[0]).abs().max())
    arrays = {
        name: None if value is None else value[0].double().cpu().numpy()
        for name, value in steps._asdict().items()
    }
    error = max(error, float(np.abs(arrays["weights"] - weights).max()))
    return layer, head, arrays, error, module
