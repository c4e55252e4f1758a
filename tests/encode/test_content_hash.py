"""The hash of a corpus does not depend on how its arrays were divided."""

import itertools

import numpy as np
import pytest

from inlaid.encode import content_hash as hashing
from inlaid.encode.content_hash import content_hash, digests_of, hash_of
from inlaid.encode.vocabulary import Vocabulary


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(hashing, "BLOCK", 64)


VOCABULARY = Vocabulary.of({"cat": 2, "dog": 1})
IDS = np.arange(100, dtype=np.int32)
OFFSETS = np.arange(0, 101, 5, dtype=np.int64)


def in_parts(array, cuts):
    bounds = [0, *cuts, len(array)]
    parts = itertools.pairwise(bounds)
    return [digests_of([array[start:stop]], start * array.itemsize) for start, stop in parts]


@pytest.mark.parametrize(
    "cuts", [[], [1], [16], [16, 32], [7, 9, 11], [50, 50], [0, 3, 99], [15, 17, 31, 33]]
)
def test_parts_hash_like_the_whole(small_blocks, cuts):
    whole = content_hash([IDS], [OFFSETS], VOCABULARY)
    few = [cut for cut in cuts if cut <= len(OFFSETS)]
    assert hash_of(in_parts(IDS, cuts), in_parts(OFFSETS, few), VOCABULARY) == whole


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 32])
def test_pieces_hash_like_the_whole(small_blocks, length):
    ids = IDS[:length]
    pieces = [ids[:5], ids[5:6], ids[6:]]
    assert content_hash(pieces, [OFFSETS], VOCABULARY) == content_hash([ids], [OFFSETS], VOCABULARY)


def test_every_number_and_its_place_count(small_blocks):
    hashes = {content_hash([IDS], [OFFSETS], VOCABULARY)}
    for place in range(len(IDS)):
        changed = IDS.copy()
        changed[place] += 1
        hashes.add(content_hash([changed], [OFFSETS], VOCABULARY))
    hashes.add(content_hash([np.roll(IDS, 16)], [OFFSETS], VOCABULARY))
    hashes.add(content_hash([IDS], [OFFSETS[:-1]], VOCABULARY))
    hashes.add(content_hash([IDS], [OFFSETS], Vocabulary.of({"cat": 1, "dog": 2})))
    assert len(hashes) == len(IDS) + 4
