"""What goes wrong is seen; what only wobbles is not."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.jobs.guard import FiniteCheck, Losses, check_memory, checks_since_best, interruptions
from inlaid.jobs.safety import Safety
from inlaid.jobs.state import State
from inlaid.vectors import Mark

GB = 10**9


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


def test_a_run_that_does_not_fit_is_refused_with_what_would():
    with pytest.raises(SettingError) as error:
        check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=2 * GB)
    assert str(error.value) == (
        "This run needs about 8.0 GB of memory, and 2.0 GB are free. dim 75 or 750,000 words would fit. "
        "Lower dim (now 300), or have fewer words (now 3,000,000) with a larger min_count or with max_size."
    )
    check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=8 * GB)


def test_early_stopping_needs_a_second_copy():
    check_memory(3 * GB, Safety(), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match=r"about 6.0 GB of memory \(two copies"):
        check_memory(3 * GB, Safety(patience=2), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match="Lower dim") as error:
        check_memory(3 * GB, Safety(), dim=300, words=1000, other=5 * GB, available=4 * GB)
    assert "would fit" not in str(error.value)


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="process limits are read from /proc")
@pytest.mark.parametrize("method", ["sgns", "onehot"])
def test_a_limit_of_the_process_refuses_tables_that_exceed_it(tmp_path: Path, method: str):
    """As after `ulimit -v`: the run is refused before anything is allocated, in one line."""
    words = " ".join(f"w{n}" for n in range(15_000))
    (tmp_path / "t.txt").write_text(f"{words}\n{words}\n")
    program = (
        "import sys, resource; import inlaid.pipeline, inlaid.storage, inlaid.fit.sgns; "
        "from inlaid.cli import main; "
        "from inlaid.memory import available_memory; "
        "limit = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 800_000_000; "
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit)); sys.exit(main(sys.argv[1:]))"
    )
    flags = {"sgns": ["--dim", "20000"], "onehot": []}[method]
    typed = ["train", method, tmp_path / "t.txt", "-o", tmp_path / "v.inlaid", "--min-count", "1", *flags]
    said = subprocess.run(
        [sys.executable, "-c", program, *typed], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2, said.stderr
    assert "This run needs about" in said.stderr
    assert "are free" in said.stderr
    assert "Traceback" not in said.stderr
    assert not (tmp_path / "v.inlaid").exists()
