"""What looks wrong with the rows of a space: zeros, copies, rows that were never trained, dimensions that say
nothing."""

from __future__ import annotations

import numpy as np
import xxhash

from inlaid.report import counted
from inlaid.study.doctor.findings import FEWEST, Finding, Patient, by_share, some_of, some_words
from inlaid.study.search import ranking

BLOCK = 1 << 14
NEAR = 0.999
"""Rows with a higher cosine are one row for all purposes."""
MANY = 0.05
OFTEN = 0.2
FEW = 0.001
"""Shares of words with an exact and with a near double beyond which a space cannot tell its words apart; and
below which every real space has some."""
SCORES = 2_000_000_000
"""Cosines looked at for near doubles: all pairs of some 40,000 words, or 2,000 of a million with all
others."""
STARTS = (0.5, 1.0)
"""Rows begin evenly between -s / dim and s / dim: word2vec with 0.5, fastText with 1."""


def size(patient: Patient) -> list[Finding]:
    words = len(patient.vectors)
    dim = patient.vectors.dim
    if words < 2:
        return [
            Finding(
                "size",
                "serious",
                words,
                "One word makes no space: it has no neighbours.",
                "Train on more text.",
            )
        ]
    if words <= dim:
        sentence = f"{words:,} words in {dim:,} dimensions: each can have a direction of its own, so cosines need not mean anything."
        return [
            Finding(
                "size",
                "serious",
                words / dim,
                sentence,
                "Lower dim well below the number of words, or bring more text.",
            )
        ]
    if words < 5 * dim:
        sentence = f"Only {words:,} words for {dim:,} dimensions."
        return [
            Finding("size", "warning", words / dim, sentence, "A lower dim would rest on more words each.")
        ]
    return []


def zeros(patient: Patient) -> list[Finding]:
    ids = np.flatnonzero(patient.vectors.lengths == 0)
    if not len(ids):
        return []
    return [
        Finding(
            "zeros",
            by_share(len(ids) / len(patient.vectors)),
            len(ids),
            f"Rows of zeros, which point nowhere and score 0 with everything: {some_words(len(ids), patient.vectors)}.",
            "Leave these words out, or train them: they may be words that never met another, or padding.",
            some_of(patient.vectors, ids),
        )
    ]


def doubles(patient: Patient) -> list[Finding]:
    """Rows with the same bytes, found by their hashes."""
    vectors = patient.vectors
    hashes = np.empty(len(vectors), np.uint64)
    for start in range(0, len(vectors), BLOCK):
        rows = np.ascontiguousarray(vectors.table[start : start + BLOCK])
        hashes[start : start + BLOCK] = [xxhash.xxh3_64_intdigest(row.data) for row in rows]
    _, number, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    repeated = (counts[number] > 1) & (vectors.lengths > 0)
    ids = np.flatnonzero(repeated)
    if not len(ids):
        return []
    share = len(ids) / len(vectors)
    groups = len(np.unique(number[ids]))
    examples = tuple(
        " = ".join(vectors.words[id] for id in np.flatnonzero(number == group)[:3].tolist())
        for group in np.unique(number[ids])[:3].tolist()
    )
    return [
        Finding(
            "doubles",
            "serious" if share > MANY else "warning" if share > FEW else "note",
            len(ids),
            f"Words that share their rows exactly with others: {some_words(len(ids), vectors)}, in {groups:,} groups.",
            "Words that only ever stood together may share a row; otherwise rows were copied. Look where these words came from.",
            examples,
        )
    ]


def untrained(patient: Patient) -> list[Finding]:
    """Rows that still look as they were first drawn: even between -s / dim and s / dim. Meaningless in few
    dimensions."""
    vectors = patient.vectors
    dim = patient.vectors.dim
    ids = np.empty(0, np.int64)
    if dim < 10:
        return []
    for scale in STARTS:
        bound = scale / dim
        # Of an even draw the mean square is bound^2 / 3, with a spread of sqrt(4 / 45 / dim) bound^2: five
        # spreads on either side.
        expected = bound**2 / 3
        spread = 5 * bound**2 * np.sqrt(4 / 45 / dim)
        for start in range(0, len(vectors), BLOCK):
            rows = vectors.table[start : start + BLOCK].astype(np.float64)
            largest = np.abs(rows).max(axis=1)
            even = (
                (largest <= bound * 1.000001)
                & (largest > 0.7 * bound)
                & (np.abs((rows**2).mean(axis=1) - expected) < spread)
            )
            ids = np.append(ids, start + np.flatnonzero(even))
    ids = np.unique(ids)
    if not len(ids):
        return []
    return [
        Finding(
            "untrained",
            by_share(len(ids) / len(vectors)),
            len(ids),
            f"Rows that look as they were first drawn, before any training: {some_words(len(ids), vectors)}.",
            "Such words were hardly ever seen, or always stood alone. Leave them out, raise min_count or train for more epochs.",
            some_of(vectors, ids),
        )
    ]


def flat(patient: Patient) -> list[Finding]:
    low = patient.vectors.table.min(axis=0)
    high = patient.vectors.table.max(axis=0)
    dead = int((low == high).sum())
    if not dead or len(patient.vectors) < 2:
        return []
    sentence = (
        f"{dead:,} of {patient.vectors.dim:,} dimensions are the same for every word: they say nothing."
    )
    return [
        Finding(
            "flat", "warning", dead, sentence, "Lower dim, or look for a mistake in how the file was made."
        )
    ]


def near_doubles(patient: Patient) -> list[Finding]:
    """Different rows that point the same way; of a large space the words of a sample, each against all."""
    vectors = patient.vectors
    if len(vectors) < FEWEST:
        return []
    ids = patient.sample(max(1000, SCORES // len(vectors)))
    ids = ids[vectors.lengths[ids] > 0]
    found: list[tuple[int, int]] = []
    starts = range(0, len(ids), ranking.QUERIES)
    for start in counted(starts, "looking for doubles", unit="blocks", report=patient.report, every=1):
        asked = ids[start : start + ranking.QUERIES]
        rows = vectors.rows(asked)
        best = ranking.best(
            vectors.table, vectors.lengths, rows, n=1, without=[[id] for id in asked.tolist()]
        )
        for id, each in zip(asked.tolist(), best, strict=True):
            if (
                len(each.ids)
                and each.scores[0] >= NEAR
                and not np.array_equal(vectors.table[id], vectors.table[each.ids[0]])
            ):
                found.append((id, int(each.ids[0])))
    share = len(found) / max(len(ids), 1)
    if share <= FEW:
        return []
    pairs = dict.fromkeys(tuple(sorted(pair)) for pair in found)
    return [
        Finding(
            "near doubles",
            "serious" if share > OFTEN else "note",
            share,
            f"{share:.1%} of {len(ids):,} words looked at have another at a cosine above {NEAR}, though not the same row.",
            "Words that always stand in the same places are like that; many of them mean too little text, too few dimensions, or copies.",
            tuple(f"{vectors.words[one]} = {vectors.words[two]}" for one, two in list(pairs)[:3]),
        )
    ]


CHECKS = (size, zeros, doubles, untrained, flat, near_doubles)
