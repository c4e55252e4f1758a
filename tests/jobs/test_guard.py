"""What goes wrong is seen; what only wobbles is not."""

from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest

from inlaid.jobs.guard import FiniteCheck, Losses, checks_since_best, interruptions
from inlaid.jobs.state import State
from inlaid.vectors import Mark


def first_problem(losses: list[float], *, part: float = 0.01) -> tuple[int, str]:
    """The number of the first loss that is found to be wrong, and what is said of it."""
    watched = Losses()
    for number, loss in enumerate(losses):
        if said := watched.add(loss, 1.0, part):
            return number, str(said)
    return -1, ""


def test_the_average_is_of_pairs_and_ends_where_losses_settle():
    losses = Losses()
    for _ in range(1000):
        losses.add(30.0, 10.0, 0.001)
    assert losses.average == 3.0
    for _ in range(30):
        losses.add(10.0, 10.0, 0.001)
    assert losses.average == pytest.approx(1 + 2 * math.exp(-30 * 0.001 * 200))


def test_a_step_without_pairs_is_ignored():
    losses = Losses()
    assert losses.add(0.0, 0.0, 0.1) is None
    assert losses.average is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number(bad: float):
    assert first_problem([4.0, 3.0, bad]) == (2, f"the loss became {bad}")


def test_a_loss_that_blows_up():
    number, said = first_problem([4.0, 3.0, 2.0, 2.0, 50.0, 400.0])
    assert number == 4
    assert "from 2" in said


def test_losses_that_are_none_of_its_business():
    noise = np.random.Generator(np.random.Philox(1)).uniform(0.1, 9, 10_000)
    assert first_problem(list(noise), part=1e-4) == (-1, "")  # noise vanishes in the average
    assert first_problem([4.0, 1e-3, 1e-5, 1e-2, 1.0]) == (
        -1,
        "",
    )  # better than at the start, though far from its best
    assert first_problem([100.0, 1.0, 1.0, 99.0]) == (-1, "")


def test_bad_numbers_are_found_wherever_they_are():
    arrays = {
        "ids": np.arange(5),
        "sum": np.zeros(()),
        "none": np.zeros((0, 3)),
        "table": np.ones((50_000, 20), np.float32),
    }
    assert State(arrays).problem() is None
    for row in (0, 49_999, 31_234):
        for bad in (np.nan, np.inf, -np.inf):
            arrays["table"][row, 19] = bad
            assert str(State(arrays).problem()) == f"'table' holds NaN or infinity in row {row:,}"
            arrays["table"][row, 19] = 1
    arrays["sum"][()] = np.nan
    assert str(State(arrays).problem()) == "'sum' holds NaN or infinity in row 0"


def test_numbers_that_are_only_large_are_good():
    large = {"half": np.full(100_000, 6e4, np.float16), "single": np.full(1000, 3e38, np.float32)}
    assert State(large).problem() is None


def test_first_rows_are_looked_at_every_time_and_all_now_and_then():
    table = np.zeros((1000, 3), np.float32)
    table[900] = np.nan
    state = State({"table": table})
    slow = FiniteCheck(interval=1000.0)
    fast = FiniteCheck(interval=0.0)
    assert slow.look(state) is None
    assert "row 900" in str(slow.look(state, everything=True))
    assert "row 900" in str(fast.look(state))
    table[5] = np.nan
    assert "row 5" in str(slow.look(state))


def test_marks_since_the_best():
    def since(*held_out: float | None) -> int:
        return checks_since_best(
            [Mark(done=number, loss=1.0, held_out=each) for number, each in enumerate(held_out)]
        )

    assert since() == 0
    assert since(3.0) == 0
    assert since(3.0, 2.0, 1.0) == 0
    assert since(3.0, 1.0, 2.0, 2.5) == 2
    assert since(1.0, 1.0, 1.0) == 2  # as good is no better


def test_the_first_ctrl_c_is_kept_and_the_second_acts():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), interruptions() as caught:
        os.kill(os.getpid(), signal.SIGINT)
        assert caught == [signal.SIGINT]
        os.kill(os.getpid(), signal.SIGINT)
    with interruptions() as caught:
        os.kill(os.getpid(), signal.SIGTERM)
        assert caught == [signal.SIGTERM]
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_a_signal_that_is_ignored_stays_ignored():
    """As for a program that a shell put into the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptions() as caught:
            os.kill(os.getpid(), signal.SIGINT)
        assert caught == []
    finally:
        signal.signal(signal.SIGINT, before)
