"""Blocks of text -> ids in order of first sight, by several workers at once."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inlaid.collect.sources import Block
from inlaid.encode.cleaning import Cleaning
from inlaid.encode.numbering import FastNumbering, padded
from inlaid.encode.processes import Cleaners
from inlaid.files import Spool
from inlaid.kernels.text import hash_table as words_cpu
from inlaid.shapes import Counts, Ids

LINES = 1 << 21
"""Places for the hashes of different lines (16 MB); when half are taken, later lines are only compared with
those."""


@dataclass
class Scanned:
    """Everything that was read: ids with an END behind each sentence, and the words they stand for."""

    ids: Spool
    """Array by array; those of array n are to be looked up in maps[owners[n]]."""
    owners: list[int]
    maps: list[np.ndarray]
    counts: Counts
    lengths: Counts
    words: Callable[[Sequence[int] | np.ndarray], list[bytes]]
    """The UTF-8 of the words with these ids."""
    lint: dict[str, int]


@dataclass(frozen=True)
class _Piece:
    """What one block came to."""

    owner: int
    ids: Ids
    hashes: np.ndarray
    invalid: int


def scan(blocks: Iterable[Block], cleaning: Cleaning, workers: int, folder: Path | None) -> Scanned:
    """Number the words of all blocks in order. Each worker has a numbering of its own; in the end they are
    made one."""
    numberings = [FastNumbering() for _ in range(workers)]
    free = queue.SimpleQueue[int]()
    for owner in range(workers):
        free.put(owner)
    spool = Spool(np.int32, folder)
    owners = list[int]()
    lint = {"invalid_bytes": 0, "nul_bytes": 0, "cut_lines": 0, "repeated_lines": 0}
    lines = np.zeros(LINES, np.uint64)
    held = np.zeros(1, np.int64)

    with Cleaners(cleaning, workers) as cleaners:

        def work(block: Block) -> _Piece:
            cleaned = cleaners.clean(block)
            owner = free.get()
            try:
                ids = numberings[owner].ids(cleaned.text, cleaned.size)
            finally:
                free.put(owner)
            return _Piece(owner, ids if block.whole else ids[:-1], _line_hashes(block), cleaned.invalid)

        for block, piece in _in_order(blocks, work, workers):
            spool.append(piece.ids)
            owners.append(piece.owner)
            lint["invalid_bytes"] += piece.invalid
            lint["nul_bytes"] += (
                block.data.count(0) if 0 in block.data else 0
            )  # the search is faster than the count
            lint["cut_lines"] += not block.whole
            lint["repeated_lines"] += words_cpu.repeated(piece.hashes, lines, held)
    return _made_one(numberings, spool, owners, lint)


def _in_order(
    blocks: Iterable[Block], work: Callable[[Block], _Piece], workers: int
) -> Iterator[tuple[Block, _Piece]]:
    """Blocks and what they came to, in order, with no more than a few blocks on the way."""
    if workers == 1:
        yield from ((block, work(block)) for block in blocks)
        return
    pending: list[tuple[Block, Future[_Piece]]] = []
    with ThreadPoolExecutor(workers) as pool:
        for block in blocks:
            pending.append((block, pool.submit(work, block)))
            if len(pending) > workers + 1:
                first, future = pending.pop(0)
                yield first, future.result()
        for first, future in pending:
            yield first, future.result()


def _made_one(
    numberings: list[FastNumbering], spool: Spool, owners: list[int], lint: dict[str, int]
) -> Scanned:
    main, *others = numberings
    counts = [numbering.counts() for numbering in numberings]
    maps = [np.arange(main.known, dtype=np.int32), *(main.absorb(other) for other in others)]
    total = np.zeros(main.known, np.int64)
    for map, count in zip(maps, counts, strict=True):
        total[map] += count  # a map names no word twice
    return Scanned(spool, owners, maps, total, main.lengths(), main.words, lint)


def _line_hashes(block: Block) -> np.ndarray:
    hashes = np.empty(len(block.data) // 2 + 1, np.uint64)
    return hashes[: words_cpu.line_hashes(padded(block.data), len(block.data), hashes)].copy()
