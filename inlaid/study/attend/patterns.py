"""Patterns that a head may follow, and how far above chance it does.

A place pattern (previous token, next token, itself, first token, delimiter) says for each token which keys
are meant. The score is the mean weight on them; by chance it is the share of these keys among all that the
token may see (a head that attends uniformly). Sentences are the sample: p is that of a one-sided t test.

A link pattern (same word, induction, object to verb, ...) says for one word of a sentence which other word is
meant. A head that only looks at a fixed distance, or at the first word, would often hit it, too. So chance is
what the head gives to the place where the other word is in *other* sentences: the same attention rows, the
distances exchanged between sentences, or the places counted from the start; the larger of the two. The mean
and the variance of the score over all such permutations are known exactly (Hoeffding 1951); p is the normal
tail, the larger of the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inlaid.messages import Message

NAMES: Mapping[str, Message] = {
    "object to verb": Message("object to verb"),
    "pronoun to referent": Message("pronoun to referent"),
    "word to category": Message("word to category"),
    "contrast": Message("contrast"),
    "translation of the word read": Message("translation of the word read"),
    "translation of the next word": Message("translation of the next word"),
    "induction": Message("induction"),
    "same word": Message("same word"),
    "previous token": Message("previous token"),
    "next token": Message("next token"),
    "itself": Message("itself"),
    "delimiter": Message("delimiter"),
    "first token": Message("first token"),
}
"""Every pattern: links between words, then places."""
PLACES = ("previous token", "next token", "itself", "first token", "delimiter")
AT_LEAST = 10
"""Sentences that a test needs."""
MIN_OTHERS = 0.1
"""The least mean weight on other tokens for a head to be asked which of them it prefers."""


class Shown(NamedTuple):
    """A sentence, and the two words of it that a link is between."""

    text: str
    words: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """A pattern on a sample of sentences, for every head."""

    pattern: str
    language: str
    """zh, en, or empty where sentences of all languages are together."""
    scores: np.ndarray
    """(sentence, layer, head)"""
    chances: np.ndarray
    """(sentence, layer, head), or (sentence, 1, 1) where chance does not depend on the head."""
    p: np.ndarray
    """(layer, head)"""
    sample: tuple[Shown, ...]
    """(sentence,)"""

    @property
    def score(self) -> np.ndarray:
        return self.scores.mean(0)

    @property
    def chance(self) -> np.ndarray:
        return np.broadcast_to(self.chances.mean(0), self.score.shape)

    @property
    def above(self) -> np.ndarray:
        """(layer, head): the share of the way from chance to 1 that the score has gone; 0 at chance."""
        return (self.score - self.chance) / np.maximum(1 - self.chance, 1e-9)


# --- places -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sentence:
    """Tokens and their attention."""

    text: str
    weights: np.ndarray
    """(layer, head, query, key)"""
    special: np.ndarray
    """(token,): added by the tokenizer."""
    delimiter: np.ndarray
    """(token,): special, or punctuation."""
    causal: bool

    def visible(self) -> np.ndarray:
        """(query,): how many keys each token may see."""
        count = len(self.special)
        return np.arange(1, count + 1) if self.causal else np.full(count, count)

    def masks(self) -> dict[str, np.ndarray]:
        return place_masks(self)


@dataclass(frozen=True, eq=False)
class Crossing:
    """Tokens of a target, and their attention to those of its source."""

    text: str
    weights: np.ndarray
    """(layer, head, query, key)"""
    asked: np.ndarray
    """(query,): neither special nor punctuation."""
    delimiter: np.ndarray
    """(key,): special, or punctuation."""

    def visible(self) -> np.ndarray:
        return np.full(len(self.asked), len(self.delimiter))

    def masks(self) -> dict[str, np.ndarray]:
        places = np.arange(len(self.delimiter))
        asked = self.asked[:, None]
        return {"first token": asked & (places == 0), "delimiter": asked & self.delimiter & (places > 0)}


def place_masks(sentence: Sentence) -> dict[str, np.ndarray]:
    """For each place pattern the keys that are meant: (query, key); a row without any is not asked."""
    count = len(sentence.special)
    places = np.arange(count)
    own = ~sentence.special
    pairs = own[:, None] & own
    apart = places - places[:, None]
    asked = ~sentence.delimiter[:, None] & (places[:, None] > 1)
    found = {
        "previous token": (apart == -1) & pairs,
        "next token": (apart == 1) & pairs,
        "itself": (apart == 0) & pairs,
        "first token": asked & (places == 0),
        "delimiter": asked & sentence.delimiter & (places > 0),
    }
    if sentence.causal:
        del found["next token"]
        found = {name: mask & (apart <= 0) for name, mask in found.items()}
    return found


def measured_places(sentences: Sequence[Sentence | Crossing]) -> list[Measured]:
    """Every place pattern on all sentences that have it."""
    found: dict[str, list[_Scored]] = {name: [] for name in PLACES}
    for sentence in sentences:
        visible = sentence.visible()
        for name, mask in sentence.masks().items():
            rows = mask.any(1) & (visible > 1)
            if rows.any():
                score = (sentence.weights * mask).sum(-1)[..., rows].mean(-1)
                chance = float((mask.sum(1) / visible)[rows].mean())
                found[name].append(_Scored(Shown(sentence.text), score, chance))
    return [_by_t_test(name, scored) for name, scored in found.items() if len(scored) >= AT_LEAST]


class _Scored(NamedTuple):
    """One sentence: what each head (layer, head) gives to the keys that are meant, and chance."""

    shown: Shown
    score: np.ndarray
    chance: float


def _by_t_test(name: str, scored: Sequence[_Scored]) -> Measured:
    by_sentence = np.stack([each.score for each in scored])
    chance = np.array([each.chance for each in scored])[:, None, None]
    differences = by_sentence - chance
    spread = differences.std(0, ddof=1) / math.sqrt(len(scored))
    t = differences.mean(0) / np.maximum(spread, 1e-12)
    return Measured(name, "", by_sentence, chance, upper_tail(t), tuple(each.shown for each in scored))


# --- links --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Link:
    """Rows of attention, and the distance of the key that is meant."""

    text: str
    shown: str
    """The two words: 苹果 → 吃."""
    rows: np.ndarray
    """(layer, head, query, key): the rows of the words or tokens that are asked."""
    places: np.ndarray
    """(query,): their places among the keys."""
    first: int
    """The keys that are compared are those from here"""
    last: np.ndarray
    """(query,): up to here, included: the last word, or in a decoder the query itself."""
    distance: int
    """From the query to the key."""


def measured_links(name: str, language: str, links: Sequence[Link]) -> Measured | None:
    """A link pattern by exchanging distances, and places, between sentences; None where there are too few, or
    all have the same distance."""
    distances = np.array([link.distance for link in links])
    if len(links) < AT_LEAST or len(set(distances.tolist())) < 2:
        return None
    rows = [_other_rows(link) if name == "same word" else link.rows for link in links]
    nulls = [_exchanged(links, rows, lambda _, place: place + distances)]
    if all(len(link.places) == 1 for link in links):
        keys = np.array([link.places[0] + link.distance - link.first for link in links])
        nulls.append(_exchanged(links, rows, lambda link, _: link.first + keys))
    scores = np.moveaxis(np.diagonal(nulls[0], axis1=2, axis2=3), -1, 0)
    by_null = np.stack([each.mean(3) for each in nulls])  # (null, layer, head, sentence)
    stricter = by_null.mean(-1).argmax(0)[None, ..., None]
    chances = np.moveaxis(np.take_along_axis(by_null, stricter, 0)[0], -1, 0)
    z = np.min([_permutation_z(each) for each in nulls], axis=0)
    sample = tuple(Shown(link.text, link.shown) for link in links)
    return Measured(name, language, scores, chances, upper_tail(z), sample)


def _exchanged(
    links: Sequence[Link], rows: Sequence[np.ndarray], columns: Callable[[Link, int], np.ndarray]
) -> np.ndarray:
    """(layer, head, sentence, other): the mean weight of a sentence's rows on the key that would be meant if
    it were where it is in another sentence; beyond the end, it is the last."""
    found = []
    for link, given in zip(links, rows, strict=True):
        total = np.zeros((*given.shape[:2], len(links)))
        for number, place in enumerate(link.places.tolist()):
            total += given[:, :, number, np.clip(columns(link, place), link.first, link.last[number])]
        found.append(total / len(link.places))
    return np.stack(found, 2)


def _other_rows(link: Link) -> np.ndarray:
    """The rows without the weight of each token on itself, with a sum of 1 again; zeros for heads that attend
    to little else."""
    rows = link.rows.copy()
    rows[..., np.arange(len(link.places)), link.places] = 0
    left = rows.sum(-1, keepdims=True)
    return np.where(left.mean(2, keepdims=True) >= MIN_OTHERS, rows / np.maximum(left, 1e-12), 0)


def _permutation_z(exchanged: np.ndarray) -> np.ndarray:
    """(layer, head): how many standard deviations the sum of the diagonal is above its mean over all
    permutations of the columns."""
    count = exchanged.shape[2]
    observed = np.trace(exchanged, axis1=2, axis2=3)
    by_row = exchanged.mean(3, keepdims=True)
    by_column = exchanged.mean(2, keepdims=True)
    centered = exchanged - by_row - by_column + exchanged.mean((2, 3), keepdims=True)
    expected = exchanged.sum((2, 3)) / count
    variance = (centered**2).sum((2, 3)) / (count - 1)
    return (observed - expected) / np.sqrt(np.maximum(variance, 1e-18))


def upper_tail(z: np.ndarray) -> np.ndarray:
    """The normal probability of a value above z."""
    return np.vectorize(lambda each: 0.5 * math.erfc(each / math.sqrt(2)))(z)
