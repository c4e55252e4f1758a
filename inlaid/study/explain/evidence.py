"""What a corpus says about two words: shared contexts with their counts, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inlaid.config import Count, Fraction, Positive, Window, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.messages import Message, option
from inlaid.report import Report
from inlaid.study.analysis import Row
from inlaid.study.explain.contexts import count_contexts
from inlaid.study.explain.originals import with_originals
from inlaid.study.explain.sentences import Sentence, cooccurring_sentences, heaviest_sentences
from inlaid.vectors import Vectors

WINDOW = 5
"""Used where neither the caller nor the card of the vectors gives a window."""
SEEN = 2
"""Contexts seen less often with either word come after all others, whatever their weight."""


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
    discount: Count = 5
    """Multiplies the PMI of a context that was seen n times by n / (n + discount); 0 trusts what was seen
    once."""

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
    """Sentences that contain both words, those first in which they are nearest."""
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
        return rows + self._sentence_rows(first, second)

    def _sentence_rows(self, first: str, second: str) -> list[Row]:
        titles = {
            Message("sentences of both, where they are nearest"): self.of_both,
            Message("sentences of {word}", word=first): self.of_first,
            Message("sentences of {word}", word=second): self.of_second,
        }
        rows: list[Row] = []
        for title, sentences in titles.items():
            if sentences:
                rows += ["", title, *(each.marked.indented(2) for each in sentences)]
        if rows and not any(each.original for each in (*self.of_both, *self.of_first, *self.of_second)):
            stored = Message(
                "These are the words that the corpus stores; {option} shows the original sentences.",
                option=option("text", "FILE"),
            )
            rows += ["", stored]
        return rows


def text_evidence(
    vectors: Vectors, corpus: Corpus, pair: tuple[str, str], settings: ExplainSettings, report: Report
) -> TextEvidence:
    first = _corpus_id(corpus, vectors, pair[0])
    second = _corpus_id(corpus, vectors, pair[1])
    window = settings.window or _training_window(vectors, corpus)
    found = count_contexts(corpus, [first, second], window=window, report=report)
    pmi = found.positive_pmi(settings.smoothing, settings.discount)
    norms = np.linalg.norm(pmi, axis=1)
    weights = pmi[0] * pmi[1] / (norms.prod() or 1.0)
    seen_once = found.counts.min(axis=0) < SEEN
    heaviest = np.lexsort((-weights, seen_once))[: settings.n].tolist()
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


def evidence_with_originals(
    evidence: TextEvidence, corpus: Corpus, text: Sequence[Path], report: Report
) -> TextEvidence:
    """The same with the sentences as the text has them; it is read once for all."""
    lists = (evidence.of_both, evidence.of_first, evidence.of_second)
    found = iter(with_originals(corpus, [each for sentences in lists for each in sentences], text, report))
    both, first, second = (tuple(next(found) for _ in sentences) for sentences in lists)
    return replace(evidence, of_both=both, of_first=first, of_second=second)


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
