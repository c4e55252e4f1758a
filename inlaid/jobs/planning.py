"""Planning: samples of a text, and the plan that a trial on them gives."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from inlaid.collect.samples import SIZE, sample_of
from inlaid.collect.sources import Text
from inlaid.encode.corpus import Corpus, Encoding, encode, is_corpus, open_corpus
from inlaid.errors import InlaidError, SettingError
from inlaid.jobs.plan import Plan, Sample, plan_of
from inlaid.jobs.training import Method
from inlaid.report import Report

TOKENS = 600_000
"""Tokens of the larger sample of an encoded corpus."""
LONG_TEXT = 50_000_000
LONG_CORPUS = 10_000_000
"""Bytes of text, tokens of a corpus, times epochs, from which a plan is made before training."""
LONG_RUN = 60.0
"""Seconds from which the plan of a run is shown."""


def plan(text: Text | Corpus, method: Method, encoding: Encoding | None) -> Plan:
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
    half = Sample(*_timed(lines[: max(len(lines) // 2, 1)], chosen))
    whole = Sample(*_timed(lines, chosen))
    return plan_of(method, (half, whole), scale)


def announce(text: Text | Corpus, method: Method, encoding: Encoding | None, report: Report) -> None:
    """Report the plan of a run that will take minutes; short texts are not worth a trial."""
    epochs = getattr(method, "epochs", 1)
    if isinstance(text, Corpus):
        long = len(text.ids) * epochs >= LONG_CORPUS
    else:
        long = _bytes(text) * epochs >= LONG_TEXT
    if not long:
        return
    try:
        found = plan(text, method, encoding)
    except InlaidError:  # the run itself reports what is wrong with the text or the settings
        return
    if found.total_seconds >= LONG_RUN:
        report(found.note())


def _plan_for_corpus(corpus: Corpus, method: Method) -> Plan:
    size = min(TOKENS, len(corpus.ids))
    half = Sample(_first(corpus, size // 2))
    whole = Sample(_first(corpus, size))
    found = plan_of(method, (half, whole), len(corpus.ids) / max(len(whole.corpus.ids), 1))
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
    offsets = np.asarray(corpus.offsets[: sentences + 1])
    return dataclasses.replace(corpus, ids=np.asarray(corpus.ids[: offsets[-1]]), offsets=offsets)


def _lines(text: Text, encoding: Encoding) -> tuple[list[Any], float] | None:
    """Sentences of a sample, and how many times as long the whole text is; None where that is unknown."""
    found = sample_of(text, field=encoding.field)
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
    files = [Path(each) for each in names if isinstance(each, Path) or len(each) < 1000]
    found = [each for path in files for each in ([path] if path.is_file() else path.rglob("*"))]
    return sum(path.stat().st_size for path in found if path.is_file())


def _in_memory(encoding: Encoding) -> Encoding:
    """The same encoding for sentences that are already in memory."""
    return dataclasses.replace(encoding, field="text")


def _timed(lines: list[Any], encoding: Encoding) -> tuple[Corpus, float]:
    began = time.perf_counter()
    corpus = encode(lines, encoding, workers=1)
    return corpus, time.perf_counter() - began


__all__ = ["LONG_CORPUS", "LONG_RUN", "LONG_TEXT", "SIZE", "announce", "plan"]
