"""`inlaid attribute`: which words a prediction depends on, by gradients, beside attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.config import Positive, check
from inlaid.encode.dictionary import words_of
from inlaid.encode.tokenizers import Word
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Cell, Row, analysis, local_only, plain
from inlaid.study.attend.ablate import USE
from inlaid.study.attend.prediction import Baseline, Prediction, prediction_of
from inlaid.study.attend.weights import with_attention
from inlaid.study.evaluate.statistics import spearman, value_of
from inlaid.study.model_line import model_line

LARGE_ERROR = 0.05
"""Completeness errors above this are noted."""
WARNING = Message(
    "attention is no explanation by itself: it says how values are mixed, not what they change; `effect` is "
    "what the prediction loses without the word"
)


@dataclass(frozen=True, kw_only=True)
class AttributeSettings:
    """How attributions are computed."""

    steps: Positive = 64
    """Points on the way from the baseline to the text at which integrated gradients take the gradient."""
    baseline: Baseline | None = None
    """What stands for an absent word: the vector of the mask, the mean of all token vectors, or zeros. The
    mask for masked models, otherwise the mean, when not given."""
    answer: str | None = None
    """The token that is predicted; the likeliest when not given."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class WordAttribution:
    """How much one word has to do with the prediction, by each instrument."""

    word: str
    side: Literal["text", "target"]
    attention: float
    """The weight from the place of the prediction, mean over the heads of the last layer."""
    rollout: float | None
    """From the same place, through all layers; none between two texts."""
    gradient_x_input: float
    integrated_gradients: float
    """In nats of log probability; all words together give the difference to the baseline."""
    effect: float
    """What the log probability loses when the word alone is replaced by the baseline: measured, not
    estimated."""
    fixed: bool
    """Whether the baseline has the same token, such as [CLS] or the mask: gradients and effect are 0 then."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Spearman's rank correlation of the size of each attribution with the size of the effect, over the words
    that the baseline changes; by chance 0. With few words it says little."""

    attention: float
    rollout: float | None
    gradient_x_input: float
    integrated_gradients: float
    words: int


@dataclass(frozen=True, kw_only=True)
class Attributions:
    """A prediction, and what its words have to do with it."""

    model: Message
    text: str
    target: str | None
    answer: str
    probability: float
    baseline_probability: float
    """Of the same answer, with the baseline for all words of the text."""
    baseline: str
    words: tuple[WordAttribution, ...]
    completeness_error: float
    """How far the sum of the integrated gradients is from the difference of the log probabilities, as a share
    of it."""
    agreement: Agreement
    output: Path | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model]
        rows.append(
            Message(
                "{answer}: probability {p:.4f}; with the baseline {b:.2e}",
                answer=self.answer,
                p=self.probability,
                b=self.baseline_probability,
            )
        )
        header = (
            Message("word"),
            Message("attention"),
            Message("rollout"),
            Message("gradient x input"),
            Message("integrated gradients"),
            Message("effect"),
        )
        rows.append(tuple(header))
        for each in self.words:
            rolled = "" if each.rollout is None else f"{each.rollout:.2f}"
            gradients = (f"{each.gradient_x_input:+.3f}", f"{each.integrated_gradients:+.3f}")
            rows.append((each.word, f"{each.attention:.2f}", rolled, *gradients, f"{each.effect:+.3f}"))
        found = self.agreement
        rolled = "" if found.rollout is None else _correlation(found.rollout)
        gradients = (_correlation(found.gradient_x_input), _correlation(found.integrated_gradients))
        title = Message("rank correlation with the effect, {words} words", words=found.words)
        rows.append((title, _correlation(found.attention), rolled, *gradients, ""))
        rows += [self.completeness(), WARNING]
        return [*rows, *figures.written(self.output)]

    def completeness(self) -> Message:
        return Message(
            "completeness error of integrated gradients: {error:.2%}; baseline: {baseline}",
            error=self.completeness_error,
            baseline=self.baseline,
        )

    def to_dict(self) -> dict[str, Any]:
        return {**plain(self), "warning": plain(WARNING)}


def _correlation(value: float) -> Cell:
    """As it is shown; of one word, or of equal values, there is none."""
    return Message("undefined") if value != value else f"{value:+.2f}"


@analysis
@local_only("dictionary")
def attribute(
    model: AnyModel,
    text: str,
    settings: AttributeSettings | None = None,
    *,
    target: str | None = None,
    dictionary: str | Path | Sequence[str | Path] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Attributions:
    """Which words a prediction depends on: integrated gradients and gradient x input, beside attention.

    The prediction is the word for a blank (masked model), the next token (decoder), or the next token of an
    answer (seq2seq). Beside them is the effect: the log probability that is lost when one word is replaced by
    the baseline. It is measured, one word at a time; words that only matter together show no effect.

    >>> attribute(model, "我喜欢吃[MASK]。")

    Args:
        model: the folder of a masked model, a decoder or a seq2seq
        text: with a blank for a masked model; what comes before for a decoder; the source for a seq2seq
        target: for a seq2seq, the beginning of its answer; the next token is the prediction
        dictionary: words for the segmenter of Chinese: files with one a line, words, or both
        output: also write a picture (.png) or a page (.html)

    Examples:
        inlaid attribute model "I like to eat [MASK]."
        inlaid attribute model 我喜欢吃[MASK]。 -o attribution.html
    """
    settings = settings or AttributeSettings()
    loaded = with_attention(model)
    check_use(loaded, USE[loaded.config.kind])
    if output is not None:
        figures.writable(output, Message("Attribution"), overwrite=overwrite)
    words = Word(dictionary=words_of(dictionary, AUTO))
    asked = prediction_of(loaded, text, target, settings.answer, words, settings.baseline, report)
    made = _attributions(asked, settings, report)
    if output is not None:
        from inlaid.study.attend.attribute_pictures import write_attributions

        made = replace(made, output=output)
        write_attributions(made, output, report)
    return made


def _attributions(asked: Prediction, settings: AttributeSettings, report: Report) -> Attributions:
    full = asked.log_probability()
    empty = asked.baseline_log_probability()
    integrated = asked.integrated_gradients(settings.steps)
    by_input = asked.gradient_x_input()
    effects = asked.effects(full)
    attention = asked.attention()
    rollout = asked.rollout()
    fixed = asked.fixed()
    total = float(sum(each.sum() for each in integrated))
    error = abs(total - (full - empty)) / max(abs(full - empty), 1e-9)
    if error > LARGE_ERROR:
        report(
            Note(
                "The integrated gradients sum to {total:+.3f}; the difference they should explain is "
                "{expected:+.3f}. Use more steps (now {steps}).",
                total=total,
                expected=full - empty,
                steps=settings.steps,
            )
        )
    words: list[WordAttribution] = []
    for side, name in enumerate(("text", "target")[: len(asked.readings)]):
        reading = asked.readings[side]
        for place, word in enumerate(reading.words):
            words.append(
                WordAttribution(
                    word,
                    "text" if name == "text" else "target",
                    float(attention[side][place]),
                    None if rollout is None else float(rollout[place]),
                    float(by_input[side][place]),
                    float(integrated[side][place]),
                    float(effects[side][place]),
                    bool(fixed[side][place]),
                )
            )
    return Attributions(
        model=model_line(asked.model),
        text=asked.text,
        target=asked.target,
        answer=asked.answer,
        probability=float(np.exp(full)),
        baseline_probability=float(np.exp(empty)),
        baseline=asked.baseline_name,
        words=tuple(words),
        completeness_error=error,
        agreement=_agreement([each for each in words if not each.fixed]),
    )


def _agreement(words: Sequence[WordAttribution]) -> Agreement:
    def correlation(name: str) -> float:
        pairs = [(abs(getattr(each, name)), abs(each.effect)) for each in words]
        return value_of(np.array(pairs).reshape(-1, 2), spearman)

    rolled = any(each.rollout is None for each in words)
    return Agreement(
        attention=correlation("attention"),
        rollout=None if rolled else correlation("rollout"),
        gradient_x_input=correlation("gradient_x_input"),
        integrated_gradients=correlation("integrated_gradients"),
        words=len(words),
    )
