"""Words -> ids in order of first occurrence, with counts: by a dict (the definition) or a hash table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from inlaid.errors import SourceError
from inlaid.kernels.text import hash_table as words_cpu
from inlaid.shapes import Counts, Ids

END = -1
"""Follows each sentence in an array of ids."""
PADDING = 64
"""Bytes that must follow a text that a kernel reads; they are newlines."""


class PlainNumbering:
    """A dict: the definition of FastNumbering, and what numbers token lists, whose tokens may hold blanks."""

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
    """A hash table of bytes, filled by a kernel. Blanks separate words, a newline ends each sentence."""

    def __init__(self, capacity: int = 1 << 19) -> None:
        self.slots = np.zeros(2 * capacity, np.uint64)
        self.rows = _empty_rows(capacity)
        self.ends = np.zeros(capacity, np.int64)
        self.blob = np.zeros(16 * capacity + PADDING, np.uint8)
        self.rows[0] = (words_cpu.NEWLINE, 0, 1, 0)  # for the kernel a newline is a word, whose id is END
        words_cpu.refill(self.rows[:1], self.slots)
        self.known = 0
        self.buffer = np.empty(0, np.int32)

    def ids(self, text: np.ndarray, size: int) -> Ids:
        """The ids of all words of text[:size], END for each newline; text[:size] ends with a newline and is
        followed by PADDING."""
        if len(self.buffer) < size:
            self.buffer = np.empty(
                size, np.int32
            )  # kept: a new one for each block would cost its page faults
        state = np.array([self.known + 1, 0], np.int64)
        here = 0
        buffers = words_cpu.room_ahead()
        while True:
            here = words_cpu.number(
                text, size, here, self.slots, self.rows, self.blob, self.ends, self.buffer, state, buffers
            )
            self.known = int(state[0]) - 1
            if here >= size:
                return self.buffer[: state[1]].copy()
            self._grow(size - here)

    def counts(self) -> Counts:
        return self.rows[1 : self.known + 1, 3].astype(np.int64)

    def lengths(self) -> Counts:
        """Of each word, in bytes."""
        return np.diff(self.ends[: self.known + 1])

    def words(self, ids: Sequence[int] | np.ndarray) -> list[bytes]:
        wanted = np.asarray(ids, np.int64)
        raw = self.blob[: self.ends[self.known]].tobytes()
        starts = self.ends[wanted].tolist()
        stops = self.ends[wanted + 1].tolist()
        return [raw[start:stop] for start, stop in zip(starts, stops, strict=True)]

    def absorb(self, other: FastNumbering) -> Ids:
        """Add the words of another numbering; returns the ids its words have here. Counts are not added."""
        ends = other.ends[1 : other.known + 1]
        joined = np.insert(other.blob[: other.ends[other.known]], ends, words_cpu.SPACE).tobytes() + b"\n"
        return self.ids(padded(joined), len(joined))[:-1]

    def _grow(self, left: int) -> None:
        """Enlarge every table, whichever ran out. `left` bytes of text cannot add more bytes than that."""
        used = int(self.ends[self.known])
        self.blob = np.concatenate([self.blob[:used], np.zeros(max(used, left) + PADDING, np.uint8)])
        self.ends = np.concatenate([self.ends, np.zeros(len(self.ends), np.int64)])
        rows = _empty_rows(2 * len(self.rows))
        rows[: self.known + 1] = self.rows[: self.known + 1]
        self.rows = rows
        self.slots = np.zeros(2 * len(self.slots), np.uint64)
        words_cpu.refill(rows[: self.known + 1], self.slots)


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
    text[len(data) :] = words_cpu.NEWLINE
    return text
