"""Training: from a method's settings to vectors, with all that keeps a long run safe around it."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

from inlaid.config import values_of
from inlaid.encode.corpus import Corpus
from inlaid.errors import Diverged, SettingError
from inlaid.jobs.checkpoint import identity_of
from inlaid.jobs.onto import Continues, Onto
from inlaid.jobs.plan import check_memory, plan
from inlaid.jobs.run import run
from inlaid.jobs.work import Safety, Work
from inlaid.report import Note, Report, silent
from inlaid.vectors import Vectors


@runtime_checkable
class Training(Work, Protocol):
    """Work that ends in vectors; at any moment those learned so far."""

    def vectors(self, corpus: Corpus) -> Vectors: ...


@runtime_checkable
class Long(Protocol):
    """A method that learns in steps."""

    dim: int
    epochs: int

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """Everything made ready; no step taken."""
        ...

    def memory_for(self, corpus: Corpus) -> int:
        """Bytes its tables will take."""
        ...


def carried(
    name: str, method: Long, corpus: Corpus, safety: Safety, report: Report, onto: Onto | None = None
) -> tuple[Vectors, Long]:
    """Train, and say in the card how it ended; the method comes back with the epochs that the time allowed.

    Where training goes wrong, the last good tables are still given, inside the error.
    """
    check_memory(method.memory_for(corpus), safety, dim=method.dim, words=len(corpus.vocabulary))
    if safety.minutes is not None:
        planned = plan(
            lambda epochs: dataclasses.replace(_fields(method), epochs=epochs).start(corpus),
            safety,
            epochs=method.epochs,
        )
        method = dataclasses.replace(_fields(method), epochs=planned.epochs)
        report(Note(f"Planned: {planned}."))
    training = method.start(corpus, report)
    identity = identity_of(name, values_of(method), corpus.manifest["hash"])
    if onto is not None:
        if not isinstance(training, Continues):
            raise SettingError(
                f"{name} cannot go on from other vectors. Train on all of the text at once, or use sgns."
            )
        onto.check(method.dim, report)
        training.init_from(onto.vectors, freeze=onto.anchor)
        identity |= onto.identity()
    try:
        outcome = run(training, safety, identity, report)
    except Diverged as error:
        if error.done:
            error.vectors = _labelled(
                training.vectors(corpus),
                f"Training went wrong later; these are the last good tables. {error}",
            )
        raise
    vectors = training.vectors(corpus) if onto is None else _labelled(training.vectors(corpus), onto.note())
    return _labelled(vectors, outcome.note), method


def _labelled(vectors: Vectors, note: str) -> Vectors:
    if not note:
        return vectors
    return dataclasses.replace(
        vectors, card=dataclasses.replace(vectors.card, notes=(*vectors.card.notes, note))
    )


def _fields(method: Long) -> Any:
    return method
