"""A checkpoint is resumed exactly, or refused with the reason."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from inlaid import array_writer, locks
from inlaid.errors import FormatError, SettingError, WriteError
from inlaid.jobs import checkpoint
from inlaid.jobs.guard import Losses
from inlaid.jobs.state import Snapshot, State
from inlaid.vectors import Mark

MARKS = [Mark(done=20, loss=0.2), Mark(done=40, loss=0.1, held_out=1 / 3)]
PROGRESS = checkpoint.RunProgress(40, 1.5, Losses(0.1, 0.3, 0.1), MARKS)


@pytest.fixture
def path(tmp_path: Path, toy: ModuleType) -> Path:
    work = toy.Toy()
    for done in range(40):
        work.step(done)
    checkpoint.save(tmp_path / "c", work.state, None, toy.identity(), PROGRESS)
    return tmp_path / "c"


def test_everything_comes_back_in_place(path: Path, toy: ModuleType):
    work = toy.Toy()
    held = dict(work.state)
    saved = checkpoint.open_saved(path)
    assert checkpoint.restore(saved, work.state, toy.identity()) is None
    assert saved.progress == PROGRESS
    assert all(work.state[name] is array for name, array in held.items())
    np.testing.assert_array_equal(work.state["seeds"], toy.after(40))


def test_best_tables_come_back_beside_the_latest(tmp_path: Path, toy: ModuleType):
    work = toy.Toy()
    best = Snapshot.of(work.state, 0)
    work.step(0)
    best.update(work.state, 1)
    work.step(1)
    checkpoint.save(tmp_path / "c", work.state, best, toy.identity(), PROGRESS)
    fresh = toy.Toy()
    found = checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), fresh.state, toy.identity())
    assert found is not None
    assert found.done == 1
    np.testing.assert_array_equal(found.arrays["seeds"], toy.after(1))
    np.testing.assert_array_equal(fresh.state["seeds"], toy.after(2))


def test_another_run_is_refused_and_every_difference_named(path: Path, toy: ModuleType):
    work = toy.Toy()
    before = work.bytes()
    other = toy.identity(learning_rate=0.1, window=5) | {"corpus": "beef"}
    with pytest.raises(SettingError, match="a checkpoint of another run") as error:
        checkpoint.restore(checkpoint.open_saved(path), work.state, other)
    for difference in (
        "learning_rate is 0.05 there and 0.1 here",
        "window is not set there and 5 here",
        "corpus is c0ffee there and beef here",
    ):
        assert difference in str(error.value)
    assert "seed" not in str(error.value)
    assert work.bytes() == before


def test_workers_may_differ(path: Path, toy: ModuleType):
    checkpoint.restore(checkpoint.open_saved(path), toy.Toy().state, toy.identity(workers=8))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(tmp_path: Path, toy: ModuleType, bad: float):
    work = toy.Toy()
    work.state["table"][321, 7] = bad
    checkpoint.save(tmp_path / "c", work.state, None, toy.identity(), PROGRESS)
    with pytest.raises(FormatError, match="'table' holds NaN or infinity in row 321"):
        checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), toy.Toy().state, toy.identity())


@pytest.mark.parametrize("name", ["latest", "best"])
@pytest.mark.parametrize("bits", [0x7FC0, 0x7F81, 0xFFC1, 0x7F80, 0xFF80], ids=hex)
def test_nan_and_infinity_of_bfloat16_are_refused(bits: int, name: str, tmp_path: Path, toy: ModuleType):
    """They are stored as uint16, which has neither."""
    torch = pytest.importorskip("torch")
    good = torch.full((50, 3), torch.finfo(torch.bfloat16).max, dtype=torch.bfloat16)
    bad = good.clone()
    bad.view(torch.int16)[7, 2] = int(np.uint16(bits).astype(np.int16))
    latest = State({"table": bad if name == "latest" else good})
    best = Snapshot(State({"table": bad if name == "best" else good}).arrays(), 1)
    path = tmp_path / "c"
    checkpoint.save(path, latest, best, toy.identity(), PROGRESS)
    state = State({"table": torch.zeros_like(good)})
    with pytest.raises(FormatError, match=r"table' holds NaN or infinity in row 7"):
        checkpoint.restore(checkpoint.open_saved(path), state, toy.identity())
    assert not state["table"].any()
    checkpoint.save(path, State({"table": good}), None, toy.identity(), PROGRESS)
    checkpoint.restore(checkpoint.open_saved(path), state, toy.identity())
    assert torch.equal(state["table"], good)


def test_damage_is_refused_before_anything_is_copied(path: Path, toy: ModuleType):
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 1
    path.write_bytes(raw)
    work = toy.Toy()
    before = work.bytes()
    with pytest.raises(FormatError, match="damaged"):
        checkpoint.restore(checkpoint.open_saved(path), work.state, toy.identity())
    assert work.bytes() == before


def test_arrays_of_another_shape_are_refused(path: Path, toy: ModuleType):
    work = toy.Toy()
    work.state = State({**work.state, "table": np.zeros((500, 41), np.float32)})
    with pytest.raises(
        FormatError, match=r"expected an array 'table', float32 \(500, 41\); found float32 \(500, 40\)"
    ):
        checkpoint.restore(checkpoint.open_saved(path), work.state, toy.identity())


def test_a_checkpoint_never_replaces_a_model_nor_an_unfinished_run(
    tmp_path: Path, path: Path, toy: ModuleType
):
    array_writer.write(tmp_path / "model.inlaid", {"table": np.zeros(3)}, {"card": "{}"})
    (tmp_path / "notes.txt").write_text("notes")
    for name in ("model.inlaid", "notes.txt"):
        with pytest.raises(WriteError, match="already exists and is not a checkpoint"):
            checkpoint.check_place(tmp_path / name)
        with pytest.raises(FormatError):
            checkpoint.remove(tmp_path / name, toy.identity())
    assert sorted(os.listdir(tmp_path)) == ["c", "model.inlaid", "notes.txt"]


def test_the_place_of_an_earlier_checkpoint_is_refused(tmp_path: Path, toy: ModuleType):
    checkpoint.save(tmp_path / "c", toy.Toy().state, None, toy.identity() | {"total": 100}, PROGRESS)
    with pytest.raises(
        WriteError,
        match=r"the checkpoint of an earlier run \(40% done\). Resume it with resume=True, remove it",
    ):
        checkpoint.check_place(tmp_path / "c")
    with pytest.raises(SettingError, match="a checkpoint of another run: method is"):
        checkpoint.remove(tmp_path / "c", toy.identity() | {"method": "another"})
    with locks.holding(tmp_path / "c"), pytest.raises(WriteError, match="is being written by process"):
        checkpoint.remove(tmp_path / "c", toy.identity())
    checkpoint.remove(tmp_path / "c", toy.identity())
    checkpoint.check_place(tmp_path / "c")
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_of_another_format_names_the_version_that_wrote_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(
        FormatError, match=r"a checkpoint of format 1, written by version .*; this version reads format 2"
    ):
        checkpoint.open_saved(path)


def test_another_release_of_the_package_resumes_it(
    tmp_path: Path, toy: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    work = toy.Toy()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "VERSION", "0.0.9")
        checkpoint.save(tmp_path / "c", work.state, None, toy.identity(), PROGRESS)
    checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), toy.Toy().state, toy.identity())


def test_killed_five_times_and_the_same_bits(tmp_path: Path, toy: ModuleType):
    """kill -9 at random moments; tests/campaigns/kill_test.py does it to every command."""
    chance = random.Random(1)
    result = tmp_path / "result"
    hits = 0
    while not result.exists():
        typed = [sys.executable, Path(__file__).parent / "toy.py", tmp_path / "toy.checkpoint", result, "400"]
        with subprocess.Popen(typed, stdout=subprocess.PIPE) as program:
            assert program.stdout is not None
            program.stdout.readline()
            if hits < 5:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.wait(chance.uniform(0, 0.1))
                program.kill()
                hits += 1
            program.stdout.read()
    found = result.read_bytes()
    assert hits == 5
    alone = toy.Toy(400)
    for done in range(400):
        alone.step(done)
    assert found == alone.bytes()
    np.testing.assert_array_equal(alone.state["seeds"], toy.after(400))
    assert not list(tmp_path.glob(".*.part"))


def test_a_best_state_that_is_missing_or_has_another_shape_is_refused(tmp_path: Path, toy: ModuleType):
    work = toy.Toy()
    best = Snapshot.of(work.state, 0)
    name = next(iter(work.state))
    for array in (None, best.arrays[name][:-1], best.arrays[name].astype(np.float64)):
        wrong = dict(best.arrays) if array is None else {**best.arrays, name: array}
        if array is None:
            del wrong[name]
        checkpoint.save(tmp_path / "c", work.state, Snapshot(wrong, 1), toy.identity(), PROGRESS)
        before = work.bytes()
        with pytest.raises(FormatError, match=f"expected an array 'best.{name}'"):
            checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), work.state, toy.identity())
        assert work.bytes() == before


def test_a_tensor_of_another_dtype_than_the_checkpoint_says_is_refused(tmp_path: Path, toy: ModuleType):
    class Lying(State):
        def arrays(self) -> dict[str, np.ndarray]:
            return {name: array.astype(np.float16) for name, array in super().arrays().items()}

    work = toy.Toy()
    checkpoint.save(tmp_path / "c", Lying(dict(work.state)), None, toy.identity(), PROGRESS)
    with pytest.raises(FormatError, match="expected an array"):
        checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), work.state, toy.identity())


@pytest.mark.parametrize(
    "progress",
    [
        checkpoint.RunProgress(done=-1),
        checkpoint.RunProgress(done=41),
        checkpoint.RunProgress(done=10, marks=[Mark(done=11)]),
        checkpoint.RunProgress(done=10, marks=[Mark(done=-1)]),
    ],
)
def test_progress_that_no_run_can_have_is_refused(
    tmp_path: Path, toy: ModuleType, progress: checkpoint.RunProgress
):
    checkpoint.save(tmp_path / "c", toy.Toy().state, None, {**toy.identity(), "total": 40}, progress)
    with pytest.raises(FormatError, match=f"says that {progress.done} of 40 is done"):
        checkpoint.open_saved(tmp_path / "c")
