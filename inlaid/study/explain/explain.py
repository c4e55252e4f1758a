"""Why two words are near: shared contexts, sentences, dimensions, n-grams.

Every part adds up to something that can be checked: the shares of the dimensions to the cosine of the two
vectors, those of the n-grams to the cosine of the vectors the n-grams make, the weights of the contexts to
the cosine of the two rows of positive PMI, which is the nearness that the text itself shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from inlaid.config import Fraction, Positive, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, SourceError
from inlaid.report import Note, Report, silent
from inlaid.shapes import Vector
from inlaid.study.explain.contexts import Sentence, company, meetings, sentences_of
from inlaid.vectors import Vectors

WINDOW = 5
"""Where neither the caller nor the card says how far a context may stand."""


@runtime_checkable
class HasParts(Protocol):
    """Subwords that can say what they make a vector of."""

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, Vector]]:
        """The n-grams of a word with their vectors, and its own row where `id` names one; the word's vector
        is their mean."""
        ...


@dataclass(frozen=True, kw_only=True)
class Explaining:
    """How much to show, and what counts as a context."""

    n: Positive = 10
    """Contexts, dimensions and n-grams to name."""
    sentences: Positive = 3
    """Sentences to show, of each kind."""
    window: Positive | None = None
    """Words on each side that count as contexts; None: as the vectors were trained, or 5."""
    smoothing: Fraction = 0.75
    """Power on context counts; below 1 it tames rare contexts."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class SharedContext:
    """A word that stands near both."""

    word: str
    first_count: float
    second_count: float
    first_pmi: float
    second_pmi: float
    weight: float
    """Its part of the cosine of the two rows of positive PMI."""


@dataclass(frozen=True)
class Share:
    """A dimension, numbered from 0, and its part of the cosine."""

    dimension: int
    share: float


@dataclass(frozen=True)
class PartShare:
    """An n-gram of each word, and the part of the cosine their product makes."""

    first: str
    second: str
    share: float


@dataclass(frozen=True, kw_only=True)
class InText:
    """What the corpus says about two words."""

    window: int
    first_count: int
    second_count: int
    cosine: float
    """Of the two rows of positive PMI: the weights of all shared contexts sum to it."""
    shared: int
    """Contexts with positive PMI with both."""
    contexts: tuple[SharedContext, ...]
    together: int
    """Sentences that hold both."""
    meetings: tuple[Sentence, ...]
    of_first: tuple[Sentence, ...]
    """Sentences of the first word whose contexts weigh most."""
    of_second: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why two words are near, or are not."""

    first: str
    second: str
    cosine: float
    dimensions: tuple[Share, ...]
    """All of them, the largest share first, whatever its sign; they sum to the cosine."""
    parts: tuple[PartShare, ...] = ()
    """Every pair of n-grams, largest first, where the vectors are made of n-grams; they sum to the cosine of
    what these make."""
    text: InText | None = None
    notes: tuple[str, ...] = ()

    @property
    def half(self) -> int:
        """How many dimensions it takes, largest first, to make up half of all that the shares say, for and
        against."""
        sizes = np.cumsum([abs(each.share) for each in self.dimensions])
        return int(np.searchsorted(sizes, sizes[-1] / 2)) + 1 if len(sizes) and sizes[-1] > 0 else 0


def explain(
    vectors: Vectors,
    first: str,
    second: str,
    *,
    corpus: Corpus | None = None,
    settings: Explaining | None = None,
    report: Report = silent,
) -> Explanation:
    """Say why two words are near: by dimension, by n-gram where there are any and, given a corpus, by what
    stands in the text.

    >>> explain(vectors, "香蕉", "苹果", corpus=corpus).text.contexts[0].word
    """
    settings = settings or Explaining()
    one = vectors[first].astype(np.float64)
    two = vectors[second].astype(np.float64)
    shares = shares_of(one, two, first, second)
    order = np.argsort(-np.abs(shares), kind="stable")
    notes = list[str]()
    text = None
    if corpus is not None:
        hash = corpus.manifest.get("hash")
        if vectors.card.corpus and vectors.card.corpus != hash:
            notes.append(
                "The vectors were not learned from this corpus: its contexts may not be those that made them."
            )
        text = _in_text(vectors, corpus, first, second, settings, report)
        if text.together == 0 and not text.shared:
            notes.append("The corpus shows no reason: the words never meet and share no context.")
    for note in notes:
        report(Note(note))
    return Explanation(
        first=first,
        second=second,
        cosine=float(shares.sum()),
        dimensions=tuple(Share(id, float(shares[id])) for id in order.tolist()),
        parts=_parts(vectors, first, second),
        text=text,
        notes=tuple(notes),
    )


def shares_of(
    one: np.ndarray, two: np.ndarray, first: str = "the first", second: str = "the second"
) -> np.ndarray:
    """x_i y_i / (|x| |y|) for each dimension i; they sum to the cosine."""
    for row, name in ((one, first), (two, second)):
        if not row.any():
            raise SettingError(f"'{name}' is a vector of zeros: it points nowhere, so nothing is near to it.")
    one, two = (
        row / np.abs(row).max() for row in (one, two)
    )  # very long and very short ones keep their direction
    return one * two / (np.linalg.norm(one) * np.linalg.norm(two))


def _parts(vectors: Vectors, first: str, second: str) -> tuple[PartShare, ...]:
    if not isinstance(vectors.subwords, HasParts):
        return ()
    ones, twos = (vectors.subwords.parts(word, vectors.find(word)) for word in (first, second))
    if not ones or not twos:
        return ()
    left, right = (np.stack([row for _, row in some]).astype(np.float64) for some in (ones, twos))
    length = float(np.linalg.norm(left.sum(axis=0)) * np.linalg.norm(right.sum(axis=0)))
    if length == 0:
        return ()
    products = left @ right.T / length
    order = np.argsort(-np.abs(products).ravel(), kind="stable")
    places = zip(*np.unravel_index(order, products.shape), strict=True)
    return tuple(
        PartShare(ones[row][0], twos[column][0], float(products[row, column])) for row, column in places
    )


def _in_text(
    vectors: Vectors, corpus: Corpus, first: str, second: str, settings: Explaining, report: Report
) -> InText:
    ids = [_id_in(corpus, vectors, word) for word in (first, second)]
    window = settings.window or _window(vectors, corpus)
    held = company(corpus, ids, window=window, report=report)
    pmi = held.positive_pmi(settings.smoothing)
    lengths = np.linalg.norm(pmi, axis=1)
    weights = pmi[0] * pmi[1] / (lengths.prod() or 1.0)
    order = [id for id in np.argsort(-weights, kind="stable")[: settings.n].tolist() if weights[id] > 0]
    words = corpus.vocabulary.words
    counts = corpus.vocabulary.counts
    together, some = meetings(corpus, ids[0], ids[1], n=settings.sentences, report=report)
    of_first, of_second = (
        sentences_of(corpus, id, weights, window=window, n=settings.sentences, report=report) for id in ids
    )
    return InText(
        window=window,
        first_count=int(counts[ids[0]]),
        second_count=int(counts[ids[1]]),
        cosine=float(weights.sum()),
        shared=int((weights > 0).sum()),
        contexts=tuple(
            SharedContext(
                words[id],
                float(held.counts[0, id]),
                float(held.counts[1, id]),
                float(pmi[0, id]),
                float(pmi[1, id]),
                float(weights[id]),
            )
            for id in order
        ),
        together=together,
        meetings=some,
        of_first=of_first,
        of_second=of_second,
    )


def _id_in(corpus: Corpus, vectors: Vectors, word: str) -> int:
    """The id in the corpus, which may have other ids than the vectors; the word is looked for as the vectors
    write it."""
    row = vectors.find(word)
    found = corpus.vocabulary.words.find(word if row is None else vectors.words[row])
    if found is None:
        raise SourceError(
            f"'{word}' has a vector, but is not among the {len(corpus.vocabulary):,} words of the corpus. "
            "Name the corpus the vectors were learned from, or leave the corpus out."
        )
    return found


def _window(vectors: Vectors, corpus: Corpus) -> int:
    """What the method used; the whole sentence where it used that."""
    window = vectors.card.settings.get("window", WINDOW)
    return int(np.diff(corpus.offsets).max(initial=1)) if window is None else int(window)
