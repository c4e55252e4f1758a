"""Job: from a method and its data to a result with a card, with everything that keeps a long run safe."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from inlaid import files, locks, registry
from inlaid.config import values_of
from inlaid.encode.corpus import Corpus
from inlaid.errors import Diverged, SettingError, SourceError
from inlaid.jobs.checkpoint import check_place, identity_of
from inlaid.jobs.init_from import InitFrom
from inlaid.jobs.plan import check_memory, epochs_that_fit
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import Continues, Method, Training
from inlaid.jobs.unmoved import Unmoved, unmoved_note
from inlaid.report import Note, Report
from inlaid.vectors import Outcome

LONG_RUN = 5_000_000
"""Tokens times epochs from which more workers are worth a note."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A method, by its name and settings, and what else it is asked to do."""

    name: str
    method: Method
    safety: Safety = field(default_factory=Safety)
    init_from: InitFrom | None = None

    def check(self) -> None:
        """Raise SettingError for what the method cannot do; called before any work."""
        can = self.method.abilities
        if self.init_from is not None and not can.init_from:
            raise SettingError(
                "{name} cannot continue from earlier vectors: init_from is for {others}.",
                name=self.name,
                others=methods_that("init_from"),
            )
        if self.init_from is not None and self.init_from.freeze and not can.freeze:
            raise SettingError(
                "{name} cannot keep earlier vectors fixed: freeze is for {others}.",
                name=self.name,
                others=methods_that("freeze"),
            )
        if self.init_from is not None:
            self.init_from.check_dim(getattr(self.method, "dim", self.init_from.vectors.dim))
        if not can.steps and self.safety != Safety():
            raise SettingError(
                "{name} trains in one step: it takes no checkpoint, resume, patience or minutes.",
                name=self.name,
            )
        if self.safety.patience and not can.held_out:
            raise SettingError(
                "{name} holds no sentences out, so patience has no loss to watch: patience is for {others}.",
                name=self.name,
                others=methods_that("held_out"),
            )
        if self.safety.minutes is not None and not hasattr(self.method, "epochs"):
            raise SettingError("{name} has no epochs to fit into minutes. Leave out minutes.", name=self.name)
        if self.safety.checkpoint is not None:
            if self.safety.resume:
                files.can_write(self.safety.checkpoint)
            else:
                check_place(self.safety.checkpoint)
            locks.check_free(self.safety.checkpoint)

    def train(self, corpus: Corpus, report: Report) -> Any:
        """The vectors or model, with a card that says how the training ended.

        Where training diverges, the last good result is still given, inside the error.
        """
        self.check()
        if len(corpus.vocabulary) < 2:
            raise SourceError(
                "The vocabulary has one word, '{word}': there is nothing to compare it with. Add more text.",
                word=corpus.vocabulary.words[0],
            )
        if self.init_from is not None:
            corpus = self.init_from.corpus(corpus)
            if self.init_from.freeze and len(corpus.vocabulary) == len(self.init_from.vectors):
                report(Note("freeze is set and the text has no new word: nothing will change."))
        method = self._fitted(corpus, report)
        training = method.start(corpus, report)
        identity = identity_of(self.name, values_of(method), corpus.manifest["hash"])
        if self.init_from is not None:
            assert isinstance(training, Continues)
            training.init_from(self.init_from.vectors, freeze=self.init_from.freeze, report=report)
            identity |= self.init_from.identity()
        _suggest_workers(method, corpus, report)
        before = Unmoved(training)
        try:
            outcome = run(training, self.safety, identity, report)
        except Diverged as error:
            if error.outcome is not None:
                error.result = self._labelled(training, method, corpus, error.outcome)
            raise
        outcome = dataclasses.replace(outcome, unmoved=before.count(training, outcome.kept, self._frozen))
        unmoved = unmoved_note(outcome, len(corpus.vocabulary))
        if unmoved is not None:
            report(unmoved)
        return self._labelled(training, method, corpus, outcome)

    @property
    def _frozen(self) -> int:
        """The first words, whose vectors are not to move."""
        return len(self.init_from.vectors) if self.init_from is not None and self.init_from.freeze else 0

    def _fitted(self, corpus: Corpus, report: Report) -> Method:
        """The method with memory checked and, where minutes are given, with the epochs that fit into them."""
        settings: Any = self.method
        memory = self.method.memory_for(corpus)
        dim = getattr(settings, "dim", None)
        check_memory(memory, self.safety, dim=dim, words=len(corpus.vocabulary))
        if self.safety.minutes is None:
            return self.method

        def start(epochs: int) -> Training:
            return dataclasses.replace(settings, epochs=epochs).start(corpus)

        epochs = epochs_that_fit(start, self.safety)
        report(
            Note("{epochs} epochs fit into {minutes:g} minutes.", epochs=epochs, minutes=self.safety.minutes)
        )
        return dataclasses.replace(settings, epochs=epochs)

    def _labelled(self, training: Training, method: Method, corpus: Corpus, outcome: Outcome) -> Any:
        result = training.result()
        notes = result.card.notes
        if self.init_from is not None:
            notes = (*notes, self.init_from.note())
        card = dataclasses.replace(
            result.card,
            method=self.name,
            settings=values_of(method),
            corpus=corpus.manifest["hash"],
            encoding=corpus.manifest["encoding"],
            version=metadata.version("inlaid"),
            outcome=outcome,
            notes=notes,
        )
        return dataclasses.replace(result, card=card)


def methods_that(ability: str) -> str:
    """The names of the methods with an ability, as a list to read."""
    able = [each.name for each in registry.entries("method") if getattr(each.load().abilities, ability)]
    return ", ".join(able)


def _suggest_workers(method: Any, corpus: Corpus, report: Report) -> None:
    """Note how much faster more workers would be, where a long run uses one of several cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1 or getattr(method, "workers", cores) != 1:
        return
    if len(corpus.ids) * getattr(method, "epochs", 1) >= LONG_RUN:
        report(
            Note(
                "One of {cores} cores is used. `--workers {cores}` is up to {cores} times as fast.",
                cores=cores,
            )
        )
