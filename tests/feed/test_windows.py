"""Windows slide, targets lead by one, and every token is accounted for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlaid.encode.corpus import Encoding, encode, open_corpus
from inlaid.errors import SettingError, SourceError
from inlaid.feed.windows import Windows, batches, one_hot, windows


def counting(length: int) -> np.ndarray:
    return np.arange(length, dtype=np.int32)


def test_targets_are_the_inputs_one_token_on():
    found = windows(counting(10), max_length=4, stride=2)
    assert found.inputs.tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    assert found.targets.tolist() == [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]
    assert found.inputs.dtype == found.targets.dtype == np.int32
    assert found.left_over == 1


@given(st.integers(2, 60), st.integers(1, 12), st.integers(1, 20))
def test_windows_equal_the_loop_and_every_token_is_in_one_or_left_over(
    length: int, max_length: int, stride: int
):
    if length <= max_length:
        return
    ids = counting(length)
    found = windows(ids, max_length=max_length, stride=stride)
    starts = range(0, length - max_length, stride)
    assert found.inputs.tolist() == [ids[start : start + max_length].tolist() for start in starts]
    assert found.targets.tolist() == [ids[start + 1 : start + max_length + 1].tolist() for start in starts]
    assert found.left_over == length - len({*found.inputs.flat, *found.targets.flat})


def test_windows_of_a_mapped_corpus_are_not_copies(tmp_path: Path):
    encode([[f"w{id}" for id in range(100)]], Encoding(min_count=1)).save(tmp_path / "corpus")
    ids = open_corpus(tmp_path / "corpus").ids
    found = windows(ids, max_length=8, stride=1)
    assert np.shares_memory(found.inputs, ids)
    assert np.shares_memory(found.targets, ids)
    inputs, targets = next(batches(found, 16))
    assert np.shares_memory(inputs, ids)
    assert np.shares_memory(targets, ids)


def test_a_batch_of_8_windows_of_4_is_8_by_4():
    for seed in (None, 1):
        inputs, targets = next(batches(windows(counting(100), max_length=4, stride=4), 8, seed=seed))
        assert inputs.shape == targets.shape == (8, 4)
        np.testing.assert_array_equal(targets, inputs + 1)


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_batches_hold_every_window_once(seed: int | None):
    found = windows(counting(47), max_length=3, stride=2)
    parts = list(batches(found, 8, seed=seed))
    firsts = [row[0] for inputs, _ in parts for row in inputs.tolist()]
    assert len(found) == 22
    assert [len(inputs) for inputs, _ in parts] == [8, 8, 6]
    assert sorted(firsts) == list(range(0, 44, 2))
    assert (firsts == sorted(firsts)) == (seed is None)
    for inputs, targets in parts:
        np.testing.assert_array_equal(targets, inputs + 1)


def test_the_smaller_last_batch_can_be_dropped():
    found = windows(counting(47), max_length=3, stride=2)
    assert [len(inputs) for inputs, _ in batches(found, 8, drop_last=True)] == [8, 8]
    assert [len(inputs) for inputs, _ in batches(found, 11, drop_last=True)] == [11, 11]
    assert list(batches(found, 23, drop_last=True)) == []


def test_a_seed_is_an_order():
    found = windows(counting(200), max_length=3, stride=1)

    def order(seed: int) -> list[int]:
        return [int(row[0]) for inputs, _ in batches(found, 16, seed=seed) for row in inputs]

    assert order(1) == order(1)
    assert order(1) != order(2)


@given(st.lists(st.integers(0, 19), max_size=30))
def test_one_hot_times_a_table_is_looking_it_up(ids: list[int]):
    table = np.random.default_rng(1).standard_normal((20, 7)).astype(np.float32)
    rows = one_hot(np.array(ids, np.int32), 20)
    assert rows.dtype == np.float32
    assert rows.shape == (len(ids), 20)
    np.testing.assert_array_equal(rows @ table, table[ids] if ids else np.empty((0, 7), np.float32))


def test_a_text_too_short_is_refused():
    with pytest.raises(SourceError, match="4 tokens make no window: max_length 4 needs 5"):
        windows(counting(4), max_length=4, stride=1)
    assert len(windows(counting(5), max_length=4, stride=1)) == 1


@pytest.mark.parametrize(
    ("max_length", "stride", "name"),
    [(0, 1, "max_length"), (-1, 1, "max_length"), (4, 0, "stride"), (4, -2, "stride")],
)
def test_settings_below_one_are_refused(max_length: int, stride: int, name: str):
    with pytest.raises(SettingError, match=f"{name} is .*; expected at least 1"):
        windows(counting(10), max_length=max_length, stride=stride)


def test_an_empty_batch_is_refused_before_it_is_requested():
    with pytest.raises(SettingError, match="size is 0"):
        batches(Windows(np.empty((0, 4), np.int32), np.empty((0, 4), np.int32), 0), 0)


def test_ids_of_another_kind_are_refused():
    with pytest.raises(SourceError, match="int64 of shape .*expected a flat int32 array"):
        windows(np.arange(10), max_length=2, stride=1)
    with pytest.raises(SourceError, match="of shape .2, 5."):
        windows(counting(10).reshape(2, 5), max_length=2, stride=1)
    with pytest.raises(SourceError, match="from 0 to 3; expected 0 to 2"):
        one_hot(counting(4), 3)
    with pytest.raises(SourceError, match="from -1 to 0"):
        one_hot(np.array([-1, 0]), 3)
    with pytest.raises(SourceError, match="float64"):
        one_hot(np.array([0.5]), 3)
