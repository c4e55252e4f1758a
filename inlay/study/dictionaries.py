"""Bilingual dictionaries: pairs of a word and its translation, from two columns or from CC-CEDICT.

chat 猫                                             a word and its translation, between them a tab or blanks
貓 猫 [mao1] /cat/CL:隻|只[zhi1]/(dialect) to hide/     CC-CEDICT: glosses of a single English word count, "to hide" as hide
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from inlay.collect.packed import Unpacked
from inlay.errors import FormatError, SourceError

Pairs = list[tuple[str, str]]
ENTRY = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.+)/\s*")
GLOSS = re.compile(r"(?:to |an? )?([A-Za-z]+(?:['-][A-Za-z]+)*)")


def read_dictionary(path: Path) -> Pairs:
    """All pairs of a file (or of one packed as .gz, .bz2, .xz, .zst), in its order, without repeats."""
    if not path.is_file():
        raise SourceError(f"There is no dictionary '{path}'.")
    lines = list(_lines(path))
    entries = lines and all(ENTRY.fullmatch(line) for _, line in lines[:10])
    pairs = [pair for number, line in lines for pair in (_entry(line) if entries else [_columns(line, path, number)])]
    if not pairs:
        raise SourceError(f"{path} holds no pairs of words. Expected a word and its translation on each line, or CC-CEDICT.")
    return list(dict.fromkeys(pairs))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with something in them, with their numbers, without the comments at the top: further down # may be a word."""
    top = True
    with Unpacked(path) as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
            except UnicodeDecodeError:
                raise FormatError(f"{path}:{number}: bytes that are not UTF-8. Convert the file to UTF-8.") from None
            top = top and line.startswith("#")
            if line.strip() and not top:
                yield number, line


def _columns(line: str, path: Path, number: int) -> tuple[str, str]:
    parts = [part.strip() for part in (line.split("\t") if "\t" in line else line.split())]
    if len(parts) != 2 or not all(parts):
        raise FormatError(f"{path}:{number}: expected a word and its translation, found {line[:60]!r}. Mend the line or take it out.")
    return parts[0], parts[1]


def _entry(line: str) -> Iterator[tuple[str, str]]:
    """Both scripts of an entry with each of its single-word glosses; remarks in brackets are no part of a gloss."""
    entry = ENTRY.fullmatch(line)
    if not entry:
        return
    for gloss in re.split("[/;]", re.sub(r"\([^)]*\)", "", entry[3])):
        word = GLOSS.fullmatch(gloss.strip())
        if word:
            yield from ((form, word[1]) for form in dict.fromkeys((entry[2], entry[1])))
