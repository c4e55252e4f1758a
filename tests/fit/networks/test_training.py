"""Networks learn, and a run resumes to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from inlaid.errors import Diverged, SettingError  # noqa: E402
from inlaid.fit.networks.optimization import Optimization  # noqa: E402
from inlaid.fit.networks.training import LossSum, NetworkTraining  # noqa: E402
from inlaid.jobs.checkpoint import identity_of  # noqa: E402
from inlaid.jobs.run import run  # noqa: E402
from inlaid.jobs.safety import Safety  # noqa: E402
from inlaid.neural.config import Config, make_config  # noqa: E402
from inlaid.neural.loss import word_loss  # noqa: E402
from inlaid.neural.network import make_network  # noqa: E402

WORDS = 12
LENGTH = 8
IDENTITY = identity_of("toy", {"learning_rate": 0.01}, "c0ffee")


class Counting:
    """Rows that count upwards: the next word is always known."""

    one_shape = True

    def __init__(self, batches: int = 6, rows: int = 4) -> None:
        self.sizes = np.full(batches, rows * LENGTH)
        self.rows = rows

    def ends(self, epoch: int) -> np.ndarray:
        return self.sizes.cumsum()

    def batch(self, epoch: int, number: int) -> Tensor:
        random = np.random.default_rng((epoch, number))
        first = random.integers(0, WORDS, (self.rows, 1))
        return torch.from_numpy((first + np.arange(LENGTH + 1)) % WORDS)

    def held_out(self) -> list[Tensor]:
        return [self.batch(1_000_000, 0)]


def next_word_loss(network: Any, rows: Tensor) -> LossSum:
    output = network(rows[:, :-1], logits=False)
    targets = rows[:, 1:]
    return LossSum(word_loss(output.hidden, network.head, targets) * targets.numel(), targets.numel())


def small(**rest: Any) -> Config:
    fields = {"kind": "decoder", "vocab_size": WORDS, "dim": 16, "layers": 2, "attention.heads": 2}
    return make_config({**fields, "positions.max_length": LENGTH, "dropout": 0.1, **rest})


def training(**settings: Any) -> NetworkTraining:
    torch.manual_seed(3)
    chosen = Optimization(**{"epochs": 5, "learning_rate": 0.01, **settings})
    return NetworkTraining(make_network(small()), Counting(), next_word_loss, chosen)


def test_a_network_learns_what_can_be_known():
    learned = training(epochs=40)
    before = learned.held_out_loss()
    outcome = run(learned, Safety(), IDENTITY)
    after = learned.held_out_loss()
    assert outcome.finished
    assert before is not None
    assert after is not None
    assert before > 2
    assert after < 0.1


def bits(learned: NetworkTraining) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learned.state.arrays().items()}


@pytest.mark.parametrize("stop", [1, 7, 23])
def test_a_run_resumes_to_the_bit(tmp_path: Path, stop: int):
    whole = training()
    run(whole, Safety(), IDENTITY)
    path = tmp_path / "a.checkpoint"
    stopped = training()
    killed = KilledAfter(stopped, stop)
    with pytest.raises(Killed):
        run(killed, Safety(checkpoint=path, checkpoint_minutes=0.0), IDENTITY)
    resumed = training()
    run(resumed, Safety(checkpoint=path, checkpoint_minutes=0.0, resume=True), IDENTITY)
    assert bits(resumed) == bits(whole)


class Killed(BaseException):
    pass


class KilledAfter:
    """A training that is killed after some steps."""

    def __init__(self, training: NetworkTraining, steps: int) -> None:
        self.training = training
        self.steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self.training, name)

    def step(self, done: int) -> Any:
        if self.steps == 0:
            raise Killed
        self.steps -= 1
        return self.training.step(done)


def test_accumulated_batches_are_one_large_batch():
    """Without dropout, the gradient of two batches of 4 rows is that of their 8 rows."""
    torch.manual_seed(3)
    fresh = make_network(small(dropout=0.0))
    copies = [make_network(small(dropout=0.0)) for _ in range(2)]
    for each in copies:
        each.load_state_dict(fresh.state_dict())

    class Doubled(Counting):
        def ends(self, epoch: int) -> np.ndarray:
            return 2 * super().ends(epoch)

        def batch(self, epoch: int, number: int) -> Tensor:
            parts = [super(Doubled, self).batch(epoch, 2 * number + part) for part in range(2)]
            return torch.cat(parts)

    accumulated = NetworkTraining(
        copies[0], Counting(6, 4), next_word_loss, Optimization(epochs=1, accumulate=2)
    )
    doubled = NetworkTraining(copies[1], Doubled(3, 4), next_word_loss, Optimization(epochs=1))
    for each in (accumulated, doubled):
        run(each, Safety(), IDENTITY)
    for one, two in zip(copies[0].parameters(), copies[1].parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("one_shape", [True, False])
def test_cudnn_plans_attention_only_where_all_batches_have_one_shape(one_shape: bool):
    enabled: list[bool] = []

    class Shaped(Counting):
        pass

    def watched(network: Any, batch: Tensor) -> Any:
        enabled.append(torch.backends.cuda.cudnn_sdp_enabled())
        return next_word_loss(network, batch)

    Shaped.one_shape = one_shape
    before = torch.backends.cuda.cudnn_sdp_enabled()
    learned = NetworkTraining(make_network(small()), Shaped(), watched, Optimization(epochs=1))
    learned.step(0)
    learned.held_out_loss()
    assert set(enabled) == {before and one_shape}
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_dropout_does_not_touch_the_random_numbers_of_the_caller():
    learned = training()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    learned.step(0)
    assert torch.equal(torch.rand(3), expected)


def test_a_step_on_a_cpu_seeds_no_gpu(monkeypatch: pytest.MonkeyPatch):
    """torch would format the call stack for each kind of GPU, in every step."""
    learned = training()
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    learned.step(0)
    assert not seeds


def test_every_part_is_trained_after_an_evaluation_and_from_a_model_in_use():
    torch.manual_seed(3)
    in_use = make_network(small()).eval()
    learned = NetworkTraining(in_use, Counting(), next_word_loss, Optimization())
    assert all(part.training for part in in_use.modules())
    learned.held_out_loss()
    learned.step(0)
    assert all(part.training for part in in_use.modules())


def test_a_rate_that_diverges_is_an_error_with_the_last_good_state(tmp_path: Path):
    path = tmp_path / "a.checkpoint"
    diverging = training(learning_rate=1e6, clip=0.0, warmup=0.9, epochs=20)
    with pytest.raises(Diverged, match="learning_rate"):
        run(diverging, Safety(checkpoint=path, checkpoint_minutes=0.0), IDENTITY)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(SettingError, match="no device called"):
        training(device="toaster")


@pytest.mark.parametrize(
    ("schedule", "last"), [("constant", 1.0), ("linear", 0.1), ("cosine", 0.1), ("inverse-sqrt", 0.316)]
)
def test_schedules_rise_and_fall(schedule: Any, last: float):
    settings = Optimization(learning_rate=1.0, schedule=schedule, warmup=0.1)
    rates = [settings.learning_rate_at(step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01)
    assert max(rates) == rates[99] == pytest.approx(1.0)
    assert rates[-1] == pytest.approx(last, abs=0.01)
