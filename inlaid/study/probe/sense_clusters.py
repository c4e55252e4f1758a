"""Clusters of the occurrences of a word: typical sentences, the nearest words, the words around it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from inlaid.encode.tokenizers import Word
from inlaid.study.probe.sense_spaces import Spaces

WORDS = 8
"""Words that describe a cluster."""


@dataclass(frozen=True)
class Cluster:
    """Some occurrences of a word that are alike."""

    share: float
    """Of all occurrences."""
    count: int
    sentences: tuple[str, ...]
    """The most typical."""
    nearest: tuple[str, ...]
    """Words of the text that these occurrences are nearest to."""
    contexts: tuple[str, ...]
    """Words that are more frequent in these sentences than in those of the other clusters."""


def described(profile: np.ndarray, labels: np.ndarray, spaces: Spaces, sentences: int) -> list[Cluster]:
    """Each cluster of the occurrences, with so many typical sentences."""
    made = list[Cluster]()
    for number in np.unique(labels).tolist():
        held = np.flatnonzero(labels == number)
        mean = profile[held].mean(axis=0)
        near = np.argsort(-mean, kind="stable")[:WORDS]
        distances = ((np.sqrt(profile[held]) - np.sqrt(profile[held]).mean(axis=0)) ** 2).sum(axis=1)
        typical = held[np.argsort(distances, kind="stable")]
        texts = dict.fromkeys(spaces.usages[place].sentence.strip() for place in typical.tolist())
        made.append(
            Cluster(
                share=len(held) / len(profile),
                count=len(held),
                sentences=tuple(list(texts)[:sentences]),
                nearest=tuple(spaces.names[place] for place in near.tolist()),
                contexts=_contexts(labels == number, spaces),
            )
        )
    return made


def _contexts(inside: np.ndarray, spaces: Spaces) -> tuple[str, ...]:
    """Words of the sentences of a cluster by the log of how much more frequent they are than elsewhere."""
    if inside.all():
        return ()
    known = set(spaces.names)
    held = [Counter[str](), Counter[str]()]
    for usage, is_inside in zip(spaces.usages, inside.tolist(), strict=True):
        held[int(is_inside)].update({word.lower() for word in Word().words(usage.sentence)} & known)
    total = (int((~inside).sum()), int(inside.sum()))
    ratios = {
        word: np.log((count + 0.5) / (total[1] + 1)) - np.log((held[0][word] + 0.5) / (total[0] + 1))
        for word, count in held[1].items()
        if count > 1
    }
    best = sorted(ratios, key=lambda word: (-ratios[word] * np.sqrt(held[1][word]), word))
    return tuple(word for word in best if ratios[word] > 0)[:WORDS]


def plane(profile: np.ndarray) -> np.ndarray:
    """The first two principal components; each sign is such that the largest value is positive."""
    roots = np.sqrt(profile)
    centered = roots - roots.mean(axis=0)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    found = left[:, :2] * values[:2]
    signs = np.sign(found[np.abs(found).argmax(axis=0), range(found.shape[1])])
    return found * np.where(signs == 0, 1, signs)
