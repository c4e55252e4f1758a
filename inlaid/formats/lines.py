"""Lines: a text file in blocks of whole lines, a few worked on at a time, in the order of the file."""

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
from inlaid.formats.reading import NO_END
from inlaid.report import Note, Report

BLOCK = 1 << 22
"""Bytes read at once. A file that is smaller is read before a compiler could be loaded."""
LONGEST_LINE = 1 << 24
THREADS = 2
MARK = b"\xef\xbb\xbf"
"""The byte order mark some editors put before UTF-8."""
BLANKS = b" \t\r"

T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """Whole lines, each ended; `small` if they are all there is in a small file."""

    first_line: int
    text: bytes
    small: bool

    @functools.cached_property
    def lines(self) -> int:
        return self.text.count(b"\n")


def blocks_of(path: Path, file: Readable, report: Report) -> Iterator[Block]:
    """The file in whole lines, without a byte order mark and without empty lines at its end."""
    line = 1
    held = b""
    small = True
    while data := file.read(BLOCK):
        if line == 1 and not held and data.startswith(MARK):
            data = data.removeprefix(MARK)
            report(Note(f"{path} starts with a byte order mark, which was left out."))
        small = small and line == 1 and not held and len(data) < BLOCK - len(MARK)
        held += data
        filled = len(
            held.rstrip(BLANKS + b"\n")
        )  # empty lines at the end wait until it is known whether others follow
        end = held.find(b"\n", filled) + 1 or held.rfind(b"\n") + 1
        if filled and end:
            block = Block(line, held[:end], small)
            held = held[end:]
            yield block
            line += block.lines
        if len(held) > LONGEST_LINE:
            raise FormatError(
                f"{path}:{line}: longer than {LONGEST_LINE:,} bytes, which no line of vectors is."
            )
    if held.strip(BLANKS + b"\n"):
        report(Note(f"{path}: {NO_END}"))
        yield Block(line, held + b"\n", small and line == 1)


def until(first: Block, others: Iterator[Block], top: int | None) -> Iterator[Block]:
    """Blocks until they hold `top` lines; what follows is never looked at."""
    left = top
    for block in (each for blocks in ([first], others) for each in blocks if each.text):
        if left is not None and block.lines >= left:
            yield Block(
                block.first_line, b"\n".join([*block.text.split(b"\n", left)[:left], b""]), block.small
            )
            return
        left = None if left is None else left - block.lines
        yield block


def in_order(work: Callable[[Block], T], blocks: Iterator[Block]) -> Iterator[T]:
    """What `work` makes of each block, in the order of the file, a few at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        waiting: deque[Future[T]] = deque()
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
