"""Sentences of a corpus in which words occur, with these words marked: as the corpus stores them, or as the
text has them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.marked import Marked, Span
from inlaid.report import Report, silent
from inlaid.study.explain.contexts import sentence_blocks

SHOWN = 40
"""Tokens of a sentence that are shown, around the word."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the corpus, or the part around the words of a long one."""

    text: str
    marks: tuple[Span, ...]
    """Where the words are: the offset of the first character, and of the one after the last."""
    weight: float
    """Sum of the weights of the contexts in it."""
    original: bool
    """Whether this is the original text; otherwise its words as the corpus stores them, without punctuation
    and words outside the vocabulary."""
    number: int
    """Which sentence of the corpus it is, from 0."""
    tokens: tuple[int, ...]
    """Which tokens of that sentence are marked, from 0."""

    @property
    def marked(self) -> Marked:
        return Marked(self.text, self.marks)


def heaviest_sentences(
    corpus: Corpus, id: int, weights: np.ndarray, *, window: int, n: int, report: Report = silent
) -> tuple[Sentence, ...]:
    """The `n` distinct sentences of a word with the largest sum of context weights; weights (word,)."""
    best: list[tuple[float, int]] = []
    seen: set[bytes] = set()
    numbers: set[int] = set()
    padded = np.append(weights, 0.0)  # positions outside the sentence have id -1 and weight 0
    for block in sentence_blocks(corpus, report, "reading sentences"):
        positions = np.flatnonzero(block.ids == id)
        contexts = block.contexts(positions, window)
        weight = sum((padded[near] for near in contexts), np.zeros(len(positions)))
        for order in np.argsort(-weight, kind="stable").tolist():
            if weight[order] <= 0 or (len(best) == n and weight[order] <= best[0][0]):
                break
            position = int(positions[order]) + block.start
            text = _excerpt(corpus, [position]).tobytes()
            number = int(block.sentence[positions[order]])
            if text not in seen and number not in numbers:
                seen.add(text)
                numbers.add(number)
                heapq.heappush(best, (float(weight[order]), -position))
                best = heapq.nlargest(n, best)[::-1]  # n is small; the lightest comes first
    return tuple(_sentence(corpus, [-at], weight) for weight, at in sorted(best, reverse=True))


def cooccurring_sentences(
    corpus: Corpus, first: int, second: int, *, n: int, report: Report = silent
) -> tuple[int, tuple[Sentence, ...]]:
    """How many sentences contain both words, and the `n` distinct ones in which they are nearest."""
    total = 0
    best: list[tuple[int, int, int]] = []
    seen: set[bytes] = set()
    numbers: set[int] = set()
    for block in sentence_blocks(corpus, report, "finding co-occurrences"):
        ones = np.flatnonzero(block.ids == first)
        others = ones if first == second else _nearest(block.sentence, ones, block.ids == second)
        ones = ones[others >= 0]
        others = others[others >= 0]
        total += len(np.unique(block.sentence[ones]))
        for order in np.argsort(abs(ones - others), kind="stable").tolist():
            one = int(ones[order]) + block.start
            other = int(others[order]) + block.start
            if len(best) == n and abs(one - other) >= best[-1][0]:
                break
            text = _excerpt(corpus, [one, other]).tobytes()
            number = int(block.sentence[ones[order]])
            if text not in seen and number not in numbers:
                seen.add(text)
                numbers.add(number)
                best = sorted([*best, (abs(one - other), one, other)])[:n]
    return total, tuple(_sentence(corpus, [one, other], 0.0) for _, one, other in best)


def _nearest(sentence: np.ndarray, positions: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each position, the nearest wanted one in the same sentence; -1 where there is none."""
    others = np.flatnonzero(wanted)
    if not len(others):
        return np.full(len(positions), -1)
    after = np.searchsorted(others, positions)
    right = others[np.minimum(after, len(others) - 1)]
    left = others[np.maximum(after - 1, 0)]
    found = np.full(len(positions), -1)
    far = np.full(len(positions), len(sentence))
    for side in (left, right):
        distance = abs(side - positions)
        nearer = (sentence[side] == sentence[positions]) & (distance < far)
        found[nearer] = side[nearer]
        far[nearer] = distance[nearer]
    return found


# --- excerpts -----------------------------------------------------------------------------------------------


def bounds(corpus: Corpus, position: int) -> tuple[int, int, int]:
    """The number of the sentence at a position, and where it starts and ends."""
    number = int(np.searchsorted(corpus.offsets, position, "right")) - 1
    return number, int(corpus.offsets[number]), int(corpus.offsets[number + 1])


def shown_part(places: Sequence[int], size: int) -> Span:
    """Which tokens of a sentence of some size are shown: all, or those around the places."""
    if size <= SHOWN:
        return 0, size
    around = max(SHOWN // 2, max(places) - min(places) + 1)
    middle = (max(places) + min(places)) // 2
    return max(0, middle - around), min(size, middle + around)


def _excerpt(corpus: Corpus, positions: Sequence[int]) -> np.ndarray:
    """The ids of the sentence at some positions; of a long one, those around them."""
    _, low, high = bounds(corpus, positions[0])
    start, stop = shown_part([position - low for position in positions], high - low)
    return corpus.ids[low + start : low + stop]


def _sentence(corpus: Corpus, positions: Sequence[int], weight: float) -> Sentence:
    number, low, high = bounds(corpus, positions[0])
    tokens = tuple(sorted({position - low for position in positions}))
    start, _ = shown_part(tokens, high - low)
    words = [corpus.vocabulary.words[id] for id in _excerpt(corpus, positions).tolist()]
    marks: list[Span] = []
    for token in tokens:
        first = len(" ".join(words[: token - start])) + (token > start)
        marks.append((first, first + len(words[token - start])))
    return Sentence(" ".join(words), tuple(marks), weight, False, number, tokens)
