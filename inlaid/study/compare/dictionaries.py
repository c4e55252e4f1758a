"""Bilingual dictionaries: pairs of a word and its translation, from two columns or from CC-CEDICT.

chat 猫                                two columns, separated by a tab or by spaces
貓 猫 [mao1] /cat/(dialect) to hide/    CC-CEDICT: single-word glosses; "to hide" is hide
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inlaid.collect.charsets import AUTO, UTF8, not_decodable, report_charset
from inlaid.collect.compression import DecompressedFile
from inlaid.errors import FormatError, SourceError
from inlaid.messages import Listed
from inlaid.report import Note, Report, silent
from inlaid.vectors import Vectors

Pairs = list[tuple[str, str]]
CEDICT_LINE = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.+)/\s*")
GLOSS = re.compile(r"(?:to |an? )?([A-Za-z]+(?:['-][A-Za-z]+)*)")


def read_dictionary(path: Path, report: Report = silent) -> Pairs:
    """All pairs of a file (may be compressed), in its order, without duplicates. The charset is found."""
    if not path.is_file():
        raise SourceError("There is no dictionary '{path}'.", path=path)
    lines = list(_lines(path, report))
    pairs = Pairs()
    if lines and all(CEDICT_LINE.fullmatch(line) for _, line in lines[:10]):
        for _, line in lines:
            pairs.extend(_cedict_pairs(line))
    else:
        pairs = [_columns(line, path, number) for number, line in lines]
    if not pairs:
        raise SourceError(
            "{path} has no pairs of words. Expected a word and its translation on each line, or CC-CEDICT.",
            path=path,
        )
    return list(dict.fromkeys(pairs))


def _lines(path: Path, report: Report) -> Iterator[tuple[int, str]]:
    """Non-empty lines with their numbers, without the comments at the top: further down, # may be a word."""
    top = True
    with DecompressedFile(path) as file:
        file.recode(AUTO)
        report_charset(path, file.charset, AUTO, report)
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
            except UnicodeDecodeError as error:
                raise not_decodable(path, raw, error.start, UTF8, number) from None
            top = top and line.startswith("#")
            if line.strip() and not top:
                yield number, line


def _columns(line: str, path: Path, number: int) -> tuple[str, str]:
    columns = line.split("\t") if "\t" in line else line.split()
    words = [column.strip() for column in columns]
    if len(words) != 2 or not all(words):
        raise FormatError(
            "{path}:{line}: expected a word and its translation, found {found!r}. Fix or remove the line.",
            path=path,
            line=number,
            found=line[:60],
        )
    return words[0], words[1]


def _cedict_pairs(line: str) -> Iterator[tuple[str, str]]:
    """Both scripts of an entry with each of its single-word glosses; remarks in parentheses are not part of a
    gloss."""
    entry = CEDICT_LINE.fullmatch(line)
    if not entry:
        return
    traditional, simplified, glosses = entry.groups()
    for gloss in re.split("[/;]", re.sub(r"\([^)]*\)", "", glosses)):
        word = GLOSS.fullmatch(gloss.strip())
        if word:
            for form in dict.fromkeys((simplified, traditional)):
                yield form, word[1]


# --- between two spaces -------------------------------------------------------------------------------------


def source_first(dictionary: Path | Pairs, source: Vectors, target: Vectors, report: Report) -> Pairs:
    """The pairs, each with its source word first: a dictionary that fits better reversed is reversed."""
    pairs = read_dictionary(dictionary, report) if isinstance(dictionary, Path) else list(dictionary)
    swapped = [(translation, word) for word, translation in pairs]
    fit = len(set(in_vocabulary(source, target, pairs)))
    fit_swapped = len(set(in_vocabulary(source, target, swapped)))
    if fit == fit_swapped == 0:
        raise SourceError(
            "None of the {pairs:,} pairs of the dictionary ({shown}, ...) is in the vocabularies of both "
            "spaces. "
            "Check its languages, script and case.",
            pairs=len(pairs),
            shown=Listed(f"{word} {translation}" for word, translation in pairs[:3]),
        )
    if fit_swapped <= fit:
        return pairs
    report(
        Note(
            "The dictionary is read from right to left: {swapped:,} of its pairs fit that way, {written:,} "
            "as written.",
            swapped=fit_swapped,
            written=fit,
        )
    )
    return swapped


def split(pairs: Pairs, test: Pairs | None, held_out: float, seed: int) -> tuple[Pairs, Pairs]:
    """Training pairs and test pairs. Of a test dictionary, words that the training dictionary has are
    dropped."""
    words = list(dict.fromkeys(word for word, _ in pairs))
    if test is not None:
        known = set(words)
        return pairs, [pair for pair in test if pair[0] not in known]
    random = np.random.Generator(np.random.Philox(seed))
    order = random.permutation(len(words))[: round(held_out * len(words))].tolist()
    tested = {words[number] for number in order}
    return [pair for pair in pairs if pair[0] not in tested], [pair for pair in pairs if pair[0] in tested]


def training_ids(source: Vectors, target: Vectors, training: Pairs, test: Pairs) -> np.ndarray:
    """(pair, 2): ids of the training pairs, without any that shares a word with a test pair: synonyms would
    leak the answer."""
    tested = list(in_vocabulary(source, target, test))
    tested_source = {id for id, _ in tested}
    tested_target = {id for _, id in tested}
    pairs = {
        (source_id, target_id)
        for source_id, target_id in in_vocabulary(source, target, training)
        if source_id not in tested_source and target_id not in tested_target
    }
    if not pairs:
        raise SourceError(
            "No pair of the dictionary is left for training. Lower held_out, or use a larger dictionary."
        )
    return np.array(sorted(pairs), np.int64)


def in_vocabulary(source: Vectors, target: Vectors, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """The ids of the pairs that are in both vocabularies."""
    for word, translation in pairs:
        source_id = source.find(word)
        target_id = target.find(translation)
        if source_id is not None and target_id is not None:
            yield source_id, target_id
