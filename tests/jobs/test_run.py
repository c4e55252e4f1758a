"""A run ends in the same bits however often it was interrupted, and records how it ended."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest

from inlaid import files
from inlaid.errors import Diverged, FormatError, SettingError, WriteError
from inlaid.jobs import checkpoint
from inlaid.jobs.run import explained, run
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import Queued, Step, Training
from inlaid.report import Event, Note, Progress
from inlaid.vectors import Outcome, Reason

TOY = Path(__file__).with_name("toy.py")


@pytest.fixture
def make(toy: ModuleType) -> Callable[..., Any]:
    """Toy work that does something at some of its steps, and has the held-out losses it is given."""

    class Prepared(toy.Toy):
        def __init__(
            self,
            total: int = 100,
            *,
            at: dict[int, Callable[[Any], Any]] | None = None,
            held_out: Any = None,
            **more: Any,
        ) -> None:
            super().__init__(total, **more)
            self.at = at or {}
            self.losses = held_out
            self.done = 0

        def step(self, done: int) -> Step:
            changed = self.at[done](self) if done in self.at else None
            step = super().step(done)
            self.done = step.done
            return changed if isinstance(changed, Step) else step

        def held_out_loss(self) -> float | None:
            return self.losses(self.done) if self.losses else None

    return Prepared


@pytest.fixture
def expected(toy: ModuleType) -> bytes:
    work = toy.Toy()
    for done in range(100):
        work.step(done)
    return work.bytes()


def notes(events: list[Event]) -> str:
    return " ".join(event.text for event in events if isinstance(event, Note))


def interrupt(work: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_to_end_has_its_own_sentence(reason: Reason):
    outcome = Outcome(reason=reason, done=5, total=10, kept=5)
    where = "50.0% (5 of 10 words)"
    said = {
        "finished": "None",
        "stopped early": f"Training stopped early at {where}: no lower held-out loss within a patience of 2.",
        "interrupted": f"Training was interrupted at {where}.",
        "out of time": f"Training stopped at {where}: the limit of 3 min was reached.",
        "diverged": "None",  # the error says it
    }
    assert str(explained(outcome, Safety(patience=2, minutes=3.0))) == said[reason]


def test_a_plain_run(toy: ModuleType):
    work = toy.Toy(units=3)
    events = list[Event]()
    assert isinstance(work, Training)
    outcome = run(work, Safety(), toy.identity(), events.append)
    assert (outcome.reason, outcome.finished, outcome.done, outcome.kept) == ("finished", True, 100, 100)
    assert explained(outcome, Safety()) is None
    np.testing.assert_array_equal(work.state["seeds"], toy.after(34))
    progress = [event for event in events if isinstance(event, Progress)]
    assert (progress[0].done, progress[-1].done, progress[-1].total) == (0, 100, 100)
    assert [mark.done for mark in outcome.marks] == [
        6,
        12,
        15,
        21,
        27,
        30,
        36,
        42,
        45,
        51,
        57,
        60,
        66,
        72,
        75,
        81,
        87,
        90,
        96,
        100,
    ]


def test_progress_reports_speed_loss_learning_rate_and_time_left(toy: ModuleType, make: Any):
    events = list[Event]()
    total = 10**6
    run(make(total, pause=0.01, at={150: interrupt}), Safety(), toy.identity(), events.append)
    said = next(event for event in events if isinstance(event, Progress) and event.figures.get("speed"))
    assert set(said.figures) == {"speed", "left", "loss", "learning_rate"}
    assert 0 < said.figures["speed"] <= 100
    assert said.figures["left"] == pytest.approx((total - said.done) / said.figures["speed"])
    assert 1 < said.figures["loss"] < 2
    assert re.search(r"Training will take about \d+ h \d\d min; its tables take 84.0 kB.", notes(events))


@pytest.mark.parametrize("every", [9, 50, 99])
def test_interrupted_and_resumed_it_is_the_same(
    tmp_path: Path, toy: ModuleType, make: Any, expected: bytes, every: int
):
    safety = Safety(checkpoint=tmp_path / "c", resume=True)
    whole = run(toy.Toy(), Safety(), toy.identity())
    for _ in range(200):
        start = checkpoint.open_saved(tmp_path / "c").progress.done if (tmp_path / "c").exists() else 0
        work = make(at={start + every - 1: interrupt})
        outcome = run(work, safety, toy.identity())
        if outcome.finished:
            break
        assert outcome.done == start + every
    assert work.bytes() == expected
    assert outcome.marks == whole.marks  # losses and all
    again = toy.Toy()
    assert run(
        again, safety, toy.identity()
    ).finished  # nothing is left to do, and a lost result can be had again
    assert again.bytes() == expected


def test_ctrl_c_stops_after_the_step_with_a_checkpoint_and_a_label(
    tmp_path: Path, toy: ModuleType, make: Any
):
    work = make(at={41: interrupt})
    events = list[Event]()
    outcome = run(work, Safety(checkpoint=tmp_path / "c"), toy.identity(), events.append)
    assert (outcome.finished, outcome.reason, outcome.done) == (False, "interrupted", 42)
    assert "Training was interrupted at 42.0% (42 of 100 units)." in notes(events)
    np.testing.assert_array_equal(work.state["seeds"], toy.after(42))
    assert checkpoint.open_saved(tmp_path / "c").progress.done == 42


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path, toy: ModuleType, make: Any):
    work = make(at={41: lambda work: (interrupt(work), interrupt(work))})
    with pytest.raises(KeyboardInterrupt):
        run(work, Safety(checkpoint=tmp_path / "c"), toy.identity())
    assert os.listdir(tmp_path) == []


def test_it_runs_in_a_thread_too(toy: ModuleType, expected: bytes):
    work = toy.Toy()
    ended = list[Outcome]()
    thread = threading.Thread(target=lambda: ended.append(run(work, Safety(), toy.identity())))
    thread.start()
    thread.join()
    assert ended[0].finished
    assert work.bytes() == expected


def test_a_schedule_that_follows_the_clock_ends_with_the_time(toy: ModuleType):
    clocks = list[float]()

    class Clocked(toy.Toy):
        clock = 0.0

        def step(self, done: int) -> Step:
            clocks.append(self.clock)
            return super().step(done)

    outcome = run(Clocked(10_000, pause=0.002), Safety(minutes=0.002), toy.identity())
    assert (outcome.finished, outcome.done) == (True, outcome.total)
    assert outcome.done < 10_000
    assert clocks == sorted(clocks)
    assert 0.8 < clocks[-1] < 1
    without_limit = Clocked(20)
    assert run(without_limit, Safety(), toy.identity()).finished
    assert without_limit.clock == 0


def test_out_of_time(tmp_path: Path, toy: ModuleType, expected: bytes):
    work = toy.Toy(pause=0.005)
    outcome = run(work, Safety(minutes=0.001, checkpoint=tmp_path / "c"), toy.identity())
    assert (outcome.finished, outcome.reason) == (False, "out of time")
    assert 0 < outcome.done < 100
    assert "limit of 0.001 min was reached" in str(explained(outcome, Safety(minutes=0.001)))
    stuck = run(toy.Toy(), Safety(minutes=0.001, checkpoint=tmp_path / "c", resume=True), toy.identity())
    assert stuck.done == outcome.done  # the minutes are of the whole run
    work = toy.Toy()
    whole = run(work, Safety(checkpoint=tmp_path / "c", resume=True), toy.identity())
    assert whole.finished
    assert whole.seconds > outcome.seconds
    assert work.bytes() == expected


def test_early_stopping_returns_the_best_tables(tmp_path: Path, toy: ModuleType, make: Any):
    """The loss falls until 40, and rises from there; a check comes every 5."""
    held_out = lambda done: abs(done - 40) / 10 + 1.0  # noqa: E731
    work = make(held_out=held_out)
    outcome = run(work, Safety(patience=3), toy.identity())
    assert (outcome.reason, outcome.finished, outcome.done, outcome.kept) == ("stopped early", True, 55, 40)
    np.testing.assert_array_equal(work.state["seeds"], toy.after(40))
    said = str(explained(outcome, Safety(patience=3)))
    assert "no lower held-out loss within a patience of 3. The vectors are those at 40.0%, where" in said
    # The same when it is interrupted between the best check and the last
    safety = Safety(patience=3, checkpoint=tmp_path / "c", resume=True)
    for stop in (22, 47, 51):
        part = make(held_out=held_out, at={stop: interrupt})
        assert run(part, safety, toy.identity()).kept == (20 if stop == 22 else 40)
    for _ in range(2):  # and again, with nothing left to do
        other = make(held_out=held_out)
        resumed = run(other, safety, toy.identity())
        assert (resumed.reason, resumed.done, resumed.kept, resumed.marks) == (
            "stopped early",
            55,
            40,
            outcome.marks,
        )
        assert other.bytes() == work.bytes()


def test_patience_that_never_runs_out_still_returns_the_best(toy: ModuleType, make: Any):
    work = make(held_out=lambda done: abs(done - 90) / 10 + 1.0)
    outcome = run(work, Safety(patience=3), toy.identity())
    assert (outcome.reason, outcome.done, outcome.kept) == ("finished", 100, 90)
    np.testing.assert_array_equal(work.state["seeds"], toy.after(90))


def test_patience_needs_held_out_text(toy: ModuleType):
    with pytest.raises(SettingError, match="this training has no held-out loss"):
        run(toy.Toy(), Safety(patience=3), toy.identity())
    short = toy.Toy()
    short.held_out_from = 2000
    with pytest.raises(SettingError, match="too few sentences to hold some out .* 2,000 are needed"):
        run(short, Safety(patience=3), toy.identity())


def spoil(row: int) -> Callable[[Any], None]:
    def change(work: Any) -> None:
        work.state["table"][row] = np.nan

    return change


RATE = {"learning_rate": 0.52}
WRONG = {
    "a loss that is NaN": (lambda _: Step(48, float("nan"), 1.0, RATE), 48, "the loss became nan"),
    "a loss that blows up": (lambda _: Step(48, 1e6, 1.0, RATE), 48, "the loss rose to"),
    "NaN in a frequent row": (spoil(3), 48, "'table' holds NaN or infinity in row 3"),
    "NaN in a rare row": (spoil(400), 50, "'table' holds NaN or infinity in row 400"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("saved", [True, False])
def test_what_went_wrong_is_reported_and_the_last_good_tables_are_restored(
    tmp_path: Path, toy: ModuleType, make: Any, case: str, saved: bool
):
    change, seen, said = WRONG[case]
    work = make(at={47: change})
    safety = Safety(checkpoint=tmp_path / "c", resume=True) if saved else Safety()
    if saved:
        run(make(at={46: interrupt}), safety, toy.identity())
    with pytest.raises(Diverged, match=r"Halve `learning_rate` \(it is 0.05\) and start again") as error:
        run(work, safety, toy.identity())
    assert f"diverged at {seen}.0% (learning rate {(100 - seen) / 100:.3g}): {said}" in str(error.value)
    assert error.value.outcome.kept == (47 if saved else 45)  # the last checkpoint, or the last mark
    np.testing.assert_array_equal(work.state["seeds"], toy.after(error.value.outcome.kept))
    assert np.isfinite(work.state["table"]).all()
    if saved:
        assert "holds a good state at 47.0%" in str(error.value)
        assert checkpoint.open_saved(tmp_path / "c").progress.done == 47


def test_before_the_first_checkpoint_there_is_a_good_state_too(tmp_path: Path, toy: ModuleType, make: Any):
    work = make(at={47: spoil(3)})
    with pytest.raises(Diverged) as error:
        run(work, Safety(checkpoint=tmp_path / "c"), toy.identity())
    assert error.value.outcome.kept == 45
    np.testing.assert_array_equal(work.state["seeds"], toy.after(45))


def test_nothing_bad_is_saved(tmp_path: Path, toy: ModuleType, make: Any):
    """NaN where only a look at everything finds it: every checkpoint is looked through before it is
    written."""
    with pytest.raises(Diverged, match="row 400"):
        run(
            make(at={2: spoil(400)}),
            Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0),
            toy.identity(),
        )
    assert checkpoint.open_saved(tmp_path / "c").progress.done == 2


def test_nothing_good_to_go_back_to(toy: ModuleType, make: Any):
    with pytest.raises(Diverged) as error:
        run(make(at={0: spoil(0)}), Safety(), toy.identity())
    assert error.value.outcome is None


def test_a_held_out_loss_that_is_no_number(toy: ModuleType, make: Any):
    with pytest.raises(Diverged, match="the held-out loss became inf"):
        run(make(held_out=lambda done: float("inf") if done > 50 else 1.0), Safety(), toy.identity())


def test_resuming(tmp_path: Path, toy: ModuleType, make: Any):
    path = tmp_path / "c"
    events = list[Event]()
    run(make(at={9: interrupt}), Safety(checkpoint=path, resume=True), toy.identity(), events.append)
    assert "There is no checkpoint" in notes(events)
    with pytest.raises(WriteError, match=r"an earlier run \(10% done\)"):
        run(toy.Toy(), Safety(checkpoint=path), toy.identity())
    with pytest.raises(SettingError, match="total is 100 there and 101 here"):
        run(toy.Toy(101), Safety(checkpoint=path, resume=True), toy.identity())
    files._part_of(path).write_bytes(b"left by a kill")
    run(toy.Toy(), Safety(checkpoint=path, resume=True), toy.identity(), events.append)
    assert "Continuing from" in notes(events)
    assert os.listdir(tmp_path) == ["c"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError):
        run(toy.Toy(), Safety(checkpoint=path, resume=True), toy.identity())
    with pytest.raises(SettingError, match="no checkpoint is named"):
        run(toy.Toy(), Safety(resume=True), toy.identity())


def test_a_checkpoint_that_may_not_survive_a_power_cut_is_said_to_be_in_place(
    tmp_path: Path, toy: ModuleType, expected: bytes, monkeypatch: pytest.MonkeyPatch
):
    fsync = os.fsync

    def fail_for_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    events: list[Event] = []
    work = toy.Toy()
    run(work, Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0), toy.identity(), events.append)
    assert "c is written and in place, but" in notes(events)
    assert "failed" not in notes(events)
    assert work.bytes() == expected
    assert checkpoint.open_saved(tmp_path / "c").progress.done == work.total
    assert os.listdir(tmp_path) == ["c"]


def test_a_full_disk_ends_no_training(tmp_path: Path, toy: ModuleType, make: Any, expected: bytes):
    """A limit on file size stands in for a full disk: the kernel refuses the write in the same way."""
    path = tmp_path / "c"
    run(make(at={49: interrupt}), Safety(checkpoint=path), toy.identity())
    before = path.read_bytes()
    code = f"""
import importlib.util, resource, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("toy", {str(TOY)!r})
toy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(toy)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
work = toy.Toy(100)
say = lambda event: print(event.text) if isinstance(event, toy.Note) else None
safety = toy.Safety(checkpoint=Path({str(path)!r}), checkpoint_minutes=0.0, resume=True)
outcome = toy.run(work, safety, toy.identity(), say)
print(outcome.reason)
sys.stdout.write(work.bytes().hex())
sys.stdout.flush()
toy.write_bytes(Path({str(tmp_path / "model")!r}), work.bytes())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = ended.stdout.splitlines()
    assert lines[1].startswith("The checkpoint at 51.0% failed, and training continues. Cannot write")
    assert lines[1].endswith("The checkpoint at 50.0% stays.")
    assert lines[-2] == "finished"
    assert bytes.fromhex(lines[-1]) == expected
    assert "inlaid.errors.WriteError: Cannot write" in ended.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


@pytest.fixture
def queued(toy: ModuleType) -> Any:
    """A toy on an accelerator: what a step did is known when it is read."""

    class Accelerated(toy.Toy):
        def __init__(self, *, at: dict[int, Callable[[], Any]] | None = None) -> None:
            super().__init__(100)
            self.at = at or {}
            self.unread = list[int]()
            self.most_unread = 0

        def step(self, done: int) -> Any:
            step = super().step(done)
            changed = self.at[done]() if done in self.at else None
            self.unread.append(done)
            self.most_unread = max(self.most_unread, len(self.unread))

            def read() -> Step:
                assert self.unread.pop(0) == done  # in order, each once
                return changed if isinstance(changed, Step) else step

            return Queued(step.done, read)

    return Accelerated


def test_steps_are_read_while_the_next_one_is_computed(tmp_path: Path, toy: ModuleType, queued: Any):
    """The next step is taken before the last is read; the outcome, its marks and checkpoints are the same."""
    whole = run(toy.Toy(), Safety(), toy.identity())
    work = queued()
    outcome = run(work, Safety(), toy.identity())
    assert outcome.marks == whole.marks
    assert work.most_unread == 2
    assert not work.unread
    safety = Safety(checkpoint=tmp_path / "c", resume=True)
    for stop in (7, 52):
        run(queued(at={stop: lambda: interrupt(None)}), safety, toy.identity())
        saved = checkpoint.open_saved(tmp_path / "c").progress
        assert saved.done == stop + 1
    resumed = queued()
    assert run(resumed, safety, toy.identity()).marks == whole.marks
    assert resumed.bytes() == work.bytes()


def test_a_queued_step_that_diverged_is_found_before_anything_is_kept(
    tmp_path: Path, toy: ModuleType, queued: Any
):
    safety = Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0)
    with pytest.raises(Diverged, match="the loss became nan"):
        run(queued(at={47: lambda: Step(48, float("nan"), 1.0)}), safety, toy.identity())
    assert checkpoint.open_saved(tmp_path / "c").progress.done == 47


def test_a_step_that_does_not_advance_is_a_mistake(toy: ModuleType, make: Any):
    with pytest.raises(ValueError, match="must end after it"):
        run(make(at={5: lambda _: Step(5, 1.0, 1.0)}), Safety(), toy.identity())
