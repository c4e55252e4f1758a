"""Method and Training: what the one training loop asks of every method.

    Method (frozen settings) --start(data)--> Training --run(training, safety)--> Outcome; training.result()

A method is a frozen dataclass of settings and says as data what it can do (`Abilities`). Its `start` makes a
Training, which owns a State and advances in steps. A method that is done at once is a training of one step. A
setting of a run that only some methods have use for says which ability it needs (`Needs`).
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from inlaid import registry
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import SettingError
from inlaid.jobs.state import State
from inlaid.messages import Listed
from inlaid.report import Report, silent


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What a method can do. Flags and help follow from it; what is not here is refused before any work."""

    steps: bool = False
    """It trains in many steps, over its data `epochs` times: checkpoints, resuming, a limit of time."""
    init_from: bool = False
    """It can start from earlier vectors, with new text and new words."""
    freeze: bool = False
    """It can keep those vectors fixed while new words learn."""
    held_out: bool = False
    """It holds out sentences to measure the loss on, for early stopping."""
    counts: bool = False
    """It counts co-occurrences before it trains."""
    model: bool = False
    """It makes a model, which is saved as a folder, rather than vectors."""


@dataclass(frozen=True)
class Needs:
    """The ability that a setting of a run needs, written beside its type: Annotated[int, Needs("held_out")].

    The command line offers its flag only to methods with that ability. Other methods refuse it, as a flag and
    in Python.
    """

    ability: str

    def __post_init__(self) -> None:
        if self.ability not in {field.name for field in dataclasses.fields(Abilities)}:
            raise ValueError(f"There is no ability called {self.ability!r}.")


def needs(kind: type) -> dict[str, str]:
    """The settings of a class that not every method takes -> the ability that each needs."""
    found = dict[str, str]()
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        for extra in getattr(hint, "__metadata__", ()):
            if isinstance(extra, Needs):
                found[name] = extra.ability
    return found


def refusal(method: str, setting: str, ability: str) -> SettingError:
    """The error for a setting, or its flag, that a method has no use for."""
    able = [each.name for each in registry.entries("method") if getattr(each.load().abilities, ability)]
    return SettingError(
        "{method} does not take {setting}: it is for {others}. Leave out {setting}, or choose one of these.",
        method=method,
        setting=setting,
        others=Listed(able),
    )


@dataclass(frozen=True)
class Step:
    """What one step did."""

    done: int
    """Units done after it, since the beginning of the run."""
    loss: float
    """The loss summed over its pairs."""
    pairs: float
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """Further figures to show, such as the learning rate."""
    number: int | None = None
    """Its number in the run, from 1, where steps are counted."""

    def read(self) -> Step:
        return self


@dataclass(frozen=True)
class Queued:
    """A step that an accelerator may still be computing. The loop takes the next one before it reads this
    one, so that the accelerator never waits for Python."""

    done: int
    """Units done after it, since the beginning of the run."""
    read: Callable[[], Step]
    """Wait for it, and say what it did."""


@runtime_checkable
class Training(Protocol):
    """A training under way: it advances in steps and can be saved and resumed between any two."""

    state: State
    """All that changes and that the next step depends on, updated in place."""
    total: int
    """Units of the whole run, such as words times epochs."""
    unit: str
    """What the units are: "words"."""

    def step(self, done: int) -> Step | Queued:
        """Advance from `done` units, a fraction of a second: a function of state, settings, data, `done`."""
        ...

    def held_out_loss(self) -> float | None:
        """The mean loss per pair on held-out sentences; None when none are held out. Changes nothing."""
        ...

    def result(self) -> Any:
        """The vectors or model learned so far."""
        ...


@runtime_checkable
class HoldsOut(Protocol):
    """A training that holds out sentences, if the text has enough of them."""

    held_out_from: int
    """Sentences from which some are held out."""


@runtime_checkable
class FollowsClock(Protocol):
    """A training whose learning rate can fall with the clock, so that a run with a limit of time ends at the
    end of its schedule."""

    clock: float
    """The part of the given time that is over, from 0 to 1. The schedule is never less far than that."""


@runtime_checkable
class HasData(Protocol):
    """A training that keeps co-occurrence counts in memory beside its state."""

    data_bytes: int


@runtime_checkable
class HasRows(Protocol):
    """A training with a row for each word, in one table or several, that the examples of the word move."""

    def rows(self) -> Mapping[str, np.ndarray]:
        """Views of those tables, (words, dim) float32."""
        ...

    def examples_of(self, words: np.ndarray, done: int, enough: int) -> np.ndarray:
        """In how many examples of the first `done` units each of these words was, counted up to `enough`."""
        ...


@runtime_checkable
class HasIdentity(Protocol):
    """A training whose state fits only what it was started from."""

    def identity(self) -> dict[str, Any]:
        """What a checkpoint records of that, beside the settings and the text."""
        ...


@runtime_checkable
class Continues(Protocol):
    """A training that can start from earlier vectors."""

    def init_from(self, vectors: Any, *, freeze: bool, report: Report = silent) -> None:
        """Copy earlier vectors, whose words are the first of the vocabulary; frozen, they never change."""
        ...


@runtime_checkable
class Method(Protocol):
    """The settings of a method: a frozen dataclass."""

    abilities: ClassVar[Abilities]

    def start(self, data: Corpus, report: Report = silent) -> Training:
        """Everything ready for the first step."""
        ...

    def memory_for(self, data: Corpus) -> int:
        """Bytes that its state will take."""
        ...


@runtime_checkable
class ChecksFirst(Protocol):
    """A method with settings that only the machine, or several of them together, can refuse."""

    def check_first(self) -> None:
        """Raise SettingError for settings that cannot work; called before the text is read."""
        ...


@runtime_checkable
class SuitsText(Protocol):
    """A method with defaults that depend on the text."""

    def for_corpus(self, data: Corpus) -> Method:
        """The same settings, with every such default set."""
        ...


@runtime_checkable
class PreparesText(Protocol):
    """A method whose text is encoded otherwise than for word vectors."""

    encoding_defaults: ClassVar[Mapping[str, Any]]
    """Settings of the encoding that have another default."""

    def prepared(self, encoding: Encoding) -> Encoding:
        """The encoding with what the method needs beside what was asked for."""
        ...


@runtime_checkable
class ReadsPairs(Protocol):
    """A method that learns from pairs of sentences: its corpus has sentences that alternate."""

    def sentences(self, text: Any, encoding: Encoding, report: Report = silent) -> list[str]:
        """The sentences of the pairs of a text: source, target, source, target."""
        ...


@runtime_checkable
class EncodesPairs(Protocol):
    """A method that encodes its pairs itself: each side may have a tokenizer of its own."""

    def encode_pairs(self, sentences: Sequence[str], encoding: Encoding, report: Report = silent) -> Corpus:
        """The corpus of alternating sentences."""
        ...


def encoded_for(method: Method, text: Any, encoding: Encoding, *, workers: int | None = None) -> Corpus:
    """A text as the corpus that a method learns from."""
    if isinstance(method, EncodesPairs):
        return method.encode_pairs(text, encoding)
    return encode(text, encoding, workers=workers)


@runtime_checkable
class HasEpochs(Protocol):
    """A method that goes over its data several times; every method that trains in steps does."""

    @property
    def epochs(self) -> int: ...


@runtime_checkable
class HasDim(Protocol):
    """A method whose vectors have a dimension that is chosen."""

    @property
    def dim(self) -> int: ...


@runtime_checkable
class HasWorkers(Protocol):
    """A method that several threads can work on."""

    @property
    def workers(self) -> int: ...


class OneStep:
    """A training of one step: the whole computation."""

    unit = "steps"
    total = 1

    def __init__(self, compute: Callable[[], Any], *, data_bytes: int = 0) -> None:
        self.state = State({})
        self.data_bytes = data_bytes
        self._compute = compute
        self._result: Any = None

    def step(self, done: int) -> Step:
        self._result = self._compute()
        return Step(1, 0.0, 0.0)

    def held_out_loss(self) -> float | None:
        return None

    def result(self) -> Any:
        return self._result
