"""The grammar of the embedded world: lexicons, and frames whose slots they fill.

The first lines of `world.toml` explain how lexicons and frames are written. This module reads them and draws
sentences from them.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import accumulate, product
from random import Random
from typing import Any, NamedTuple, TypeVar

from inlaid.collect.english import Inflection
from inlaid.messages import LANGUAGES, Language

Item = TypeVar("Item")
ByLanguage = Mapping[Language, Item]

PUNCTUATION = "。，？！.,?!"


@dataclass(frozen=True)
class Pair:
    """One sentence, or one word, in both languages."""

    zh: str
    en: str


@dataclass(frozen=True)
class Concept:
    """One meaning and its words. A word with two meanings is two concepts, in two fields."""

    field: str
    zh: str
    en: str


class Mention(NamedTuple):
    """A concept that a slot expresses in one language, and the form it has there, such as `cats`."""

    concept: Concept
    language: Language
    text: str


@dataclass(frozen=True)
class Entry:
    """A line of a lexicon: the text of each slot key, such as `capital` or `young.s`; "" is the word."""

    text: ByLanguage[Mapping[str, str]]
    concepts: Mapping[str, Concept]
    phrases: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict[str, tuple[Pair, ...]])
    """The phrases that go with the word, such as what a doctor does; they may have slots of their own."""

    def with_head(self, column: str) -> Entry:
        """The entry with another column as its word: the entry of the king becomes the entry of the queen."""
        text: ByLanguage[Mapping[str, str]] = {
            language: {**forms, **_below(column, forms)} for language, forms in self.text.items()
        }
        return Entry(text, {**self.concepts, **_below(column, self.concepts)}, self.phrases)


Lexicons = Mapping[str, Sequence[Entry]]


@dataclass(frozen=True)
class Filler:
    """An entry as used by one variable of a frame: the strings for its slots, in slot order."""

    entry: Entry
    words: frozenset[str]
    """The Chinese words it names, so that no sentence names one twice."""
    zh: tuple[str, ...]
    en: tuple[str, ...]
    weight: float
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class Variable:
    """Slots filled from the same entry, such as {country} and {country.capital}."""

    name: str
    fillers: tuple[Filler, ...]
    cumulative_weights: tuple[float, ...]
    """The cumulative weights of the fillers."""


@dataclass(frozen=True)
class Frame:
    """A sentence with slots: a `str.format` template per language, over the strings of all variables."""

    zh: str
    en: str
    variables: tuple[Variable, ...]
    weight: float = 0.0
    pronoun: str = ""
    """The slot of a pronoun that refers to its own variable, such as `who.he`; empty if there is none."""
    section: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Grammar:
    """The content of `world.toml`, ready for drawing sentences."""

    concepts: tuple[Concept, ...]
    dictionary: tuple[str, ...]
    frames: tuple[Frame, ...]
    relations: Mapping[str, list[tuple[Entry, str]]]
    """For each relation, the entries that have it and the key of the other word."""
    subjects: Mapping[str, str]
    """For each field, the subject of its section."""


@cache
def grammar() -> Grammar:
    """The grammar, read when it is first needed."""
    return parsed(files(__package__).joinpath("world.toml").read_text(encoding="utf-8"))


def parsed(text: str) -> Grammar:
    """The grammar that a text like `world.toml` describes."""
    data = tomllib.loads(text)
    english = Inflection.of(data.pop("english"))
    groups = data.pop("groups")
    lexicons = {name: list(_entries(name, section, english)) for name, section in data.items()}
    pools = lexicons | {name: list(_members(lexicons, members)) for name, members in groups.items()}
    builder = _Builder(pools, english)
    frames = tuple(frame for name, section in data.items() for frame in _frames(name, section, builder))
    meanings = dict.fromkeys(
        c for lexicon in lexicons.values() for entry in lexicon for c in entry.concepts.values()
    )
    return Grammar(
        concepts=tuple(concept for concept in meanings if is_word(concept.zh, concept.en)),
        dictionary=tuple(sorted(_chinese_words(frames))),
        frames=frames,
        relations=_relations(data, lexicons),
        subjects={
            concept.field: data[name]["subject"]
            for name, lexicon in lexicons.items()
            for entry in lexicon[:1]
            for concept in entry.concepts.values()
        },
    )


# ---- Reading lexicons


def _entries(name: str, section: Mapping[str, Any], english: Inflection) -> Iterator[Entry]:
    """The lines of a lexicon; indented lines hold the phrases of the word above them."""
    fields = {"": section.get("field", name), **section.get("fields", {})}
    heads = section.get("columns", "").split()
    for block in re.split(r"\n(?=\S)", section.get("words", "").strip()):
        line, *below = block.splitlines() or [""]
        if not line:
            continue
        cells = dict(zip(heads, (cell.replace("_", " ") for cell in line.split()), strict=True))
        shared = {head: _with_cells(text, cells) for head, text in section.get("every", {}).items()}
        yield _entry({**cells, **shared}, fields, english, dict(map(_phrases, below)))


def _with_cells(text: str, cells: Mapping[str, str]) -> str:
    """`那 {m} {zh}` with the cells of an entry: `那 只 猫`."""
    return re.sub(r"{([\w.]+)}", lambda found: cells[found[1]], text)


def _phrases(line: str) -> tuple[str, tuple[Pair, ...]]:
    """`act: 吃 鱼 / eat fish | 捉 老鼠 / catch mice` as its name and its pairs."""
    name, _, listed = line.strip().partition(": ")
    return name, tuple(
        Pair(*(side.strip() for side in each.split("/"))) for each in re.split(r"\|(?![^()]*\))", listed)
    )


def _entry(
    cells: Mapping[str, str],
    fields: Mapping[str, str],
    english: Inflection,
    phrases: Mapping[str, tuple[Pair, ...]],
) -> Entry:
    text: dict[Language, dict[str, str]] = {"zh": {}, "en": {}}
    for head, cell in cells.items():
        column, _, kind = head.rpartition(".")
        if kind == "en":
            text["en"] = {column: cell, **english.forms(cell, column), **text["en"]}
        elif kind == "zh":
            text["zh"][column] = cell
        elif kind == "m":  # the measure word is the only form Chinese has
            text["zh"][head] = cell
        else:
            text["en"][head] = cell
    meanings = {c: Concept(field, text["zh"][c], text["en"][c]) for c, field in fields.items() if field}
    return Entry(text, meanings, phrases)


def _below(column: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """The items of `column`, with that part of their keys removed."""
    return {
        key[len(column) :].lstrip("."): item for key, item in items.items() if key.split(".")[0] == column
    }


def _members(lexicons: Lexicons, names: Iterable[str]) -> Iterator[Entry]:
    for name in names:
        lexicon, _, column = name.partition(".")
        yield from (entry.with_head(column) if column else entry for entry in lexicons[lexicon])


# ---- Building frames


def _frames(name: str, section: Mapping[str, Any], builder: _Builder) -> Iterator[Frame]:
    """The frames of a section share its weight: by default, one for each word of the section."""
    blocks = [block.splitlines() for block in section.get("frames", "").strip().split("\n\n") if block]
    options = [dict(line.split(": ") for line in block[2:]) for block in blocks]
    weights = [float(option.get("weight", 1)) for option in options]
    shown = len(re.findall(r"(?m)^\S", section.get("words", ""))) * (1 + len(section.get("fields", {})))
    share = section.get("share", shown) / sum(weights) if blocks else 0
    for (zh, en, *_), option, weight in zip(blocks, options, weights, strict=True):
        yield replace(
            builder.frame(Pair(zh, en)),
            weight=share * weight,
            pronoun=option.get("referent", ""),
            section=name,
            subject=section["subject"],
        )


@dataclass(frozen=True)
class _Builder:
    """Turns lines with slots into frames whose slots are filled from `pools`."""

    pools: Lexicons
    english: Inflection

    def frame(self, lines: Pair) -> Frame:
        lines, choices = _choices_named(lines)
        slots: ByLanguage[list[tuple[str, str]]] = {"zh": _slots(lines.zh), "en": _slots(lines.en)}
        names = list(dict.fromkeys(name for name, _ in slots["zh"] + slots["en"]))
        return Frame(
            zh=_template(lines.zh, slots["zh"], names),
            en=_template(lines.en, slots["en"], names),
            variables=tuple(self._variable(name, slots, choices) for name in names),
        )

    def _variable(
        self, name: str, slots: ByLanguage[list[tuple[str, str]]], choices: Mapping[str, list[Entry]]
    ) -> Variable:
        """Rows that lack a key of the frame do not fill it."""
        keys: ByLanguage[list[str]] = {
            side: [key for owner, key in slots[side] if owner == name] for side in LANGUAGES
        }
        entries = choices.get(name) or self.pools[name.rstrip("0123456789")]
        fillers = tuple(filler for entry in entries for filler in self._fillers(entry, keys))
        if not fillers:
            raise LookupError(f"No entry of {name} has all of {keys}.")
        return Variable(name, fillers, tuple(accumulate(filler.weight for filler in fillers)))

    def _fillers(self, entry: Entry, keys: ByLanguage[list[str]]) -> Iterator[Filler]:
        """The entry once for each combination of its phrases that the keys ask for; together they weigh 1."""
        used = dict.fromkeys(key.split(".")[0] for side in LANGUAGES for key in keys[side])
        columns = [column for column in used if column in entry.phrases]
        for phrases in product(*(self._spelled(entry.phrases[column]) for column in columns)):
            zh = dict(entry.text["zh"])
            en = dict(entry.text["en"])
            weight = 1.0
            for column, phrase in zip(columns, phrases, strict=True):
                zh[column] = phrase.zh[0]
                en.update({column: phrase.en[0], **self.english.forms(phrase.en[0], column)})
                weight *= phrase.weight
            if all(key in zh for key in keys["zh"]) and all(key in en for key in keys["en"]):
                mentions = (
                    *_mentions(entry, keys),
                    *(each for phrase in phrases for each in phrase.mentions),
                )
                yield Filler(
                    entry=entry,
                    words=frozenset({zh[""]}).union(*(phrase.words for phrase in phrases)),
                    zh=tuple(zh[key] for key in keys["zh"]),
                    en=tuple(en[key] for key in keys["en"]),
                    weight=weight,
                    mentions=mentions,
                )

    def _spelled(self, phrases: tuple[Pair, ...]) -> list[Filler]:
        """Each phrase with its own slots filled in every way; all phrases together weigh 1."""
        return [each for phrase in phrases for each in self._in_every_way(phrase, 1 / len(phrases))]

    def _in_every_way(self, phrase: Pair, weight: float) -> Iterator[Filler]:
        frame = self.frame(phrase)
        total = 1.0
        for variable in frame.variables:
            total *= variable.cumulative_weights[-1]
        for fillers in product(*(variable.fillers for variable in frame.variables)):
            share = weight / total
            for filler in fillers:
                share *= filler.weight
            zh, en = _formatted(frame, fillers)
            yield Filler(
                entry=Entry({"zh": {}, "en": {}}, {}),
                words=frozenset().union(*(filler.words for filler in fillers)),
                zh=(zh,),
                en=(en,),
                weight=share,
                mentions=tuple(each for filler in fillers for each in filler.mentions),
            )


def _mentions(entry: Entry, keys: ByLanguage[list[str]]) -> Iterator[Mention]:
    """The concepts that the slots of an entry express; `a cat` counts as `cat`."""
    for side in LANGUAGES:
        for key in keys[side]:
            head, _, last = key.rpartition(".")
            column = key if key in entry.concepts else head
            if column in entry.concepts and (column == key or last in Inflection.KINDS):
                yield Mention(
                    entry.concepts[column], side, entry.text[side][column if last == "a" else key].lower()
                )


def _choices_named(lines: Pair) -> tuple[Pair, dict[str, list[Entry]]]:
    """Each `(a|b|c)` as a slot; the n-th choice in Chinese corresponds to the n-th in English."""
    zh = re.split(r"\(([^)]*)\)", lines.zh)
    en = re.split(r"\(([^)]*)\)", lines.en)
    if [text.count("|") for text in zh[1::2]] != [text.count("|") for text in en[1::2]]:
        raise ValueError(f"The choices of these lines do not correspond: {lines.zh} / {lines.en}")
    pools: dict[str, list[Entry]] = {}
    for n in range(1, len(zh), 2):  # the text in brackets is at the odd indices
        name = "choice" + "_" * n
        offered = zip(zh[n].split("|"), en[n].split("|"), strict=True)
        pools[name] = [Entry({"zh": {"": a}, "en": {"": b}}, {}) for a, b in offered]
        zh[n] = f"{{{name}}}"
        en[n] = f"{{{name}}}"
    return Pair("".join(zh), "".join(en)), pools


def _slots(line: str) -> list[tuple[str, str]]:
    """The variable and the key of each slot: `{beast.young.s}` is ("beast", "young.s")."""
    return re.findall(r"{(\w+)\.?([\w.]*)}", line)


def _template(line: str, slots: list[tuple[str, str]], names: list[str]) -> str:
    """`line` with the index of its string in each slot; the strings of all variables are concatenated."""
    order = sorted(range(len(slots)), key=lambda n: names.index(slots[n][0]))
    places = iter(sorted(range(len(slots)), key=order.__getitem__))
    return re.sub(r"{[^}]*}", lambda _: f"{{{next(places)}}}", line)


def _chinese_words(frames: Iterable[Frame]) -> set[str]:
    """The words between the slots, and all words that may fill a slot."""
    texts = [re.sub(r"{\d+}", " ", frame.zh) for frame in frames]
    variables = [variable for frame in frames for variable in frame.variables]
    texts += [text for variable in variables for filler in variable.fillers for text in filler.zh]
    return {word for text in texts for word in tokens(text)}


def _relations(data: Mapping[str, Any], lexicons: Lexicons) -> dict[str, list[tuple[Entry, str]]]:
    relations: dict[str, list[tuple[Entry, str]]] = {}
    for name, section in data.items():
        for key, relation in section.get("relations", {}).items():
            relations.setdefault(relation, []).extend((entry, key) for entry in lexicons[name])
    return relations


# ---- Drawing. Only `Random.random` is used: it gives the same numbers on every version and platform


def drawn(rng: Random) -> Iterator[tuple[Frame, list[Filler]]]:
    """Frames by their weights, with their fillers, without end."""
    frames = grammar().frames
    cumulative_weights = list(accumulate(frame.weight for frame in frames))
    while True:
        frame = frames[bisect(cumulative_weights, rng.random() * cumulative_weights[-1])]
        yield frame, fill(frame, rng)


def pairs_with_spaces(seed: int) -> Iterator[tuple[str, str]]:
    """Endless sentence pairs, with spaces between the Chinese words."""
    return (write(frame, fillers) for frame, fillers in drawn(Random(seed)))


def fill(frame: Frame, rng: Random, given: Mapping[str, Filler] | None = None) -> list[Filler]:
    """A filler for each variable of a frame, no word twice; `given` holds those already chosen."""
    given = given or {}
    used = {word for filler in given.values() for word in filler.words}
    chosen: list[Filler] = []
    for variable in frame.variables:
        filler = given.get(variable.name) or pick(variable, rng, used)
        used |= filler.words
        chosen.append(filler)
    return chosen


def pick(variable: Variable, rng: Random, used: set[str]) -> Filler:
    cumulative_weights = variable.cumulative_weights
    while True:
        filler = variable.fillers[bisect(cumulative_weights, rng.random() * cumulative_weights[-1])]
        if used.isdisjoint(filler.words):
            return filler


def write(frame: Frame, fillers: Sequence[Filler]) -> tuple[str, str]:
    zh, en = _formatted(frame, fillers)
    return zh, en[0].upper() + en[1:]


def _formatted(frame: Frame, fillers: Sequence[Filler]) -> tuple[str, str]:
    zh = frame.zh.format(*[text for filler in fillers for text in filler.zh])
    en = frame.en.format(*[text for filler in fillers for text in filler.en])
    return zh, en


def until(words: int, measured: Iterable[tuple[Item, int]]) -> Iterator[Item]:
    """Items until the sum of their lengths is at least `words`."""
    for item, length in measured:
        yield item
        words -= length
        if words <= 0:
            return


def plain(text: str, language: Language) -> str:
    return unspaced(text) if language == "zh" else text


def unspaced(text: str) -> str:
    return text.replace(" ", "")


def length(text: str) -> int:
    return text.count(" ") + 1


def tokens(text: str) -> tuple[str, ...]:
    """The words of a spaced sentence, without punctuation, in lower case."""
    return tuple(re.sub(r"[。，？！.,?!]", " ", text).lower().split())


def is_word(*texts: str) -> bool:
    return not any(" " in text for text in texts)
