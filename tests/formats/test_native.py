"""The native file keeps words, table, counts and card, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inlaid import arrays
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.formats import native
from inlaid.formats.reading import Reading
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


def test_a_file_without_a_card_is_refused(tmp_path: Path):
    arrays.write(tmp_path / "v.inlaid", {"table": np.zeros((1, 1), np.float32)}, {})
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
        assert found.subwords.own.whole().tobytes() == own.tobytes()  # pyright: ignore[reportAttributeAccessIssue]
        assert found.subwords.buckets.whole().tobytes() == buckets.tobytes()  # pyright: ignore[reportAttributeAccessIssue]
    top = native.read(tmp_path / "v.inlaid", Reading(top=2))
    assert isinstance(top.subwords, NGrams)
    assert top.subwords.own.shape == (2, 4)
    assert top["小猫"].tobytes() == found["小猫"].tobytes()


def test_what_has_no_place_in_the_file_is_said(tmp_path: Path):
    class Guess:
        def vector(self, word: str) -> None: ...

    notes: list[object] = []
    native.write(replace(Vectors.of(["a"], [[1.0]]), subwords=Guess()), tmp_path / "v.inlaid", notes.append)
    assert "Guess" in str(notes)
    assert native.read(tmp_path / "v.inlaid").subwords is None
