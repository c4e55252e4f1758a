"""Workers wait for each other, and no turn is taken twice."""

from __future__ import annotations

import threading
import time

import numpy as np

from inlaid.feed.blocks import in_threads
from inlaid.kernels import turns
from inlaid.kernels.compile import kernel


@kernel
def _arrive(counters, goal):
    turns.count_one(counters, 1)
    turns.wait_for(counters, 1, goal)


@kernel
def _take_all(counters, end, taken):
    found = 0
    while True:
        turn = turns.take_turn(counters, 0, end)
        if turn < 0:
            return found
        taken[turn] += 1
        found += 1


@kernel
def _counted(counters, n):
    return turns.counted(counters, n)


def test_nobody_goes_on_before_all_have_arrived():
    counters = turns.counters_for(2)
    gone = []
    _arrive(counters, 1)
    counters[:] = 0
    first = threading.Thread(target=lambda: (_arrive(counters, 2), gone.append("first")))
    first.start()
    time.sleep(0.05)
    assert not gone
    _arrive(counters, 2)
    first.join(5)
    assert gone == ["first"]
    assert (_counted(counters, 0), _counted(counters, 1)) == (0, 2)


def test_every_turn_is_taken_once_and_none_beyond_the_end():
    counters = turns.counters_for(1)
    taken = np.zeros(200_000, np.int64)
    found = in_threads(lambda _: np.array([_take_all(counters, 100_000, taken)]), 3)
    assert np.sum(found) == 100_000
    assert (taken[:100_000] == 1).all()
    assert not taken[100_000:].any()
    assert _take_all(counters, 100_000, taken) == 0
