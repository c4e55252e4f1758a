"""Whom a pronoun means: which head attends to its referent, and whether its hidden state knows it.

In the sentences of the embedded world the verb tells what a pronoun refers to as well as its gender does
(小明告诉安娜，他...). So each is asked twice, also with the other pronoun, which means the other person: only
gender can answer both, and a guess by position or verb is right half of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid.collect import world
from inlaid.collect.truth import Referent, Span, Usage
from inlaid.config import Seed, check
from inlaid.encode.tokenizers import Token, Word
from inlaid.errors import SettingError
from inlaid.messages import Language, Listed, Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Progress, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.attend.weights import with_attention
from inlaid.study.evaluate.logistic import classify
from inlaid.study.model_line import model_line
from inlaid.study.probe.probe import by_group
from inlaid.study.probe.states import states_of
from inlaid.study.probe.vocabulary import language_of_words

OTHER = {"他": "她", "她": "他", "he": "she", "she": "he"}
PRONOUNS = (*OTHER, "它", "it", "him", "her")
DETERMINERS = re.compile(r"我的|那位|那个|\bmy\b|\bthe\b", re.IGNORECASE)
SHOWN = 5
"""Heads shown, the best first."""
BEST_HEAD = "best head"
PROBE = "probe"
"""Names in JSON of what is scored besides heads; a probe has the number of its layer."""


@dataclass(frozen=True, kw_only=True)
class ReferentsSettings:
    """What is asked."""

    language: Language | None = None
    """Of the sentences; the one that the model has more words of when not given."""
    seed: Seed = 1
    """Seed of the intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class ReferentScore:
    """How often one way to answer is right, on patterns that were held out; chance is 0.5."""

    who: str
    """best head, a head as 2.1 (layer and head, from 0), probe 3 (layer)"""
    accuracy: float
    low: float
    high: float
    world: float
    """On the sentences as the world has them."""
    swapped: float
    """On the same with the other pronoun."""


class WordWeight(NamedTuple):
    """A word of a text and the attention that the pronoun pays it."""

    word: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class Referents:
    """What pronouns attend to, and whether hidden states hold their referents."""

    model: Message
    language: Language
    seed: int
    """Of the intervals."""
    sentences: int
    """Half of them have the other pronoun."""
    patterns: tuple[str, ...]
    """What stands between the two people; each is held out once."""
    heads: tuple[ReferentScore, ...]
    """All heads, the best first; by all sentences, so the first is chosen with hindsight."""
    best_head: ReferentScore
    """The head that is best on the other patterns, on the pattern that is held out."""
    probes: tuple[ReferentScore, ...]
    """By layer: a linear probe of the pronoun's hidden state, whether it means the first or the second
    person."""
    text: str | None = None
    attention: tuple[WordWeight, ...] = ()
    """Of the pronoun of `text`, by the best head."""
    output: str | None = None

    def rows(self) -> list[Row]:
        about = Message(
            "{sentences:,} sentences ({language}), half with the other pronoun; held out in turn: "
            "{patterns}; chance 0.500; seed {seed}",
            sentences=self.sentences,
            language=self.language,
            patterns=Listed(self.patterns),
            seed=self.seed,
        )
        compared = (Message("as in the world"), Message("other pronoun"))
        rows: list[Row] = [self.model, about, (Message("who"), Message("right"), Message("95 %"), *compared)]
        rows += [score_row(each) for each in (self.best_head, *self.probes)]
        rows += ["", Message("heads by all sentences, with hindsight")]
        rows += [score_row(each) for each in self.heads[:SHOWN]]
        if self.attention:
            rows += [
                "",
                Message("{text}: attention by head {head}", text=self.text, head=self.heads[0].who),
            ]
            rows += [(f"{each.weight:.3f}", each.word) for each in self.attention]
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


def score_row(score: ReferentScore) -> tuple[Message | str, ...]:
    return (
        _shown_who(score.who),
        f"{score.accuracy:.3f}",
        f"{score.low:.3f}-{score.high:.3f}",
        f"{score.world:.3f}",
        f"{score.swapped:.3f}",
    )


def _shown_who(who: str) -> Message | str:
    """Who, in the words of the reader; a head is a number in every language."""
    if who == BEST_HEAD:
        return Message("best head")
    kind, _, layer = who.partition(" ")
    return Message("probe, layer {layer}", layer=layer) if kind == PROBE else who


@analysis
def referents(
    model: AnyModel,
    settings: ReferentsSettings | None = None,
    *,
    text: str | None = None,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Referents:
    """What pronouns attend to, head by head, and whether hidden states hold their referents.

    Sentences of the embedded world with a man and a woman; patterns (tells, asks, is waiting for) are held
    out in turn. A head is right if the pronoun attends to its referent more than to the other person.

    >>> referents(model, text="小明说他喜欢游泳").attention

    Args:
        model: the folder of a model with attention
        text: show the attention of the pronoun in this text by the best head
        output: draw heads and layers, as .png, or as a page, as .html

    Examples:
        inlaid referents model
        inlaid referents model --language zh -o referents.png
    """
    settings = settings or ReferentsSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("A picture of referents"), overwrite=overwrite)
    if text is not None:
        find_pronoun(text)  # an error comes before the work
    language = settings.language or language_of_words(model)
    items = _twice(world.truth(language).referents)
    found = _measured(loaded, items, language, settings, report)
    if text is not None:
        found = replace(
            found, text=text, attention=tuple(pronoun_attention(loaded, text, found.heads[0].who))
        )
    if output is not None:
        from inlaid.study.probe.referents_pictures import drawn

        found = replace(found, output=str(output))
        figures.write(output, drawn(found, output.suffix.lower(), report))
    return found


def _twice(asked: Sequence[Referent]) -> list[Referent]:
    """Each sentence, then the same with the other pronoun, which means the other person."""
    items = list[Referent]()
    for each in asked:
        start, end = each.pronoun
        pronoun = OTHER.get(each.sentence[start:end].lower())
        if pronoun is None:
            continue
        text = each.sentence[:start] + pronoun + each.sentence[end:]
        grown = len(pronoun) - (end - start)
        spans = [_moved(span, start, grown) for span in (each.other, each.referent)]
        items += [each, Referent(text, Span(start, start + len(pronoun)), *spans)]
    return items


def _moved(span: Span, start: int, grown: int) -> Span:
    return Span(span.start + grown, span.end + grown) if span.start > start else span


def pattern_of(item: Referent) -> str:
    """What stands between the two people, without articles."""
    first, second = sorted((item.referent, item.other))
    return " ".join(DETERMINERS.sub(" ", item.sentence[first.end : second.start]).split())


def _measured(
    model: Any, items: Sequence[Referent], language: Language, settings: ReferentsSettings, report: Report
) -> Referents:
    patterns = np.array([pattern_of(each) for each in items])
    right = head_answers(model, items, report)
    layers, heads = right.shape[1:]
    flat = right.reshape(len(items), -1)
    chosen = np.zeros(len(items))
    states = states_of(model, [Usage(each.sentence, each.pronoun) for each in items], report)
    first = np.array([int(each.referent < each.other) for each in items])
    probed = np.zeros((len(items), states.table.shape[1]))
    for pattern in np.unique(patterns).tolist():
        held = patterns == pattern
        chosen[held] = flat[held, flat[~held].mean(axis=0).argmax()]
        for layer in range(probed.shape[1]):
            rows = states.table[:, layer].astype(np.float64)
            guesses = classify(rows[~held], first[~held], rows[held], classes=2)
            probed[held, layer] = guesses == first[held]
    names = [f"{layer}.{head}" for layer in range(layers) for head in range(heads)]
    scores = [_score(name, flat[:, place], settings.seed) for place, name in enumerate(names)]
    return Referents(
        model=model_line(model),
        seed=settings.seed,
        language=language,
        sentences=len(items),
        patterns=tuple(np.unique(patterns).tolist()),
        heads=tuple(sorted(scores, key=lambda each: -each.accuracy)),
        best_head=_score(BEST_HEAD, chosen, settings.seed),
        probes=tuple(
            _score(f"{PROBE} {layer}", probed[:, layer], settings.seed) for layer in range(probed.shape[1])
        ),
    )


def _score(who: str, right: np.ndarray, seed: int) -> ReferentScore:
    """A sentence and its twin are one item of the bootstrap."""
    low, high = by_group(right, np.arange(len(right)) // 2, seed)
    return ReferentScore(
        who, float(right.mean()), low, high, float(right[::2].mean()), float(right[1::2].mean())
    )


def head_answers(model: Any, items: Sequence[Referent], report: Report = silent) -> np.ndarray:
    """(item, layer, head): 1 where the pronoun attends to its referent more than to the other person, half
    where as much."""
    found = list[np.ndarray]()
    for number, item in enumerate(items, 1):
        weights, spans = attention_of(model, item.sentence)
        rows = weights[:, :, _inside(spans, item.pronoun)].mean(axis=2)
        sums = [rows[:, :, _inside(spans, span)].sum(axis=2) for span in (item.referent, item.other)]
        found.append((np.sign(sums[0] - sums[1]) + 1) / 2)
        if number % 50 == 0:
            report(Progress("attention", number, len(items), "sentences"))
    return np.stack(found)


def attention_of(model: Any, text: str) -> tuple[np.ndarray, list[Span]]:
    """The attention weights (layer, head, query, key) of a text, and where its tokens are."""
    weights = model.attention(text).weights
    encoding = model.tokenizer.encode_batch([text])[0]
    spans = [Span(*span) for span in encoding.offsets]
    return np.stack([weights[layer] for layer in sorted(weights)]), spans


def _inside(spans: Sequence[Span], wanted: Span) -> list[int]:
    return [place for place, each in enumerate(spans) if each.start < wanted.end and each.end > wanted.start]


def find_pronoun(text: str) -> Token:
    """The first pronoun of a text."""
    for token in Word(dictionary=PRONOUNS).tokenize(text):
        if token.text.lower() in PRONOUNS:
            return token
    raise SettingError(
        "The text has no pronoun: {pronouns}. Write one with a pronoun.", pronouns=Listed(PRONOUNS)
    )


def pronoun_attention(model: Any, text: str, head: str) -> list[WordWeight]:
    """What the first pronoun of a text attends to by one head, word by word."""
    asked = find_pronoun(text)
    weights, spans = attention_of(model, text)
    layer, number = map(int, head.split("."))
    row = weights[layer, number, _inside(spans, Span(asked.start, asked.end))].mean(axis=0)
    return [
        WordWeight(each.text, float(row[_inside(spans, Span(each.start, each.end))].sum()))
        for each in Word(dictionary=PRONOUNS).tokenize(text)
    ]
