"""Named heads: what `inlaid heads` finds, as rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Fraction, Range, Seed, check
from inlaid.messages import Message
from inlaid.study import figures
from inlaid.study.analysis import Row, plain
from inlaid.study.attend.patterns import AT_LEAST, NAMES, Measured
from inlaid.study.attend.weights import PART_NAMES, Part
from inlaid.study.evaluate.statistics import Interval

SHOWN = 5
"""Heads of one name that a terminal lists, the best ones."""
SMALLEST_P = 1e-15
"""Tails far out are those of no real distribution."""


@dataclass(frozen=True, kw_only=True)
class HeadsSettings:
    """How many sentences heads are measured on, and when one gets a name."""

    sentences: Annotated[int, Range(AT_LEAST, 10_000)] = 60
    """Sentences for each pattern."""
    language: Literal["zh", "en", "both"] = "both"
    """Languages of the embedded world that are asked."""
    part: Part | None = None
    """Of a model with encoder and decoder: the self-attention of one of them, or cross; by default encoder.
    The decoder reads what the model itself generates, and is asked about places; cross-attention about
    places and about translations of words."""
    at_least: Fraction = 0.3
    """A name needs a score that has gone this share of the way from chance to 1."""
    false_discovery: Fraction = 0.05
    """A name needs a p-value that is significant at this false discovery rate, over all heads and
    patterns."""
    seed: Seed = 1
    """Of the sentences that are drawn."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Example:
    """A sentence that shows what a head does."""

    text: str
    words: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class NamedHead:
    """A head, a pattern that it follows, and how well."""

    layer: int
    head: int
    name: str
    language: str
    """The language of the sentences, where they are of one."""
    score: float
    """The mean weight on what is meant."""
    interval: Interval
    """95 %, by the bootstrap over sentences."""
    chance: float
    above: float
    """The share of the way from chance to 1."""
    adjusted_p: float
    """By Benjamini and Hochberg over all heads and patterns."""
    sentences: int
    examples: tuple[Example, ...]

    @property
    def place(self) -> str:
        """Layer and head: 1.3."""
        return f"{self.layer}.{self.head}"

    def row(self) -> tuple[Message | str, ...]:
        """A line of the table below `HEADER`."""
        within = f"{self.interval.low:.2f}–{self.interval.high:.2f}"
        p = f"{self.adjusted_p:.1e}" if self.adjusted_p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"
        name = shown_name(self.name, self.language)
        return (str(self.layer), str(self.head), name, f"{self.score:.2f}", within, f"{self.chance:.2f}", p)


HEADER: tuple[Message | str, ...] = (
    Message("layer"),
    Message("head"),
    Message("name"),
    Message("score"),
    "95 %",
    Message("chance"),
    Message("adjusted p"),
)


CLOSEST = Message("patterns that are the name of no head, each with the head that comes closest to it")


def shown_name(pattern: str, language: str = "") -> Message:
    """A pattern in the words of the reader, and the language of its sentences where they are of one."""
    name = NAMES[pattern]
    return Message("{name} ({language})", name=name, language=language) if language else name


@dataclass(frozen=True, eq=False, kw_only=True)
class Heads:
    """Heads with a name, and all scores."""

    model: Message
    part: Part
    layers: int
    heads: int
    named: tuple[NamedHead, ...]
    """In the order of layers and heads."""
    closest: tuple[NamedHead, ...]
    """Of each pattern that is the name of no head, the head that comes closest."""
    measured: tuple[Measured, ...]
    adjusted: tuple[np.ndarray, ...]
    """For each pattern the adjusted p: (layer, head)."""
    settings: HeadsSettings
    text: str
    output: Path | None = None

    @property
    def share(self) -> float:
        """The share of heads that have a name."""
        return len({each.place for each in self.named}) / (self.layers * self.heads)

    @property
    def tests(self) -> int:
        return sum(each.p.size for each in self.measured)

    def by_name(self) -> Iterator[Sequence[NamedHead]]:
        """The heads of each name, the best first; links between words come before places, which many heads
        follow."""
        for name in NAMES:
            found = [each for each in self.named if each.name == name]
            if found:
                yield sorted(found, key=lambda each: -each.above)

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model, self.summary()]
        if self.named:
            rows.append(HEADER)
        for found in self.by_name():
            rows += [each.row() for each in found[:SHOWN]]
        rows += [
            Message(
                "{name}: {count} heads have this name, the {shown} best are listed; a page (-o "
                "heads.html) and JSON have all.",
                name=NAMES[found[0].name],
                count=len(found),
                shown=SHOWN,
            )
            for found in self.by_name()
            if len(found) > SHOWN
        ]
        if self.named:
            rows += ["", Message("sentences that show it")]
        for found in self.by_name():
            rows += [example_row(each, each.examples[0]) for each in found[:SHOWN] if each.examples]
        if self.closest:
            rows += ["", CLOSEST, HEADER, *(each.row() for each in self.closest)]
        return [*rows, *figures.written(self.output)]

    def summary(self) -> Message:
        return Message(
            "{part}: {named} of {total} heads have a name; {tests:,} tests on {sentences} sentences a "
            "pattern at most, seed {seed}, false discovery rate {rate:g}, at least {at_least:.0%} of the "
            "way from chance to 1",
            part=PART_NAMES[self.part],
            named=len({each.place for each in self.named}),
            total=self.layers * self.heads,
            tests=self.tests,
            sentences=self.settings.sentences,
            seed=self.settings.seed,
            rate=self.settings.false_discovery,
            at_least=self.settings.at_least,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": plain(self.model),
            "part": self.part,
            "layers": self.layers,
            "heads": self.heads,
            "text": self.text,
            "settings": plain(self.settings),
            "named": plain(self.named),
            "share_named": self.share,
            "closest": plain(self.closest),
            "patterns": [
                {
                    "pattern": each.pattern,
                    "language": each.language,
                    "sentences": len(each.scores),
                    "score": plain(each.score),
                    "chance": plain(each.chance),
                    "above": plain(each.above),
                    "adjusted_p": plain(adjusted),
                }
                for each, adjusted in zip(self.measured, self.adjusted, strict=True)
            ],
            "output": None if self.output is None else str(self.output),
        }


def example_row(head: NamedHead, one: Example) -> tuple[Message | str, ...]:
    """Which head, its name, the two words and the weight between them, and the sentence."""
    return (head.place, NAMES[head.name], f"{one.words} {one.weight:.2f}".strip(), one.text)
