"""Why two words are near: shared contexts, sentences, dimensions, subword n-grams.

Every part adds up to something that can be checked: the shares of the dimensions to the cosine of the two
vectors, those of the n-grams to the cosine of the vectors that the n-grams make, the weights of the shared
contexts to the cosine of the two rows of positive PMI, which is the similarity that the text itself shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from inlaid.config import Fraction, Positive, Window, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, SourceError
from inlaid.messages import Message
from inlaid.report import Note, Report, silent
from inlaid.shapes import Vector
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.explain.contexts import Sentence, cooccurring_sentences, count_contexts, heaviest_sentences
from inlaid.study.search.queries import note_words
from inlaid.vectors import Vectors

WINDOW = 5
"""Used where neither the caller nor the card of the vectors gives a window."""


@runtime_checkable
class HasParts(Protocol):
    """Subwords that can list the n-grams a vector is made of."""

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, Vector]]:
        """The n-grams of a word with their vectors, and its own row where `id` is given; the word's vector is
        their mean."""
        ...


@dataclass(frozen=True, kw_only=True)
class ExplainSettings:
    """How much to show, and what counts as a context."""

    n: Positive = 10
    """How many contexts, dimensions and n-grams to show."""
    sentences: Positive = 3
    """How many sentences to show, of each kind."""
    window: Window | None = None
    """Words on each side that count as contexts; as in training when not given."""
    smoothing: Fraction = 0.75
    """Exponent of the context counts in PMI; below 1 it lowers the PMI of rare contexts."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class SharedContext:
    """A context of both words."""

    word: str
    first_count: float
    second_count: float
    first_pmi: float
    second_pmi: float
    weight: float
    """Its share of the cosine of the two rows of positive PMI."""


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
class TextEvidence:
    """What the corpus says about two words."""

    window: int
    first_count: int
    second_count: int
    cosine: float
    """Of the two rows of positive PMI: the weights of all shared contexts sum to it."""
    shared: int
    """Contexts with positive PMI with both words."""
    contexts: tuple[SharedContext, ...]
    cooccurrences: int
    """Sentences that contain both words."""
    of_both: tuple[Sentence, ...]
    """Sentences that contain both words."""
    of_first: tuple[Sentence, ...]
    """Sentences of the first word whose contexts have the largest weights."""
    of_second: tuple[Sentence, ...]

    def rows(self, first: str, second: str) -> list[Row]:
        counts = Message(
            "counts in the text: {first} {first_count:,}, {second} {second_count:,}; both in one sentence "
            "{both:,}",
            first=first,
            first_count=self.first_count,
            second=second,
            second_count=self.second_count,
            both=self.cooccurrences,
        )
        shared = Message(
            "shared contexts: {shared:,}, their weights sum to {cosine:.3f}",
            shared=self.shared,
            cosine=self.cosine,
        )
        columns = [Message("pmi {word}", word=word) for word in (first, second)]
        columns += [Message("near {word}", word=word) for word in (first, second)]
        rows: list[Row] = [counts, "", shared, (Message("  weight"), Message("context"), *columns)]
        for each in self.contexts:
            pmi = (f"{each.first_pmi:.2f}", f"{each.second_pmi:.2f}")
            near = (f"{each.first_count:,.0f}", f"{each.second_count:,.0f}")
            rows.append((f"  {each.weight:.3f}", each.word, *pmi, *near))
        titles = {
            Message("sentences of both"): self.of_both,
            Message("sentences of {word}", word=first): self.of_first,
            Message("sentences of {word}", word=second): self.of_second,
        }
        for title, sentences in titles.items():
            if sentences:
                rows += ["", title, *(f"  {each.text}" for each in sentences)]
        return rows


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
    """
    settings = settings or ExplainSettings()
    shares = cosine_shares(vectors[first], vectors[second], first, second)
    note_words(vectors, [first, second], report)
    order = np.argsort(-np.abs(shares), kind="stable")
    text = None
    notes: tuple[Note, ...] = ()
    if corpus is not None:
        text = _text_evidence(vectors, corpus, (first, second), settings, report)
        notes = tuple(_notes(vectors, corpus, text))
    for note in notes:
        report(note)
    return Explanation(
        first=first,
        second=second,
        cosine=float(shares.sum()),
        dimensions=tuple(DimensionShare(id, float(shares[id])) for id in order.tolist()),
        ngrams=_ngram_shares(vectors, first, second),
        text=text,
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


def _notes(vectors: Vectors, corpus: Corpus, text: TextEvidence) -> list[Note]:
    notes = list[Note]()
    if vectors.card.corpus and vectors.card.corpus != corpus.manifest.get("hash"):
        notes.append(
            Note(
                "The vectors were not trained on this corpus: its contexts may differ from those in training."
            )
        )
    if text.cooccurrences == 0 and not text.shared:
        notes.append(Note("The corpus shows no reason: the words never co-occur and share no context."))
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


def _text_evidence(
    vectors: Vectors, corpus: Corpus, pair: tuple[str, str], settings: ExplainSettings, report: Report
) -> TextEvidence:
    first = _corpus_id(corpus, vectors, pair[0])
    second = _corpus_id(corpus, vectors, pair[1])
    window = settings.window or _training_window(vectors, corpus)
    found = count_contexts(corpus, [first, second], window=window, report=report)
    pmi = found.positive_pmi(settings.smoothing)
    norms = np.linalg.norm(pmi, axis=1)
    weights = pmi[0] * pmi[1] / (norms.prod() or 1.0)
    heaviest = np.argsort(-weights, kind="stable")[: settings.n].tolist()
    contexts = [
        SharedContext(
            word=corpus.vocabulary.words[id],
            first_count=float(found.counts[0, id]),
            second_count=float(found.counts[1, id]),
            first_pmi=float(pmi[0, id]),
            second_pmi=float(pmi[1, id]),
            weight=float(weights[id]),
        )
        for id in heaviest
        if weights[id] > 0
    ]
    n = settings.sentences
    cooccurrences, of_both = cooccurring_sentences(corpus, first, second, n=n, report=report)
    return TextEvidence(
        window=window,
        first_count=int(corpus.vocabulary.counts[first]),
        second_count=int(corpus.vocabulary.counts[second]),
        cosine=float(weights.sum()),
        shared=int((weights > 0).sum()),
        contexts=tuple(contexts),
        cooccurrences=cooccurrences,
        of_both=of_both,
        of_first=heaviest_sentences(corpus, first, weights, window=window, n=n, report=report),
        of_second=heaviest_sentences(corpus, second, weights, window=window, n=n, report=report),
    )


def _corpus_id(corpus: Corpus, vectors: Vectors, word: str) -> int:
    """The id in the corpus, which may differ from that in the vectors; looked up in the spelling of the
    vectors."""
    row = vectors.find(word)
    found = corpus.vocabulary.words.find(word if row is None else vectors.words[row])
    if found is None:
        raise SourceError(
            "'{word}' has a vector, but is not among the {count:,} words of the corpus. "
            "Name the corpus the vectors were trained on, or leave the corpus out.",
            word=word,
            count=len(corpus.vocabulary),
        )
    return found


def _training_window(vectors: Vectors, corpus: Corpus) -> int:
    """The window of the training; the longest sentence where the whole sentence was used."""
    window = vectors.card.settings.get("window", WINDOW)
    if window is None:
        return int(np.diff(corpus.offsets).max(initial=1))
    return int(window)
