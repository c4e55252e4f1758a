"""A training whose answer is known: a linear congruential generator, one iteration a step.

Run as a program, it is killed and resumed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.files import write_bytes
from inlaid.jobs.checkpoint import identity_of
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from inlaid.jobs.state import State
from inlaid.jobs.training import Step
from inlaid.report import Note

FACTOR = 6364136223846793005
PLUS = 1442695040888963407
ROWS = 500


def after(rounds: int) -> np.ndarray:
    """The generators after n iterations, in closed form: f^n x + p (f^n - 1) / (f - 1)."""
    power = pow(FACTOR, rounds, (FACTOR - 1) << 64)
    plus = PLUS * ((power - 1) // (FACTOR - 1))
    return np.array([(power * start + plus) % (1 << 64) for start in range(ROWS)], np.uint64)


class Toy:
    """`units` units a step; every step turns the generators once and adds what they say to a table."""

    unit = "units"

    def __init__(self, total: int = 100, *, units: int = 1, pause: float = 0.0) -> None:
        self.total = total
        self.units = units
        self.pause = pause
        self.state = State(
            {
                "seeds": np.arange(ROWS, dtype=np.uint64),
                "table": np.zeros((ROWS, 40), np.float32),
                "sum": np.zeros((), np.float64),
            }
        )

    def step(self, done: int) -> Step:
        seeds = self.state["seeds"]
        table = self.state["table"]
        seeds *= np.uint64(FACTOR)
        seeds += np.uint64(PLUS)
        table *= np.float32(0.999)
        table += (seeds >> np.uint64(40)).astype(np.float32)[:, None] * np.float32(1e-7)
        self.state["sum"] += float(table[:50].sum(dtype=np.float64)) / 3
        time.sleep(self.pause)
        done = min(done + self.units, self.total)
        return Step(done, 1.0 + float(seeds[0]) / 2.0**64, 1.0, {"learning_rate": 1 - done / self.total})

    def held_out_loss(self) -> float | None:
        return None

    def result(self) -> bytes:
        return self.bytes()

    def bytes(self) -> bytes:
        return b"".join(self.state[name].tobytes() for name in sorted(self.state))


def identity(**settings: Any) -> dict[str, Any]:
    return identity_of("toy", {"learning_rate": 0.05, "seed": 1, **settings}, "c0ffee")


if __name__ == "__main__":
    saved = Path(sys.argv[1])
    result = Path(sys.argv[2])
    rounds = int(sys.argv[3])
    print("ready", flush=True)
    toy = Toy(rounds, pause=0.001)
    run(
        toy,
        Safety(checkpoint=saved, checkpoint_minutes=0.0002, resume=True),
        identity(),
        lambda event: print(event.text, flush=True) if isinstance(event, Note) else None,
    )
    write_bytes(result, toy.bytes())
