"""The seconds of a training, and of its steps after those in which networks and kernels are compiled."""

from __future__ import annotations

import time
from typing import Any

import torch

from inlaid.fit.networks.training import NetworkTraining

FIRST_STEPS = 100
"""Steps in which things are compiled; `step_ms` leaves them out."""


class StepClock:
    """Times trainings of ours and of others; our evaluations on held-out text are left out."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.steps = 0
        self.evaluating = 0.0
        self.began = time.perf_counter()
        self.first_steps_ended = self.began

    def step(self) -> None:
        """At the beginning of each step."""
        if self.steps == FIRST_STEPS:
            self.first_steps_ended = _now() - self.evaluating
        self.steps += 1

    def stop(self) -> None:
        ended = _now() - self.evaluating
        self.seconds = ended - self.began
        later_steps = max(self.steps - FIRST_STEPS, 1)
        self.step_ms = 1000 * (ended - self.first_steps_ended) / later_steps

    def watch_trainings(self) -> None:
        """Be told of each step and each evaluation of our trainings from now on."""
        step = NetworkTraining.step
        evaluate = NetworkTraining.held_out_loss

        def timed_step(training: NetworkTraining, done: int) -> Any:
            self.step()
            return step(training, done)

        def timed_evaluation(training: NetworkTraining) -> float | None:
            began = _now()
            try:
                return evaluate(training)
            finally:
                self.evaluating += _now() - began

        NetworkTraining.step = timed_step
        NetworkTraining.held_out_loss = timed_evaluation


def _now() -> float:
    """The time once a GPU has done what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
