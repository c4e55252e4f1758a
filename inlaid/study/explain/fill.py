"""What the two tables of a method say together: fill a blank; is one the pseudo-inverse of the other?

A method such as word2vec learns two vectors a word: one as a word, in `vectors.table`, and one as a context,
in `vectors.contexts`. A dot product across the two is what it was trained to get right: how well a word fits
its surroundings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.collect.normalize import normalizer
from inlaid.config import settings_of
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError, SourceError, UnknownWord
from inlaid.vectors import LazyTable, Vectors

BLANK = re.compile(r"[_＿]{2,}")
WINDOW = 5
BLOCK = 1 << 16

Rule = Literal["cbow", "skipgram"]


@dataclass(frozen=True)
class Candidate:
    """A word for the blank, its score, and its share of the chances of all words."""

    word: str
    score: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Filled:
    """Words for a blank, the best first, and what they were judged by."""

    words: tuple[Candidate, ...]
    context: tuple[str, ...]
    """Known words around the blank, in the order of the text."""
    unknown: tuple[str, ...]
    """Words of the text that have no vector."""
    rule: Rule
    prior: bool
    """Whether how frequent a word is counted too."""


def fill(
    vectors: Vectors,
    text: str,
    *,
    n: int = 10,
    dictionary: tuple[str, ...] = (),
    prior: bool = True,
    include: bool = False,
    rule: Rule | None = None,
) -> Filled:
    """The `n` words that fit a blank, written ___, by both tables of a method that has two.

    cbow      the weighted mean of the vectors of the words around, against each word's context vector
    skipgram  each word's vector against the context vectors of the words around, summed

    Nearer words weigh more, as in training, where each center draws its own window. Negative sampling learns
    how much better than chance a word fits; with `prior`, and where counts are known, how frequent it is
    comes on top: its chance to stand there. Words of the text are left out unless `include`. No method with
    two tables knows order: these are words of the neighbourhood.

    >>> fill(vectors, "这是一个___的苹果", n=3)
    """
    if vectors.contexts is None:
        raise SettingError(
            f"Filling a blank takes two tables, and these vectors{_by(vectors)} have one. Train with sgns, or keep both tables when saving."
        )
    if n < 1:
        raise SettingError(f"n is {n}; expected at least 1.")
    rule = rule or ("cbow" if vectors.card.settings.get("objective") == "cbow" else "skipgram")
    window = int(vectors.card.settings.get("window") or WINDOW)
    around = _around(vectors, text, dictionary)
    known = [[(word, id) for word in side if (id := vectors.find(word)) is not None] for side in around]
    # a corpus drops unknown words before windows are drawn
    left = known[0][-window:]
    right = known[1][:window]
    if not left and not right:
        raise UnknownWord(f"No word around the blank of '{text}' has a vector. Write more of the sentence.")
    ids = np.array([id for _, id in left + right])
    steps = np.array([*range(len(left), 0, -1), *range(1, len(right) + 1)])
    weights = (window + 1 - steps) / window  # how often a drawn window reaches so far
    scores = _scores(vectors, ids, weights, rule)
    prior = prior and vectors.counts is not None
    if prior:
        scores += _prior(vectors, rule)
    if not include:
        scores[ids] = -np.inf
    return Filled(
        words=_best(vectors, scores, n),
        context=tuple(word for word, _ in left + right),
        unknown=tuple(word for side in around for word in side if vectors.find(word) is None),
        rule=rule,
        prior=prior,
    )


def _scores(vectors: Vectors, ids: np.ndarray, weights: np.ndarray, rule: Rule) -> np.ndarray:
    contexts = vectors.contexts if vectors.contexts is not None else vectors.stored
    if rule == "cbow":
        total = 1.0 if vectors.card.settings.get("cbow_combine") == "sum" else weights.sum()
        return _times(contexts, weights @ vectors.rows(ids).astype(np.float64) / total)
    rows = contexts[ids] if isinstance(contexts, np.ndarray) else contexts.rows(ids)
    return _times(vectors.table, weights @ rows.astype(np.float64))


def _times(table: np.ndarray | LazyTable, row: np.ndarray) -> np.ndarray:
    """Each row of the table times one row, in float64, some at a time."""
    size = table.shape[0]
    out = np.empty(table.shape[0])
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        rows = table[start:stop] if isinstance(table, np.ndarray) else table.rows(np.arange(start, stop))
        out[start:stop] = rows.astype(np.float64) @ row
    return out


def _prior(vectors: Vectors, rule: Rule) -> np.ndarray:
    """What the frequency of a word adds: CBOW learns against noise drawn by count^power, skip-gram's word is
    given beforehand."""
    settings = vectors.card.settings
    counts = vectors.counts if vectors.counts is not None else np.ones(len(vectors))
    power = 0.0 if settings.get("loss") == "softmax" else float(settings.get("noise_exponent", 0.75))
    return (power if rule == "cbow" else 1.0) * np.log(np.maximum(counts, 1))


def _best(vectors: Vectors, scores: np.ndarray, n: int) -> tuple[Candidate, ...]:
    order = np.lexsort((np.arange(len(scores)), -scores))[:n]
    if scores.max() == -np.inf:
        return ()
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    held = [id for id in order.tolist() if scores[id] > -np.inf]
    return tuple(Candidate(vectors.words[id], float(scores[id]), float(chances[id])) for id in held)


def _around(vectors: Vectors, text: str, dictionary: tuple[str, ...]) -> list[list[str]]:
    """The words before and behind the blank, cut as the training text was."""
    sides = BLANK.split(text)
    if len(sides) != 2:
        raise SettingError(f"The text holds {len(sides) - 1} blanks; expected one, written ___: '{text}'.")
    cut = _cutter(vectors, dictionary)
    around = [cut(side) for side in sides]
    if not any(around):
        raise SourceError(f"There is no word around the blank of '{text}'. Write the sentence it stands in.")
    return around


def _cutter(vectors: Vectors, dictionary: tuple[str, ...]) -> Callable[[str], list[str]]:
    encoding = dict(vectors.card.encoding)
    if not encoding:
        return Word(dictionary=dictionary).words
    from inlaid.encode.corpus import Encoding  # it brings Numba

    if dictionary:
        encoding["dictionary"] = dictionary
    tokenizer = settings_of(Encoding, encoding).make_tokenizer()
    normalize = normalizer(encoding.get("normalize", ()))
    return lambda text: tokenizer.words(normalize(text))


def _by(vectors: Vectors) -> str:
    return f", by {vectors.card.method}," if vectors.card.method else ""


# --- is one table the pseudo-inverse of the other?
# ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PseudoInverse:
    """How far the contexts are from the pseudo-inverse of the table, both as matrices."""

    cosine: float
    """Of all their numbers: 1 if one is the other times a positive number."""
    missed: float
    """The share of the contexts' squares that no multiple of the pseudo-inverse explains: 0 if it is one, 1
    if nothing is."""
    missed_by_any: float
    """The same after the best linear map of the dimensions: what the pseudo-inverse cannot be turned into at
    all."""


def pseudo_inverse(vectors: Vectors) -> PseudoInverse:
    """Measure the claim that word2vec's second table is the pseudo-inverse of its first, and so says nothing
    new.

    If it were, `missed` would be 0. A number well above 0 says that the second table holds what the first
    does not determine.
    """
    if vectors.contexts is None:
        raise SettingError(f"These vectors{_by(vectors)} have one table; the question is about two.")
    contexts = vectors.contexts if isinstance(vectors.contexts, np.ndarray) else vectors.contexts.whole()
    if contexts.shape[1] != vectors.dim:
        raise SettingError(
            f"The tables have {vectors.dim} and {contexts.shape[1]} dimensions; expected as many in both."
        )
    gram, cross, own = (np.zeros((vectors.dim, vectors.dim)) for _ in range(3))
    for start in range(0, len(vectors), BLOCK):
        one, two = (part[start : start + BLOCK].astype(np.float64) for part in (vectors.table, contexts))
        gram = gram + one.T @ one
        cross = cross + one.T @ two
        own = own + two.T @ two
    inverse = np.linalg.pinv(gram, hermitian=True)  # pinv(W)^T = W (W^T W)^-1: never larger than dim x dim
    size = float(np.trace(inverse))
    total = float(np.trace(own))
    if size <= 0 or total <= 0:
        raise SettingError("One of the tables is all zeros: there is nothing to compare.")
    cosine = float(np.trace(inverse @ cross)) / np.sqrt(size * total)
    explained = float(np.trace(cross.T @ inverse @ cross)) / total
    return PseudoInverse(
        cosine=float(cosine), missed=float(1 - cosine**2), missed_by_any=float(max(0.0, 1 - explained))
    )
