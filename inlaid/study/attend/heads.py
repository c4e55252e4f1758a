"""`inlaid heads`: attention heads named by what they do, each with a score against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Fraction, Range, Seed, check
from inlaid.messages import Message, word
from inlaid.neural.kinds import AnyModel
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.attend.head_sample import WORLD, HeadSample
from inlaid.study.attend.pair_heads import NEXT, READ
from inlaid.study.attend.patterns import AT_LEAST, Link, Measured
from inlaid.study.attend.weights import Part, with_attention
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.study.evaluate.statistics import Interval, interval, mean

EXAMPLES = 3
SMALLEST_P = 1e-15
NAMES = {
    "previous token": Message("previous token"),
    "next token": Message("next token"),
    "itself": Message("itself"),
    "first token": Message("first token"),
    "delimiter": Message("delimiter"),
    "same word": Message("same word"),
    "induction": Message("induction"),
    "object": Message("object to verb"),
    "pronoun": Message("pronoun to referent"),
    "category": Message("word to category"),
    "contrast": Message("contrast"),
    READ: Message("translation of the word read"),
    NEXT: Message("translation of the next word"),
}
"""What patterns are called."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Heads:
    """Heads with a name, and all scores."""

    part: Part
    layers: int
    heads: int
    named: tuple[NamedHead, ...]
    measured: tuple[Measured, ...]
    adjusted: tuple[np.ndarray, ...]
    settings: HeadsSettings
    text: str
    output: Path | None = None
    examples: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def share(self) -> float:
        """The share of heads that have a name."""
        return len({(each.layer, each.head) for each in self.named}) / (self.layers * self.heads)

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        header = (
            Message("layer"),
            Message("head"),
            Message("name"),
            Message("score"),
            "95 %",
            Message("chance"),
            Message("adjusted p"),
        )
        if self.named:
            rows.append(tuple(header))
        for each in self.named:
            rows.append((str(each.layer), str(each.head), *self._cells(each)))
        rows.append(
            Message(
                "{part}: {named} of {total} heads have a name; {tests:,} tests, false discovery rate "
                "{rate:g}, at "
                "least {at_least:.0%} of the way from chance to 1",
                part=self.part,
                named=len({(each.layer, each.head) for each in self.named}),
                total=self.layers * self.heads,
                tests=sum(each.p.size for each in self.measured),
                rate=self.settings.false_discovery,
                at_least=self.settings.at_least,
            )
        )
        if self.named:
            rows += ["", Message("sentences that show it")]
        for each in self.named:
            rows += [
                (f"{each.layer}.{each.head}", f"{one.words} {one.weight:.2f}".strip(), one.text)
                for one in each.examples[:1]
            ]
        return [*rows, *figures.written(self.output)]

    def _cells(self, each: NamedHead) -> tuple[str | Message, ...]:
        name = word(each.name)
        if each.language:
            name = Message("{name} ({language})", name=name, language=each.language)
        range_ = f"{each.interval.low:.2f}–{each.interval.high:.2f}"
        return name, f"{each.score:.2f}", range_, f"{each.chance:.2f}", _shown_p(each.adjusted_p)

    def to_dict(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "layers": self.layers,
            "heads": self.heads,
            "text": self.text,
            "settings": plain(self.settings),
            "named": plain(self.named),
            "share_named": self.share,
            "patterns": [
                {
                    "pattern": name_of(each.pattern),
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


@analysis
def heads(
    model: AnyModel,
    settings: HeadsSettings | None = None,
    *,
    text: str = WORLD,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Heads:
    """Name attention heads by what they do: previous token, next token, itself, first token, delimiter, same
    word, induction, object to verb, pronoun to referent, word to category, contrast.

    Each name has a score, the mean weight on the keys that are meant, beside chance. For places, chance is a
    head that attends uniformly; for links between words, it is what the same head gives to these distances in
    other sentences, so that a head that looks at a fixed distance gets no name for it. Names need a score
    well above chance, and significance at a false discovery rate over all heads and patterns. Relations
    between words are known in the embedded world only; with another text, heads are asked about places, same
    word and induction. A name says what a head attends to on these sentences, not what it is for.

    Args:
        model: the folder of a model with attention; of a seq2seq, --part says which attention
        text: a file with one sentence a line, or world: the embedded world
        output: also write a picture (.png) or a page (.html)
    """
    settings = settings or HeadsSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("A table of heads"), overwrite=overwrite)
    sample = HeadSample(loaded, settings, text, report)
    made = _named(sample.measured(), sample, output)
    if output is not None:
        from inlaid.study.attend.heads_pictures import write_heads

        write_heads(made, output, report)
    return made


def _named(found: list[tuple[Measured, Sequence[Any]]], sample: HeadSample, output: Path | None) -> Heads:
    settings = sample.settings
    flat = np.concatenate([each.p.ravel() for each, _ in found])
    adjusted = np.split(benjamini_hochberg(flat), np.cumsum([each.p.size for each, _ in found])[:-1])
    shaped = [one.reshape(each.p.shape) for one, (each, _) in zip(adjusted, found, strict=True)]
    named: list[NamedHead] = []
    for (each, items), rates in zip(found, shaped, strict=True):
        passed = (each.above >= settings.at_least) & (rates <= settings.false_discovery)
        named += [
            _name(each, items, rates, (layer, head), settings.seed)
            for layer, head in np.argwhere(passed).tolist()
        ]
    named.sort(key=lambda each: (each.layer, each.head, -each.above))
    layers, heads = found[0][0].score.shape
    return Heads(
        part=sample.part,
        layers=layers,
        heads=heads,
        named=tuple(named),
        measured=tuple(each for each, _ in found),
        adjusted=tuple(shaped),
        settings=settings,
        text=sample.text,
        output=output,
    )


def _name(
    measured: Measured, items: Sequence[Any], rates: np.ndarray, at: tuple[int, int], seed: int
) -> NamedHead:
    """The head `at` (layer, head), named by this pattern."""
    layer, head = at
    scores = measured.scores[:, layer, head]
    best = np.argsort(-scores, kind="stable")[:EXAMPLES]
    links = isinstance(items[0], Link)
    examples = tuple(
        Example(items[each].text, items[each].shown if links else "", float(scores[each]))
        for each in best.tolist()
        if each < len(items)
    )
    return NamedHead(
        layer=layer,
        head=head,
        name=name_of(measured.pattern),
        language=measured.language,
        score=float(scores.mean()),
        interval=interval(scores[:, None], mean, seed=seed),
        chance=float(measured.chance[at]),
        above=float(measured.above[at]),
        adjusted_p=float(rates[at]),
        sentences=len(scores),
        examples=examples,
    )


def _shown_p(p: float) -> str:
    """Tails far out are those of no real distribution."""
    return f"{p:.1e}" if p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"


def name_of(pattern: str) -> str:
    """What a pattern is called, in English; `word` of it is in the reader's language."""
    return NAMES[pattern].in_language("en")
