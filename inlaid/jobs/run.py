"""Run: the one loop that carries a long training through.

    outcome = run(work, Safety(checkpoint=Path("my.checkpoint")), identity_of("sgns", settings, corpus_hash), report)

It takes step after step, says how far it is, looks for numbers that are none, and saves a checkpoint now and
then. Killed at any moment and resumed, a run ends in the same bits. Saving and looking happen by the clock,
but change nothing; all that changes the result happens at fixed places of the run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from inlaid import files
from inlaid.errors import Diverged, InlaidError, SettingError, WriteError
from inlaid.jobs import checkpoint
from inlaid.jobs.guard import Mark, Watch, interruptions, stale
from inlaid.jobs.plan import Pace, available_memory, tables_size
from inlaid.jobs.work import Outcome, Reason, Safety, Step, Work
from inlaid.report import Note, Progress, Report, bytes_in_words, silent, time_in_words

__all__ = ["Outcome", "Safety", "Step", "Work", "carry", "run"]

STAGE = "training"
MARKS = 20
"""How often in a run the loss is written down and the held-out loss is asked for."""
SAY_EVERY = 0.2
"""Seconds between two events of progress."""


def run(work: Work, safety: Safety, identity: Mapping[str, Any], report: Report = silent) -> Outcome:
    """Carry `work` through to its end, or to where it must stop; the outcome says which. Raises Diverged.

    `identity` (see `identity_of`) says what run this is: only a checkpoint of the same run is resumed.
    """
    return _Run(work, safety, {**identity, "total": work.total}, report).through()


def carry(work: Work, report: Report = silent) -> Outcome:
    """Carry `work` through with nothing saved on the way."""
    return run(work, Safety(), {}, report)


class _Run:
    def __init__(self, work: Work, safety: Safety, identity: Mapping[str, Any], report: Report) -> None:
        self.work = work
        self.safety = safety
        self.identity = identity
        self.report = report
        self.state = checkpoint.State()
        self.watch = Watch()
        self.pace = Pace()
        self.kept: checkpoint.Kept | None = None
        """The best tables so far, if patience asks for them; without a checkpoint, the last good ones."""
        self.saved_at: int | None = None
        self.saved_when = self.said_when = time.monotonic()
        self.foretold = False

    def through(self) -> Outcome:
        self._begin()
        with interruptions() as self.caught:
            while not (reason := self._reason()):
                self._step()
            return self._end(reason)

    def _begin(self) -> None:
        path = self.safety.checkpoint
        if self.safety.resume and path is None:
            raise SettingError(
                "resume is set, but no checkpoint is named. Name the checkpoint to go on from."
            )
        if self.safety.patience and self.work.held_out(0) is None:
            raise SettingError(
                "patience is set, but no text is held out to measure the loss on. Hold some out, or leave patience."
            )
        if path is not None and self.safety.resume:
            files.sweep(path)
        if path is not None and self.safety.resume and path.exists():
            saved = checkpoint.open_saved(path)
            self.kept = checkpoint.restore(saved, self.work.arrays, self.identity)
            self.state = saved.state
            self.saved_at = saved.state.done
            self.report(Note(f"Going on from {path}, {saved.share}."))
        elif path is not None:
            checkpoint.check_place(path)
            if self.safety.resume:
                self.report(Note(f"There is no checkpoint {path} yet: starting from the beginning."))
        self.began = time.monotonic() - self.state.seconds
        self.report(Progress(STAGE, self.state.done, self.work.total, self.work.unit))

    def _reason(self) -> Reason | None:
        """Why the run ends here; nothing while it goes on."""
        if self.state.done >= self.work.total:
            return "finished"
        if self.safety.patience and stale(self.state.marks) >= self.safety.patience:
            return "stopped early"
        if self.caught:
            return "interrupted"
        return (
            "out of time"
            if self.safety.minutes is not None and self.state.seconds >= 60 * self.safety.minutes
            else None
        )

    def _step(self) -> None:
        before = self.state.done
        total = self.work.total
        step = self.work.step(before)
        if not before < step.done <= total:
            raise ValueError(
                f"A step from {before} must end after it and by {total}; it ended at {step.done}."
            )
        self.state.done = step.done
        marked = before * MARKS // total < step.done * MARKS // total
        self._stop_if(self.state.losses.add(step.loss, step.pairs, (step.done - before) / total))
        self._look(all=marked)
        if marked:
            self._mark()
        now = time.monotonic()
        self.state.seconds = now - self.began
        if now - self.said_when >= SAY_EVERY or not self.pace.samples:
            self._say(step, now)
        if (
            self.safety.checkpoint is not None
            and now - self.saved_when >= 60 * self.safety.checkpoint_minutes
        ):
            self._look(all=True)
            self._save()

    def _mark(self) -> None:
        held_out = self.work.held_out(self.state.done)
        self._stop_if(
            f"the held-out loss became {held_out}"
            if held_out is not None and not np.isfinite(held_out)
            else ""
        )
        self.state.marks.append(Mark(self.state.done, self.state.losses.average, held_out))
        if self._worth_keeping():
            self.kept = self.kept or checkpoint.Kept.room_for(self.work.arrays)
            self.kept.take(self.work.arrays, self.state.done)

    def _worth_keeping(self) -> bool:
        """The best tables where patience asks for them; else the latest, unless a checkpoint holds them or
        memory is short."""
        if self.safety.patience:
            return stale(self.state.marks) == 0
        if self.safety.checkpoint is not None:
            return False
        free = available_memory() if self.kept is None else None
        return free is None or free > 2 * tables_size(self.work)

    def _say(self, step: Step, now: float) -> None:
        self.said_when = now
        speed = self.pace.speed(now, step.done)
        figures = dict[str, float]()
        if speed:
            left = (self.work.total - step.done) / speed
            budget = left if self.safety.minutes is None else 60 * self.safety.minutes - self.state.seconds
            figures = {"speed": speed, "left": max(min(left, budget), 0.0)}
        loss = {} if self.state.losses.average is None else {"loss": self.state.losses.average}
        self.report(
            Progress(STAGE, step.done, self.work.total, self.work.unit, {**figures, **loss, **step.figures})
        )
        if self.pace.span > 1 and not self.foretold:
            self.foretold = True
            if figures["left"] > 60:
                size = bytes_in_words(tables_size(self.work))
                self.report(
                    Note(
                        f"Training will take about {time_in_words(figures['left'])}; its tables take {size}."
                    )
                )

    def _save(self) -> None:
        """Save a checkpoint. A full disk must not end the training: it is told, and the earlier checkpoint
        stands."""
        if self.safety.checkpoint is None:
            return
        try:
            best = self.kept if self.safety.patience else None
            checkpoint.save(self.safety.checkpoint, self.work.arrays, best, self.identity, self.state)
            self.saved_at = self.state.done
        except WriteError as error:
            earlier = f" The one of {self._share(self.saved_at)} stands." if self.saved_at is not None else ""
            self.report(
                Note(
                    f"The checkpoint of {self._share(self.state.done)} failed, and training goes on. {error}{earlier}"
                )
            )
        self.saved_when = time.monotonic()

    def _look(self, *, all: bool) -> None:
        self._stop_if(self.watch.look(self.work.arrays, all=all))

    def _stop_if(self, problem: str) -> None:
        """Raise Diverged if there is a problem; by then the work holds its last good tables again, where
        there are any."""
        if not problem:
            return
        rate = self.identity.get("settings", {}).get("learning_rate")
        path = self.safety.checkpoint
        advice = f"Halve `learning_rate`{f' (it is {rate})' if rate is not None else ''} and start again."
        error = Diverged()
        if self.kept is not None:
            error.done = self.kept.give_back(self.work.arrays)
        if path is not None and self.saved_at is not None:
            advice += f" The checkpoint {path} holds good tables of {self._share(self.saved_at)}."
            if self.kept is None:
                with contextlib.suppress(
                    InlaidError
                ):  # it was damaged meanwhile: the first error is the one to tell
                    checkpoint.restore(checkpoint.open_saved(path), self.work.arrays, self.identity)
                    error.done = self.saved_at
        error.sentence = f"Training went wrong at {self._share(self.state.done)}: {problem}. {advice}"
        raise error

    def _end(self, reason: Reason) -> Outcome:
        self._look(all=True)
        if self.saved_at != self.state.done:
            self._save()
        tables = self.state.done
        if self.safety.patience and self.kept is not None:
            tables = self.kept.give_back(self.work.arrays)
        self.report(Progress(STAGE, self.state.done, self.work.total, self.work.unit))
        note = self._note(reason, tables)
        if note:
            self.report(Note(note))
        return Outcome(reason, self.state.done, tables, self.state.seconds, tuple(self.state.marks), note)

    def _note(self, reason: Reason, tables: int) -> str:
        where = (
            f"{self._share(self.state.done)} ({self.state.done:,} of {self.work.total:,} {self.work.unit})"
        )
        says = {
            "finished": "",
            "interrupted": f"Training was interrupted at {where}.",
            "out of time": f"Training stopped at {where}: {self.safety.minutes} minutes were over.",
            "stopped early": f"Training stopped at {where}: the held-out loss was no better for {self.safety.patience} checks.",
        }
        earlier = (
            f"The tables are those of {self._share(tables)}, where the held-out loss was lowest."
            if tables != self.state.done
            else ""
        )
        return f"{says[reason]} {earlier}".strip()

    def _share(self, done: int | None) -> str:
        return f"{(done or 0) / max(self.work.total, 1):.1%}"
