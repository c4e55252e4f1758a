"""Why two words are near: shared contexts, sentences, dimensions, subword n-grams.

Every part adds up to something that can be checked: the shares of the dimensions to the cosine of the two
vectors, those of the n-grams to the cosine of the vectors that the n-grams make, the weights of the shared
contexts to the cosine of the two rows of positive PMI, which is the similarity that the text itself shows.
PMI is discounted by how seldom a context was seen: a coincidence is not a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Note, Report, silent
from inlaid.shapes import Vector
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.explain.evidence import (
    ExplainSettings,
    TextEvidence,
    evidence_with_originals,
    text_evidence,
)
from inlaid.study.search.queries import note_words
from inlaid.vectors import Vectors


@runtime_checkable
class HasParts(Protocol):
    """Subwords that can list the n-grams a vector is made of."""

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, Vector]]:
        """The n-grams of a word with their vectors, and its own row where `id` is given; the word's vector is
        their mean."""
        ...


@dataclass(frozen=True)
class DimensionShare:
    """A dimension, numbered from 0, and its share of the cosine."""

    dimension: int
    share: float


@dataclass(frozen=True)
class NgramShare:
    """An n-gram of each word, and the share of their product in the cosine."""

    first: str
    second: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why two words are near, or are not."""

    first: str
    second: str
    cosine: float
    dimensions: tuple[DimensionShare, ...]
    """All of them, largest absolute share first; they sum to the cosine."""
    ngrams: tuple[NgramShare, ...] = ()
    """Every pair of n-grams, largest absolute share first, where the vectors have subwords; they sum to the
    cosine of the vectors that the n-grams make."""
    text: TextEvidence | None = None
    """None without a corpus."""
    notes: tuple[Note, ...] = ()
    settings: ExplainSettings

    @property
    def half(self) -> int:
        """How many dimensions, largest first, make up half of the sum of absolute shares."""
        sizes = np.cumsum([abs(each.share) for each in self.dimensions])
        if not len(sizes) or sizes[-1] <= 0:
            return 0
        return int(np.searchsorted(sizes, sizes[-1] / 2)) + 1

    def rows(self) -> list[Row]:
        n = self.settings.n
        head = Message(
            "{first} ~ {second}: cosine {cosine:.3f}",
            first=self.first,
            second=self.second,
            cosine=self.cosine,
        )
        rows: list[Row] = [head]
        if self.text is not None:
            rows += self.text.rows(self.first, self.second)
        title = Message(
            "dimensions (half of the shares in {half} of {dim})", half=self.half, dim=len(self.dimensions)
        )
        rows += ["", title]
        rows += [(f"  {each.share:+.3f}", str(each.dimension)) for each in self.dimensions[:n]]
        if self.ngrams:
            rows += ["", Message("n-grams")]
            rows += [(f"  {each.share:+.3f}", each.first, each.second) for each in self.ngrams[:n]]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(replace(self, ngrams=self.ngrams[: self.settings.n]))


@analysis
def explain(
    vectors: Vectors,
    first: str,
    second: str,
    settings: ExplainSettings | None = None,
    *,
    corpus: Corpus | None = None,
    text: Sequence[Path] = (),
    report: Report = silent,
) -> Explanation:
    """Why two words are near: shared contexts, sentences, dimensions, n-grams.

    >>> explain(vectors, "香蕉", "苹果", corpus=corpus).text.contexts[0].word

    Args:
        vectors: a file of vectors
        first: a word
        second: another word
        corpus: the folder of the corpus they were trained on; without it there are no contexts and no
            sentences
        text: the files that the corpus was encoded from, to show sentences as they are written there; a
            corpus stores ids alone

    Examples:
        inlaid explain vectors.inlaid apple banana
        inlaid explain vectors.inlaid apple banana --corpus text.corpus -n 5
    """
    settings = settings or ExplainSettings()
    shares = cosine_shares(vectors[first], vectors[second], first, second)
    note_words(vectors, [first, second], report)
    order = np.argsort(-np.abs(shares), kind="stable")
    evidence = None
    notes: tuple[Note, ...] = ()
    if text and corpus is None:
        raise SettingError("text is given without a corpus. Name the corpus that was encoded from it.")
    if corpus is not None:
        evidence = text_evidence(vectors, corpus, (first, second), settings, report)
        if text:
            evidence = evidence_with_originals(evidence, corpus, text, report)
        notes = tuple(_notes(vectors, corpus, evidence, asked=bool(text)))
    for note in notes:
        report(note)
    return Explanation(
        first=first,
        second=second,
        cosine=float(shares.sum()),
        dimensions=tuple(DimensionShare(id, float(shares[id])) for id in order.tolist()),
        ngrams=_ngram_shares(vectors, first, second),
        text=evidence,
        notes=notes,
        settings=settings,
    )


def cosine_shares(
    one: np.ndarray, two: np.ndarray, first: str = "the first", second: str = "the second"
) -> np.ndarray:
    """x_i y_i / (|x| |y|) for each dimension i, in float64; they sum to the cosine."""
    for row, name in ((one, first), (two, second)):
        if not row.any():
            raise SettingError(
                "'{name}' has a zero vector, which has no direction: nothing is near it.", name=name
            )
    x = _scaled(one)
    y = _scaled(two)
    return x * y / (np.linalg.norm(x) * np.linalg.norm(y))


def _scaled(row: np.ndarray) -> np.ndarray:
    """Divided by its largest component, so that squares of very large and very small numbers stay finite."""
    wide = row.astype(np.float64)
    return wide / np.abs(wide).max()


def _notes(vectors: Vectors, corpus: Corpus, text: TextEvidence, *, asked: bool) -> list[Note]:
    notes = list[Note]()
    if vectors.card.corpus and vectors.card.corpus != corpus.manifest.get("hash"):
        notes.append(
            Note(
                "The vectors were not trained on this corpus: its contexts may differ from those in training."
            )
        )
    if text.cooccurrences == 0 and not text.shared:
        notes.append(Note("The corpus shows no reason: the words never co-occur and share no context."))
    shown = (*text.of_both, *text.of_first, *text.of_second)
    missed = sum(not each.original for each in shown)
    if asked and missed:
        notes.append(
            Note(
                "{missed} of {shown} sentences were not found in the text, and are shown as the corpus "
                "stores them. Name all files that it was encoded from.",
                missed=missed,
                shown=len(shown),
            )
        )
    return notes


def _ngram_shares(vectors: Vectors, first: str, second: str) -> tuple[NgramShare, ...]:
    if not isinstance(vectors.subwords, HasParts):
        return ()
    ids = [vectors.find(word) for word in (first, second)]
    # A word that was found has the n-grams of the vocabulary's spelling, not of the one that was typed.
    first_ngrams, second_ngrams = (
        vectors.subwords.parts(word if id is None else vectors.words[id], id)
        for word, id in zip((first, second), ids, strict=True)
    )
    if not first_ngrams or not second_ngrams:
        return ()
    left = np.stack([row for _, row in first_ngrams]).astype(np.float64)
    right = np.stack([row for _, row in second_ngrams]).astype(np.float64)
    length = float(np.linalg.norm(left.sum(axis=0)) * np.linalg.norm(right.sum(axis=0)))
    if length == 0:
        return ()
    products = left @ right.T / length
    order = np.argsort(-np.abs(products).ravel(), kind="stable")
    cells = zip(*np.unravel_index(order, products.shape), strict=True)
    return tuple(
        NgramShare(first_ngrams[row][0], second_ngrams[column][0], float(products[row, column]))
        for row, column in cells
    )
