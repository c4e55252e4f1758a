"""What the occurrences of a word are compared with: other words of the text, by layer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.collect.truth import Usage
from inlaid.errors import SettingError
from inlaid.messages import option
from inlaid.report import Progress, Report
from inlaid.study.probe.clusters import profiles, separation
from inlaid.study.probe.occurrences import TextSample
from inlaid.study.probe.states import fitting, states_of

FEWEST = 8
"""Occurrences that a word needs, so that its mean vector and its spread say something."""
REFERENCES = 60
"""Other words whose spread is measured: those of the most similar frequency. Function words spread less."""
TYPES = 2000
"""Words that occurrences are described by, at most."""
FEWEST_REFERENCES = 19
"""With fewer other words, no word can be among the 5 % that fall apart most."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Another word of the text."""

    table: np.ndarray
    """(occurrence, layer, dim)"""
    place: int
    """Among the words that occurrences are described by."""


@dataclass(frozen=True, eq=False)
class Spaces:
    """The occurrences of a word, and what they are compared with, layer by layer."""

    usages: tuple[Usage, ...]
    table: np.ndarray
    """Of the word: (occurrence, layer, dim)."""
    references: tuple[Reference, ...]
    names: list[str]
    """The words that occurrences are described by."""
    types: np.ndarray
    """Their mean vectors: (word, layer, dim)."""
    center: np.ndarray
    """The mean over all words: (layer, dim)."""

    @property
    def layers(self) -> int:
        return self.table.shape[1]

    def profile(self, table: np.ndarray, layer: int, without: int | None = None) -> np.ndarray:
        """Which words occurrences are near. No word is described by itself: `without` is its place."""
        types = self.types[:, layer]
        if without is not None:
            types = np.delete(types, without, axis=0)
        return profiles(table[:, layer], types, self.center[layer])

    def separations(self, *, seed: int, report: Report) -> np.ndarray:
        """(word, layer): how far the occurrences of each word fall apart, the word itself first."""
        asked = [(self.table, None), *((each.table, each.place) for each in self.references)]
        found = np.zeros((len(asked), self.layers))
        for number, (table, place) in enumerate(asked):
            for layer in range(self.layers):
                found[number, layer] = separation(self.profile(table, layer, place), seed=seed)
            report(Progress("spread of words", number + 1, len(asked), "words"))
        return found


def spaces_of(model: Any, sample: TextSample, report: Report) -> Spaces:
    """The hidden states of a word and of the other words of its text."""
    usages = [*sample.usages, *(usage for _, usage in sample.others)]
    texts = list(dict.fromkeys(each.sentence for each in usages))
    fits = dict(zip(texts, fitting(model, texts, report), strict=True))
    states = states_of(model, usages, report)
    known = states.known & np.array([fits[each.sentence] for each in usages])
    table = states.table.astype(np.float64)
    own = np.flatnonzero(known[: len(sample.usages)])
    if len(own) < FEWEST:
        raise SettingError(
            "'{word}' has {count} occurrences that the model can read; expected at least {fewest}. Give a "
            "larger text.",
            word=sample.word,
            count=len(own),
            fewest=FEWEST,
        )
    places = _other_words(sample, known)
    names = list(places)
    return Spaces(
        usages=tuple(sample.usages[place] for place in own.tolist()),
        table=table[own],
        references=tuple(
            Reference(table[places[names[number]][: len(own)]], number)
            for number in _of_similar_frequency(sample, places)
        ),
        names=names,
        types=np.stack([table[held].mean(axis=0) for held in places.values()]),
        center=table[known].mean(axis=0),
    )


def _other_words(sample: TextSample, known: np.ndarray) -> dict[str, list[int]]:
    """The rows of every other word that occurs often enough, the most frequent first."""
    places: dict[str, list[int]] = {}
    for place, (word, _) in enumerate(sample.others, len(sample.usages)):
        if known[place]:
            places.setdefault(word, []).append(place)
    places.pop(sample.word.lower(), None)
    counts = Counter({word: len(held) for word, held in places.items() if len(held) >= FEWEST})
    if len(counts) < FEWEST_REFERENCES:
        raise SettingError(
            "The text has {count} other words with {fewest} occurrences; expected at least {expected}, to "
            "compare with. Raise {option}, or give a larger text.",
            option=option("others"),
            count=len(counts),
            fewest=FEWEST,
            expected=FEWEST_REFERENCES,
        )
    return {word: places[word] for word, _ in counts.most_common(TYPES)}


def _of_similar_frequency(sample: TextSample, places: dict[str, list[int]]) -> list[int]:
    """The numbers of the words that are about as frequent as the word itself is in these sentences."""
    sentences = len({each.sentence for _, each in sample.others})
    expected = max(FEWEST, sample.found * sentences / sample.total)
    counts = np.array([len(held) for held in places.values()])
    order = np.argsort(np.abs(np.log(counts / expected)), kind="stable")
    return order[:REFERENCES].tolist()
