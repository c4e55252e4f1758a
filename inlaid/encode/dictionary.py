"""User dictionaries: words for the segmenter, from files and from words given one by one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from inlaid.collect.charsets import UTF8, decoded
from inlaid.encode.chinese import HAN, Entry
from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.messages import Message
from inlaid.untrusted import check_regular

MAX_FREQUENCY = 10**12 - 1
SUFFIXES = (".txt", ".csv", ".tsv", ".dict", ".dic", ".utf8")
"""Suffixes of dictionary files: a name with one is a file, also where there is no such file."""

_ENTRY = re.compile(r"(\S+)(?:\s+([0-9]+))?(?:\s+([A-Za-z]{1,6}))?\s*")
_COLUMNS = re.compile(rf"\D+[,;|，；][0-9]+(?:[,;|，；]\w*)?|.*[{HAN}][\"']?[,;|，；](?:[A-Za-z]{{1,6}})?")
"""A word and its frequency or tag in columns of a CSV file: 深度学习,100."""


def entry_of(line: str) -> Entry | None:
    """A line of a dictionary as jieba writes it: a word, perhaps its frequency, perhaps a tag, which is not
    used. None if it is anything else.

    >>> entry_of("云计算 5 n")
    Entry(word='云计算', frequency=5)
    """
    found = _ENTRY.fullmatch(line.strip())
    if found is None or _COLUMNS.fullmatch(found[1]):
        return None
    word, frequency, tag = found.groups()
    if frequency is not None and not 1 <= int(frequency[:20]) <= MAX_FREQUENCY:
        return None
    if tag and frequency is None and not re.search(f"[{HAN}]", word):
        return None  # two words, as "machine learning", rather than a word and its tag
    return Entry(word, None if frequency is None else int(frequency))


def entry(line: str) -> Entry:
    """The same; SettingError if it is anything else."""
    found = entry_of(line)
    if found is None:
        raise SettingError("The dictionary has '{found}'. {expected}", found=line, expected=_expected())
    return found


def _expected() -> Message:
    return Message(
        "Expected a word without spaces, alone or followed by a space and its frequency (1 to {most:,}) and "
        "a tag, as '云计算 5 n'.",
        most=MAX_FREQUENCY,
    )


Dictionary = str | Path | Sequence[str | Path]
"""Words and files of words; one may come alone."""


def parts_of(dictionary: Dictionary) -> tuple[str | Path, ...]:
    return (dictionary,) if isinstance(dictionary, (str, Path)) else tuple(dictionary)


def names_file(given: str | Path) -> bool:
    """Whether a part of a dictionary is a file: a Path, the name of a file that exists, or what looks like a
    path. Everything else is a word."""
    if isinstance(given, Path) or (os.path.exists(given) and not os.path.isdir(given)):
        return True
    return given.lower().endswith(SUFFIXES) or "/" in given or os.sep in given


def words_of(dictionary: Dictionary, charset: str = UTF8) -> tuple[str, ...]:
    """The words of a dictionary, each alone or with its frequency, as `Word` takes them; those of a file come
    where the file is named."""
    words: list[str] = []
    for given in parts_of(dictionary):
        words += read_dictionary(Path(given), charset) if names_file(given) else [str(entry(str(given)))]
    return tuple(words)


def read_dictionary(path: Path, charset: str = UTF8) -> tuple[str, ...]:
    """The words of a file, one per line, with their frequencies."""
    check_regular(path, "the words of a dictionary")
    try:
        lines = decoded(path, path.read_bytes(), charset).splitlines()
    except OSError as error:
        raise SourceError(
            "Cannot read the dictionary {path}: {reason}. Expected text with one word per line. A word with "
            "a slash or a suffix such as .txt has to be in a file.",
            path=path,
            reason=str(error.strerror),
        ) from None
    if not any(map(str.strip, lines)):
        raise SourceError(
            "The dictionary {path} has no words. Write one word per line, or leave it out.", path=path
        )
    found = {number: entry_of(line) for number, line in enumerate(lines, start=1) if line.strip()}
    for number, each in found.items():
        if each is None:
            raise FormatError(
                "{path}:{line}: found '{found}'. {expected} Correct or remove the line.",
                path=path,
                line=number,
                found=lines[number - 1],
                expected=_expected(),
            )
    return tuple(map(str, found.values()))


def normalized(words: Sequence[str], normalize: Callable[[str], str]) -> tuple[str, ...]:
    """The words of a dictionary as they are in normalized text, with their frequencies."""
    found: list[str] = []
    for word, frequency in map(entry, words):
        written = normalize(word)
        if written.split() != [written]:
            raise SettingError(
                "The dictionary word '{word}' is '{found}' after normalization, and a word cannot contain "
                "spaces. Remove it from the dictionary.",
                word=word,
                found=written,
            )
        found.append(str(Entry(written, frequency)))
    return tuple(found)
