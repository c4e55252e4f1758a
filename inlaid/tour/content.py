"""Content: the chapters of the tour, read from `content.toml`: text, code and what to see."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from typing import Any

from inlaid.messages import Language, catalogue, render


@dataclass(frozen=True)
class Paragraph:
    """Text, in one language."""

    text: str


@dataclass(frozen=True)
class Code:
    """Python to run, and what to see in its output."""

    code: str
    see: str


@dataclass(frozen=True)
class Chapter:
    """A title and what follows it."""

    name: str
    title: str
    blocks: tuple[Paragraph | Code, ...]


@dataclass(frozen=True)
class Asked:
    """The questions in one language: what every generation is asked about."""

    near: tuple[str, str, str]
    """Two words that are alike, and one that is not."""
    analogy: str
    right: str
    """Its answer."""
    unseen: str
    unseen_in: str
    """A sentence with the unseen word."""
    senses: tuple[str, str]
    """Two sentences with one word in two senses."""
    word: tuple[str, str]
    """That word, as it is written in each."""
    kinds: tuple[str, ...]
    """Words of both senses, among which the nearest is looked for."""
    order: tuple[str, str]
    blank: str
    translate: str


@dataclass(frozen=True)
class Tour:
    """The whole tour in one language."""

    title: str
    chapters: tuple[Chapter, ...]


def tour(language: Language) -> Tour:
    """The chapters in one language."""
    read = _read()
    chapters = [
        Chapter(
            each["name"], each["title"][language], tuple(_block(block, language) for block in each["block"])
        )
        for each in read["chapter"]
    ]
    return Tour(read["title"][language], tuple(chapters))


def asked(language: Language) -> Asked:
    """What the generations are asked."""
    values: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each
        for name, each in _read()["asked"][language].items()
    }
    return Asked(**values)


def guide_steps() -> list[dict[str, Any]]:
    """The steps of the explorer's guided tour, as they are in the file."""
    return _read()["guide"]


def said(cell: Any, language: Language) -> str:
    """A cell of a table in this language: a message, a number, or a text that the catalogue may have."""
    sentence = getattr(cell, "sentence", None)
    if isinstance(sentence, str):
        return render(sentence, cell.values, catalogue(language))
    return catalogue(language).get(str(cell), str(cell))


def _block(block: Mapping[str, Any], language: Language) -> Paragraph | Code:
    if "code" not in block:
        return Paragraph(joined(block[language], language))
    code = block["code"]
    if isinstance(code, dict):
        code = code[language]
    return Code(code.strip("\n"), joined(block["see"][language], language))


def joined(text: str, language: Language) -> str:
    """A paragraph on one line: line ends in the file mean nothing, in Chinese not even a space."""
    lines = text.strip().splitlines()
    return ("" if language == "zh" else " ").join(line.strip() for line in lines)


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads((resources("inlaid.tour") / "content.toml").read_text("utf-8"))
