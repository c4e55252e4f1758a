"""How close texts are: Word Mover's Distance between their words, or the cosine of their mean vectors."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from inlaid.config import check
from inlaid.errors import SettingError, need
from inlaid.messages import Listed, Message
from inlaid.report import Note, Report, silent
from inlaid.study.analysis import Row, analysis
from inlaid.study.use.texts import shortened
from inlaid.vectors import Vectors

TITLES = {
    "wmd": Message("distance"),
    "rwmd": Message("lower bound of the distance"),
    "cosine": Message("cosine"),
}
SHOWN_WORDS = 10
"""Most out-of-vocabulary words that a note names."""


@dataclass(frozen=True, kw_only=True)
class TextSimilaritySettings:
    """How texts are compared."""

    measure: Literal["wmd", "rwmd", "cosine"] = "wmd"
    """wmd: the Word Mover's Distance (Kusner et al. 2015), exact with the package POT, otherwise its lower
    bound; rwmd: that bound, the relaxed distance; cosine: of the means of the word vectors."""
    subwords: bool = True
    """Compose out-of-vocabulary words of their subwords, where there are any. `--no-subwords`: leave them
    out."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class TextPair:
    """Two texts and what the measure says of them."""

    first: str
    second: str
    value: float


@dataclass(frozen=True, kw_only=True)
class TextSimilarities:
    """Every pair of the texts, in their order."""

    measure: Literal["wmd", "rwmd", "cosine"]
    """What was computed: rwmd where wmd was asked for and POT is not installed."""
    pairs: tuple[TextPair, ...]
    without_vector: tuple[str, ...]
    """Words of the texts that have no vector; they were left out."""

    def rows(self) -> list[Row]:
        header: Row = (TITLES[self.measure], Message("first"), Message("second"))
        shown = [(f"{each.value:.4f}", shortened(each.first), shortened(each.second)) for each in self.pairs]
        return [header, *shown]

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "pairs": [vars(each) for each in self.pairs],
            "without_vector": list(self.without_vector),
        }


class WordBag(NamedTuple):
    """The distinct words of a text: their vectors (word, dim), and the share of the text that each is."""

    rows: np.ndarray
    shares: np.ndarray


@analysis
def text_similarity(
    vectors: Vectors,
    texts: Sequence[str],
    settings: TextSimilaritySettings | None = None,
    *,
    report: Report = silent,
) -> TextSimilarities:
    """How close texts are, pair by pair: the Word Mover's Distance between their words, or the cosine of
    their mean vectors.

    The distance is the least that the words of one text must move, by Euclidean distance, to become those of
    the other: 0 for the same words, smaller is closer. Words without a vector are left out, with a note.

    >>> text_similarity(vectors, ["Obama speaks to the press", "the president greets the media"])

    Args:
        vectors: a file of vectors
        texts: two texts, or several to compare each with each

    Examples:
        inlaid text-similarity vectors.inlaid "the king eats" "a queen dines"
        inlaid text-similarity vectors.inlaid 国王吃饭 女王用餐 --measure cosine
    """
    settings = settings or TextSimilaritySettings()
    if isinstance(texts, str) or len(texts) < 2:
        raise SettingError("Expected at least two texts to compare. Name another one.")
    from inlaid.study.evaluate.oov import KnownWords, OOVSettings  # it imports Numba

    known = KnownWords(vectors, OOVSettings(subwords=settings.subwords))
    bags = [_bag(known, text) for text in texts]
    missing = tuple(dict.fromkeys(word for text in texts for word in known.without_vector(text)))
    _note_missing(missing, report)
    measure = _possible(settings.measure, report)
    pairs = tuple(
        TextPair(texts[one], texts[two], MEASURES[measure](bags[one], bags[two]))
        for one, two in itertools.combinations(range(len(texts)), 2)
    )
    return TextSimilarities(measure=measure, pairs=pairs, without_vector=missing)


def _bag(known: Any, text: str) -> WordBag:
    found = known.bags([text]).ids
    if not len(found):
        raise SettingError(
            "The text {text!r} has no word with a vector. Leave it out, or use other vectors.",
            text=shortened(text),
        )
    ids, counts = np.unique(found, return_counts=True)
    return WordBag(known.rows(ids).astype(np.float64), counts / counts.sum())


def _note_missing(missing: Sequence[str], report: Report) -> None:
    if missing:
        report(
            Note(
                "{count:,} words have no vector and are left out: {words}.",
                count=len(missing),
                words=Listed([*missing[:SHOWN_WORDS], *(["…"] if len(missing) > SHOWN_WORDS else [])]),
            )
        )


def _possible(measure: Literal["wmd", "rwmd", "cosine"], report: Report) -> Literal["wmd", "rwmd", "cosine"]:
    """The measure itself; the lower bound of wmd where POT is not installed."""
    if measure != "wmd" or importlib.util.find_spec("ot") is not None:
        return measure
    report(
        Note(
            "POT is not installed, so the distances are lower bounds (relaxed WMD). For exact ones run "
            "`pip install 'inlaid[wmd]'`."
        )
    )
    return "rwmd"


def _distances(one: WordBag, two: WordBag) -> np.ndarray:
    """The Euclidean distance of each word of one text to each word of the other."""
    return np.linalg.norm(one.rows[:, None] - two.rows[None], axis=2)


def wmd(one: WordBag, two: WordBag) -> float:
    """The cost of the optimal transport between the words of two texts."""
    return float(need("ot", extra="wmd").emd2(one.shares, two.shares, _distances(one, two)))


def rwmd(one: WordBag, two: WordBag) -> float:
    """The larger cost of two relaxed problems, in which all of a word moves to the nearest word: never more
    than `wmd`."""
    distances = _distances(one, two)
    return float(max(one.shares @ distances.min(axis=1), two.shares @ distances.min(axis=0)))


def cosine(one: WordBag, two: WordBag) -> float:
    """The cosine of the means of the words; 0 where one of them is zero."""
    first = one.shares @ one.rows
    second = two.shares @ two.rows
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0


MEASURES = {"wmd": wmd, "rwmd": rwmd, "cosine": cosine}
