"""Many analogies at once give what one at a time gives."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.evaluate import analogies
from inlaid.study.evaluate.analogies import EPSILON, solve, unit


def plain(table: np.ndarray, given: np.ndarray) -> tuple[list[int], list[int]]:
    """The formulas as they are written."""
    rows = unit(table.astype(np.float64))
    add = []
    multiply = []
    for a, b, c in given.tolist():
        cos_a, cos_b, cos_c = (rows @ rows[id] for id in (a, b, c))
        sums = cos_b - cos_a + cos_c
        products = (cos_b + 1) / 2 * (cos_c + 1) / 2 / ((cos_a + 1) / 2 + EPSILON)
        for scores, found in ((sums, add), (products, multiply)):
            scores[[a, b, c]] = -np.inf
            found.append(int(scores.argmax()))
    return add, multiply


@pytest.mark.parametrize("held", [1 << 26, 40, 500])
def test_blocks_of_any_size_give_the_plain_answers(held: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(analogies, "HELD", held)
    random = np.random.default_rng(1)
    table = random.standard_normal((97, 7)).astype(np.float32)
    given = random.integers(0, 97, (60, 3))
    found = solve(table, given, given)
    assert (found.add.tolist(), found.multiply.tolist()) == plain(table, given)


def test_equal_scores_give_the_earlier_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(analogies, "HELD", 6)
    table = np.array([[1, 0], [0, 1], [1, 1], [2, 2], [-1, 0], [4, 4]], np.float32)
    found = solve(table, np.array([[4, 1, 0]]), np.array([[4, 1, 0]]))
    assert found.add.tolist() == [2]


def test_words_left_out_are_no_answers_even_if_all_others_are_worse():
    table = np.array([[1, 0], [0, 1], [1, 1], [-1, -1]], np.float32)
    assert solve(table, np.array([[0, 1, 0]]), np.array([[0, 1, 2]])).add.tolist() == [3]


def test_a_row_of_zeros_is_no_crash():
    table = np.array([[1, 0], [0, 1], [0, 0], [1, 1]], np.float32)
    assert solve(table, np.array([[2, 0, 1]]), np.array([[2, 0, 1]])).add.tolist() == [3]


def test_no_questions_have_no_answers():
    found = solve(np.ones((3, 2), np.float32), np.empty((0, 3), np.int64), np.empty((0, 3), np.int64))
    assert len(found.add) == 0
