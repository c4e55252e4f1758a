"""Network training: a network, its batches and its loss, advanced by the loop that all methods share.

A step is a pure function of the state, the settings, the text and how many tokens are done: batches and
dropout are drawn from (seed, step), and AdamW's averages are part of the state. So a run that is killed and
resumed ends in the same bits on one device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.fit.networks.losses import LossSum
from inlaid.fit.networks.method import HELD_OUT_FROM
from inlaid.fit.networks.optimization import Optimization
from inlaid.fit.networks.optimizers import Optimizers
from inlaid.jobs.training import Queued, Step
from inlaid.neural.attention import shapes_vary
from inlaid.neural.lookup import without_waiting
from inlaid.neural.model import Model
from inlaid.vectors import Card

UNIT = "tokens"


@runtime_checkable
class Batches(Protocol):
    """The batches of a text: a fixed number each epoch, each a pure function of its epoch and number."""

    one_shape: ClassVar[bool]
    """Whether all batches have the same number of rows and of tokens."""

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch up to the end of each batch; the last is the same in every epoch."""
        ...

    def batch(self, epoch: int, number: int) -> Any:
        """One batch, as the loss takes it."""
        ...

    def held_out(self) -> Sequence[Any]:
        """Batches of the text that no training batch has; none if the text is too short."""
        ...


Loss = Callable[[Any, Any], LossSum]
"""(network, batch) -> loss."""


class Place(NamedTuple):
    """The batches of one step."""

    epoch: int
    first: int
    last: int
    """The first and the last batch, by their numbers in the epoch."""


class NetworkTraining:
    """A network under training."""

    unit = UNIT
    held_out_from = HELD_OUT_FROM
    """Sentences from which some are held out."""
    clock = 0.0

    def __init__(
        self,
        network: nn.Module,
        batches: Batches,
        loss: Loss,
        settings: Optimization,
        tokenizer: Any = None,
        earlier: Model | None = None,
    ) -> None:
        self.settings = settings
        self.tokenizer = tokenizer
        self.earlier = earlier
        """The model that training started from: how it generates text is kept."""
        self.device = chosen_device(settings.device)
        self.network: Any = network.to(self.device).train()
        self.called: Any = torch.compile(network) if settings.compile else network
        self.batches = batches
        self.loss = loss
        self.ends = lru_cache(maxsize=2)(batches.ends)
        first_ends = self.ends(0)
        self.steps_per_epoch = -(-len(first_ends) // settings.accumulate)
        self.epoch_tokens = int(first_ends[-1])
        self.total = settings.epochs * self.epoch_tokens
        self.optimizers = Optimizers(network, settings)
        self.state = self.optimizers.state()

    def step(self, done: int) -> Step | Queued:
        """One update of all weights, by the gradient of the next `accumulate` batches. A GPU is not waited
        for: nothing here reads a number from it."""
        place = self._place(done)
        number = place.epoch * self.steps_per_epoch + place.first // self.settings.accumulate
        steps = self.settings.epochs * self.steps_per_epoch
        learning_rate = self.settings.learning_rate_at(max(number, int(self.clock * steps)), steps)
        batches = [self.batches.batch(place.epoch, each) for each in range(place.first, place.last + 1)]
        if not self.network.training:  # train() goes through all modules
            self.network.train()
        self.optimizers.sparse_gradients(True)
        with drawn_from(self.settings.seed, number, self.device), without_waiting(), self._kernels():
            loss = self._add_gradients(batches)
        norm = self.optimizers.step(learning_rate, loss.targets)
        after = place.epoch * self.epoch_tokens + int(self.ends(place.epoch)[place.last])

        def taken(numbers: list[float]) -> Step:
            figures = {"learning_rate": learning_rate, "gradient": numbers[1]}
            return Step(after, numbers[0], float(loss.targets), figures, number + 1)

        numbers = torch.stack([loss.total, norm])
        if self.device.type != "cuda":
            return taken(numbers.tolist())
        copied = copied_to_host(numbers)
        return Queued(after, lambda: taken(copied()))

    def held_out_loss(self) -> float | None:
        """The mean loss of a target in text that was held out; None if none was."""
        held_out = self.batches.held_out()
        if not held_out:
            return None
        self.network.eval()
        with torch.no_grad(), self._precision(), without_waiting(), self._kernels():
            losses = [self.loss(self.called, batch) for batch in held_out]
        targets = sum(loss.targets for loss in losses)
        return sum(torch.stack([loss.total for loss in losses]).tolist()) / max(targets, 1)

    def result(self) -> Model:
        """The model as trained so far."""
        self.optimizers.sparse_gradients(False)
        network = self.network.eval()
        card = Card(notes=self.optimizers.notes())
        if self.earlier is None:
            return Model(network, self.tokenizer, card)
        return Model(
            network,
            self.tokenizer,
            card,
            generation=self.earlier.generation,
            tokenizer_settings=self.earlier.tokenizer_settings,
        )

    def _place(self, done: int) -> Place:
        epoch, within = divmod(done, self.epoch_tokens)
        ends = self.ends(epoch)
        first = int(np.searchsorted(ends, within, side="right"))
        return Place(epoch, first, min(first + self.settings.accumulate, len(ends)) - 1)

    def _add_gradients(self, batches: Sequence[Any]) -> LossSum:
        """Sum the gradients of these batches; their loss."""
        total = torch.zeros((), device=self.device)
        targets = 0
        for batch in batches:
            with self._precision():
                loss = self.loss(self.called, batch)
            loss.total.backward()
            total += loss.total.detach()
            targets += loss.targets
        return LossSum(total, targets)

    def _kernels(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.batches.one_shape else shapes_vary()

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        low = self.settings.precision == "bfloat16"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=low)


def copied_to_host(numbers: Tensor) -> Callable[[], list[float]]:
    """Copy a few numbers from a GPU when it has computed them; what is returned waits for just these."""
    host = torch.empty_like(numbers, device="cpu", pin_memory=True)
    host.copy_(numbers, non_blocking=True)
    copied = torch.cuda.current_stream(numbers.device).record_event()

    def read() -> list[float]:
        copied.synchronize()
        return host.tolist()

    return read


def chosen_device(name: str) -> torch.device:
    """The device of this name; `auto` is a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingError("There is no device called {name}. Use cpu, cuda or auto.", name=name) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingError("device is {name}, but torch finds no GPU. Use cpu or auto.", name=name)
    try:
        torch.zeros((), device=device).item()
    except (RuntimeError, NotImplementedError, AssertionError) as error:  # the meta device has no numbers
        raise SettingError(
            "No network can be trained on the device {name}: {reason}. Use cpu, cuda or auto.",
            name=name,
            reason=str(error).partition("\n")[0].rstrip("."),
        ) from None
    return device


@contextlib.contextmanager
def drawn_from(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """Dropout that depends on the seed and the step alone; the caller's random numbers are left alone."""
    devices = [device] if device.type == "cuda" else []
    # torch.manual_seed also formats the call stack for GPUs that are not in use, in every step
    start = torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed
    with torch.random.fork_rng(devices):
        start((seed * 1_000_003 + step) % (1 << 63))
        yield
