"""Untrusted files: JSON, the sizes a file declares, and what other libraries raise while they read one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inlaid.errors import FormatError, InlaidError, SourceError
from inlaid.memory import available_memory
from inlaid.messages import Message, word

MAX_RATIO = 300
"""Vectors and text compress 3 to 20 times. What grows more than this many times is neither."""
ALWAYS_ALLOWED = 1 << 26
"""Bytes that a file may declare whatever its size: too few to do harm."""
MAX_DEPTH = 200
"""Levels of nested JSON; the files read here have fewer than ten."""


def check_size(path: Path, declared: int, stored: int | None = None) -> None:
    """Raise an error, before anything is allocated, if `declared` bytes cannot be in this file or in memory.

    `stored` is how many bytes on disk they come from; None: the whole file. A format that compresses nothing
    compares the two itself, to the byte.
    """
    check_ratio(path, declared, stored)
    if declared <= ALWAYS_ALLOWED:
        return
    available = available_memory()
    if declared > available:
        raise SourceError(
            "{path}: its content takes {declared:,} bytes of memory, and {available:,} are available. "
            "End other programs, or use a machine with more memory.",
            path=path,
            declared=declared,
            available=available,
        )


def check_ratio(path: Path, declared: int, stored: int | None = None) -> None:
    """The half of `check_size` that also holds for what is never in memory as a whole."""
    if declared <= ALWAYS_ALLOWED:
        return
    found = path.stat().st_size if stored is None else stored
    if declared > MAX_RATIO * found + ALWAYS_ALLOWED:
        raise FormatError(
            "{path}: it declares {declared:,} bytes of content in {found:,} bytes on disk, which is more "
            "than {ratio} times as much. No text or table compresses so well. Get the file again.",
            path=path,
            declared=declared,
            found=found,
            ratio=MAX_RATIO,
        )


def check_regular(path: Path, content: str) -> None:
    """Raise SourceError for a pipe or a device: reading one may wait forever, and it cannot be read twice."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SourceError(
            "{path} is a pipe or a device, and {content} are read from a file. Save them to a file first.",
            path=path,
            content=word(content),
        )


def parse_json(text: str | bytes) -> Any:
    """The value in a JSON text. A text that is not JSON, or is nested too deeply, raises ValueError."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(str(_TOO_DEEP)) from None
    if _brackets(text) > MAX_DEPTH:
        _check_depth(value)
    return value


def parse_json_part(path: Path, part: str, text: str | bytes) -> Any:
    """The value in a JSON text that is a part of a file, such as its card; FormatError if it is not JSON.

    NaN and infinity become None: Python reads them, but they are not JSON, and could not be printed as such.
    """
    try:
        return _finite(parse_json(text))
    except ValueError as error:
        raise FormatError(
            "{path}: its {part} is not JSON ({reason}). Restore the file from a copy.",
            path=path,
            part=part,
            reason=str(error),
        ) from None


def read_json(path: Path) -> Any:
    """The value in a JSON file; FormatError if it is none, SourceError if the file cannot be read."""
    try:
        return parse_json(path.read_text("utf-8"))
    except OSError as error:
        raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
    except ValueError as error:
        raise FormatError(
            "{path}: not JSON ({reason}). Get the file again.", path=path, reason=str(error)
        ) from None


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; any other value is a FormatError."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise FormatError(
            "{path}: expected a JSON object, found {found}. Get the file again.",
            path=path,
            found=type(value).__name__,
        )
    return value


@contextmanager
def library_errors(failed: Callable[[str], InlaidError]) -> Iterator[None]:
    """Whatever a library raises, a Rust panic (not an Exception) included, becomes `failed(reason)`.

    Only calls of the library belong into the block: it would hide the errors of our own code.
    """
    try:
        yield
    except (InlaidError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise failed(_reason(error)) from None


@contextmanager
def reading_file(path: Path, kind: str) -> Iterator[None]:
    """A library reads `path`, a file of this kind. Whatever it raises becomes a FormatError."""

    def failed(reason: str) -> FormatError:
        return FormatError(
            "{path}: not a readable {kind} file ({reason}). Get the file again.",
            path=path,
            kind=kind,
            reason=reason,
        )

    try:
        with library_errors(failed):
            yield
    except MemoryError:
        raise SourceError(
            "{path}: there is not enough memory to read it. End other programs, or use a machine with more "
            "memory.",
            path=path,
        ) from None


_TOO_DEEP = Message("it is nested more than {depth} levels deep", depth=MAX_DEPTH)


def _brackets(text: str | bytes) -> int:
    """At least the depth of the nesting; counting takes much less time than parsing."""
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise ValueError(str(_TOO_DEEP))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _reason(error: BaseException) -> str:
    """The first line of what a library says; some say nothing but the name of the error."""
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines and lines[0] else type(error).__name__
