"""A cluster makes the corpus that one machine makes: the same ids, offsets, vocabulary and manifest."""

import contextlib
import gzip
import json
import random

import numpy as np
import pytest

from inlaid.cluster import encoding as cluster_encoding
from inlaid.cluster.encoding import encode_on_cluster
from inlaid.cluster.ray_session import Session
from inlaid.collect import sources, text_pieces, world
from inlaid.encode.corpus import Encoding, encode
from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.report import Note, silent

PIECE = 1 << 16
"""The smallest piece: files are cut at multiples of the block in which they are read, which is small here."""
LONGEST = 1 << 18


class Serial(Session):
    """Runs every task at once, on this machine, in a shuffled order; results wait to be asked for.

    Each task runs twice, as it does when the machine of its first result is lost.
    """

    def __init__(self):
        pass

    def task(self, work, returns=1):
        def start(*given):
            work(*given)
            found = work(*given)
            return list(found) if returns > 1 else found

        return start

    def share(self, value):
        return value

    def result(self, reference):
        return reference

    def results(self, references):
        numbered = list(enumerate(references))
        random.Random(1).shuffle(numbered)
        yield from numbered


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module in (sources, text_pieces):
        monkeypatch.setattr(module, "BLOCK", PIECE)
        monkeypatch.setattr(module, "LONGEST", LONGEST)


@pytest.fixture(autouse=True)
def serial(monkeypatch):
    monkeypatch.setattr(cluster_encoding, "session", lambda *_: contextlib.nullcontext(Serial()))


def assert_same_corpus(found, expected):
    np.testing.assert_array_equal(np.asarray(found.ids), expected.ids)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    assert found.vocabulary.words == expected.vocabulary.words
    np.testing.assert_array_equal(found.vocabulary.counts, expected.vocabulary.counts)
    assert found.manifest == expected.manifest
    assert found.tokenizer_json == expected.tokenizer_json


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder with a file of four pieces, one with other line ends, a compressed file and a table."""
    folder = tmp_path_factory.mktemp("texts")
    english = "\n".join(world.sentences("en", words=10_000, seed=1)) + "\n"
    chinese = "\n".join(world.sentences("zh", words=2_000, seed=2)) + "\n"
    copies = 150_000 // len(english.encode()) + 1
    lines = [f"{line} number{place % 401}" for place, line in enumerate((english * copies).splitlines())]
    (folder / "a.txt").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    (folder / "b.txt").write_text(chinese.replace("\n", "\r\n"), encoding="utf-8")
    (folder / "c.txt.gz").write_bytes(gzip.compress(("a rare zebra\n\n \n" + chinese).encode()))
    records = [json.dumps({"text": line}) for line in english.splitlines()[:200]]
    (folder / "d.jsonl").write_text("\n".join(records))
    return folder


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_count": 1},
        {"special": ("<pad>", "the", "zebra"), "unknown": "<unk>", "max_size": 300},
        {"tokenizer": "whitespace", "normalize": ("nfc",), "unknown": "the"},
        {"tokenizer": "char", "sentences": "split"},
    ],
    ids=["words", "every word", "special", "unknown", "characters"],
)
def test_pieces_give_the_corpus_of_one_machine(texts, tmp_path, settings):
    encoding = Encoding(**settings)
    expected = encode(texts, encoding, out=tmp_path / "one.corpus")
    found = encode_on_cluster(texts, encoding, "local", tmp_path / "many.corpus", silent, piece=PIECE)
    assert len(found.shards) == 7
    assert_same_corpus(found, expected)


@pytest.mark.parametrize("settings", [{"sentences": "line"}, {"sentences": "document"}])
def test_subwords_are_those_of_one_machine(texts, tmp_path, settings):
    encoding = Encoding(tokenizer="bpe", subwords=400, **settings)
    paths = [texts / "a.txt", texts / "b.txt"]
    expected = encode(paths, encoding, out=tmp_path / "one.corpus")
    found = encode_on_cluster(paths, encoding, "local", tmp_path / "many.corpus", silent, piece=PIECE)
    assert_same_corpus(found, expected)


def test_a_line_longer_than_a_piece_is_cut_as_on_one_machine(tmp_path):
    words = ("alpha beta gamma delta " * 14_000).encode()
    path = tmp_path / "long.txt"
    path.write_bytes(b"one two\n" * 10_000 + words + b"\n" + b"three four\n" * 9_000)
    assert len(words) > LONGEST
    encoding = Encoding(min_count=1)
    expected = encode(path, encoding)
    found = encode_on_cluster(path, encoding, "local", tmp_path / "many.corpus", silent, piece=PIECE)
    assert expected.manifest["lint"]["cut_lines"] == 1
    assert_same_corpus(found, expected)


def test_words_that_no_shard_keeps_leave_no_shard(tmp_path):
    (tmp_path / "a.txt").write_text("cat dog\n" * 10)
    (tmp_path / "b.txt").write_text("emu\n")
    (tmp_path / "c.txt").write_text("dog cat\n" * 10)
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    found = encode_on_cluster(paths, Encoding(), "local", tmp_path / "many.corpus", silent)
    assert len(found.shards) == 2
    assert_same_corpus(found, encode(paths, Encoding()))


def test_an_error_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "text.txt"
    lines = b"the cat sits\n" * 11_000
    path.write_bytes(lines + b"\xff\xfe bad\n" + lines)
    with pytest.raises(SourceError) as alone:
        encode(path, Encoding())
    with pytest.raises(SourceError) as together:
        encode_on_cluster(path, Encoding(), "local", tmp_path / "many.corpus", silent, piece=PIECE)
    assert ":11001:" in str(together.value)
    assert str(together.value) == str(alone.value)
    assert not (tmp_path / "many.corpus").exists()


def test_nothing_frequent_is_the_error_of_one_machine(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two two three\n")
    with pytest.raises(SourceError, match="the most frequent, 'two', 2 times"):
        encode_on_cluster(path, Encoding(), "local", tmp_path / "many.corpus", silent)


def test_mixed_scripts_are_noted_once(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("我喜歡吃蘋果和梨子，這個國家很大。\n我喜欢吃苹果和梨子，这个国家很大。\n" * 300)
    notes = []

    def listen(event):
        if isinstance(event, Note):
            notes.append(str(event))

    found = encode_on_cluster(path, Encoding(), "local", tmp_path / "many.corpus", listen)
    assert "simplified" in found.manifest["encoding"]["normalize"]
    assert len([note for note in notes if "simplified" in note]) == 1


@pytest.mark.parametrize("text", [["a sentence", "another"], "-"])
def test_text_that_machines_cannot_open_is_refused(text, tmp_path):
    with pytest.raises(SourceError, match="files"):
        encode_on_cluster(text, Encoding(), "local", tmp_path / "many.corpus", silent)


def test_no_workers_are_refused(tmp_path):
    with pytest.raises(SettingError, match="workers is 0; expected at least 1"):
        encode_on_cluster("a.txt", Encoding(), "local", tmp_path / "c", silent, workers=0)


def test_phrases_are_refused(tmp_path):
    with pytest.raises(SettingError, match="phrases"):
        encode_on_cluster("a.txt", Encoding(phrases=tmp_path), "local", tmp_path / "c", silent)


def test_a_damaged_shard_is_found_when_it_is_hashed(texts, tmp_path, monkeypatch):
    write = cluster_encoding.tasks.write_piece

    def damaging(rule, piece, folder, number):
        written = write(rule, piece, folder, number)
        path = folder / written.shard.name
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        return written

    monkeypatch.setattr(cluster_encoding.tasks, "write_piece", damaging)
    with pytest.raises(FormatError, match="damaged"):
        encode_on_cluster(texts, Encoding(), "local", tmp_path / "many.corpus", silent, piece=PIECE)
    assert not (tmp_path / "many.corpus").exists()
