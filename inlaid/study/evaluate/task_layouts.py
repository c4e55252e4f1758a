"""The kind of task in a file, recognized by its first lines; the meaning of its columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inlaid.encode.chinese import HAN
from inlaid.messages import Message

SAMPLED = 50
"""Lines that are checked, the first of the file."""
ENOUGH = 0.9
"""The share of them that must fit a kind."""
LONG = 12
"""A cell without spaces and with more characters than this is a sentence, not a word."""

NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
"""Possessive throughout: otherwise a line of many numbers that does not match takes exponential time."""
LABEL = r"\d{1,3}|__label__\S+|[A-Z]+:[a-z]+"


@dataclass(frozen=True)
class Layout:
    """A kind of task and how its lines are split into columns."""

    kind: str
    expected: Message
    """What a line should be, for error messages."""
    delimiter: str | None = None
    """None: a regular expression splits the line."""
    header: bool = False
    columns: Mapping[str, int] = field(default_factory=dict[str, int])


SECTIONS = Layout("analogies", Message("': section' or four words"))
SPACED_PAIRS = Layout("word similarity", Message("two words and a number"))
SPACED_TEXTS = Layout("classification", Message("a label, a space and a text"))

HEADERS: dict[str, set[str]] = {
    "word1": {"word1", "word 1", "word_1"},
    "word2": {"word2", "word 2", "word_2"},
    "word3": {"word3", "word 3", "word_3"},
    "target": {"target", "word4"},
    "section": {"type", "section", "relation"},
    "score": {"score", "similarity", "human (mean)", "rating", "label"},
    "sentence1": {"sentence1", "sentence_1", "text_a", "question1"},
    "sentence2": {"sentence2", "sentence_2", "text_b", "question2"},
    "label": {"label", "class"},
    "text": {"text", "text_a", "review", "sentence", "title", "content", "question"},
    "category": {"category"},
    "word": {"word"},
    "outliers": {"outliers"},
    "words": {"words"},
    "query": {"query"},
    "document": {"document", "passage"},
    "relevance": {"relevance", "score", "label"},
}
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("retrieval", ("query", "document", "relevance")),
    ("analogies", ("word1", "word2", "word3", "target")),
    ("word similarity", ("word1", "word2", "score")),
    ("sentence similarity", ("sentence1", "sentence2", "score")),
    ("outliers", ("category", "outliers", "words")),
    ("categorization", ("category", "word")),
    ("classification", ("label", "text")),
)
"""Kinds by the columns of a header; the first kind whose columns are all there is used."""


def recognize(lines: Sequence[str]) -> Layout | None:
    """The layout that the first lines of a file follow, or None."""
    rows = [line for line in lines if line.strip() and not line.startswith("#")][:SAMPLED]
    if not rows:
        return None
    if re.match(r":\s*\S", rows[0]):
        return SECTIONS
    named = next((found for delimiter in ("\t", ",") if (found := _by_header(rows[0], delimiter))), None)
    return named or _by_cells(rows)


def split(line: str, delimiter: str) -> list[str]:
    """Cells of a line; quotes are special only in comma-separated lines."""
    return next(csv.reader([line]), []) if delimiter == "," else line.split("\t")


def fits(cells: Mapping[str, str], layout: Layout) -> bool:
    """Whether the cells of a line are what their columns should hold."""
    if layout.kind == "classification":
        return bool(cells["label"] and cells["text"]) and (
            layout.header or re.fullmatch(LABEL, cells["label"]) is not None
        )
    if layout.kind == "categorization":
        # The published AP list has a line without its word: an item no vectors know.
        return bool(cells["category"])
    numbers = {"word similarity": "score", "sentence similarity": "score", "retrieval": "relevance"}
    wanted = next(roles for kind, roles in KINDS if kind == layout.kind)
    return all(
        is_number(cells[role]) if role == numbers.get(layout.kind) else bool(cells[role]) for role in wanted
    )


def is_number(cell: str) -> bool:
    return re.fullmatch(NUMBER, cell.strip()) is not None


def _by_header(line: str, delimiter: str) -> Layout | None:
    cells = [cell.strip().lower() for cell in split(line, delimiter)]
    if len(cells) < 2 or len(set(cells)) < len(cells):
        return None
    found = {role: cells.index(cell) for role, names in HEADERS.items() for cell in cells if cell in names}
    for kind, roles in KINDS:
        if all(role in found for role in roles):
            expected = Message("{count} columns as in the header", count=len(cells))
            return Layout(kind, expected, delimiter, True, found)
    return None


def _by_cells(rows: Sequence[str]) -> Layout | None:
    """A file without a header."""
    for layout, alike in TABBED:
        if _most(rows, lambda row, alike=alike: alike(row.split("\t"))) and not _all_differ(rows, layout):
            return layout
    if _most(rows, lambda row: "\t" not in row and spaced_pair(row) is not None):
        return SPACED_PAIRS
    if _most(rows, lambda row: _is_pair(split(row, ","))):
        return Layout(
            "word similarity",
            Message("two words and a number"),
            ",",
            columns={"word1": 0, "word2": 1, "score": 2},
        )
    if _most(rows, lambda row: "\t" not in row and spaced_text(row) is not None):
        return SPACED_TEXTS
    return None


def spaced_pair(line: str) -> re.Match[str] | None:
    """Two words and a score, perhaps followed by the ratings it is the mean of."""
    return re.fullmatch(
        rf"\s*+(?!{NUMBER}\s)(\S++)\s++(?!{NUMBER}\s)(\S++)\s++({NUMBER})(?:\s++{NUMBER})*+\s*+", line
    )


def spaced_text(line: str) -> re.Match[str] | None:
    return re.fullmatch(rf"({LABEL})\s+(\S.*)", line)


def _most(rows: Sequence[str], alike: Callable[[str], bool]) -> bool:
    return sum(map(alike, rows)) >= ENOUGH * len(rows)


def _all_differ(rows: Sequence[str], layout: Layout) -> bool:
    """Numbers that never repeat are line numbers, not labels."""
    if "label" not in layout.columns:
        return False
    column = layout.columns["label"]
    split = [row.split("\t") for row in rows]
    cells = [row[column] for row in split if column < len(row)]
    return len(cells) > 2 and len(set(cells)) == len(cells)


def _is_sts(cells: list[str]) -> bool:
    return len(cells) >= 7 and is_number(cells[4])


def _is_pair(cells: list[str]) -> bool:
    return (
        len(cells) == 3
        and is_number(cells[2])
        and all(cell.strip() and not is_number(cell) for cell in cells[:2])
    )


def _is_word_pair(cells: list[str]) -> bool:
    return _is_pair(cells) and not any(_is_sentence(cell.strip()) for cell in cells[:2])


def _is_sentence(cell: str) -> bool:
    """Chinese has no spaces, so punctuation and length decide."""
    return (
        len(cell.split()) > 3
        or re.search("[。？！，?!,]", cell) is not None
        or (len(cell) > LONG and re.search(f"[{HAN}]", cell) is not None)
    )


def _is_text_label(cells: list[str]) -> bool:
    return len(cells) == 2 and re.fullmatch(LABEL, cells[1].strip()) is not None


def _is_label_text(cells: list[str]) -> bool:
    return len(cells) == 2 and re.fullmatch(LABEL, cells[0].strip()) is not None


TABBED: tuple[tuple[Layout, Callable[[list[str]], bool]], ...] = (
    (
        Layout(
            "sentence similarity",
            Message("genre, file, year, id, score and two sentences, separated by tabs"),
            "\t",
            columns={"score": 4, "sentence1": 5, "sentence2": 6},
        ),
        _is_sts,
    ),
    (
        Layout(
            "word similarity",
            Message("two words and a number, separated by tabs"),
            "\t",
            columns={"word1": 0, "word2": 1, "score": 2},
        ),
        _is_word_pair,
    ),
    (
        Layout(
            "sentence similarity",
            Message("two sentences and a number, separated by tabs"),
            "\t",
            columns={"sentence1": 0, "sentence2": 1, "score": 2},
        ),
        _is_pair,
    ),
    (
        Layout("classification", Message("a text, a tab and a label"), "\t", columns={"text": 0, "label": 1}),
        _is_text_label,
    ),
    (
        Layout("classification", Message("a label, a tab and a text"), "\t", columns={"label": 0, "text": 1}),
        _is_label_text,
    ),
)
