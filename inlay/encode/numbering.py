"""Words -> ids in order of first sight, counted: the plain way, and the fast one that equals it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from inlay.kernels import text_cpu
from inlay.shapes import Counts, Ids

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

    def words(self, ids: Iterable[int]) -> list[bytes]:
        known = list(self.first)
        return [known[id].encode("utf-8", "surrogatepass") for id in ids]


class FastNumbering:
    """A hash table of bytes, filled by a kernel. Words stand between blanks, sentences before newlines."""

    def __init__(self, room: int = 1 << 18) -> None:
        self.slots = np.zeros((4 * room, 4), np.uint64)
        self.ends = np.zeros(room, np.int64)
        self.blob = np.zeros(16 * room, np.uint8)
        self.known = 0
        self.buffer = np.empty(0, np.int32)

    def ids(self, text: np.ndarray, size: int) -> Ids:
        """The ids of all words of text[:size], END for each newline; the last byte is one, and PADDING more follow."""
        if len(self.buffer) < size:
            self.buffer = np.empty(size, np.int32)  # kept: a fresh one would cost its page faults for every block
        state = np.array([self.known, 0], np.int64)
        here = text_cpu.number(text, size, 0, self.slots, self.blob, self.ends, self.buffer, state)
        while here < size:
            self.known = int(state[0])
            self._grow(size - here)
            here = text_cpu.number(text, size, here, self.slots, self.blob, self.ends, self.buffer, state)
        self.known = int(state[0])
        return self.buffer[: state[1]].copy()

    def counts(self) -> Counts:
        used = self.slots[self.slots[:, 2] != 0]
        counts = np.zeros(self.known, np.int64)
        counts[(used[:, 2] & np.uint64(0xFFFFFFFF)).astype(np.int64) - 1] = used[:, 3]
        return counts

    def lengths(self) -> Counts:
        """Of each word, in bytes."""
        return np.diff(self.ends[: self.known], prepend=0)

    def words(self, ids: Iterable[int]) -> list[bytes]:
        ends = self.ends[: self.known].tolist()
        raw = self.blob[: ends[-1] if ends else 0].tobytes()
        return [raw[ends[id - 1] if id else 0 : ends[id]] for id in ids]

    def absorb(self, other: FastNumbering) -> Ids:
        """Take in the words of another; the ids its words have here. Counts stay apart: add those of the other yourself."""
        joined = b" ".join(other.words(range(other.known))) + b"\n"
        return self.ids(padded(joined), len(joined))[:-1]

    def _grow(self, left: int) -> None:
        """Room for more words, whatever ran out; no more bytes than are left of the text can come."""
        used = int(self.ends[self.known - 1]) if self.known else 0
        self.ends = np.concatenate([self.ends, np.zeros(len(self.ends), np.int64)])
        self.blob = np.concatenate([self.blob[:used], np.zeros(max(used, left), np.uint8)])
        old = self.slots[self.slots[:, 2] != 0]
        self.slots = np.zeros((2 * len(self.slots), 4), np.uint64)
        text_cpu.refill(old, self.slots)


def padded(data: bytes) -> np.ndarray:
    """The bytes as an array that a kernel may read past the end of."""
    text = np.full(len(data) + PADDING, text_cpu.NEWLINE, np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    return text
