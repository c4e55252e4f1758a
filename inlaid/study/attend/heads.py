"""`inlaid heads`: attention heads named by what they do, each with a score against chance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from inlaid.collect import world
from inlaid.config import Fraction, Range, Seed, check
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.messages import LANGUAGES, Language, Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Note, Progress, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.attend.pair_heads import measured_cross, measured_decoder, readable, translated
from inlaid.study.attend.patterns import (
    AT_LEAST,
    Link,
    Measured,
    Sentence,
    measured_links,
    measured_places,
)
from inlaid.study.attend.reading import Reading, is_punctuation, read_text
from inlaid.study.attend.relations import Linked, relations
from inlaid.study.attend.weights import PARTS, Part, run, with_attention
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.study.evaluate.statistics import Interval, interval, mean
from inlaid.study.use.encoding import UNKNOWN, token_id
from inlaid.study.use.texts import texts_of

if TYPE_CHECKING:
    from inlaid.neural.model import Model

WORLD = "world"
SHORTEST = 6
LONGEST = 14
"""Tokens of a random sequence that is repeated: its lengths vary, so that a fixed distance does not hit."""
EXAMPLES = 3
SMALLEST_P = 1e-15
NAMES = {
    "object": Message("object to verb"),
    "pronoun": Message("pronoun to referent"),
    "category": Message("word to category"),
    "contrast": Message("contrast"),
}
"""What relations are called; other patterns are called as they are."""


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

    def _cells(self, each: NamedHead) -> tuple[str, ...]:
        name = f"{each.name} ({each.language})" if each.language else each.name
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
                    "pattern": shown_name(each.pattern),
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

    Examples:
        inlaid heads model
        inlaid heads model --text text.txt --language zh -o heads.png
    """
    settings = settings or HeadsSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("A table of heads"), overwrite=overwrite)
    made = _Sample(loaded, settings, text, report).heads(output)
    if output is not None:
        from inlaid.study.attend.heads_pictures import write_heads

        write_heads(made, output, report)
    return made


class _Sample:
    """The sentences that the heads of a model are measured on."""

    def __init__(self, model: Model, settings: HeadsSettings, text: str, report: Report) -> None:
        self.model = model
        self.settings = settings
        self.text = text
        self.report = report
        self.part: Part = _part_of(model, settings.part)
        self.unknown = {token_id(model.tokenizer, name) for name in UNKNOWN} - {None}
        self.words = Word(dictionary=world.dictionary(), force_dictionary=True)
        self.asked: tuple[Language, ...] = LANGUAGES
        if settings.language != "both":
            self.asked = (settings.language,)
        self.done = 0

    def heads(self, output: Path | None) -> Heads:
        found = self._of_decoder() if self._writes else self._of_text()
        if not found:
            raise SettingError(
                "No pattern could be measured: the text has too few sentences that this model can read; "
                "{least} are needed.",
                least=AT_LEAST,
            )
        return self._named(found, output)

    @property
    def _writes(self) -> bool:
        """Whether the part reads what the model generates."""
        return self.model.config.kind == "seq2seq" and self.part != "encoder"

    def _of_decoder(self) -> list[tuple[Measured, Sequence[Any]]]:
        count = self.settings.sentences
        lines = itertools.islice(self._lines(), 50 * count)
        sentences = translated(self.model, readable(lines, self._read), count, self.words, self.report)
        if self.part == "decoder":
            return measured_decoder(sentences)
        return measured_cross(sentences, aligned=self.text == WORLD, seed=self.settings.seed)

    def _of_text(self) -> list[tuple[Measured, Sequence[Any]]]:
        found: list[tuple[Measured, Sequence[Any]]] = []
        sentences = self._sentences()
        found += [(each, sentences) for each in measured_places(sentences)]
        for name, links in self._repeated(sentences).items():
            measured = measured_links(name, "", links)
            if measured is not None:
                found.append((measured, links))
        if self.text == WORLD:
            found += self._relations()
        return found

    def _named(self, found: list[tuple[Measured, Sequence[Any]]], output: Path | None) -> Heads:
        flat = np.concatenate([each.p.ravel() for each, _ in found])
        adjusted = np.split(benjamini_hochberg(flat), np.cumsum([each.p.size for each, _ in found])[:-1])
        shaped = [one.reshape(each.p.shape) for one, (each, _) in zip(adjusted, found, strict=True)]
        named: list[NamedHead] = []
        for (each, items), rates in zip(found, shaped, strict=True):
            passed = (each.above >= self.settings.at_least) & (rates <= self.settings.false_discovery)
            named += [
                self._name(each, items, rates, layer, head) for layer, head in np.argwhere(passed).tolist()
            ]
        named.sort(key=lambda each: (each.layer, each.head, -each.above))
        layers, heads = found[0][0].score.shape
        return Heads(
            part=self.part,
            layers=layers,
            heads=heads,
            named=tuple(named),
            measured=tuple(each for each, _ in found),
            adjusted=tuple(shaped),
            settings=self.settings,
            text=self.text,
            output=output,
        )

    def _name(
        self, measured: Measured, items: Sequence[Any], rates: np.ndarray, layer: int, head: int
    ) -> NamedHead:
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
            name=shown_name(measured.pattern),
            language=measured.language,
            score=float(scores.mean()),
            interval=interval(scores[:, None], mean, seed=self.settings.seed),
            chance=float(measured.chance[layer, head]),
            above=float(measured.above[layer, head]),
            adjusted_p=float(rates[layer, head]),
            sentences=len(scores),
            examples=examples,
        )

    # --- sentences

    def _read(self, text: str) -> Reading | None:
        """The sentence, if the model knows all its tokens."""
        try:
            reading = read_text(self.model, text, silent, tokenizer=self.words)
        except SettingError:  # unknown to the tokenizer as a whole, or too long
            return None
        return None if self.unknown & set(reading.ids) else reading

    def _weights(self, reading: Reading) -> np.ndarray:
        self.done += 1
        self.report(Progress("measuring", self.done, None, "sentences"))
        return run(self.model, reading, None)[self.part]

    def _lines(self) -> Iterator[str]:
        if self.text != WORLD:
            yield from texts_of((), Path(self.text), "text", self.report)
            return
        sides = [world.sentences(each, words=100_000, seed=self.settings.seed) for each in self.asked]
        for together in zip(*sides, strict=False):
            yield from together

    def _sentences(self) -> list[Sentence]:
        found: list[Sentence] = []
        left_out = 0
        lines = (line for line in self._lines() if line.strip())
        for line in itertools.islice(
            dict.fromkeys(itertools.islice(lines, 50 * self.settings.sentences)), None
        ):
            reading = self._read(line)
            if reading is None or len(reading.ids) < 3:
                left_out += 1
                continue
            special = reading.special[reading.groups]
            delimiter = special | np.array([is_punctuation(token) for token in reading.tokens])
            weights = self._weights(reading)
            found.append(Sentence(line, weights, special, delimiter, self.part == "decoder"))
            if len(found) == self.settings.sentences:
                break
        if left_out:
            self.report(
                Note(
                    "{count:,} sentences are left out: they have tokens unknown to this model, or too few or "
                    "too many.",
                    count=left_out,
                )
            )
        if not found:
            raise SettingError("This model can read no sentence of the text. Give a text of its language.")
        return found

    # --- random sequences, repeated

    def _repeated(self, sentences: Sequence[Sentence]) -> dict[str, list[Link]]:
        """Random tokens of the text, the same ones again: what follows a token the first time follows it the
        second time, and no word or grammar says so (Olsson et al. 2022)."""
        reading = self._read(sentences[0].text)
        assert reading is not None
        added = reading.special[reading.groups]
        own = np.flatnonzero(~added)
        before = [reading.ids[place] for place in range(int(own[0]))]
        after = [reading.ids[place] for place in range(int(own[-1]) + 1, len(reading.ids))]
        ids = self._plain_ids(sentences)
        limit = self.model.config.max_length
        longest = LONGEST if limit is None else min(LONGEST, (limit - len(before) - len(after)) // 2)
        longest = min(longest, len(ids))
        if longest < SHORTEST:
            return {}
        rng = Random(self.settings.seed)
        found: dict[str, list[Link]] = {"same word": [], "induction": []}
        for _ in range(self.settings.sentences):
            length = SHORTEST + int(rng.random() * (longest - SHORTEST + 1))
            drawn = sorted(ids, key=lambda _: rng.random())[:length]
            sequence = [*before, *drawn, *drawn, *after]
            weights = self._weights(_of_ids(self.model, sequence))
            for name, distance in (("same word", -length), ("induction", 1 - length)):
                found[name].append(self._link(drawn, weights, len(before), distance))
        return found

    def _plain_ids(self, sentences: Sequence[Sentence]) -> list[int]:
        """The tokens of the text, without special ones and punctuation, in a fixed order."""
        found: dict[int, None] = {}
        for sentence in sentences:
            reading = self._read(sentence.text)
            assert reading is not None
            found.update(
                (id, None) for id, ends in zip(reading.ids, sentence.delimiter, strict=True) if not ends
            )
        return sorted(found)[:2000]

    def _link(self, drawn: list[int], weights: np.ndarray, start: int, distance: int) -> Link:
        """The second time, from its second token: the first one may follow anything."""
        length = len(drawn)
        places = np.arange(start + length, start + 2 * length)
        last = places if self.part == "decoder" else np.full(len(places), start + 2 * length - 1)
        tokens = [self.model.tokenizer.id_to_token(id) for id in drawn]
        text = " ".join(map(str, (*tokens, *tokens)))
        shown = f"{tokens[1]} → {tokens[1 if distance == -length else 2]}"
        return Link(text, shown, weights[:, :, places], places, start, last, distance)

    # --- relations of the world

    def _relations(self) -> list[tuple[Measured, Sequence[Any]]]:
        found: list[tuple[Measured, Sequence[Any]]] = []
        for language in self.asked:
            known = relations(language, self.settings.sentences, self.settings.seed)
            for name, linked in known.items():
                links = [link for each in linked if (link := self._word_link(each)) is not None]
                measured = measured_links(name, language, links)
                if measured is not None:
                    found.append((measured, links))
        return found

    def _word_link(self, linked: Linked) -> Link | None:
        """The attention between words; None if the model cannot read the sentence, or see the key."""
        reading = self._read(linked.sentence)
        if reading is None:
            return None
        query = _word_at(reading, linked.query)
        key = _word_at(reading, linked.key)
        causal = self.part == "decoder"
        if query is None or key is None or query == key or (causal and key > query):
            return None
        rows = reading.merged_rows(reading.merged_columns(self._weights(reading)))
        own = np.flatnonzero(~reading.special)
        last = query if causal else int(own[-1])
        shown = f"{reading.words[query]} → {reading.words[key]}"
        return Link(
            linked.sentence,
            shown,
            rows[:, :, [query]],
            np.array([query]),
            int(own[0]),
            np.array([last]),
            key - query,
        )


def _part_of(model: Model, asked: Part | None) -> Part:
    """The part that is asked for, if the model has it."""
    known: dict[str, tuple[Part, ...]] = {"seq2seq": PARTS, "decoder": ("decoder",)}
    parts = known.get(model.config.kind, ("encoder",))
    if asked is not None and asked not in parts:
        raise SettingError(
            "This model has no {part} attention; it has: {known}.", part=asked, known=", ".join(parts)
        )
    return asked or parts[0]


def _shown_p(p: float) -> str:
    """Tails far out are those of no real distribution."""
    return f"{p:.1e}" if p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"


def shown_name(pattern: str) -> str:
    return str(NAMES.get(pattern, pattern))


def _word_at(reading: Reading, span: tuple[int, int]) -> int | None:
    """The last word of the reading that a span overlaps."""
    found = [
        place
        for place, (start, end) in enumerate(reading.spans)
        if start < span[1] and end > span[0] and not reading.special[place]
    ]
    return found[-1] if found else None


def _of_ids(model: Model, ids: list[int]) -> Reading:
    tokens = tuple(str(model.tokenizer.id_to_token(id)) for id in ids)
    numbers = np.arange(len(ids))
    special = np.zeros(len(ids), bool)
    return Reading("", ids, [0] * len(ids), tokens, tokens, numbers, special, ((0, 0),) * len(ids))
