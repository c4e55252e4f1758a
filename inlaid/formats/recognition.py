"""Which format a file is in, by its content; text in place of vectors, and the reverse, is refused.

kind = recognized(Path("glove.6B.300d.txt.gz"))      # the line of the registry
refuse_vectors([Path("glove.6B.300d.txt.gz")])       # SourceError: it is no text to train on
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from inlaid import registry
from inlaid.collect.archives import file_of
from inlaid.collect.charset_detection import UTF8, is_utf8
from inlaid.collect.compression import DecompressedFile
from inlaid.encode.corpus import is_corpus
from inlaid.errors import FormatError, InlaidError, SourceError
from inlaid.formats.pickles import refuse_pickle
from inlaid.formats.reading import HEAD_BYTES, Start, convert_command
from inlaid.messages import Advice, Message

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
FRACTION = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
TABLES_OF_TEXT = ("parquet",)
"""Formats of vectors that text comes in, too; their columns tell."""
MOST_FILES = 100
"""Files that are looked into before a text is read."""


def recognized(path: Path, charset: str = UTF8) -> registry.Entry:
    """The format of a file or folder, by its content; FormatError says what it is instead."""
    if path.is_file() and path.stat().st_size == 0:
        raise FormatError("{path} is empty; expected vectors. Get the file again.", path=path)
    start = Start.of(path, charset)
    found = _format_of(start)
    if found is not None:
        return found
    refuse_pickle(start)
    if is_corpus(path):
        raise FormatError(
            "{path} is a corpus; expected vectors. Train on it: "
            "`inlaid train sgns {quoted} -o vectors.inlaid`.",
            path=path,
            quoted=shlex.quote(str(path)),
        )
    if looks_like_text(start):
        raise FormatError(
            "{path} looks like text; expected vectors. Train on it first: {how}.",
            path=path,
            how=Advice(
                typed=Message("`inlaid train sgns {path} -o vectors.inlaid`", path=shlex.quote(str(path))),
                called=Message("train({path!r}, 'sgns')", path=str(path)),
            ),
        )
    raise FormatError(
        "{path}: not recognized as any of the formats that Inlaid reads: {formats}. If it is one of them, "
        "name it: {command}.",
        path=path,
        formats=format_names(),
        command=convert_command(path, "source-format", "FORMAT"),
    )


def looks_like_text(start: Start) -> bool:
    """Whether a file starts with words rather than numbers."""
    head = start.head
    if not head or b"\0" in head:
        return False
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # a character may be cut at the end
            return False
        text = head[: error.start].decode("utf-8")
    tokens = text.split()
    numbers = sum(NUMBER.fullmatch(token) is not None for token in tokens)
    return 2 * numbers < len(tokens)


def refuse_vectors(paths: Iterable[Path]) -> None:
    """Raise SourceError for vectors where text is expected: numbers can be trained on, too, and words of
    digits would be the result."""
    for path in list(paths)[:MOST_FILES]:
        start = _start_of(path)
        if start is None:
            continue
        refuse_pickle(start)
        found = _vectors_in(start)
        if found is not None:
            raise SourceError(
                "{path} holds vectors in the format {format}; expected text. {advice}",
                path=path,
                format=found.name,
                advice=Advice(
                    typed=Message("Name the text, and continue from vectors with --init-from."),
                    called=Message("Name the text, and continue from vectors with init_from=load(path)."),
                ),
            )


def _start_of(path: Path) -> Start | None:
    """The first bytes of a file; None where it cannot be read, which reading it will say."""
    file = file_of(path)
    try:
        if file.is_dir():
            return Start(path, b"")
        if not file.is_file():
            return None
        with DecompressedFile(path) as opened:
            return Start(path, opened.read(HEAD_BYTES))
    except (InlaidError, OSError):
        return None


def _vectors_in(start: Start) -> registry.Entry | None:
    """The format of vectors that a file or folder is in without doubt; None otherwise."""
    try:
        found = _format_of(start)
    except (InlaidError, OSError):  # reading it will say so
        return None
    if found is None or found.name in TABLES_OF_TEXT:
        return None
    is_folder = file_of(start.path).is_dir()
    return found if is_folder or _is_binary(start) or _is_fractions(start) else None


def _is_binary(start: Start) -> bool:
    return b"\0" in start.head or not is_utf8(start.head)


def _is_fractions(start: Start) -> bool:
    """Whether a text is mostly fractions; sessions of item numbers, which people train on, are integers."""
    tokens = start.head.decode(UTF8, "ignore").split()
    return 2 * sum(FRACTION.fullmatch(token) is not None for token in tokens) > len(tokens)


def _format_of(start: Start) -> registry.Entry | None:
    return next((entry for entry in registry.entries("format") if entry.load().recognizes(start)), None)


def format_names() -> str:
    return ", ".join(entry.name for entry in registry.entries("format"))
