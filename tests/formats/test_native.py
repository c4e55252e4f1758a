"""The native file keeps words, table, counts and card, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inlay import arrays
from inlay.encode.vocabulary import Words
from inlay.errors import FormatError
from inlay.formats import native
from inlay.vectors import Card, Vectors


def test_everything_comes_back(tmp_path: Path):
    table = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    card = Card(method="ppmi", settings={"window": 5}, encoding={"normalize": ["lower"]}, notes=("注意",))
    vectors = Vectors(Words.of(["cat", "猫", "a b"]), table, np.array([3, 2, 1]), card)
    native.write(vectors, tmp_path / "v.inlay")
    found = native.read(tmp_path / "v.inlay")
    assert found.words == vectors.words
    assert found.table.tobytes() == table.tobytes()
    assert found.counts is not None
    assert found.counts.tolist() == [3, 2, 1]
    assert found.card == card


def test_counts_may_be_missing(tmp_path: Path):
    native.write(Vectors.of(["a"], [[1.0]]), tmp_path / "v.inlay")
    assert native.read(tmp_path / "v.inlay").counts is None


def test_a_file_without_a_card_is_refused(tmp_path: Path):
    arrays.write(tmp_path / "v.inlay", {"table": np.zeros((1, 1), np.float32)}, {})
    with pytest.raises(FormatError, match="card"):
        native.read(tmp_path / "v.inlay")
