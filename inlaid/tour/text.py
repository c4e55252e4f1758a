"""Text: a part of the embedded world, on the subjects that the tour asks about; small enough for networks."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

from inlaid.collect.grammar import Pair, drawn, unspaced, write

SECTIONS = (
    "fruit",
    "attribute",
    "brand",
    "device",
    "deed",
    "sitting",
    "beast",
    "vehicle",
    "snack",
    "royalty",
    "people",
    "gender",
)
"""Sections of the world whose sentences the networks read: a vocabulary that a small network learns in half a
minute."""
DRAWN = 80_000
"""Sentences of the world that are drawn at most."""


@cache
def pairs(sentences: int, seed: int = 1) -> tuple[Pair, ...]:
    """Sentence pairs of these sections, as many of each as of the others, until there are enough."""
    most = -(-sentences // len(SECTIONS))
    counts: Counter[str] = Counter()
    found: list[Pair] = []
    for number, (frame, fillers) in enumerate(drawn(Random(seed))):
        if number == DRAWN or len(found) == sentences:
            break
        if frame.section in SECTIONS and counts[frame.section] < most:
            counts[frame.section] += 1
            zh, en = write(frame, fillers)
            found.append(Pair(unspaced(zh), en))
    return tuple(found)
