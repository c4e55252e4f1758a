"""Samples: the beginning of a text, for plans made before a run; pieces from all over it, for defaults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inlaid.collect.archives import file_of
from inlaid.collect.charsets import UTF8
from inlaid.collect.sources import Source, Text
from inlaid.errors import InlaidError

SIZE = 4_000_000
"""Bytes of text in a sample."""
PIECES = 256
"""Pieces that `spread_over` takes: from as many files, or several from each of fewer files."""
PIECE = 1 << 14
"""Bytes of a piece."""
SENTENCES = 1 << 14
LENGTH = 256
"""Sentences of a list that it takes, and characters of each."""


@dataclass(frozen=True)
class TextSample:
    """The first lines of a text."""

    lines: list[str]
    scale: float
    """How many times as long the whole text is; 1 when the sample is all of it."""


def sample_of(text: Text, *, field: str = "text", charset: str = UTF8, size: int = SIZE) -> TextSample | None:
    """The first `size` bytes of text files; None for text in memory or on standard input."""
    source = Source(text, field, charset=charset, invalid="replace")
    if source.sentences() is not None or source.reads_stdin:
        return None
    gathered = bytearray()
    whole = True
    for block in source.blocks():
        gathered += block.data
        if len(gathered) >= size:
            whole = False
            break
    lines = gathered.decode("utf-8", "replace").splitlines()
    if whole or source.stored is None:
        return TextSample(lines, 1.0)
    # Compressed files: the bytes read of the file. Others are read ahead: the bytes of text.
    passed = min(source.passed, len(gathered))
    return TextSample(lines, max(source.stored / max(passed, 1), 1.0))


def spread_over(source: Source) -> list[bytes] | None:
    """Pieces of UTF-8 from all over a text, at most 4 MB of it; None for text that can be read once, such as
    standard input. The first and the last character of a piece may be incomplete."""
    passed = source.sentences()
    if passed is not None:
        if not isinstance(passed, (list, tuple)):
            return None
        some = [each[:LENGTH] for each in passed[:: len(passed) // SENTENCES + 1] if isinstance(each, str)]
        return ["\n".join(some).encode("utf-8", "surrogatepass")]
    files = source.files()
    if not all(file_of(path).is_file() for path in files):
        return None
    chosen = files[:: -(-len(files) // PIECES)]
    found: list[bytes] = []
    for path in chosen:
        try:
            found += _pieces(source, path, PIECES // len(chosen))
        except (InlaidError, OSError):
            continue  # reading all of the text says what is wrong with it
    return found


def _pieces(source: Source, path: Path, count: int) -> Iterator[bytes]:
    """Pieces from all over a file that is plain UTF-8; from the head of one that is anything else."""
    head = source.again().head(path)
    if head.plain:
        step = max(path.stat().st_size // count, PIECE)
        with path.open("rb") as file:
            for place in range(0, path.stat().st_size, step):
                file.seek(place)
                yield file.read(PIECE)
    else:
        yield head.data[: count * PIECE]
