"""Optimization: the settings that every training of a network shares, and its learning rate schedules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from inlaid.config import Epochs, Fraction, Positive, Range, Seed, check

Schedule = Literal["cosine", "linear", "inverse-sqrt", "constant"]
FINAL_SHARE = 0.1
"""Cosine and linear schedules end at this share of the learning rate."""


@dataclass(frozen=True, kw_only=True)
class Optimization:
    """AdamW with a schedule (Loshchilov and Hutter 2019)."""

    epochs: Epochs = 10
    """Passes over the text."""
    learning_rate: Annotated[float, Range(1e-9)] = 1e-3
    """Peak learning rate, reached after the warm-up."""
    schedule: Schedule = "cosine"
    """How the learning rate falls after the warm-up: as a cosine or linearly to a tenth, as 1 / sqrt(step),
    or not at all."""
    warmup: Fraction = 0.05
    """Share of the run in which the learning rate rises linearly from 0."""
    weight_decay: Annotated[float, Range(0)] = 0.01
    """Decay of the matrices; biases and norms do not decay."""
    beta2: Annotated[float, Range(0, 0.999_999)] = 0.98
    """AdamW's average of squared gradients; it looks back over about 1 / (1 - beta2) steps."""
    clip: Annotated[float, Range(0)] = 1.0
    """Largest norm of the gradient; 0: not clipped."""
    rowwise_from: Annotated[int, Range(0)] = 100_000
    """Rows from which an untied table of token vectors is updated row by row: only the words of a batch move
    and decay. 0: never. A compiled network has none."""
    accumulate: Positive = 1
    """Batches whose gradients are summed for one step: a large batch in little memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the products in training; the weights stay float32."""
    device: str = "cpu"
    """Where it is trained: cpu, cuda, or auto for a GPU if there is one."""
    compile: bool = False
    """Compile the network with torch.compile: a minute at first, then a third faster on a GPU. It seldom
    pays on a CPU."""
    seed: Seed = 1
    """Random seed of initial weights, batches and dropout."""

    def __post_init__(self) -> None:
        check(self)

    def learning_rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0, of a run of `steps`.

        >>> Optimization(learning_rate=1.0, warmup=0.5).learning_rate_at(0, 4)
        0.5
        """
        warmup = round(self.warmup * steps)
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        return self.learning_rate * decay(self.schedule, step - warmup, max(steps - warmup, 1), warmup)


def decay(schedule: Schedule, step: int, steps: int, warmup: int) -> float:
    """The share of the learning rate that is left `step` steps after the warm-up, `steps` before the end."""
    match schedule:
        case "constant":
            return 1.0
        case "inverse-sqrt":
            return math.sqrt(max(warmup, 1) / (step + max(warmup, 1)))
        case "linear":
            return 1 - (1 - FINAL_SHARE) * step / steps
        case "cosine":
            falling = 0.5 * (1 + math.cos(math.pi * step / steps))
            return FINAL_SHARE + (1 - FINAL_SHARE) * falling
