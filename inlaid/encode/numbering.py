"""Words -> ids in order of first sight, counted: the plain way, and the fast one that equals it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from inlaid.kernels.text import hash_table as words_cpu
from inlaid.shapes import Counts, Ids

END = -1
"""Stands between sentences in a run of ids."""
PADDING = 64
"""Bytes that must follow a text which a kernel reads; they are newlines."""


class PlainNumbering:
    """A dict. The specification of FastNumbering, and the road of words that may hold blanks themselves."""

    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.counted: list[int] = []

    def ids(self, sentences: Iterable[Iterable[str]]) -> Ids:
        """The ids of all words, END after each sentence."""
        ids: list[int] = []
        for sentence in sentences:
            for word in sentence:
                id = self.first.setdefault(word, len(self.first))
                if id == len(self.counted):
                    self.counted.append(0)
                self.counted[id] += 1
                ids.append(id)
            ids.append(END)
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
    """A hash table of bytes, filled by a kernel. Words stand between blanks, sentences before newlines."""

    def __init__(self, room: int = 1 << 19) -> None:
        self.slots = np.zeros(2 * room, np.uint64)
        self.rows = _rows(room)
        self.ends = np.zeros(room, np.int64)
        self.blob = np.zeros(16 * room + PADDING, np.uint8)
        self.rows[0] = (words_cpu.NEWLINE, 0, 1, 0)  # the kernel takes a newline for a word, whose id is END
        words_cpu.refill(self.rows[:1], self.slots)
        self.known = 0
        self.buffer = np.empty(0, np.int32)

    def ids(self, text: np.ndarray, size: int) -> Ids:
        """The ids of all words of text[:size], END for each newline; the last byte is one, and PADDING more
        follow."""
        if len(self.buffer) < size:
            self.buffer = np.empty(
                size, np.int32
            )  # kept: a fresh one would cost its page faults for every block
        state = np.array([self.known + 1, 0], np.int64)
        here = 0
        room = words_cpu.room_ahead()
        while True:
            here = words_cpu.number(
                text, size, here, self.slots, self.rows, self.blob, self.ends, self.buffer, state, room
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
        places = np.asarray(ids, np.int64)
        raw = self.blob[: self.ends[self.known]].tobytes()
        return [
            raw[start:stop]
            for start, stop in zip(self.ends[places].tolist(), self.ends[places + 1].tolist(), strict=True)
        ]

    def absorb(self, other: FastNumbering) -> Ids:
        """Take in the words of another; the ids its words have here. Counts stay apart: add those of the
        other yourself."""
        ends = other.ends[1 : other.known + 1]
        joined = np.insert(other.blob[: other.ends[other.known]], ends, words_cpu.SPACE).tobytes() + b"\n"
        return self.ids(padded(joined), len(joined))[:-1]

    def _grow(self, left: int) -> None:
        """Room for more words, whatever ran out; no more bytes than are left of the text can come."""
        used = int(self.ends[self.known])
        self.blob = np.concatenate([self.blob[:used], np.zeros(max(used, left) + PADDING, np.uint8)])
        self.ends = np.concatenate([self.ends, np.zeros(len(self.ends), np.int64)])
        rows = _rows(2 * len(self.rows))
        rows[: self.known + 1] = self.rows[: self.known + 1]
        self.rows = rows
        self.slots = np.zeros(2 * len(self.slots), np.uint64)
        words_cpu.refill(rows[: self.known + 1], self.slots)


def _rows(count: int) -> np.ndarray:
    """Empty rows of a table. None lies in two lines of the cache, which would cost a seventh of the time."""
    room = np.zeros(4 * count + 8, np.uint64)  # memory never touched is never taken
    skipped = -room.ctypes.data % 64 // 8
    return room[skipped : skipped + 4 * count].reshape(count, 4)


def padded(data: bytes) -> np.ndarray:
    """The bytes as an array that a kernel may read past the end of."""
    text = np.empty(len(data) + PADDING, np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    text[len(data) :] = words_cpu.NEWLINE
    return text
