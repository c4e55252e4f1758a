"""Bilingual dictionaries: pairs of a word and its translation, from two columns or from CC-CEDICT, and what
two spaces know of them.

chat 猫                                             a word and its translation, between them a tab or blanks 貓
猫 [mao1] /cat/CL:隻|只[zhi1]/(dialect) to hide/     CC-CEDICT: glosses of a single English word count, "to hide"
as hide
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inlaid.collect.compression import DecompressedFile
from inlaid.errors import FormatError, SourceError
from inlaid.report import Note, Report
from inlaid.vectors import Vectors

Pairs = list[tuple[str, str]]
ENTRY = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.+)/\s*")
GLOSS = re.compile(r"(?:to |an? )?([A-Za-z]+(?:['-][A-Za-z]+)*)")


def read_dictionary(path: Path) -> Pairs:
    """All pairs of a file (or of one packed as .gz, .bz2, .xz, .zst), in its order, without repeats."""
    if not path.is_file():
        raise SourceError(f"There is no dictionary '{path}'.")
    lines = list(_lines(path))
    entries = lines and all(ENTRY.fullmatch(line) for _, line in lines[:10])
    pairs = [
        pair
        for number, line in lines
        for pair in (_entry(line) if entries else [_columns(line, path, number)])
    ]
    if not pairs:
        raise SourceError(
            f"{path} holds no pairs of words. Expected a word and its translation on each line, or CC-CEDICT."
        )
    return list(dict.fromkeys(pairs))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with something in them, with their numbers, without the comments at the top: further down # may
    be a word."""
    top = True
    with DecompressedFile(path) as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
            except UnicodeDecodeError:
                raise FormatError(
                    f"{path}:{number}: bytes that are not UTF-8. Convert the file to UTF-8."
                ) from None
            top = top and line.startswith("#")
            if line.strip() and not top:
                yield number, line


def _columns(line: str, path: Path, number: int) -> tuple[str, str]:
    parts = [part.strip() for part in (line.split("\t") if "\t" in line else line.split())]
    if len(parts) != 2 or not all(parts):
        raise FormatError(
            f"{path}:{number}: expected a word and its translation, found {line[:60]!r}. Mend the line or take it out."
        )
    return parts[0], parts[1]


def _entry(line: str) -> Iterator[tuple[str, str]]:
    """Both scripts of an entry with each of its single-word glosses; remarks in brackets are no part of a
    gloss."""
    entry = ENTRY.fullmatch(line)
    if not entry:
        return
    for gloss in re.split("[/;]", re.sub(r"\([^)]*\)", "", entry[3])):
        word = GLOSS.fullmatch(gloss.strip())
        if word:
            yield from ((form, word[1]) for form in dict.fromkeys((entry[2], entry[1])))


# --- between two spaces
# ---------------------------------------------------------------------------------------------------


def directed(dictionary: Path | Pairs, source: Vectors, target: Vectors, report: Report) -> Pairs:
    """The pairs, each with its word of the source first."""
    pairs = read_dictionary(dictionary) if isinstance(dictionary, Path) else list(dictionary)
    turned = [(answer, word) for word, answer in pairs]
    fits = [len(set(both_know(source, target, each))) for each in (pairs, turned)]
    if not any(fits):
        shown = ", ".join(f"{word} {answer}" for word, answer in pairs[:3])
        raise SourceError(
            f"The spaces know none of the {len(pairs):,} pairs of the dictionary ({shown}, ...). Check its languages, script and case."
        )
    if fits[1] > fits[0]:
        report(
            Note(
                f"The dictionary is read from right to left: {fits[1]:,} of its pairs fit that way, {fits[0]:,} as written."
            )
        )
    return turned if fits[1] > fits[0] else pairs


def split(pairs: Pairs, test: Pairs | None, held_out: float, seed: int) -> tuple[Pairs, Pairs]:
    """What to learn from and what to ask. A test asks only words that the dictionary does not have."""
    words = list(dict.fromkeys(word for word, _ in pairs))
    if test is not None:
        known = set(words)
        return pairs, [pair for pair in test if pair[0] not in known]
    random = np.random.Generator(np.random.Philox(seed))
    out = {words[n] for n in random.permutation(len(words))[: round(held_out * len(words))].tolist()}
    return [pair for pair in pairs if pair[0] not in out], [pair for pair in pairs if pair[0] in out]


def known_ids(source: Vectors, target: Vectors, learned: Pairs, asked: Pairs) -> np.ndarray:
    """Ids of the pairs to learn from, without any that shares a word with what will be asked: synonyms would
    tell too."""
    hidden = [set(side) for side in zip(*both_know(source, target, asked), strict=True)] or [
        set[int](),
        set[int](),
    ]
    pairs = sorted(
        {
            pair
            for pair in both_know(source, target, learned)
            if pair[0] not in hidden[0] and pair[1] not in hidden[1]
        }
    )
    if not pairs:
        raise SourceError(
            "No pair of the dictionary is left to learn from. Lower held_out, or bring a larger dictionary."
        )
    return np.array(pairs, np.int64)


def both_know(source: Vectors, target: Vectors, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """The pairs that both spaces know."""
    for word, answer in pairs:
        one = source.find(word)
        other = target.find(answer)
        if one is not None and other is not None:
            yield one, other
