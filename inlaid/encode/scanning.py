"""Blocks of text -> ids in order of first occurrence, by several workers."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from inlaid.collect.sources import TextBlock
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.numbering import FastNumbering, padded
from inlaid.encode.processes import CleanerPool
from inlaid.files import Spool
from inlaid.kernels.text import hash_table
from inlaid.report import Note, Report
from inlaid.shapes import Counts, Ids

FIRST_SLOTS = 1 << 21
"""Slots in the first hash table of lines: 16 MB. A table holds half as many lines as it has slots."""
MOST_SLOTS = 1 << 25
"""Slots in the largest: 256 MB, for 16.8 million distinct lines."""


@dataclass
class Scanned:
    """All text that was read: ids with an END after each sentence, and their words."""

    ids: Spool
    """Array by array; maps[owners[n]] gives the common ids of array n."""
    owners: list[int]
    maps: list[np.ndarray]
    counts: Counts
    lengths: Counts
    words: Callable[[Sequence[int] | np.ndarray], list[bytes]]
    """The UTF-8 of the words with these ids."""
    lint: dict[str, int]


class RepeatedLines:
    """Counts lines equal to an earlier one by their 64-bit hashes.

    The hash table grows with the number of distinct lines up to MOST_SLOTS. After that, lines that are not in
    the table are not added, so `count` is a lower bound and `exact` is False.
    """

    def __init__(self) -> None:
        self.table = np.zeros(FIRST_SLOTS, np.uint64)
        self.held = 0
        """Distinct lines in the table."""
        self.lines = 0
        self.count = 0
        self.exact_lines: int | None = None
        """Lines read while the count was exact; None if it still is."""

    @property
    def exact(self) -> bool:
        return self.exact_lines is None

    def add(self, hashes: np.ndarray) -> None:
        while 2 * (self.held + len(hashes)) > len(self.table) and len(self.table) < MOST_SLOTS:
            self._grow()
        found = hash_table.repeated(hashes, self.table, self.held)
        self.count += found.found
        self.held = found.held
        if self.exact and 2 * self.held >= len(self.table):
            self.exact_lines = self.lines
        self.lines += len(hashes)

    def _grow(self) -> None:
        lines = self.table[self.table != 0]
        self.table = np.zeros(2 * len(self.table), np.uint64)
        self.held = hash_table.repeated(lines, self.table, 0).held


@dataclass(frozen=True)
class _ScannedBlock:
    """The ids of one block, by the numbering of one worker."""

    owner: int
    ids: Ids
    line_hashes: np.ndarray
    invalid: int


@runtime_checkable
class LineCounter(Protocol):
    """Counts lines equal to an earlier one."""

    @property
    def count(self) -> int: ...
    def add(self, hashes: np.ndarray) -> None: ...


def scan(
    blocks: Iterable[TextBlock],
    cleaner: Cleaner,
    workers: int,
    folder: Path | None,
    report: Report,
    lines: LineCounter | None = None,
) -> Scanned:
    """Number the words of all blocks. Each worker has its own numbering; they are merged at the end."""
    numberings = [FastNumbering() for _ in range(workers)]
    free = queue.SimpleQueue[int]()
    for owner in range(workers):
        free.put(owner)
    spool = Spool(np.int32, folder)
    owners = list[int]()
    lint = {"invalid_bytes": 0, "nul_bytes": 0, "cut_lines": 0, "repeated_lines": 0}
    repeated = RepeatedLines() if lines is None else lines

    with CleanerPool(cleaner, workers) as pool:

        def scan_block(block: TextBlock) -> _ScannedBlock:
            cleaned = pool.clean(block)
            owner = free.get()
            try:
                ids = numberings[owner].ids(cleaned.text, cleaned.size)
            finally:
                free.put(owner)
            if not block.ends_line:
                ids = ids[:-1]
            return _ScannedBlock(owner, ids, _line_hashes(block), cleaned.invalid)

        for block, scanned in _in_order(blocks, scan_block, workers):
            spool.append(scanned.ids)
            owners.append(scanned.owner)
            lint["invalid_bytes"] += scanned.invalid
            if 0 in block.data:  # the search is faster than the count
                lint["nul_bytes"] += block.data.count(0)
            lint["cut_lines"] += not block.ends_line
            repeated.add(scanned.line_hashes)
    lint["repeated_lines"] = repeated.count
    if isinstance(repeated, RepeatedLines) and not repeated.exact:
        lint["repeated_lines_exact_until"] = repeated.exact_lines or 0
        _note_lower_bound(repeated, report)
    return _merged(numberings, spool, owners, lint)


def _note_lower_bound(repeated: RepeatedLines, report: Report) -> None:
    report(
        Note(
            "At least {count:,} lines repeat an earlier one. After {exact:,} lines the table of distinct "
            "lines was full ({held:,} lines), so new lines after that were not compared with each other.",
            count=repeated.count,
            exact=repeated.exact_lines,
            held=repeated.held,
        )
    )


def _in_order(
    blocks: Iterable[TextBlock], scan_block: Callable[[TextBlock], _ScannedBlock], workers: int
) -> Iterator[tuple[TextBlock, _ScannedBlock]]:
    """Blocks and their results in order, with at most a few blocks in progress."""
    if workers == 1:
        yield from ((block, scan_block(block)) for block in blocks)
        return
    pending: list[tuple[TextBlock, Future[_ScannedBlock]]] = []
    with ThreadPoolExecutor(workers) as pool:
        for block in blocks:
            pending.append((block, pool.submit(scan_block, block)))
            if len(pending) > workers + 1:
                first, future = pending.pop(0)
                yield first, future.result()
        for first, future in pending:
            yield first, future.result()


def _merged(
    numberings: list[FastNumbering], spool: Spool, owners: list[int], lint: dict[str, int]
) -> Scanned:
    main, *others = numberings
    counts = [numbering.counts() for numbering in numberings]
    maps = [np.arange(main.known, dtype=np.int32), *(main.absorb(other) for other in others)]
    total = np.zeros(main.known, np.int64)
    for map, count in zip(maps, counts, strict=True):
        total[map] += count  # a map names no word twice
    return Scanned(spool, owners, maps, total, main.lengths(), main.words, lint)


def _line_hashes(block: TextBlock) -> np.ndarray:
    hashes = np.empty(len(block.data) // 2 + 1, np.uint64)
    filled = hash_table.line_hashes(padded(block.data), len(block.data), hashes)
    return hashes[:filled].copy()
