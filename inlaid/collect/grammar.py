"""The grammar of the embedded world: sheets of words, and frames whose slots they fill.

The first lines of `world.toml` explain how sheets and frames are written. This module reads them and draws
sentences from them.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, cycle, islice
from random import Random
from typing import Any, Literal, TypeVar, get_args

Language = Literal["zh", "en"]
Item = TypeVar("Item")
ByLanguage = Mapping[Language, Item]

LANGUAGES: tuple[Language, ...] = get_args(Language)
ENGLISH_FORMS = ("s", "a", "third", "past", "ing", "er")
LOANS = 30
"""Words for every row that borrows, so that a row with few words to borrow is as frequent as the others."""


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


@dataclass(frozen=True)
class Row:
    """A line of a sheet: the text of each slot key, such as `capital` or `young.s`; "" is the word."""

    text: ByLanguage[Mapping[str, str]]
    concepts: Mapping[str, Concept]

    def seen_from(self, column: str) -> Row:
        """The row with another column as its word: the row of the king becomes the row of the queen."""
        text: ByLanguage[Mapping[str, str]] = {
            language: {**forms, **_below(column, forms)} for language, forms in self.text.items()
        }
        return Row(text, {**self.concepts, **_below(column, self.concepts)})


Sheets = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Filling:
    """A row as used by one variable of a frame: the strings for its slots, in slot order."""

    row: Row
    word: str
    zh: tuple[str, ...]
    en: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """Slots filled from the same row, such as {country} and {country.capital}."""

    name: str
    keys: ByLanguage[tuple[str, ...]]
    fillings: tuple[Filling, ...]


@dataclass(frozen=True)
class Frame:
    """A sentence with slots: a `str.format` template per language, over the strings of all variables."""

    zh: str
    en: str
    variables: tuple[Variable, ...]
    weight: float
    pronoun: str
    """The slot of a pronoun that refers to its own variable, such as `who.he`; empty if there is none."""


@dataclass(frozen=True)
class Grammar:
    """The content of `world.toml`, ready for drawing sentences."""

    concepts: tuple[Concept, ...]
    dictionary: tuple[str, ...]
    frames: tuple[Frame, ...]
    relations: Mapping[str, list[tuple[Row, str]]]
    """For each relation, the rows that have it and the key of the other word."""


@cache
def grammar() -> Grammar:
    """The grammar, read when it is first needed."""
    data = tomllib.loads(files(__package__).joinpath("world.toml").read_text(encoding="utf-8"))
    groups = data.pop("groups")
    lenders = {name: list(_rows(name, section, {})) for name, section in data.items()}
    sheets = {name: list(_rows(name, section, lenders)) for name, section in data.items()}
    pools = sheets | {name: list(_members(sheets, members)) for name, members in groups.items()}
    frames = tuple(frame for section in data.values() for frame in _frames(section, pools))
    meanings = dict.fromkeys(c for sheet in sheets.values() for row in sheet for c in row.concepts.values())
    return Grammar(
        concepts=tuple(concept for concept in meanings if is_word(concept.zh, concept.en)),
        dictionary=tuple(sorted(_chinese_words(frames))),
        frames=frames,
        relations=_relations(data, sheets),
    )


def _rows(name: str, section: Mapping[str, Any], lenders: Sheets) -> Iterator[Row]:
    """The lines of a sheet. One that borrows words comes once for each of them, or once without lenders."""
    fields = {"": section.get("field", name), **section.get("fields", {})}
    heads = section.get("columns", "").split()
    for line in section.get("words", "").strip().splitlines():
        cells = dict(zip(heads, (cell.replace("_", " ") for cell in line.split()), strict=True))
        shared = section.get("every", {})
        yield from (_row({**cells, **shared, **loan}, fields) for loan in _loans(cells, lenders))


def _loans(cells: Mapping[str, str], lenders: Sheets) -> Iterator[dict[str, str]]:
    """The cells that replace one such as `object.from = clothes.s`, one word of that sheet after another."""
    sources = {head.removesuffix(".from"): cell for head, cell in cells.items() if head.endswith(".from")}
    if not (sources and lenders):
        yield {}
        return
    ((column, source),) = sources.items()
    sheet, _, key = source.partition(".")
    for row in islice(cycle(lenders[sheet]), LOANS):
        zh = row.text["zh"]
        en = row.text["en"]
        yield {f"{column}.zh": zh.get(key, zh[""]), f"{column}.en": en[key]}


def _row(cells: Mapping[str, str], fields: Mapping[str, str]) -> Row:
    text: dict[Language, dict[str, str]] = {"zh": {}, "en": {}}
    for head, cell in cells.items():
        column, _, kind = head.rpartition(".")
        if kind == "en":
            text["en"] = {column: cell, **_inflected(column, cell), **text["en"]}
        elif kind == "zh":
            text["zh"][column] = cell
        elif kind == "m":  # the measure word is the only form Chinese has
            text["zh"][head] = cell
        elif kind != "from":
            text["en"][head] = cell
    meanings = {c: Concept(field, text["zh"][c], text["en"][c]) for c, field in fields.items() if field}
    return Row(text, meanings)


def _inflected(column: str, word: str) -> dict[str, str]:
    """The regular English forms of a word; irregular ones have a column in the sheet."""
    stem = re.sub(r"(?<=[^aeiou])y$", "i", word)
    plural = stem + ("es" if stem != word or re.search(r"(s|x|z|ch|sh)$", word) else "s")
    past = stem + ("d" if word.endswith("e") else "ed")
    article = "an" if word[0].lower() in "aeiou" else "a"
    forms = {"s": plural, "third": plural, "past": past, "a": f"{article} {word}"}
    return {f"{column}.{form}".lstrip("."): text for form, text in forms.items()}


def _below(column: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """The items of `column`, with that part of their keys removed."""
    return {
        key[len(column) :].lstrip("."): item for key, item in items.items() if key.split(".")[0] == column
    }


def _members(sheets: Sheets, names: Iterable[str]) -> Iterator[Row]:
    for name in names:
        sheet, _, column = name.partition(".")
        yield from (row.seen_from(column) if column else row for row in sheets[sheet])


def _frames(section: Mapping[str, Any], pools: Sheets) -> Iterator[Frame]:
    """The frames of a section share its weight: by default, one for each word of the section."""
    blocks = [block.splitlines() for block in section.get("frames", "").strip().split("\n\n") if block]
    options = [dict(line.split(": ") for line in block[2:]) for block in blocks]
    weights = [float(option.get("weight", 1)) for option in options]
    shown = len(section.get("words", "").strip().splitlines()) * (1 + len(section.get("fields", {})))
    share = section.get("share", shown) / sum(weights) if blocks else 0
    for (zh, en, *_), option, weight in zip(blocks, options, weights, strict=True):
        yield _frame(Pair(zh, en), pools, share * weight, option.get("referent", ""))


def _frame(lines: Pair, pools: Sheets, weight: float, pronoun: str) -> Frame:
    lines, choices = _choices_named(lines)
    slots: ByLanguage[list[tuple[str, str]]] = {"zh": _slots(lines.zh), "en": _slots(lines.en)}
    names = list(dict.fromkeys(name for name, _ in slots["zh"] + slots["en"]))
    return Frame(
        zh=_template(lines.zh, slots["zh"], names),
        en=_template(lines.en, slots["en"], names),
        variables=tuple(_variable(name, slots, {**pools, **choices}) for name in names),
        weight=weight,
        pronoun=pronoun,
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


def _variable(name: str, slots: ByLanguage[list[tuple[str, str]]], pools: Sheets) -> Variable:
    keys: ByLanguage[tuple[str, ...]] = {
        side: tuple(key for owner, key in slots[side] if owner == name) for side in LANGUAGES
    }
    fillings = (
        Filling(
            row=row,
            word=row.text["zh"][""],
            zh=tuple(row.text["zh"][key] for key in keys["zh"]),
            en=tuple(row.text["en"][key] for key in keys["en"]),
        )
        for row in pools[name.rstrip("0123456789")]
    )
    return Variable(name, keys, tuple(fillings))


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


def pairs_with_spaces(seed: int) -> Iterator[tuple[str, str]]:
    """Endless sentence pairs, with spaces between the Chinese words."""
    rng = Random(seed)
    frames = grammar().frames
    heights = list(accumulate(frame.weight for frame in frames))
    while True:
        frame = frames[bisect(heights, rng.random() * heights[-1])]
        yield write(frame, fill(frame, rng))


def fill(frame: Frame, rng: Random, given: Mapping[str, Filling] | None = None) -> list[Filling]:
    """A filling for each variable of a frame, no word twice; `given` holds those already chosen."""
    given = given or {}
    used = {filling.word for filling in given.values()}
    chosen: list[Filling] = []
    for variable in frame.variables:
        filling = given.get(variable.name) or pick(variable.fillings, rng, used)
        used.add(filling.word)
        chosen.append(filling)
    return chosen


def pick(fillings: tuple[Filling, ...], rng: Random, used: set[str]) -> Filling:
    while True:
        filling = fillings[int(rng.random() * len(fillings))]
        if filling.word not in used:
            return filling


def write(frame: Frame, fillings: list[Filling]) -> tuple[str, str]:
    zh = frame.zh.format(*[text for filling in fillings for text in filling.zh])
    en = frame.en.format(*[text for filling in fillings for text in filling.en])
    return zh, en[0].upper() + en[1:]


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
