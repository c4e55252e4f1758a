"""Run: the one loop of every training.

    identity = identity_of("sgns", settings, corpus_hash)
    outcome = run(training, Safety(checkpoint=Path("my.checkpoint")), identity)

It takes step after step, reports progress, checks for NaN and divergence, and saves a checkpoint at
intervals. Killed at any moment and resumed, a run ends in the same bits: saving and checking follow the
clock but change nothing; all that changes the result happens at fixed points of the run.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from inlaid import files, locks
from inlaid.errors import Diverged, FormatError, InlaidError, SettingError, Unsynced, WriteError
from inlaid.jobs import checkpoint
from inlaid.jobs.guard import FiniteCheck, checks_since_best, interruptions
from inlaid.jobs.safety import Process, Safety
from inlaid.jobs.state import Snapshot
from inlaid.jobs.training import FollowsClock, HoldsOut, Queued, Step, Training
from inlaid.jobs.trial import Speed
from inlaid.memory import available_memory
from inlaid.messages import Message
from inlaid.report import (
    Epoch,
    Note,
    Progress,
    Report,
    bytes_in_words,
    silent,
    time_in_words,
    working_time,
)
from inlaid.vectors import Mark, Outcome, Reason

STAGE = "training"
MARKS = 20
"""How often in a run the loss is recorded and the held-out loss is measured."""
INTERVAL = 0.2
"""Seconds between two progress events."""


def run(
    training: Training,
    safety: Safety,
    identity: Mapping[str, Any],
    report: Report = silent,
    process: Process | None = None,
) -> Outcome:
    """Train to the end, or to where it must stop; the outcome says which. Raises Diverged.

    `identity` (see `identity_of`) says which run this is: only a checkpoint of the same run is resumed.
    """
    return _Run(training, safety, {**identity, "total": training.total}, report, process or Process()).loop()


class _Run:
    def __init__(
        self,
        training: Training,
        safety: Safety,
        identity: Mapping[str, Any],
        report: Report,
        process: Process,
    ) -> None:
        self.training = training
        self.safety = safety
        self.identity = identity
        self.main = process.rank == 0
        self.report = report if self.main else silent
        self.in_steps = training.total > 1
        self.progress = checkpoint.RunProgress()
        self.check = FiniteCheck()
        self.speed = Speed()
        self.unread = deque[tuple[Step | Queued, float]]()
        """Steps whose loss is not counted yet, each with the part of the run that it is."""
        self.last_read: Step | None = None
        self.snapshot: Snapshot | None = None
        """The best state so far, if early stopping asks for it; until there is a checkpoint, the last good
        one."""
        self.saved_done: int | None = None
        self.resumed_from: int | None = None
        """Units that the checkpoint said were done, where the run continues from one."""
        self.saved_time = time.monotonic()
        self.reported_time = self.saved_time
        self.announced = False

    def loop(self) -> Outcome:
        """Step after step, until there is a reason to end."""
        with self._holding_checkpoint():
            self._begin()
            with interruptions() as self.caught:
                while not (reason := self._reason()):
                    self._step()
                return self._end(reason)

    def _holding_checkpoint(self) -> contextlib.AbstractContextManager[None]:
        """No other run may write the same checkpoint."""
        path = self.safety.checkpoint
        if path is None or not self.main:
            return contextlib.nullcontext()
        files.can_write(path)
        return locks.holding(path)

    def _begin(self) -> None:
        path = self.safety.checkpoint
        if self.safety.resume and path is None:
            raise SettingError(
                "resume is set, but no checkpoint is named. Name the checkpoint to continue from."
            )
        if self.safety.patience and self.training.held_out_loss() is None:
            raise _nothing_held_out(self.training)
        if path is not None and self.safety.resume:
            self._resume(path)
        elif path is not None and self.main:
            checkpoint.check_place(path)
        self.began = time.monotonic() - self.progress.seconds
        self._report_position()

    def _resume(self, path: Any) -> None:
        if self.main:
            files.sweep(path)
        if not path.exists():
            if self.main:
                checkpoint.check_place(path)
            self.report(Note("There is no checkpoint {path} yet: starting from the beginning.", path=path))
            return
        saved = checkpoint.open_saved(path)
        self.snapshot = checkpoint.restore(saved, self.training.state, self.identity)
        self.progress = saved.progress
        self.saved_done = saved.progress.done
        self.resumed_from = saved.progress.done
        self.report(Note("Continuing from {path}, {share:.0%} done.", path=path, share=saved.share))

    def _reason(self) -> Reason | None:
        """Why the run ends here; None while it continues."""
        if self.progress.done >= self.training.total:
            return "finished"
        if self.safety.patience and checks_since_best(self.progress.marks) >= self.safety.patience:
            return "stopped early"
        if self.caught:
            return "interrupted"
        if self._clock() >= 1:  # a schedule that follows the clock has come to its end
            return "finished" if isinstance(self.training, FollowsClock) else "out of time"
        return None

    def _clock(self) -> float:
        """The part of the given time that is over; 0 without a limit."""
        if self.safety.minutes is None:
            return 0.0
        seconds = 60 * self.safety.minutes
        return self.progress.seconds / seconds if seconds else 1.0

    def _step(self) -> None:
        before = self.progress.done
        total = self.training.total
        if isinstance(self.training, FollowsClock):
            self.training.clock = self._clock()
        step = self.training.step(before)
        if not before < step.done <= total:
            if self.resumed_from is not None:
                raise FormatError(
                    "{path}: it says that {done:,} {unit} are done, which is not the end of a step. Remove "
                    "the checkpoint and start again.",
                    path=self.safety.checkpoint,
                    done=self.resumed_from,
                    unit=self.training.unit,
                )
            raise ValueError(
                f"A step from {before} must end after it and by {total}; it ended at {step.done}."
            )
        self.progress.done = step.done
        at_mark = before * MARKS // total < step.done * MARKS // total
        self.unread.append((step, (step.done - before) / total))
        self._read_losses(but=1 if isinstance(step, Queued) and not at_mark else 0)
        self._check(everything=at_mark)
        if at_mark:
            self._mark()
        now = time.monotonic()
        self.progress.seconds = now - self.began
        self._report_epochs(before)
        if self.in_steps and (now - self.reported_time >= INTERVAL or not self.speed.samples):
            self._report_progress(now)
        due = now - self.saved_time >= 60 * self.safety.checkpoint_minutes
        if self.safety.checkpoint is not None and due:
            self._read_losses()
            self._check(everything=True)
            self._save()

    def _read_losses(self, *, but: int = 0) -> None:
        """Count the losses of the steps taken, but for the last ones, which would have to be waited for."""
        while len(self.unread) > but:
            step, part = self.unread.popleft()
            self.last_read = step.read()
            self._stop_if(self.progress.losses.add(self.last_read.loss, self.last_read.pairs, part))

    def _mark(self) -> None:
        held_out = self.training.held_out_loss()
        if held_out is not None and not np.isfinite(held_out):
            self._stop_if(Message("the held-out loss became {loss}", loss=held_out))
        mark = Mark(done=self.progress.done, loss=self.progress.losses.average, held_out=held_out)
        self.progress.marks.append(mark)
        if not self._worth_keeping():
            return
        if self.snapshot is None:
            self.snapshot = Snapshot.of(self.training.state, self.progress.done)
        else:
            self.snapshot.update(self.training.state, self.progress.done)

    def _worth_keeping(self) -> bool:
        """With patience, the best state; else the latest, unless there is a checkpoint or memory is short."""
        if self.safety.patience:
            return checks_since_best(self.progress.marks) == 0
        if self.saved_done is not None:
            return False
        return self.snapshot is not None or available_memory() > 2 * self.training.state.nbytes

    def _report_position(self) -> None:
        """How far the run is; a training of one step has nothing to show."""
        if self.in_steps:
            self.report(Progress(STAGE, self.progress.done, self.training.total, self.training.unit))

    def _report_epochs(self, before: int) -> None:
        """Say which epochs the last step has completed."""
        epochs = self.identity.get("settings", {}).get("epochs")
        if not epochs or not self.in_steps:
            return
        total = self.training.total
        first = before * epochs // total + 1
        last = self.progress.done * epochs // total
        measured = [mark.held_out for mark in self.progress.marks if mark.held_out is not None]
        for number in range(first, last + 1):
            loss = self.progress.losses.average
            held_out = measured[-1] if measured else None
            self.report(Epoch(number, epochs, loss, held_out, self.progress.seconds))

    def _report_progress(self, now: float) -> None:
        self.reported_time = now
        done = self.progress.done
        speed = self.speed.after(working_time(), done)
        figures = {"speed": speed, "left": 0.0}
        if speed:
            left = (self.training.total - done) / speed
            if self.safety.minutes is not None:
                left = min(left, 60 * self.safety.minutes - self.progress.seconds)
            figures = {"speed": speed, "left": max(left, 0.0)}
        if self.progress.losses.average is not None:
            figures["loss"] = self.progress.losses.average
        if self.last_read is not None:
            figures |= self.last_read.figures
        self.report(Progress(STAGE, done, self.training.total, self.training.unit, figures))
        if self.speed.span > 1 and not self.announced:
            self.announced = True
            if figures["left"] > 60:
                self.report(
                    Note(
                        "Training will take about {time}; its tables take {size}.",
                        time=time_in_words(figures["left"]),
                        size=bytes_in_words(self.training.state.nbytes),
                    )
                )

    def _save(self) -> None:
        """Save a checkpoint. A full disk does not end training: it is reported, the old checkpoint stays."""
        if self.safety.checkpoint is None or not self.main:
            return
        try:
            best = self.snapshot if self.safety.patience else None
            checkpoint.save(self.safety.checkpoint, self.training.state, best, self.identity, self.progress)
            self.saved_done = self.progress.done
            self.snapshot = best  # without patience, the checkpoint is the last good state
        except Unsynced as error:
            self.saved_done = self.progress.done
            self.report(Note("Training continues. {error}", error=error))
        except WriteError as error:
            earlier = Message("")
            if self.saved_done is not None:
                earlier = Message(" The checkpoint at {share:.1%} stays.", share=self._share(self.saved_done))
            self.report(
                Note(
                    "The checkpoint at {share:.1%} failed, and training continues. {error}{earlier}",
                    share=self._share(self.progress.done),
                    error=error,
                    earlier=earlier,
                )
            )
        self.saved_time = time.monotonic()

    def _check(self, *, everything: bool) -> None:
        self._stop_if(self.check.look(self.training.state, everything=everything))

    def _stop_if(self, problem: Message | None) -> None:
        """Raise Diverged if there is a problem; first restore the last good state, where there is one."""
        if problem is None:
            return
        learning_rate = self.identity.get("settings", {}).get("learning_rate")
        advice = Message("Halve `learning_rate` and start again.")
        if learning_rate is not None:
            advice = Message(
                "Halve `learning_rate` (it is {learning_rate}) and start again.", learning_rate=learning_rate
            )
        kept = Message("")
        good: int | None = None
        if self.snapshot is not None:
            self.training.state.copy_from(self.snapshot.arrays)
            good = self.snapshot.done
        path = self.safety.checkpoint
        if path is not None and self.saved_done is not None:
            share = self._share(self.saved_done)
            kept = Message(
                " The checkpoint {path} holds a good state at {share:.1%}.", path=path, share=share
            )
            if self.snapshot is None:
                with contextlib.suppress(
                    InlaidError
                ):  # it was damaged meanwhile: the first error matters more
                    checkpoint.restore(checkpoint.open_saved(path), self.training.state, self.identity)
                    good = self.saved_done
        error = Diverged(
            "Training diverged at {share:.1%}{where}: {problem}. {advice}{kept}",
            share=self._share(self.progress.done),
            where=_where(self.last_read),
            problem=problem,
            advice=advice,
            kept=kept,
        )
        if good is not None:
            error.outcome = self._outcome("diverged", good)
        raise error

    def _end(self, reason: Reason) -> Outcome:
        self._read_losses()
        self._check(everything=True)
        if self.saved_done != self.progress.done:
            self._save()
        kept = self.progress.done
        if self.safety.patience and self.snapshot is not None:
            self.training.state.copy_from(self.snapshot.arrays)
            kept = self.snapshot.done
        self._report_position()
        outcome = self._outcome(reason, kept)
        note = explained(outcome, self.safety)
        if note is not None:
            self.report(note)
        return outcome

    def _outcome(self, reason: Reason, kept: int) -> Outcome:
        return Outcome(
            reason=reason,
            done=self.progress.done,
            total=self.progress.done if reason == "finished" else self.training.total,
            kept=kept,
            unit=self.training.unit,
            seconds=self.progress.seconds,
            marks=tuple(self.progress.marks),
        )

    def _share(self, done: int) -> float:
        return done / max(self.training.total, 1)


def _where(step: Step | None) -> Message:
    """The number of a step and its learning rate, as far as they are known."""
    learning_rate = None if step is None else step.figures.get("learning_rate")
    if step is None or learning_rate is None:
        return Message("")
    if step.number is None:
        return Message(" (learning rate {learning_rate:.3g})", learning_rate=learning_rate)
    return Message(
        " (step {step:,}, learning rate {learning_rate:.3g})", step=step.number, learning_rate=learning_rate
    )


def explained(outcome: Outcome, safety: Safety) -> Note | None:
    """A sentence for the user on how a run ended; None when it finished with its last state."""
    earlier = _earlier(outcome)
    where = Message(
        "{share:.1%} ({done:,} of {total:,} {unit})",
        share=outcome.done / max(outcome.total, 1),
        done=outcome.done,
        total=outcome.total,
        unit=outcome.unit,
    )
    match outcome.reason:
        case "finished":
            return Note("The run is finished.{earlier}", earlier=earlier) if earlier else None
        case "stopped early":
            return Note(
                "Training stopped early at {where}: no lower held-out loss within a patience of "
                "{patience}.{earlier}",
                where=where,
                patience=safety.patience,
                earlier=earlier,
            )
        case "interrupted":
            return Note("Training was interrupted at {where}.{earlier}", where=where, earlier=earlier)
        case "out of time":
            return Note(
                "Training stopped at {where}: the limit of {minutes:g} min was reached.{earlier}",
                where=where,
                minutes=safety.minutes,
                earlier=earlier,
            )
        case "diverged":
            return None  # the error says it
        case _:
            assert_never(outcome.reason)


def _nothing_held_out(training: Training) -> SettingError:
    if not isinstance(training, HoldsOut):
        return SettingError("patience is set, but this training has no held-out loss. Leave out patience.")
    return SettingError(
        "patience is set, but this text has too few sentences to hold some out for measuring the loss: "
        "{needed:,} are needed. Use more text, or leave out patience.",
        needed=training.held_out_from,
    )


def _earlier(outcome: Outcome) -> Message:
    if outcome.kept == outcome.done:
        return Message("")
    share = outcome.kept / max(outcome.total, 1)
    return Message(" The vectors are those at {share:.1%}, where the held-out loss was lowest.", share=share)
