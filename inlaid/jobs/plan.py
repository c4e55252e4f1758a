"""Plan: the time and memory a run will take, before it starts.

Encoding, counting and training are tried on two samples of the text, one twice as large as the other. Each
figure is then extrapolated to the whole text by the power law through the two: words are linear in the text,
while the vocabulary and the number of co-occurring pairs grow more slowly (Heaps' law).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from inlaid.collect.samples import sample_of
from inlaid.collect.sources import Text
from inlaid.encode.corpus import Corpus, Encoding, is_corpus, open_corpus
from inlaid.errors import InlaidError, SettingError
from inlaid.jobs.training import HasEpochs, Method, encoded_for
from inlaid.jobs.trial import extrapolated, tried
from inlaid.messages import Message
from inlaid.report import Note, Report, bytes_in_words, time_in_words, working_time

TOKENS = 600_000
"""Tokens of the larger sample of an encoded corpus."""
LONG_TEXT_BYTES = 50_000_000
LONG_CORPUS_TOKENS = 10_000_000
"""Size of a text or a corpus, times epochs, from which a plan is made before training."""
STAGES = {
    "encoding": Message("encoding"),
    "counting": Message("counting"),
    "training": Message("training"),
}
"""What the stages of a plan are called."""
LONG_RUN_SECONDS = 60.0
"""Time from which the plan of a run is shown."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will take: seconds by stage, and bytes of memory."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Stage (encoding, counting, training) -> seconds."""
    memory: int = 0
    """Bytes of the tables."""
    counts: int = 0
    """Bytes of the co-occurrence counts; beyond the setting `memory` they are on disk."""
    words: int = 0
    """Words in the vocabulary."""
    tokens: int = 0
    epochs: int | None = None
    estimated: bool = True
    """Whether the sizes are extrapolated from a sample of the text."""

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    def rows(self) -> list[tuple[Message, Message]]:
        """The plan as a terminal shows it."""
        about = Message("about ") if self.estimated else Message("")
        text = Message(
            "{about}{tokens:,} tokens, {words:,} words in the vocabulary",
            about=about,
            tokens=self.tokens,
            words=self.words,
        )
        shown = [(Message("text"), text)]
        for stage, seconds in self.seconds.items():
            time = _about(seconds)
            if stage == "training" and self.epochs:
                time = Message("{time} (epochs: {epochs})", time=time, epochs=self.epochs)
            shown.append((STAGES[stage], time))
        shown.append((Message("in all"), _about(self.total_seconds)))
        memory = Message("{about}{size} for the tables", about=about, size=bytes_in_words(self.memory))
        if self.counts:
            counts = bytes_in_words(self.counts)
            memory = Message(
                "{tables}, about {counts} for co-occurrence counts", tables=memory, counts=counts
            )
        shown.append((Message("memory"), memory))
        return shown

    def to_dict(self) -> dict[str, Any]:
        return {
            "seconds": dict(self.seconds),
            "memory": self.memory,
            "counts": self.counts,
            "words": self.words,
            "tokens": self.tokens,
            "epochs": self.epochs,
            "estimated": self.estimated,
        }

    def note(self) -> Note:
        """The plan in one sentence."""
        stages = [
            Message("{stage} {time}", stage=STAGES[stage], time=time_in_words(seconds))
            for stage, seconds in self.seconds.items()
        ]
        return Note(
            "Planned: about {time} ({stages}); the tables take {size}.",
            time=time_in_words(self.total_seconds),
            stages=functools.reduce(_listed, stages),
            size=bytes_in_words(self.memory),
        )


def _listed(earlier: Message, next: Message) -> Message:
    return Message("{earlier}, {next}", earlier=earlier, next=next)


def _about(seconds: float) -> Message:
    words = time_in_words(seconds)
    if 0 < seconds < 0.5:
        return Message("{time}", time=words)  # it says "under"
    return Message("about {time}", time=words)


@dataclass(frozen=True)
class Sample:
    """One of the two samples: a part of the text, encoded, and the time that took."""

    corpus: Corpus
    seconds: float = 0.0
    """Time that encoding took; 0 where the text was already encoded."""


def plan_for(text: Text | Corpus, method: Method, encoding: Encoding | None) -> Plan:
    """The plan for training `method` on a text or corpus."""
    if isinstance(text, (str, Path)) and is_corpus(Path(text)):
        text = open_corpus(Path(text))
    if isinstance(text, Corpus):
        return _plan_for_corpus(text, method)
    sampled = _lines(text, encoding or Encoding())
    if sampled is None:
        raise SettingError(
            "The length of this text is not known before it is read. Encode it first with `inlaid corpus`, "
            "and plan for the corpus."
        )
    lines, scale = sampled
    chosen = _in_memory(encoding or Encoding())
    half = None
    if scale > 1:  # first, so that what is done once is no part of the time of the other
        half = Sample(*_timed(lines[: _half(len(lines))], chosen, method))
    whole = Sample(*_timed(lines, chosen, method))
    return _plan_from(method, (half or whole, whole), scale)


def _half(sentences: int) -> int:
    """Half of them, an even number if that is possible: in a text of pairs, sources and targets alternate."""
    return max(sentences // 4 * 2, min(sentences, 1))


def announce_plan(text: Text | Corpus, method: Method, encoding: Encoding | None, report: Report) -> None:
    """Report the plan of a run that will take minutes; short texts are not worth a trial."""
    epochs = method.epochs if isinstance(method, HasEpochs) else 1
    if isinstance(text, Corpus):
        long = len(text.ids) * epochs >= LONG_CORPUS_TOKENS
    else:
        long = _bytes(text) * epochs >= LONG_TEXT_BYTES
    if not long:
        return
    try:
        found = plan_for(text, method, encoding)
    except InlaidError:  # the run itself reports what is wrong with the text or the settings
        return
    if found.total_seconds >= LONG_RUN_SECONDS:
        report(found.note())


def _plan_from(method: Method, samples: tuple[Sample, Sample], scale: float) -> Plan:
    """The plan for a text `scale` times as long as the second sample, which is twice the first."""
    small, large = (tried(method, sample.corpus) for sample in samples)
    per_unit = large.seconds_per_unit
    seconds = dict[str, float]()
    if samples[1].seconds:
        seconds["encoding"] = samples[1].seconds * scale
    if method.abilities.counts:
        seconds["counting"] = extrapolated(small.starting, large.starting, scale)
    if method.abilities.steps:
        seconds["training"] = per_unit * extrapolated(small.units, large.units, scale)
    else:
        seconds["training"] = extrapolated(small.seconds_per_unit, large.seconds_per_unit, scale)
    return Plan(
        seconds=seconds,
        memory=round(extrapolated(small.memory, large.memory, scale)),
        counts=round(extrapolated(small.counts, large.counts, scale)),
        words=round(extrapolated(small.words, large.words, scale)),
        tokens=round(len(samples[1].corpus.ids) * scale),
        epochs=method.epochs if isinstance(method, HasEpochs) else None,
        estimated=scale > 1,
    )


def _plan_for_corpus(corpus: Corpus, method: Method) -> Plan:
    size = min(TOKENS, len(corpus.ids))
    half = Sample(_first(corpus, size // 2))
    whole = Sample(_first(corpus, size))
    found = _plan_from(method, (half, whole), len(corpus.ids) / max(len(whole.corpus.ids), 1))
    return dataclasses.replace(
        found,
        words=len(corpus.vocabulary),
        tokens=len(corpus.ids),
        memory=method.memory_for(corpus),
        estimated=False,
    )


def _first(corpus: Corpus, tokens: int) -> Corpus:
    """The first sentences of a corpus, over the same vocabulary."""
    sentences = max(int(np.searchsorted(corpus.offsets, tokens, "right")) - 1, 1)
    sentences = min(sentences + sentences % 2, len(corpus.offsets) - 1)  # pairs of sentences stay together
    offsets = np.asarray(corpus.offsets[: sentences + 1])
    return dataclasses.replace(corpus, ids=np.asarray(corpus.ids[: offsets[-1]]), offsets=offsets)


def _lines(text: Text, encoding: Encoding) -> tuple[list[Any], float] | None:
    """Sentences of a sample, and how many times as long the whole text is; None where that is unknown."""
    found = sample_of(text, field=encoding.field, charset=encoding.charset)
    if found is not None:
        return found.lines, found.scale
    if not isinstance(text, Sequence):
        return None
    sentences = list(itertools.islice(text, 100_000))
    return sentences, len(text) / max(len(sentences), 1)


def _bytes(text: Text) -> int:
    """Bytes of the files of a text, about; 0 for anything else."""
    paths = [text] if isinstance(text, (str, Path)) else text
    if not isinstance(paths, (list, tuple)) or not all(
        isinstance(each, (str, Path)) for each in paths[:1000]
    ):
        return 0
    names = cast("Sequence[str | Path]", paths[:1000])
    # os.path, unlike Path, calls what is too long for a name, as sentences are, no file
    files = [Path(each) for each in names if os.path.isfile(each)]
    folders = [Path(each) for each in names if os.path.isdir(each)]
    found = [*files, *(each for folder in folders for each in folder.rglob("*"))]
    return sum(path.stat().st_size for path in found if path.is_file())


def _in_memory(encoding: Encoding) -> Encoding:
    """The same encoding for sentences that are already in memory."""
    return dataclasses.replace(encoding, field="text")


def _timed(lines: list[Any], encoding: Encoding, method: Method) -> tuple[Corpus, float]:
    began = working_time()
    corpus = encoded_for(method, lines, encoding, workers=1)
    return corpus, working_time() - began
