"""The training loop on torch tensors: bfloat16, AdamW, kill -9 and resume to the bit, nothing pickled."""

from __future__ import annotations

import random
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from inlaid.errors import Diverged, FormatError  # noqa: E402
from inlaid.jobs import checkpoint  # noqa: E402
from inlaid.jobs.run import run  # noqa: E402
from inlaid.jobs.safety import Process, Safety  # noqa: E402
from inlaid.jobs.state import State  # noqa: E402

PROGRAM = Path(__file__).with_name("torch_toy.py")


@pytest.fixture(scope="module")
def toy() -> Any:
    torch.set_num_threads(1)
    return runpy.run_path(str(PROGRAM))


def test_killed_and_resumed_it_ends_in_the_same_bits(tmp_path: Path, toy: Any):
    alone = toy["TorchToy"](300)
    run(alone, Safety(), toy["identity"]())
    chance = random.Random(1)
    result = tmp_path / "result"
    kills = 0
    while not result.exists():
        command = [sys.executable, str(PROGRAM), str(tmp_path / "c"), str(result), "300"]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert program.stdout
        assert program.stdout.readline() == "ready\n"
        try:
            program.wait(chance.uniform(0.1, 0.4) if kills < 3 else None)
        except subprocess.TimeoutExpired:
            program.kill()
            kills += 1
        program.wait()
        program.stdout.close()
    assert kills == 3
    assert result.read_bytes() == alone.result()
    assert alone.weight.dtype == torch.bfloat16


def test_a_checkpoint_holds_every_tensor_and_no_pickle(tmp_path: Path, toy: Any):
    training = toy["TorchToy"](10)
    run(training, Safety(checkpoint=tmp_path / "c"), toy["identity"]())
    saved = checkpoint.open_saved(tmp_path / "c")
    assert saved.dtypes["weight"] == "bfloat16"
    assert saved.dtypes["weight.exp_avg"] == "bfloat16"
    assert set(saved.opened.arrays) == set(training.state)
    assert not zipfile.is_zipfile(tmp_path / "c")
    assert b"\x80\x04" not in (tmp_path / "c").read_bytes()[:2]
    fresh = toy["TorchToy"](10)
    assert fresh.result() != training.result()
    checkpoint.restore(saved, fresh.state, toy["identity"]() | {"total": 10})
    assert fresh.result() == training.result()


def test_another_dtype_is_refused(tmp_path: Path, toy: Any):
    training = toy["TorchToy"](10)
    run(training, Safety(checkpoint=tmp_path / "c"), toy["identity"]())
    other = State({**training.state, "weight": training.weight.detach().half()})
    with pytest.raises(FormatError, match="expected an array 'weight', float16 .* found bfloat16"):
        checkpoint.restore(checkpoint.open_saved(tmp_path / "c"), other, toy["identity"]() | {"total": 10})


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int64", "bool"])
def test_tensors_become_arrays_and_come_back(dtype: str):
    values = torch.arange(-6, 6).reshape(3, 4).to(getattr(torch, dtype))
    state = State({"t": values.clone(), "scalar": values[0, 0].clone()})
    arrays = {name: np.array(array) for name, array in state.arrays().items()}
    state["t"].zero_()
    state["scalar"].zero_()
    state.copy_from(arrays)
    assert torch.equal(state["t"], values)
    assert torch.equal(state["scalar"], values[0, 0])
    assert state.dtypes["t"] == dtype


def test_nan_in_bfloat16_is_found_and_the_last_good_state_is_back(toy: Any):
    training = toy["TorchToy"](100)
    plain = training.step

    def spoiled(done: int) -> Any:
        if done == 50:
            with torch.no_grad():
                training.weight[3, 2] = float("nan")
        return plain(done)

    training.step = spoiled
    with pytest.raises(Diverged) as error:
        run(training, Safety(), toy["identity"]())
    assert error.value.outcome.kept == 50
    assert bool(torch.isfinite(training.weight).all())


def test_only_rank_0_writes_and_reports(tmp_path: Path, toy: Any):
    events: list[object] = []
    training = toy["TorchToy"](10)
    safety = Safety(checkpoint=tmp_path / "c")
    outcome = run(training, safety, toy["identity"](), events.append, Process(rank=1, world_size=2))
    assert outcome.finished
    assert not (tmp_path / "c").exists()
    assert events == []
