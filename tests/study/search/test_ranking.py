"""Best words equal a plain sort in float64, however the work is cut; equal scores come in the order of
ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.study.search import ranking
from inlaid.study.search.index import filter_of as filter_for
from inlaid.study.search.ranking import Filter, Found, Penalties, best
from inlaid.vectors import Int8Table, Vectors, lengths


def plain(
    table: np.ndarray, queries: np.ndarray, n: int, without=(), taken: np.ndarray | None = None
) -> list[list[int]]:
    """Every score in float64, one row at a time, sorted by score and then by id."""
    rows = table.astype(np.float64)
    sizes = np.sqrt((rows * rows).sum(axis=1))
    answers = []
    for number, query in enumerate(queries.astype(np.float64)):
        unit = query / np.sqrt((query * query).sum())
        scores = (rows * unit).sum(axis=1) / np.where(sizes == 0, 1, sizes)
        if taken is not None:
            scores -= taken[number]
        order = sorted(range(len(rows)), key=lambda word: (-scores[word], word))
        answers.append([id for id in order if not without or id not in without[number]][:n])
    return answers


def ids(found: list[Found]) -> list[list[int]]:
    return [each.ids.tolist() for each in found]


def small_numbers(words: int, dim: int, seed: int) -> np.ndarray:
    """Whole numbers, so that many rows are equal and many scores tie."""
    return np.random.default_rng(seed).integers(-1, 2, (words, dim)).astype(np.float32)


@given(
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(1, 70),
    st.integers(0, 1000),
    st.sampled_from([8, 64, 4096]),
)
@settings(deadline=None, max_examples=80)
def test_ties_come_in_the_order_of_ids_whatever_the_blocks(
    words: int, dim: int, count: int, n: int, seed: int, held: int
):
    table = small_numbers(words, dim, seed)
    queries = small_numbers(count, dim, seed + 1)
    queries[~queries.any(axis=1)] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "SCORES", held)
        patch.setattr(ranking, "QUERIES", 4)
        assert ids(best(table, lengths(table), queries, n=n)) == plain(table, queries, n)


@pytest.mark.parametrize("small", [0, 1 << 40], ids=["kernels", "numpy"])
@pytest.mark.parametrize("count", [1, 5, 40])
def test_kernels_and_numpy_find_the_same(small: int, count: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranking, "SMALL", small)
    random = np.random.default_rng(3)
    table = random.standard_normal((3000, 50), dtype=np.float32)
    table[2000:] = table[:1000]  # every one of these ties with its double
    queries = table[:count] + random.standard_normal((count, 50), dtype=np.float32) / 4
    assert ids(best(table, lengths(table), queries, n=7)) == plain(table, queries, 7)


def test_without_numba_all_still_works(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranking, "_kernels", lambda: None)
    monkeypatch.setattr(ranking, "SMALL", 0)
    table = np.random.default_rng(3).standard_normal((500, 20), dtype=np.float32)
    assert ids(best(table, lengths(table), table[:2], n=5, filter=filter_of(table))) == plain(
        table, table[:2], 5
    )


def filter_of(table: np.ndarray) -> Filter:
    vectors = Vectors.of([f"w{id}" for id in range(len(table))], table)
    codes = Int8Table.of(vectors.table)
    return filter_for(vectors, codes)


@given(st.integers(1, 300), st.sampled_from([1, 2, 30]), st.integers(1, 20), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_codes_rule_out_no_right_answer(words: int, dim: int, n: int, seed: int):
    random = np.random.default_rng(seed)
    table = (
        random.standard_normal((words, dim), dtype=np.float32) ** 5
    )  # a few large numbers: codes that are far off
    table[words // 2] = 0
    queries = random.standard_normal((2, dim), dtype=np.float32)
    without = [[0], []]
    assert ids(best(table, lengths(table), queries, n=n, filter=filter_of(table), without=without)) == plain(
        table, queries, n, without
    )


def test_codes_spare_most_rows(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(1)
    table = random.standard_normal((5000, 100), dtype=np.float32)
    read = []
    exact = ranking._QueryBlock.exact
    monkeypatch.setattr(
        ranking._QueryBlock,
        "exact",
        lambda self, query, ids: (read.append(len(ids)), exact(self, query, ids))[1],
    )
    best(table, lengths(table), table[:1], n=10, filter=filter_of(table))
    assert sum(read) < 200


def test_penalties_are_subtracted():
    random = np.random.default_rng(1)
    table = random.standard_normal((400, 10), dtype=np.float32)
    queries = random.standard_normal((3, 10), dtype=np.float32)
    words = random.standard_normal((400, 2))
    asked = random.standard_normal((3, 2))
    found = best(table, lengths(table), queries, n=6, penalties=Penalties(words, asked))
    assert ids(found) == plain(table, queries, 6, taken=asked @ words.T)


def test_thousands_of_queries_hold_few_scores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranking, "SCORES", 10_000)
    seen = []
    cosines = ranking._cosines
    monkeypatch.setattr(
        ranking, "_cosines", lambda *given: seen.append(cosines(*given).size) or cosines(*given)
    )
    table = np.random.default_rng(1).standard_normal((300, 5), dtype=np.float32)
    assert len(best(table, lengths(table), np.tile(table, (7, 1)), n=2)) == 2100
    assert max(seen) <= 10_000


def test_very_long_and_very_short_rows_have_a_direction():
    table = np.array([[1e30, 0], [0, 1e-30], [1, 1]], np.float32)
    found = best(table, lengths(table), np.array([[1, 0.1]], np.float32), n=3)[0]
    assert found.ids.tolist() == [0, 2, 1]
    np.testing.assert_allclose(found.scores, [0.99503719, 0.77395730, 0.09950372], rtol=1e-6)


@pytest.mark.parametrize("small", [0, 1 << 40], ids=["kernels", "numpy"])
def test_scores_closer_than_float32_precision_are_ordered(small: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranking, "SMALL", small)
    monkeypatch.setattr(ranking, "SCORES", 900)
    random = np.random.default_rng(1)
    table = (random.standard_normal(50) + 1e-4 * random.standard_normal((3000, 50))).astype(np.float32)
    queries = table[:2] + np.float32(1e-3)
    assert ids(best(table, lengths(table), queries, n=8)) == plain(table, queries, 8)
