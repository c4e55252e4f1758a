"""The grammar of the embedded world: sheets of words, and frames whose slots they fill.

The first lines of `world.toml` explain how sheets and frames are written. This module reads them and draws
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
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from inlaid.collect.english import Inflection

Language = Literal["zh", "en"]
Item = TypeVar("Item")
ByLanguage = Mapping[Language, Item]

LANGUAGES: tuple[Language, ...] = get_args(Language)
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
class Row:
    """A line of a sheet: the text of each slot key, such as `capital` or `young.s`; "" is the word."""

    text: ByLanguage[Mapping[str, str]]
    concepts: Mapping[str, Concept]
    phrases: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict[str, tuple[Pair, ...]])
    """The phrases that go with the word, such as what a doctor does; they may have slots of their own."""

    def seen_from(self, column: str) -> Row:
        """The row with another column as its word: the row of the king becomes the row of the queen."""
        text: ByLanguage[Mapping[str, str]] = {
            language: {**forms, **_below(column, forms)} for language, forms in self.text.items()
        }
        return Row(text, {**self.concepts, **_below(column, self.concepts)}, self.phrases)


Sheets = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Filling:
    """A row as used by one variable of a frame: the strings for its slots, in slot order."""

    row: Row
    words: frozenset[str]
    """The Chinese words it names, so that no sentence names one twice."""
    zh: tuple[str, ...]
    en: tuple[str, ...]
    weight: float
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class Variable:
    """Slots filled from the same row, such as {country} and {country.capital}."""

    name: str
    fillings: tuple[Filling, ...]
    heights: tuple[float, ...]
    """The cumulative weights of the fillings."""


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
    relations: Mapping[str, list[tuple[Row, str]]]
    """For each relation, the rows that have it and the key of the other word."""
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
    sheets = {name: list(_rows(name, section, english)) for name, section in data.items()}
    pools = sheets | {name: list(_members(sheets, members)) for name, members in groups.items()}
    builder = _Builder(pools, english)
    frames = tuple(frame for name, section in data.items() for frame in _frames(name, section, builder))
    meanings = dict.fromkeys(c for sheet in sheets.values() for row in sheet for c in row.concepts.values())
    return Grammar(
        concepts=tuple(concept for concept in meanings if is_word(concept.zh, concept.en)),
        dictionary=tuple(sorted(_chinese_words(frames))),
        frames=frames,
        relations=_relations(data, sheets),
        subjects={
            concept.field: data[name]["subject"]
            for name, sheet in sheets.items()
            for row in sheet[:1]
            for concept in row.concepts.values()
        },
    )


# ---- Reading sheets


def _rows(name: str, section: Mapping[str, Any], english: Inflection) -> Iterator[Row]:
    """The lines of a sheet; indented lines hold the phrases of the word above them."""
    fields = {"": section.get("field", name), **section.get("fields", {})}
    heads = section.get("columns", "").split()
    for block in re.split(r"\n(?=\S)", section.get("words", "").strip()):
        line, *below = block.splitlines() or [""]
        if not line:
            continue
        cells = dict(zip(heads, (cell.replace("_", " ") for cell in line.split()), strict=True))
        shared = {head: _with_cells(text, cells) for head, text in section.get("every", {}).items()}
        yield _row({**cells, **shared}, fields, english, dict(map(_phrases, below)))


def _with_cells(text: str, cells: Mapping[str, str]) -> str:
    """`那 {m} {zh}` with the cells of a row: `那 只 猫`."""
    return re.sub(r"{([\w.]+)}", lambda found: cells[found[1]], text)


def _phrases(line: str) -> tuple[str, tuple[Pair, ...]]:
    """`act: 吃 鱼 / eat fish | 捉 老鼠 / catch mice` as its name and its pairs."""
    name, _, listed = line.strip().partition(": ")
    return name, tuple(
        Pair(*(side.strip() for side in each.split("/"))) for each in re.split(r"\|(?![^()]*\))", listed)
    )


def _row(
    cells: Mapping[str, str],
    fields: Mapping[str, str],
    english: Inflection,
    phrases: Mapping[str, tuple[Pair, ...]],
) -> Row:
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
    return Row(text, meanings, phrases)


def _below(column: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """The items of `column`, with that part of their keys removed."""
    return {
        key[len(column) :].lstrip("."): item for key, item in items.items() if key.split(".")[0] == column
    }


def _members(sheets: Sheets, names: Iterable[str]) -> Iterator[Row]:
    for name in names:
        sheet, _, column = name.partition(".")
        yield from (row.seen_from(column) if column else row for row in sheets[sheet])


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

    pools: Sheets
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
        self, name: str, slots: ByLanguage[list[tuple[str, str]]], choices: Mapping[str, list[Row]]
    ) -> Variable:
        """Rows that lack a key of the frame do not fill it."""
        keys: ByLanguage[list[str]] = {
            side: [key for owner, key in slots[side] if owner == name] for side in LANGUAGES
        }
        rows = choices.get(name) or self.pools[name.rstrip("0123456789")]
        fillings = tuple(filling for row in rows for filling in self._fillings(row, keys))
        if not fillings:
            raise LookupError(f"No row of {name} has all of {keys}.")
        return Variable(name, fillings, tuple(accumulate(filling.weight for filling in fillings)))

    def _fillings(self, row: Row, keys: ByLanguage[list[str]]) -> Iterator[Filling]:
        """The row once for each combination of its phrases that the keys ask for; together they weigh 1."""
        used = dict.fromkeys(key.split(".")[0] for side in LANGUAGES for key in keys[side])
        columns = [column for column in used if column in row.phrases]
        for phrases in product(*(self._spelled(row.phrases[column]) for column in columns)):
            zh = dict(row.text["zh"])
            en = dict(row.text["en"])
            weight = 1.0
            for column, phrase in zip(columns, phrases, strict=True):
                zh[column] = phrase.zh[0]
                en.update({column: phrase.en[0], **self.english.forms(phrase.en[0], column)})
                weight *= phrase.weight
            if all(key in zh for key in keys["zh"]) and all(key in en for key in keys["en"]):
                mentions = (*_mentions(row, keys), *(each for phrase in phrases for each in phrase.mentions))
                yield Filling(
                    row=row,
                    words=frozenset({zh[""]}).union(*(phrase.words for phrase in phrases)),
                    zh=tuple(zh[key] for key in keys["zh"]),
                    en=tuple(en[key] for key in keys["en"]),
                    weight=weight,
                    mentions=mentions,
                )

    def _spelled(self, phrases: tuple[Pair, ...]) -> list[Filling]:
        """Each phrase with its own slots filled in every way; all phrases together weigh 1."""
        return [each for phrase in phrases for each in self._in_every_way(phrase, 1 / len(phrases))]

    def _in_every_way(self, phrase: Pair, weight: float) -> Iterator[Filling]:
        frame = self.frame(phrase)
        total = 1.0
        for variable in frame.variables:
            total *= variable.heights[-1]
        for fillings in product(*(variable.fillings for variable in frame.variables)):
            share = weight / total
            for filling in fillings:
                share *= filling.weight
            zh, en = _formatted(frame, fillings)
            yield Filling(
                row=Row({"zh": {}, "en": {}}, {}),
                words=frozenset().union(*(filling.words for filling in fillings)),
                zh=(zh,),
                en=(en,),
                weight=share,
                mentions=tuple(each for filling in fillings for each in filling.mentions),
            )


def _mentions(row: Row, keys: ByLanguage[list[str]]) -> Iterator[Mention]:
    """The concepts that the slots of a row express; `a cat` counts as `cat`."""
    for side in LANGUAGES:
        for key in keys[side]:
            head, _, last = key.rpartition(".")
            column = key if key in row.concepts else head
            if column in row.concepts and (column == key or last in Inflection.KINDS):
                yield Mention(
                    row.concepts[column], side, row.text[side][column if last == "a" else key].lower()
                )


def _choices_named(lines: Pair) -> tuple[Pair, dict[str, list[Row]]]:
    """Each `(a|b|c)` as a slot; the n-th choice in Chinese corresponds to the n-th in English."""
    zh = re.split(r"\(([^)]*)\)", lines.zh)
    en = re.split(r"\(([^)]*)\)", lines.en)
    pools: dict[str, list[Row]] = {}
    for n in range(1, len(zh), 2):  # the text in brackets is at the odd indices
        name = "choice" + "_" * n
        offered = zip(zh[n].split("|"), en[n].split("|"), strict=True)
        pools[name] = [Row({"zh": {"": a}, "en": {"": b}}, {}) for a, b in offered]
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
    texts += [text for variable in variables for filling in variable.fillings for text in filling.zh]
    return {word for text in texts for word in tokens(text)}


def _relations(data: Mapping[str, Any], sheets: Sheets) -> dict[str, list[tuple[Row, str]]]:
    relations: dict[str, list[tuple[Row, str]]] = {}
    for name, section in data.items():
        for key, relation in section.get("relations", {}).items():
            relations.setdefault(relation, []).extend((row, key) for row in sheets[name])
    return relations


# ---- Drawing. Only `Random.random` is used: it gives the same numbers on every version and platform


def drawn(rng: Random) -> Iterator[tuple[Frame, list[Filling]]]:
    """Frames by their weights, with their fillings, without end."""
    frames = grammar().frames
    heights = list(accumulate(frame.weight for frame in frames))
    while True:
        frame = frames[bisect(heights, rng.random() * heights[-1])]
        yield frame, fill(frame, rng)


def pairs_with_spaces(seed: int) -> Iterator[tuple[str, str]]:
    """Endless sentence pairs, with spaces between the Chinese words."""
    return (write(frame, fillings) for frame, fillings in drawn(Random(seed)))


def fill(frame: Frame, rng: Random, given: Mapping[str, Filling] | None = None) -> list[Filling]:
    """A filling for each variable of a frame, no word twice; `given` holds those already chosen."""
    given = given or {}
    used = {word for filling in given.values() for word in filling.words}
    chosen: list[Filling] = []
    for variable in frame.variables:
        filling = given.get(variable.name) or pick(variable, rng, used)
        used |= filling.words
        chosen.append(filling)
    return chosen


def pick(variable: Variable, rng: Random, used: set[str]) -> Filling:
    heights = variable.heights
    while True:
        filling = variable.fillings[bisect(heights, rng.random() * heights[-1])]
        if used.isdisjoint(filling.words):
            return filling


def write(frame: Frame, fillings: Sequence[Filling]) -> tuple[str, str]:
    zh, en = _formatted(frame, fillings)
    return zh, en[0].upper() + en[1:]


def _formatted(frame: Frame, fillings: Sequence[Filling]) -> tuple[str, str]:
    zh = frame.zh.format(*[text for filling in fillings for text in filling.zh])
    en = frame.en.format(*[text for filling in fillings for text in filling.en])
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
