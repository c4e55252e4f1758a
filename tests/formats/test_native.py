"""The native file keeps words, table, counts and card, bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid import array_writer
from inlaid.cli import main
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words, pack_words
from inlaid.errors import FormatError
from inlaid.formats import native
from inlaid.formats.reading import Reading
from inlaid.shapes import LazyTable
from inlaid.vectors import Card, Vectors


def test_everything_comes_back(tmp_path: Path):
    table = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    card = Card(method="ppmi", settings={"window": 5}, encoding={"normalize": ["lower"]}, notes=("注意",))
    vectors = Vectors(Words.of(["cat", "猫", "a b"]), table, np.array([3, 2, 1]), card)
    native.write(vectors, tmp_path / "v.inlaid")
    found = native.read(tmp_path / "v.inlaid")
    assert found.words == vectors.words
    assert found.table.tobytes() == table.tobytes()
    assert found.counts is not None
    assert found.counts.tolist() == [3, 2, 1]
    assert found.card == card


def test_counts_may_be_missing(tmp_path: Path):
    native.write(Vectors.of(["a"], [[1.0]]), tmp_path / "v.inlaid")
    assert native.read(tmp_path / "v.inlaid").counts is None


def with_card(path: Path, card: str) -> Path:
    """A file of one word whose card is this text."""
    table = np.ones((1, 1), np.float32)
    array_writer.write(path, {"table": table, **pack_words(Words.of(["a"]))}, {"card": card})
    return path


def test_a_card_of_a_newer_version_is_read_and_unknown_fields_are_reported(tmp_path: Path):
    card = {"method": "swivel", "outcome_of_tomorrow": {"steps": 3}, "notes": ["a"], "b": 1}
    notes: list[object] = []
    found = native.read(with_card(tmp_path / "v.inlaid", json.dumps(card)), report=notes.append)
    assert found.card == Card(method="swivel", notes=("a",))
    assert len(notes) == 1
    assert "fields that this version of Inlaid does not know: b, outcome_of_tomorrow." in str(notes[0])


def test_a_card_of_an_older_version_gets_defaults(tmp_path: Path):
    notes: list[object] = []
    found = native.read(with_card(tmp_path / "v.inlaid", '{"method": "ppmi"}'), report=notes.append)
    assert found.card == Card(method="ppmi")
    assert not notes


@pytest.mark.parametrize("card", ["{", "[1]", '{"method": 3}', '{"notes": "a"}', '{"settings": [1]}'])
def test_a_card_that_cannot_be_read_is_refused(tmp_path: Path, card: str):
    with pytest.raises(FormatError, match="card"):
        native.read(with_card(tmp_path / "v.inlaid", card))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_lacks_do_not_stop_the_command_line(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    outcome = f'{{"reason": "finished", "done": 1, "total": 1, "kept": 1, "seconds": {number}}}'
    card = f'{{"scores": {{"en": {number}}}, "settings": {{"a": [{number}]}}, "outcome": {outcome}}}'
    path = with_card(tmp_path / "v.inlaid", card)
    assert main(["info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["card"]
    assert found["scores"] == {"en": None}
    assert found["settings"] == {"a": [None]}
    assert found["outcome"] is None


def test_a_newer_file_opens_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = with_card(tmp_path / "v.inlaid", '{"method": "swivel", "outcome": {"finished": true}, "x": 1}')
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"]["method"] == "swivel"


def test_a_file_without_a_card_is_refused(tmp_path: Path):
    array_writer.write(tmp_path / "v.inlaid", {"table": np.zeros((1, 1), np.float32)}, {})
    with pytest.raises(FormatError, match="card"):
        native.read(tmp_path / "v.inlaid")


@pytest.mark.parametrize("kept", [None, np.array([2, 3, 7], np.int32)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_ngrams_come_back_and_are_read_by_the_row(
    tmp_path: Path, dtype: native.Dtype, kept: np.ndarray | None
):
    random = np.random.default_rng(2)
    words = Words.of(["cat", "猫", "dog"])
    own, buckets = (
        random.standard_normal((rows, 4)).astype(np.float32) for rows in (3, 9 if kept is None else 3)
    )
    ngrams = NGrams(own=own, buckets=buckets, size=9, min_n=1, max_n=4, kept=kept)
    vectors = Vectors(words, NGramTable.of(words, ngrams), subwords=ngrams)
    native.write(vectors, tmp_path / "v.inlaid", dtype=dtype)
    found = native.read(tmp_path / "v.inlaid")
    expected = vectors["小猫"]
    np.testing.assert_allclose(
        found["小猫"], expected, atol={"float32": 0, "float16": 1e-3, "int8": 2e-2}[dtype]
    )
    assert isinstance(found.subwords, NGrams)
    assert (found.subwords.min_n, found.subwords.max_n, found.subwords.size) == (1, 4, 9)
    if dtype == "float32":
        assert isinstance(found.subwords.own, LazyTable)
        assert isinstance(found.subwords.buckets, LazyTable)
        assert found.subwords.own.whole().tobytes() == own.tobytes()
        assert found.subwords.buckets.whole().tobytes() == buckets.tobytes()
    top = native.read(tmp_path / "v.inlaid", Reading(top=2))
    assert isinstance(top.subwords, NGrams)
    assert top.subwords.own.shape == (2, 4)
    assert top["小猫"].tobytes() == found["小猫"].tobytes()


def test_what_the_file_cannot_store_is_reported(tmp_path: Path):
    class Guess:
        def vector(self, word: str) -> None: ...

    notes: list[object] = []
    native.write(replace(Vectors.of(["a"], [[1.0]]), subwords=Guess()), tmp_path / "v.inlaid", notes.append)
    assert "Guess" in str(notes)
    assert native.read(tmp_path / "v.inlaid").subwords is None


def test_the_tokenizer_and_the_mark_of_its_subwords_come_back(tmp_path: Path):
    text = ["中国的首都是北京", "中国人说中文"] * 20
    made = inlaid.train(text, "ppmi", tokenizer="bpe", subwords=290, dim=4)
    native.write(made, tmp_path / "v.inlaid")
    found = native.read(tmp_path / "v.inlaid")
    assert found.tokenizer_json == made.tokenizer_json is not None
    assert found.card.encoding["spelling"] == "Ġ"
    assert "中国" in found
    assert len(found.pieces("北京人")) > 1
    np.testing.assert_array_equal(found["北京人"], made["北京人"])


@pytest.mark.parametrize("tokenizer", [b"\xff", b"{}"])
def test_a_damaged_tokenizer_is_refused(tmp_path: Path, tokenizer: bytes):
    card = json.dumps({"encoding": {"spelling": "Ġ"}})
    content = {"table": np.eye(1, dtype=np.float32), **pack_words(Words.of(["a"]))}
    content["tokenizer"] = np.frombuffer(tokenizer, np.uint8)
    array_writer.write(tmp_path / "v.inlaid", content, {"card": card})
    with pytest.raises(FormatError, match="tokenizer"):
        _ = native.read(tmp_path / "v.inlaid")["b"]
