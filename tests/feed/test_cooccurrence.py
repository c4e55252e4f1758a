"""Co-occurrence counts: a known table, and the reference on random text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import SettingError
from inlaid.feed import cooccurrence as feed
from inlaid.kernels.cooccurrence import reference


def test_three_sentences_give_the_known_table():
    corpus = encode(
        ["I like NLP.", "I like deep learning.", "I enjoy flying."], Encoding(min_count=1, normalize=())
    )
    order = [
        corpus.vocabulary.words.find(word)
        for word in ("I", "like", "enjoy", "NLP", "deep", "learning", "flying")
    ]
    table = feed.cooccurrence(corpus, window=None).dense()[np.ix_(order, order)]
    assert table.tolist() == [
        [0, 2, 1, 1, 1, 1, 1],
        [2, 0, 0, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 0, 1],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 1, 0, 0],
        [1, 0, 1, 0, 0, 0, 0],
    ]


def numbered(sentences: list[list[int]]) -> Corpus:
    return encode([[f"{id:02}" for id in sentence] for sentence in sentences], Encoding(min_count=1))


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), min_size=1, max_size=10),
    st.integers(1, 6),
    st.booleans(),
    st.integers(1, 3),
)
@settings(deadline=None)
def test_counting_equals_the_specification(
    sentences: list[list[int]], window: int, decay: bool, workers: int
):
    corpus = numbered(sentences)
    weights = np.array([0.0] + [1 / d if decay else 1.0 for d in range(1, window + 1)])
    expected = reference.cooccurrence(corpus.ids, corpus.offsets, len(corpus.vocabulary), window, weights)
    cells = feed.cooccurrence(corpus, window=window, decay=decay, workers=workers)
    np.testing.assert_allclose(cells.dense(), expected, rtol=1e-12)
    np.testing.assert_allclose(cells.sums(), expected.sum(axis=1), rtol=1e-12)
    for row in range(cells.size):
        assert (np.diff(cells.columns[cells.starts[row] : cells.starts[row + 1]]) > 0).all()


def some_text() -> Corpus:
    random = np.random.default_rng(1)
    return numbered([random.integers(0, 60, length).tolist() for length in random.integers(1, 40, 300)])


@pytest.mark.parametrize("decay", [False, True])
def test_the_same_bits_for_any_workers_memory_and_pieces(monkeypatch: pytest.MonkeyPatch, decay: bool):
    corpus = some_text()
    whole = feed.cooccurrence(corpus, window=4, decay=decay)
    monkeypatch.setattr(feed, "PIECE", 100)
    kinds = [(workers, parts, spilled) for workers in (1, 3) for parts in (1, 7) for spilled in (False, True)]
    for workers, parts, spilled in kinds:
        monkeypatch.setattr(
            feed._Counting,
            "__init__",
            smaller(feed._Counting.__init__, len(corpus.ids) // parts + 1, spilled),
        )
        each = feed.cooccurrence(corpus, window=4, decay=decay, workers=workers)
        monkeypatch.undo()
        for name in ("starts", "columns", "counts"):
            assert getattr(each, name).tobytes() == getattr(whole, name).tobytes(), (workers, parts, spilled)


def smaller(made: Callable[..., None], tokens: int, spilled: bool) -> Callable[..., None]:
    """As if there were memory for `tokens` tokens only, and for no cells at all."""

    def init(self: feed._Counting, *given: Any) -> None:
        made(self, *given)
        self.tokens = tokens
        if spilled:
            self.columns.keep = self.sums.keep = self.memory = 0

    return init


def test_little_memory_is_enough():
    random = np.random.default_rng(2)
    corpus = numbered([random.integers(0, 100, 50).tolist() for _ in range(1500)])
    events: list[object] = []
    small = feed.cooccurrence(corpus, window=5, memory=1, report=events.append)
    assert any(getattr(event, "stage", "") == "merging" for event in events)
    assert small.counts.tobytes() == feed.cooccurrence(corpus, window=5).counts.tobytes()


def test_counts_of_rows_and_columns_are_the_same_number():
    table = feed.cooccurrence(some_text(), window=7, decay=True).dense()
    assert (table == table.T).all()


def test_windows_beyond_whole_parts_are_rounded_finely():
    corpus = numbered([list(range(60))])
    table = feed.cooccurrence(corpus, window=50, decay=True).dense()
    weights = np.array([0.0] + [1 / d for d in range(1, 51)])
    np.testing.assert_allclose(
        table, reference.cooccurrence(corpus.ids, corpus.offsets, 60, 50, weights), rtol=1e-8
    )


def test_sentences_shorter_than_the_window_and_of_one_word():
    assert len(feed.cooccurrence(numbered([[1], [2]]), window=5)) == 0
    assert feed.cooccurrence(numbered([[1, 2], [1]]), window=100, decay=True).dense().tolist() == [
        [0, 1],
        [1, 0],
    ]
    assert feed.cooccurrence(numbered([[1, 1, 1]]), window=1).dense().tolist() == [[4]]


def test_a_full_disk_is_an_error_that_says_so(tmp_path: Path):
    """In another process, where no file may grow beyond 1,000 bytes."""
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import numpy as np
from inlaid import files
def spill():
    files.Spool(np.int64, keep=10, spill=True).append(np.zeros(1000, np.int64))
def scratch():
    files.scratch((9999,), np.int64)
for work in (spill, scratch):
    try:
        work()
    except files.WriteError as error:
        print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert ended.stdout.count(f"Cannot write temporary files in {tmp_path}: File too large") == 2, (
        ended.stderr
    )
    assert os.listdir(tmp_path) == []


def test_decay_without_a_window_is_refused():
    with pytest.raises(SettingError, match="decay needs a window"):
        feed.cooccurrence(numbered([[1, 2]]), window=None, decay=True)
