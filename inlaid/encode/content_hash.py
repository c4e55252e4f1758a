"""Content hash: one hash for ids, offsets and words, the same however the text was divided among files and
machines.

An array is hashed in blocks of a megabyte, and the hash is that of their digests. So parts of an array can be
hashed where they are: a part gives the digests of the blocks inside it, and the bytes at its two ends that
belong to blocks which other parts continue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import xxhash

from inlaid.encode.vocabulary import Vocabulary

BLOCK = 1 << 20
"""Bytes with one digest."""


class PartDigests(NamedTuple):
    """What one part adds to the hash of an array."""

    head: bytes
    """Its bytes up to the end of the block that an earlier part began."""
    blocks: bytes
    """The digests of the blocks that are inside it."""
    tail: bytes
    """The bytes after them."""


def digests_of(pieces: Iterable[np.ndarray], start: int = 0) -> PartDigests:
    """The digests of a part, given in pieces, that begins `start` bytes after the beginning of its array."""
    to_boundary = -start % BLOCK
    head = bytearray()
    tail = bytearray()
    blocks = bytearray()
    for piece in pieces:
        data = memoryview(np.ascontiguousarray(piece)).cast("B")
        missing = to_boundary - len(head)
        head += data[:missing]
        data = data[missing:]
        while data:
            room = BLOCK - len(tail)
            tail += data[:room]
            data = data[room:]
            if len(tail) == BLOCK:
                blocks += xxhash.xxh3_128_digest(tail)
                tail.clear()
    return PartDigests(bytes(head), bytes(blocks), bytes(tail))


def joined_digest(parts: Iterable[PartDigests]) -> bytes:
    """The digest of an array from those of its parts, in order."""
    digest = xxhash.xxh3_128()
    held = bytearray()
    for part in parts:
        held += part.head
        if len(held) == BLOCK:
            digest.update(xxhash.xxh3_128_digest(held))
            held.clear()
        digest.update(part.blocks)
        held += part.tail
    digest.update(xxhash.xxh3_128_digest(held))
    return digest.digest()


def content_hash(ids: Iterable[np.ndarray], offsets: Iterable[np.ndarray], vocabulary: Vocabulary) -> str:
    """The hash of a corpus; ids and offsets in pieces."""
    return hash_of([digests_of(ids)], [digests_of(offsets)], vocabulary)


def hash_of(ids: Iterable[PartDigests], offsets: Iterable[PartDigests], vocabulary: Vocabulary) -> str:
    """The hash of a corpus whose ids and offsets were hashed part by part."""
    digest = xxhash.xxh3_128()
    digest.update(joined_digest(ids))
    digest.update(joined_digest(offsets))
    for array in (vocabulary.words.blob, vocabulary.words.offsets, vocabulary.counts):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
