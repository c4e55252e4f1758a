"""Samples: the beginning of a text, and how much longer the whole text is; for plans made before a run."""

from __future__ import annotations

from dataclasses import dataclass

from inlaid.collect.sources import Source, Text
from inlaid.report import Event, Progress

SIZE = 4_000_000
"""Bytes of text in a sample."""


@dataclass(frozen=True)
class TextSample:
    """The first lines of a text."""

    lines: list[str]
    scale: float
    """How many times as long the whole text is; 1 when the sample is all of it."""


def sample_of(text: Text, *, field: str = "text", size: int = SIZE) -> TextSample | None:
    """The first `size` bytes of text files; None for text in memory or on standard input."""
    read: list[Progress] = []

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            read.append(event)

    source = Source(text, field, listen)
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
    if whole or not read or not read[-1].total:
        return TextSample(lines, 1.0)
    # Compressed files: the bytes read of the file. Others are read ahead: the bytes of text.
    passed = min(read[-1].done, len(gathered))
    return TextSample(lines, max(read[-1].total / max(passed, 1), 1.0))
