"""The counted co-occurrence table of a corpus: whole, or around some words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inlaid import places
from inlaid.collect.normalize import normalizer
from inlaid.config import Positive, Window, check
from inlaid.encode.corpus import Corpus
from inlaid.encode.subwords.spelling import forms
from inlaid.errors import OutOfVocabulary, SettingError, did_you_mean
from inlaid.messages import Message
from inlaid.report import Note, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain

if TYPE_CHECKING:
    from inlaid.feed.cooccurrence import Cells

SEARCHED = 50_000
"""First words among which the one that was meant is searched."""


@dataclass(frozen=True, kw_only=True)
class CooccurrenceSettings:
    """What counts as co-occurrence, and which part of the table is returned."""

    window: Window | None = 5
    """Words on each side of a center that are its contexts; None for the whole sentence."""
    decay: bool = False
    """Count a context d words away as 1/d, as GloVe does."""
    n: Positive = 20
    """How many words, the most frequent first, are rows and columns where none are named; otherwise, how many
    contexts."""
    square: bool = False
    """With named words: count only among these words, so that they are the columns too."""

    ppmi: bool = False
    """Show PPMI instead of counts: the logarithm of how many times more often two words occur together than
    by chance, 0 where they do so less often."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of contexts (columns) around words (rows)."""

    words: tuple[str, ...]
    contexts: tuple[str, ...]
    counts: np.ndarray
    """(word, context)"""
    window: int | None
    ppmi: np.ndarray | None = None
    """(word, context): positive pointwise mutual information, by the counts of the whole corpus; None where
    counts were asked for."""
    output: Path | None = None
    """The picture it was drawn to."""

    @property
    def values(self) -> np.ndarray:
        """(word, context): what is shown."""
        return self.counts if self.ppmi is None else self.ppmi

    def rows(self) -> Sequence[Row]:
        body = [
            (word, *map(_shown, values))
            for word, values in zip(self.words, self.values.tolist(), strict=True)
        ]
        return [("", *self.contexts), *body, *figures.written(self.output)]

    def figure(self, *, report: Report = silent) -> Any:
        """A heat map as matplotlib's Figure, to be shown or changed."""
        from inlaid.study.explain.cooccurrence_pictures import figure

        return figure(self, report=report)

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": list(self.words),
            "contexts": list(self.contexts),
            "counts": plain(self.counts),
            "ppmi": plain(self.ppmi),
            "window": self.window,
            "output": None if self.output is None else str(self.output),
        }


@analysis
def cooccurrence(
    corpus: Corpus,
    words: Sequence[str] = (),
    settings: CooccurrenceSettings | None = None,
    *,
    glove: Path | None = None,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Cooccurrence:
    """How often words occur together in a corpus: the whole table, or the contexts of some words.

    With `glove`, all counts are written for the original GloVe program, which weighs contexts by their
    distance: use decay.

    >>> cooccurrence(corpus, ["cat", "dog"], ppmi=True).figure()

    Args:
        corpus: the folder of a corpus, which `inlaid corpus` writes
        words: the words whose contexts are shown; the most frequent words when none are named
        glove: write all counts to this folder as the GloVe program reads them: cooccurrence.bin and vocab.txt
        output: also draw a heat map: .png, .svg or .pdf

    Examples:
        inlaid cooccurrence text.corpus king queen -n 10
        inlaid cooccurrence text.corpus --ppmi -o ppmi.png
    """
    from inlaid.feed import cooccurrence as counting  # it imports the kernels
    from inlaid.formats.glove_counts import write_counts

    settings = settings or CooccurrenceSettings()
    if output is not None:
        heat_map = Message("A heat map")
        output = figures.writable(Path(output), heat_map, suffixes=figures.PICTURES, overwrite=overwrite)
    if settings.square and not words:
        raise SettingError("square needs words: name the words to count among.")
    ids = np.array([_id(corpus, word) for word in words], np.int64)
    with _claimed(glove, corpus):
        cells = counting.cooccurrence(corpus, window=settings.window, decay=settings.decay, report=report)
        if glove is not None:
            write_counts(glove, cells, corpus.vocabulary)
            report(Note("{path}: all {cells:,} counts are written.", path=glove, cells=len(cells)))
    if not len(ids):
        ids = _most_frequent(corpus, settings.n, report)
    rows = _rows(cells, ids)
    columns = _most_frequent_contexts(rows, settings.n) if words and not settings.square else ids
    known = corpus.vocabulary.words
    found = Cooccurrence(
        words=tuple(known[id] for id in ids.tolist()),
        contexts=tuple(known[id] for id in columns.tolist()),
        counts=rows[:, columns],
        window=settings.window,
        ppmi=_ppmi(cells, rows, columns) if settings.ppmi else None,
        output=output,
    )
    if output is not None:
        figures.write(output, figures.saved(found.figure(report=report), output.suffix))
    return found


def _most_frequent(corpus: Corpus, n: int, report: Report) -> np.ndarray:
    """The most frequent words, by id, with a note where there are more."""
    total = len(corpus.vocabulary)
    shown = min(n, total)
    if shown < total:
        report(Note("The {shown:,} most frequent of {total:,} words are shown.", shown=shown, total=total))
    return np.arange(shown)


def _ppmi(cells: Cells, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """PPMI of the shown cells; sums are those of the whole table."""
    context_sums = np.bincount(cells.columns, cells.counts, minlength=cells.size)
    expected = rows.sum(axis=1)[:, None] * context_sums[columns] / max(float(context_sums.sum()), 1.0)
    ratios = np.divide(rows[:, columns], expected, out=np.ones_like(expected), where=expected > 0)
    return np.log(np.maximum(ratios, 1))


def _claimed(output: Path | None, corpus: Corpus) -> AbstractContextManager[None]:
    """The lock of the output, if there is one; it must not be in the folder of the corpus."""
    if output is None:
        return nullcontext()
    read = None if corpus.opened is None else corpus.opened.path.parent
    return places.claimed(output, reads=[read], folder=True)


def _id(corpus: Corpus, word: str) -> int:
    """The id of a word as written or, failing that, as the encoding would have written it."""
    words = corpus.vocabulary.words
    encoding = corpus.manifest.get("encoding", {})
    normalized = normalizer(encoding.get("normalize") or ())(word)
    mark = encoding.get("spelling", "")
    written = [form for text in (word, normalized) for form in forms(mark, text)]
    found = next((id for form in written if (id := words.find(form)) is not None), None)
    if found is None:
        raise OutOfVocabulary(
            "'{word}' is not among the {count:,} words of the corpus.{hint}",
            word=word,
            count=len(words),
            hint=did_you_mean(word, words[:SEARCHED]),
        )
    return found


def _rows(cells: Cells, ids: np.ndarray) -> np.ndarray:
    """Some rows of the sparse table, with their zeros."""
    rows = np.zeros((len(ids), cells.size))
    for row, id in enumerate(ids.tolist()):
        held = slice(cells.starts[id], cells.starts[id + 1])
        rows[row, cells.columns[held]] = cells.counts[held]
    return rows


def _most_frequent_contexts(rows: np.ndarray, n: int) -> np.ndarray:
    """Ids of the contexts counted most often over all rows; ties in the order of their ids."""
    totals = rows.sum(axis=0)
    order = np.lexsort((np.arange(len(totals)), -totals))[:n]
    return order[totals[order] > 0]


def _shown(count: float) -> str:
    return f"{count:.0f}" if count == int(count) else f"{count:.3f}"
