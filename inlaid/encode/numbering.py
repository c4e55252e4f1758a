"""Words -> ids in order of first occurrence, with counts: by a dict (the definition) or a hash table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from inlaid.errors import SourceError
from inlaid.kernels.text import hash_table
from inlaid.shapes import Counts, Ids

END = -1
"""Follows each sentence in an array of ids."""
PADDING = 64
"""Bytes that must follow a text that a kernel reads; they are newlines."""


class PlainNumbering:
    """A dict: the definition of FastNumbering. Also for token lists, whose tokens may contain spaces."""

    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.counted: list[int] = []

    def ids(self, sentences: Iterable[Iterable[str]]) -> Ids:
        """The ids of all words, END after each sentence."""
        ids: list[int] = []
        known = len(self.first)
        for sentence in sentences:
            for word in sentence:
                try:
                    id = self.first.setdefault(word, len(self.first))
                except TypeError:  # a list, which cannot be hashed
                    raise _unexpected_token(word) from None
                if id == len(self.counted):
                    self.counted.append(0)
                self.counted[id] += 1
                ids.append(id)
            ids.append(END)
        # a check of every token would double the time; checking each new word finds the same errors
        new_words = list(itertools.islice(reversed(self.first), len(self.first) - known))
        for word in reversed(new_words):
            if not isinstance(word, str):
                raise _unexpected_token(word)
        return np.array(ids, np.int32)

    def counts(self) -> Counts:
        return np.array(self.counted, np.int64)

    def lengths(self) -> Counts:
        """Of each word, in bytes."""
        return np.array([len(word.encode("utf-8", "surrogatepass")) for word in self.first], np.int64)

    def words(self, ids: Sequence[int] | np.ndarray) -> list[bytes]:
        known = list(self.first)
        return [known[id].encode("utf-8", "surrogatepass") for id in ids]


class FastNumbering:
    """A hash table of bytes, filled by a kernel. Spaces separate words, a newline ends each sentence."""

    def __init__(self, capacity: int = 1 << 19) -> None:
        self.table = hash_table.WordTable(
            slots=np.zeros(2 * capacity, np.uint64),
            rows=_empty_rows(capacity),
            blob=np.zeros(16 * capacity + PADDING, np.uint8),
            ends=np.zeros(capacity, np.int64),
        )
        # for the kernel a newline is a word, whose id is END
        self.table.rows[0] = (hash_table.NEWLINE, 0, 1, 0)
        hash_table.refill(self.table.rows[:1], self.table.slots)
        self.known = 0
        self.buffer = np.empty(0, np.int32)

    def ids(self, text: np.ndarray, size: int) -> Ids:
        """The ids of all words of text[:size], END for each newline; text[:size] ends with a newline and is
        followed by PADDING."""
        if len(self.buffer) < size:
            # kept: a new one for each block would cost its page faults
            self.buffer = np.empty(size, np.int32)
        progress = hash_table.NumberProgress(here=0, known=self.known + 1, filled=0)
        words_ahead = hash_table.word_buffers()
        while True:
            progress = hash_table.number(text, size, progress, self.table, self.buffer, words_ahead)
            self.known = progress.known - 1
            if progress.here >= size:
                return self.buffer[: progress.filled].copy()
            self._grow(size - progress.here)

    def counts(self) -> Counts:
        return self.table.rows[1 : self.known + 1, hash_table.COUNT].astype(np.int64)

    def lengths(self) -> Counts:
        """Of each word, in bytes."""
        return np.diff(self.table.ends[: self.known + 1])

    def words(self, ids: Sequence[int] | np.ndarray) -> list[bytes]:
        wanted = np.asarray(ids, np.int64)
        ends = self.table.ends
        raw = self.table.blob[: ends[self.known]].tobytes()
        starts = ends[wanted].tolist()
        stops = ends[wanted + 1].tolist()
        return [raw[start:stop] for start, stop in zip(starts, stops, strict=True)]

    def absorb(self, other: FastNumbering) -> Ids:
        """Add the words of another numbering; returns the ids its words have here. Counts are not added."""
        ends = other.table.ends[1 : other.known + 1]
        blob = other.table.blob[: other.table.ends[other.known]]
        joined = np.insert(blob, ends, hash_table.SPACE).tobytes() + b"\n"
        return self.ids(padded(joined), len(joined))[:-1]

    def _grow(self, left: int) -> None:
        """Enlarge every table, whichever ran out. `left` bytes of text cannot add more bytes than that."""
        old = self.table
        used = int(old.ends[self.known])
        self.table = hash_table.WordTable(
            slots=np.zeros(2 * len(old.slots), np.uint64),
            rows=_empty_rows(2 * len(old.rows)),
            blob=np.concatenate([old.blob[:used], np.zeros(max(used, left) + PADDING, np.uint8)]),
            ends=np.concatenate([old.ends, np.zeros(len(old.ends), np.int64)]),
        )
        rows = self.table.rows[: self.known + 1]
        rows[:] = old.rows[: self.known + 1]
        hash_table.refill(rows, self.table.slots)


def _unexpected_token(token: object) -> SourceError:
    return SourceError(
        "A token is {token!r} of type {found}, expected a string. Convert tokens to strings first.",
        token=token,
        found=type(token).__name__,
    )


def _empty_rows(count: int) -> np.ndarray:
    """Rows aligned so that none spans two cache lines, which would cost a seventh of the time."""
    memory = np.zeros(4 * count + 8, np.uint64)  # pages never touched are never allocated
    skipped = -memory.ctypes.data % 64 // 8
    return memory[skipped : skipped + 4 * count].reshape(count, 4)


def padded(data: bytes) -> np.ndarray:
    """The bytes as an array with PADDING, so that a kernel may read past the end."""
    text = np.empty(len(data) + PADDING, np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    text[len(data) :] = hash_table.NEWLINE
    return text
