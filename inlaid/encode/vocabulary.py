"""Vocabulary: a fixed order of words and their counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import overload

import numpy as np
import xxhash

from inlaid.arrays import Arrays
from inlaid.errors import FormatError, SourceError
from inlaid.shapes import Blob, Counts
from inlaid.values import Values

INTEGERS = ("I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8")
MAX_COUNT = 1 << 48
"""The largest count of a word; the counts of 32,768 words like that still have a sum in int64."""
COUNTS = Values(dtypes=INTEGERS, shape=(None,), low=0, high=MAX_COUNT)


class Words(Sequence[str]):
    """Distinct words in a fixed order, stored as bytes and found by hash.

    Three million of them open in milliseconds from a memory-mapped file: nothing is decoded and no dict built
    before it is needed.

    >>> words = Words.of(["cat", "猫"])
    >>> words[1], words.find("cat"), words.find("dog")
    ('猫', 0, None)
    """

    def __init__(self, array: Callable[[str], np.ndarray], size: int) -> None:
        self._array = array  # reads and verifies an array when it is first needed
        self._size = size

    @functools.cached_property
    def blob(self) -> Blob:
        """The UTF-8 of all words, concatenated; word i is blob[offsets[i]:offsets[i + 1]]."""
        return self._array("words")

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        return self._array("word_offsets")

    @functools.cached_property
    def hashes(self) -> np.ndarray:
        """The hashes of all words, sorted; order[k] is the id of the word with hash hashes[k]."""
        return self._array("word_hashes")

    @functools.cached_property
    def order(self) -> np.ndarray:
        return self._array("word_order")

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        """Pack words; a repeated word is an error."""
        try:
            return cls.of_bytes([word.encode("utf-8") for word in words])
        except UnicodeEncodeError as error:
            raise SourceError(
                "The word {word!r} holds a lone surrogate, which UTF-8 cannot encode. Clean the input.",
                word=error.object,
            ) from None

    @classmethod
    def of_bytes(cls, encoded: list[bytes]) -> Words:
        """Pack words given as UTF-8."""
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        hashes = np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), np.uint64, len(encoded))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        arrays = {
            "words": np.frombuffer(b"".join(encoded), np.uint8),
            "word_offsets": offsets,
            "word_hashes": hashes[order],
            "word_order": order,
        }
        packed = cls(arrays.__getitem__, len(encoded))
        packed._refuse_repeats()
        return packed

    def __getstate__(self) -> dict[str, np.ndarray]:
        """A copy, here or in another process, has its arrays in memory."""
        return pack_words(self)

    def __setstate__(self, arrays: dict[str, np.ndarray]) -> None:
        self._array = arrays.__getitem__
        self._size = len(arrays["word_order"])

    def find(self, word: str) -> int | None:
        """The id of `word`, or None."""
        try:
            wanted = word.encode("utf-8")
        except UnicodeEncodeError:
            return None
        return self._find_bytes(wanted, np.uint64(xxhash.xxh3_64_intdigest(wanted)))

    def _find_bytes(self, wanted: bytes, hashed: np.uint64) -> int | None:
        place = int(np.searchsorted(self.hashes, hashed))
        # more than one iteration only if hashes collide
        while place < len(self.hashes) and self.hashes[place] == hashed:
            found = int(self.order[place])
            if self.bytes_of(found) == wanted:
                return found
            place += 1
        return None

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of many words, -1 where there is none: what `find` says of each, in a tenth of the time."""
        return self.ids_of_bytes([word.encode("utf-8", "surrogatepass") for word in words])

    def ids_of_bytes(self, encoded: Sequence[bytes]) -> np.ndarray:
        """The same for words given as UTF-8."""
        hashed = np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), np.uint64, len(encoded))
        ids = np.full(len(encoded), -1, np.int64)
        if not len(self):
            return ids
        places = np.minimum(np.searchsorted(self.hashes, hashed), len(self) - 1)
        for at in np.flatnonzero(self.hashes[places] == hashed).tolist():
            found = int(self.order[places[at]])
            if self.bytes_of(found) != encoded[at]:  # two words with one hash
                found = self._find_bytes(encoded[at], hashed[at])
            ids[at] = -1 if found is None else found
        return ids

    def all_bytes(self) -> list[bytes]:
        offsets = self.offsets.tolist()
        raw = self.blob.tobytes()
        return [raw[start:stop] for start, stop in pairwise(offsets)]

    def bytes_of(self, id: int) -> bytes:
        return self.blob[self.offsets[id] : self.offsets[id + 1]].tobytes()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"word {index} of {len(self)}")
        return _decoded(self.bytes_of(index % len(self)))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return map(_decoded, self.all_bytes())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) is not None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Words)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.blob, other.blob)
        )

    def __hash__(self) -> int:
        return hash((len(self), self.blob.nbytes))

    def __repr__(self) -> str:
        some = ", ".join(self[:5])
        return f"Words({some}{', …' if len(self) > 5 else ''}; {len(self):,})"

    def _refuse_repeats(self) -> None:
        """Equal words are adjacent in hash order, the one with the lower id first."""
        for place in np.flatnonzero(self.hashes[1:] == self.hashes[:-1]).tolist():
            first = int(self.order[place])
            second = int(self.order[place + 1])
            if self.bytes_of(first) == self.bytes_of(second):
                raise FormatError(
                    "The word '{word}' occurs twice, with ids {first} and {second}. Each word needs one id.",
                    word=self[first],
                    first=first,
                    second=second,
                )


def _decoded(word: bytes) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(
            "The word {word!r} is not UTF-8. Get the file again, or clean the input.", word=word
        ) from None


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order of their ids, and the count of each."""

    words: Words
    counts: Counts

    @classmethod
    def of(
        cls,
        counts: Mapping[str, int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        special: Sequence[str] = (),
    ) -> Vocabulary:
        """Order by count, then by bytes, so the same words and counts give the same ids in any input order.

        Special words come first, in the order given, whether they have a count or not.

        >>> list(Vocabulary.of({"b": 2, "a": 2, "c": 5, "d": 1}, min_count=2).words)
        ['c', 'a', 'b']
        """
        # surrogatepass: a word with a lone surrogate is refused by Words.of, which names it
        seen = {word.encode("utf-8", "surrogatepass"): count for word, count in counts.items()}
        return cls.of_bytes(seen, min_count=min_count, max_size=max_size, special=special)

    @classmethod
    def of_bytes(
        cls,
        counts: Mapping[bytes, int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        special: Sequence[str] = (),
    ) -> Vocabulary:
        """The same for words given as UTF-8."""
        first = {word.encode(): counts.get(word.encode(), 0) for word in special}
        kept = sorted(word for word, count in counts.items() if count >= min_count and word not in first)
        kept.sort(key=counts.__getitem__, reverse=True)  # stable: words of equal count stay in byte order
        last = None if max_size is None else max(0, max_size - len(first))
        ordered = first | {word: counts[word] for word in kept[:last]}
        return cls(Words.of_bytes(list(ordered)), np.array(list(ordered.values()), np.int64))

    def grown(self, counts: Mapping[str, int], *, min_count: int = 1) -> Vocabulary:
        """This vocabulary with new words appended: old words keep their ids, and counts add up.

        >>> list(Vocabulary.of({"cat": 3, "dog": 2}).grown({"emu": 9, "dog": 1}).words)
        ['cat', 'dog', 'emu']
        """
        old = dict(zip(self.words, self.counts.tolist(), strict=True))
        unseen = {word: count for word, count in counts.items() if word not in old}
        new = Vocabulary.of(unseen, min_count=min_count)
        added = np.array([counts.get(word, 0) for word in old], np.int64)
        return Vocabulary(Words.of([*old, *new.words]), np.concatenate([self.counts + added, new.counts]))

    def __len__(self) -> int:
        return len(self.words)


def by_count(words: list[bytes], counts: Counts) -> np.ndarray:
    """Indices that sort words by count, highest first, and words of equal count by their bytes.

    >>> by_count([b"b", b"a", b"c"], np.array([2, 2, 5])).tolist()
    [2, 1, 0]
    """
    # the first eight bytes as numbers, which sort in a tenth of the time
    heads = np.array(words, "S8").view(">u8").astype(np.uint64)
    order = np.lexsort((heads, -counts))
    heads = heads[order]
    counts = counts[order]
    tied = (heads[1:] == heads[:-1]) & (counts[1:] == counts[:-1])
    for start, stop in np.flatnonzero(np.diff(tied, prepend=False, append=False)).reshape(-1, 2).tolist():
        order[start : stop + 1] = sorted(order[start : stop + 1].tolist(), key=words.__getitem__)
    return order


def pack(vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """The vocabulary as named arrays, to be written to a file."""
    return {**pack_words(vocabulary.words), "counts": vocabulary.counts}


def pack_words(words: Words) -> dict[str, np.ndarray]:
    return {
        "words": words.blob,
        "word_offsets": words.offsets,
        "word_hashes": words.hashes,
        "word_order": words.order,
    }


def unpack(opened: Arrays) -> Vocabulary:
    words = unpack_words(opened)
    expect_counts(opened, len(words))
    return Vocabulary(words, unpack_counts(opened))


def expect_counts(opened: Arrays, size: int) -> None:
    opened.expect("counts", replace(COUNTS, shape=(size,)))


def unpack_counts(opened: Arrays) -> Counts:
    return opened.in_memory("counts").astype(np.int64, copy=False)


def expect_words(opened: Arrays) -> int:
    """Say what the arrays of words must hold; the number of words."""
    size = math.prod(opened.shape("word_order"))
    end = math.prod(opened.shape("words"))
    bounds = Values(dtypes=("I64",), shape=(size + 1,), low=0, high=end, first=0, last=end, ascending=True)
    opened.expect("words", Values(dtypes=("U8",), shape=(None,)))
    opened.expect("word_offsets", bounds)
    opened.expect("word_hashes", Values(dtypes=("U64",), shape=(size,), ascending=True))
    opened.expect("word_order", Values(dtypes=("I32",), shape=(size,), low=0, high=size - 1))
    return size


def unpack_words(opened: Arrays) -> Words:
    """The words; nothing is read before it is needed."""
    size = expect_words(opened)

    def array(name: str) -> np.ndarray:
        found = opened.in_memory(name)
        if name == "word_order":
            _refuse_repeated_ids(opened.path, found)
        return found

    return Words(array, size)


def _refuse_repeated_ids(path: Path, order: np.ndarray) -> None:
    """The order of the hashes has every word once; a word that it lacks would never be found."""
    present = np.zeros(len(order), bool)
    present[order] = True
    if not present.all():
        raise FormatError(
            "{path}: 'word_order' lacks word {id:,} and has another twice; expected every word once. "
            "Get the file from another source, or make it again.",
            path=path,
            id=int(present.argmin()),
        )
