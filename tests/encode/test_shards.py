"""A corpus of shards reads like one file, and damage to any of its files is found."""

import dataclasses
import itertools

import numpy as np
import pytest

import inlaid
from inlaid import files
from inlaid.collect import world
from inlaid.encode.corpus import Encoding, encode, open_corpus, write_parts
from inlaid.encode.shards import JoinedIds, shard_name, write_shard
from inlaid.errors import FormatError

SENTENCES = list(world.sentences("en", words=20_000, seed=3))


@pytest.fixture(scope="module")
def corpus():
    return encode(SENTENCES, Encoding(min_count=2))


@pytest.fixture
def folder(corpus, tmp_path):
    """The corpus in three shards, of which the second has one sentence."""
    path = tmp_path / "text.corpus"
    sentences = len(corpus.offsets) - 1
    cuts = [0, sentences // 3, sentences // 3 + 1, sentences]
    with files.writing_folder(path) as part:
        shards = []
        for number, (first, last) in enumerate(itertools.pairwise(cuts)):
            offsets = corpus.offsets[first : last + 1]
            ids = corpus.ids[offsets[0] : offsets[-1]]
            shards.append(write_shard(part, shard_name(number), ids, offsets - offsets[0]))
        write_parts(part, {}, corpus.vocabulary, corpus.manifest, None, shards)
    return path


def test_shards_hold_the_same_text(corpus, folder):
    opened = open_corpus(folder)
    assert isinstance(opened.ids, JoinedIds)
    assert len(opened.shards) == 3
    np.testing.assert_array_equal(np.asarray(opened.ids), corpus.ids)
    np.testing.assert_array_equal(opened.offsets, corpus.offsets)
    assert opened.vocabulary.words == corpus.vocabulary.words


@pytest.mark.parametrize(
    "method",
    [
        {"method": "sgns", "dim": 8, "epochs": 1},
        {"method": "cbow", "dim": 8, "epochs": 1},
        {"method": "fasttext", "dim": 8, "epochs": 1, "buckets": 1000},
        {"method": "glove", "dim": 8, "epochs": 2},
        {"method": "ppmi", "dim": 8},
        {"method": "onehot"},
    ],
    ids=lambda method: method["method"],
)
def test_every_method_learns_the_same_from_shards(corpus, folder, method):
    expected = inlaid.train(corpus, **method)
    found = inlaid.train(open_corpus(folder), **method)
    np.testing.assert_array_equal(found.table, expected.table)


def test_phrases_and_explanations_are_the_same(corpus, folder):
    opened = open_corpus(folder)
    settings = {"min_count": 3, "threshold": 0.2}
    assert list(inlaid.phrases(opened, **settings).ids) == list(inlaid.phrases(corpus, **settings).ids)
    vectors = inlaid.train(corpus, "ppmi", dim=8)
    first, second = list(vectors)[:2]
    found = inlaid.explain(vectors, first, second, corpus=opened)
    expected = inlaid.explain(vectors, first, second, corpus=corpus)
    assert found.to_dict() == expected.to_dict()


def test_saving_shards_joins_them(corpus, folder, tmp_path):
    open_corpus(folder).save(tmp_path / "one.corpus")
    joined = open_corpus(tmp_path / "one.corpus")
    assert joined.shards == ()
    np.testing.assert_array_equal(joined.ids, corpus.ids)


def test_verify_reads_every_shard(corpus, folder):
    assert inlaid.verify(folder) > corpus.ids.nbytes + corpus.offsets.nbytes


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_flipped_bit_in_any_shard_is_found(folder, number):
    path = folder / shard_name(number)
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    with pytest.raises(FormatError, match="damaged"):
        open_corpus(folder)


def test_a_missing_shard_is_named(folder):
    (folder / shard_name(1)).unlink()
    with pytest.raises(FormatError, match=r"shard-00001\.safetensors is missing"):
        open_corpus(folder)


def test_a_shard_of_another_corpus_is_refused(folder):
    (folder / shard_name(1)).write_bytes((folder / shard_name(2)).read_bytes())
    with pytest.raises(FormatError, match="not the shard"):
        open_corpus(folder)


def test_a_shard_outside_the_folder_is_refused(corpus, folder, tmp_path):
    shard = write_shard(tmp_path, shard_name(7), corpus.ids, corpus.offsets)
    outside = dataclasses.replace(corpus, manifest=corpus.manifest)
    with files.writing_folder(tmp_path / "other.corpus") as part:
        listed = [shard._replace(name=f"../{shard.name}")]
        write_parts(part, {}, outside.vocabulary, outside.manifest, None, listed)
    with pytest.raises(FormatError, match="missing"):
        open_corpus(tmp_path / "other.corpus")


PARTS = [np.arange(4), np.empty(0), np.arange(4, 5), np.arange(5, 12)]
JOINED = JoinedIds([part.astype(np.int32) for part in PARTS])
WHOLE = np.arange(12, dtype=np.int32)


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(1, 3),
        slice(3, 6),
        slice(4, 4),
        slice(4, 5),
        slice(-3, None),
        slice(0, 12, 3),
        slice(None, None, -1),
        np.array([0, 11, 4, 4]),
        np.array([[3, 4], [5, -1]]),
        WHOLE % 2 == 0,
        np.empty(0, np.int64),
    ],
)
def test_joined_ids_are_indexed_like_an_array(key):
    found = JOINED[key]
    np.testing.assert_array_equal(found, WHOLE[key])
    assert found.dtype == np.int32


def test_a_slice_inside_a_part_is_no_copy():
    assert np.shares_memory(JOINED[6:9], JOINED.parts[3])


def test_joined_ids_have_one_number_for_an_index():
    assert JOINED[4] == 4
    assert JOINED[-1] == 11
    assert list(JOINED) == WHOLE.tolist()
    with pytest.raises(IndexError):
        JOINED[12]
