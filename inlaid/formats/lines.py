"""Lines: a text file in blocks of whole lines, processed in a few threads; results keep the file order."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from inlaid.collect.compression import Readable
from inlaid.errors import FormatError
from inlaid.formats.reading import no_end_of_line
from inlaid.report import Note, Report

BLOCK = 1 << 22
"""Bytes read at a time. A file smaller than that is parsed faster than the compiler could be loaded."""
LONGEST_LINE = 1 << 24
THREADS = 2
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Some editors put it before UTF-8."""
SPACES = b" \t\r"

T = TypeVar("T")


@dataclass(frozen=True)
class LineBlock:
    """Whole lines, each with its line end; `small` if they are all of a small file."""

    first_line: int
    text: bytes
    small: bool

    @functools.cached_property
    def lines(self) -> int:
        return self.text.count(b"\n")


def read_blocks(path: Path, file: Readable, report: Report) -> Iterator[LineBlock]:
    """The file in whole lines, without its byte order mark and without empty lines at its end."""
    line = 1
    pending = b""
    small = True
    while data := file.read(BLOCK):
        if line == 1 and not pending and data.startswith(BYTE_ORDER_MARK):
            data = data.removeprefix(BYTE_ORDER_MARK)
            report(Note("{path} starts with a byte order mark; it was ignored.", path=path))
        small = small and line == 1 and not pending and len(data) < BLOCK - len(BYTE_ORDER_MARK)
        pending += data
        # Empty lines at the end wait until it is known whether others follow.
        filled = len(pending.rstrip(SPACES + b"\n"))
        end = pending.find(b"\n", filled) + 1 or pending.rfind(b"\n") + 1
        if filled and end:
            block = LineBlock(line, pending[:end], small)
            pending = pending[end:]
            yield block
            line += block.lines
        if len(pending) > LONGEST_LINE:
            raise FormatError(
                "{path}:{line}: longer than {longest:,} bytes; expected a word and its numbers. "
                "This is not a text file of vectors.",
                path=path,
                line=line,
                longest=LONGEST_LINE,
            )
    if pending.strip(SPACES + b"\n"):
        report(no_end_of_line(path))
        yield LineBlock(line, pending + b"\n", small and line == 1)


def first_lines(first: LineBlock, others: Iterator[LineBlock], top: int | None) -> Iterator[LineBlock]:
    """Blocks with the first `top` lines (None: all); nothing after them is read."""
    left = top
    for block in (each for blocks in ([first], others) for each in blocks if each.text):
        if left is not None and block.lines >= left:
            lines = block.text.split(b"\n", left)[:left]
            yield LineBlock(block.first_line, b"\n".join([*lines, b""]), block.small)
            return
        left = None if left is None else left - block.lines
        yield block


def map_in_order(function: Callable[[LineBlock], T], blocks: Iterator[LineBlock]) -> Iterator[T]:
    """`function` of each block, in file order; a few blocks at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        waiting: deque[Future[T]] = deque()
        for block in blocks:
            waiting.append(pool.submit(function, block))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
