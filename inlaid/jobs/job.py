"""Job: from a method and its data to a result with a card, with everything that keeps a long run safe."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from inlaid import files, locks
from inlaid.config import changed_from_default, values_of
from inlaid.encode.corpus import Corpus
from inlaid.errors import Diverged, SettingError, SourceError
from inlaid.jobs.checkpoint import check_place, identity_of, open_saved
from inlaid.jobs.guard import check_memory
from inlaid.jobs.init_from import Continuing
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import (
    ChecksFirst,
    HasDim,
    HasEpochs,
    HasIdentity,
    HasWorkers,
    Method,
    SuitsText,
    Training,
    needs,
    refusal,
)
from inlaid.jobs.trial import epochs_that_fit
from inlaid.jobs.unmoved import Unmoved, unmoved_note
from inlaid.messages import Advice, Message
from inlaid.report import Note, Report
from inlaid.vectors import Outcome, Vectors
from inlaid.version import VERSION

LONG_RUN_TOKENS = 5_000_000
"""Tokens, times epochs, from which more workers are worth a note."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A method, by its name and settings, and what else it is asked to do."""

    name: str
    method: Method
    safety: Safety = field(default_factory=Safety)
    continuing: Continuing = field(default_factory=Continuing)

    def check(self) -> None:
        """Raise SettingError for what the method cannot do; called before any work."""
        for asked in (self.safety, self.continuing):
            self._check_abilities(asked)
        self.continuing.check_dim(self.method)
        if isinstance(self.method, ChecksFirst):
            self.method.check_first()
        if self.safety.patience and getattr(self.method, "held_out", None) == 0:
            raise SettingError(
                "patience is set, and held_out is 0: no text is left to measure the loss on. Raise held_out, "
                "or leave out patience."
            )
        if self.safety.checkpoint is not None:
            if self.safety.resume:
                files.can_write(self.safety.checkpoint)
                if self.safety.checkpoint.exists():
                    open_saved(self.safety.checkpoint)
            else:
                check_place(self.safety.checkpoint)
            locks.check_free(self.safety.checkpoint)

    def _check_abilities(self, asked: Safety | Continuing) -> None:
        """Raise SettingError for the first setting, not at its default, that the method cannot do."""
        needed = needs(type(asked))
        for setting in changed_from_default(asked):
            if setting in needed and not getattr(self.method.abilities, needed[setting]):
                raise refusal(self.name, setting, needed[setting])

    def learn_from(self, corpus: Corpus, report: Report) -> Any:
        """The vectors or model, with a card that says how the training ended.

        Where training diverges, the last good result is still given, inside the error.
        """
        self.check()
        _need_two_words(corpus)
        corpus = self.continuing.corpus(corpus)
        if self.continuing.frozen == len(corpus.vocabulary):
            report(Note("freeze is set and the text has no new word: nothing will change."))
        method = self._fitted(corpus, report)
        training = method.start(corpus, report)
        self.continuing.start(training, report)
        identity = identity_of(self.name, values_of(method), corpus.manifest["hash"])
        identity |= self.continuing.identity()
        identity |= training.identity() if isinstance(training, HasIdentity) else {}
        _suggest_workers(method, corpus, report)
        before = Unmoved(training)
        try:
            outcome = run(training, self.safety, identity, report)
        except Diverged as error:
            if error.outcome is not None:
                error.result = self._labelled(training, method, corpus, error.outcome)
            raise
        unmoved = before.count(training, outcome.kept, self.continuing.frozen)
        outcome = dataclasses.replace(outcome, unmoved=unmoved)
        note = unmoved_note(outcome, len(corpus.vocabulary))
        if note is not None:
            report(note)
        return self._labelled(training, method, corpus, outcome)

    def _fitted(self, corpus: Corpus, report: Report) -> Method:
        """The method with the defaults that the text decides and the epochs that fit into the minutes; its
        memory is checked."""
        method = self.method.for_corpus(corpus) if isinstance(self.method, SuitsText) else self.method
        memory = method.memory_for(corpus)
        dim = method.dim if isinstance(method, HasDim) else None
        check_memory(memory, self.safety, dim=dim, words=len(corpus.vocabulary))
        self._check_space(memory)
        if self.safety.minutes is None:
            return method

        def start(epochs: int) -> Training:
            return _with_epochs(method, epochs).start(corpus)

        epochs = epochs_that_fit(start, self.safety)
        report(
            Note(
                "Epochs that fit into {minutes:g} min: {epochs}.", minutes=self.safety.minutes, epochs=epochs
            )
        )
        return _with_epochs(method, epochs)

    def _check_space(self, state: int) -> None:
        """Raise WriteError if a checkpoint does not fit on its disk, beside the earlier one that it replaces,
        or beside the result, which has at most the size of the state."""
        path = self.safety.checkpoint
        if path is not None:
            copies = 2 if self.safety.patience else 1
            files.check_space(path, copies * state if path.exists() else (1 + copies) * state)

    def _labelled(self, training: Training, method: Method, corpus: Corpus, outcome: Outcome) -> Any:
        result = training.result()
        encoding = corpus.manifest["encoding"]
        if self.method.abilities.model and isinstance(result, Vectors):
            encoding = (
                result.card.encoding or encoding
            )  # they read text as the vectors they were trained from
        card = dataclasses.replace(
            result.card,
            method=self.name,
            settings=values_of(method),
            corpus=corpus.manifest["hash"],
            encoding=encoding,
            version=VERSION,
            outcome=outcome,
            notes=(*result.card.notes, *self.continuing.notes()),
        )
        if self.method.abilities.model:  # it has its tokenizer
            return dataclasses.replace(result, card=card)
        return dataclasses.replace(result, card=card, tokenizer_json=corpus.tokenizer_json)


def _need_two_words(corpus: Corpus) -> None:
    """Raise SourceError if the text is one word again and again, whatever else the vocabulary has."""
    words = np.flatnonzero(corpus.vocabulary.counts)
    if len(words) < 2:
        raise SourceError(
            "The vocabulary has one word, '{word}': there is nothing to compare it with. Add more text.",
            word=corpus.vocabulary.words[int(words[0]) if len(words) else 0],
        )


def _with_epochs(method: Method, epochs: int) -> Method:
    return dataclasses.replace(cast("Any", method), epochs=epochs)


def _suggest_workers(method: Method, corpus: Corpus, report: Report) -> None:
    """Note how much faster more workers would be, where a long run uses one of several cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1 or not isinstance(method, HasWorkers) or method.workers != 1:
        return
    epochs = method.epochs if isinstance(method, HasEpochs) else 1
    if len(corpus.ids) * epochs >= LONG_RUN_TOKENS:
        report(
            Note(
                "One of {cores} cores is used. `{option}` is up to {cores} times as fast.",
                cores=cores,
                option=Advice(
                    typed=Message("--workers {cores}", cores=cores),
                    called=Message("workers={cores}", cores=cores),
                ),
            )
        )
