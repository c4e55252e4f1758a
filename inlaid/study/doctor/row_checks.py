"""Checks of the rows: too few words, zero vectors, duplicates, untrained rows, constant dimensions."""

from __future__ import annotations

import numpy as np
import xxhash

from inlaid.messages import Message
from inlaid.report import counted
from inlaid.study.doctor.findings import FEWEST, Finding, Space, example_words, severity_of, words_of
from inlaid.study.search import ranking

ROW_BLOCK = 1 << 14
NEAR = 0.999
"""Rows with a higher cosine are near duplicates."""
MANY_DUPLICATES = 0.05
MANY_NEAR_DUPLICATES = 0.2
FEW = 0.001
"""Shares of words with an exact and with a near duplicate above which a space cannot tell its words apart;
and below which every real space has some."""
SCORES = 2_000_000_000
"""Cosines computed for near duplicates: all pairs of some 40,000 words, or 2,000 of a million with all
others."""
INITIAL_SCALES = (0.5, 1.0)
"""Rows are initialized uniformly between -s / dim and s / dim: word2vec with s = 0.5, fastText with 1."""
FEWEST_DIMENSIONS = 10
"""In fewer dimensions, trained rows can look uniform by chance."""


def size(space: Space) -> list[Finding]:
    words = len(space.vectors)
    dim = space.vectors.dim
    if words < 2:
        message = Message("The space has one word, which has no neighbors.")
        return [Finding("size", "serious", words, message, Message("Train on more text."))]
    if words <= dim:
        message = Message(
            "{words:,} words in {dim:,} dimensions: each word can have a direction of its own, so cosines "
            "need not mean "
            "anything.",
            words=words,
            dim=dim,
        )
        advice = Message("Lower dim well below the number of words, or train on more text.")
        return [Finding("size", "serious", words / dim, message, advice)]
    if words < 5 * dim:
        message = Message("Only {words:,} words for {dim:,} dimensions.", words=words, dim=dim)
        advice = Message("With a lower dim, each dimension is estimated from more words.")
        return [Finding("size", "warning", words / dim, message, advice)]
    return []


def zeros(space: Space) -> list[Finding]:
    vectors = space.vectors
    ids = np.flatnonzero(vectors.lengths == 0)
    if not len(ids):
        return []
    message = Message(
        "Rows of zeros, which have no direction and cosine 0 with every word: {words}.",
        words=words_of(len(ids), vectors),
    )
    advice = Message(
        "Leave these words out, or train them: they may be padding, or words that never had a context."
    )
    severity = severity_of(len(ids) / len(vectors))
    return [Finding("zeros", severity, len(ids), message, advice, example_words(vectors, ids))]


def duplicates(space: Space) -> list[Finding]:
    """Rows with the same bytes, found by their hashes."""
    vectors = space.vectors
    hashes = np.empty(len(vectors), np.uint64)
    for start in range(0, len(vectors), ROW_BLOCK):
        rows = np.ascontiguousarray(vectors.table[start : start + ROW_BLOCK])
        hashes[start : start + ROW_BLOCK] = [xxhash.xxh3_64_intdigest(row.data) for row in rows]
    _, group_of, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    repeated = (counts[group_of] > 1) & (vectors.lengths > 0)
    ids = np.flatnonzero(repeated)
    if not len(ids):
        return []
    groups = np.unique(group_of[ids])
    message = Message(
        "Words with exactly the same row as another: {words}, in {groups:,} groups.",
        words=words_of(len(ids), vectors),
        groups=len(groups),
    )
    advice = Message(
        "Words that only ever occur together may share a row; otherwise rows were copied. "
        "Check where these words come from."
    )
    members = [np.flatnonzero(group_of == group)[:3].tolist() for group in groups[:3].tolist()]
    examples = tuple(" = ".join(vectors.words[id] for id in some) for some in members)
    severity = severity_of(len(ids) / len(vectors), warning=FEW, serious=MANY_DUPLICATES)
    return [Finding("duplicates", severity, len(ids), message, advice, examples)]


def untrained(space: Space) -> list[Finding]:
    """Rows that still look like their initialization."""
    vectors = space.vectors
    if vectors.dim < FEWEST_DIMENSIONS:
        return []
    ids = np.unique(np.concatenate([_uniform_rows(space, scale / vectors.dim) for scale in INITIAL_SCALES]))
    if not len(ids):
        return []
    message = Message(
        "Rows that look as initialized, before any training: {words}.", words=words_of(len(ids), vectors)
    )
    advice = Message(
        "Such words were hardly ever seen, or had no contexts. "
        "Leave them out, raise min_count or train for more epochs."
    )
    severity = severity_of(len(ids) / len(vectors))
    return [Finding("untrained", severity, len(ids), message, advice, example_words(vectors, ids))]


def _uniform_rows(space: Space, bound: float) -> np.ndarray:
    """Ids of rows that look drawn uniformly between -bound and bound."""
    vectors = space.vectors
    # The mean square of a uniform draw is bound^2 / 3, with standard deviation sqrt(4 / 45 / dim) bound^2:
    # within five of them on either side.
    expected = bound**2 / 3
    tolerance = 5 * bound**2 * np.sqrt(4 / 45 / vectors.dim)
    found = [np.empty(0, np.int64)]
    for start in range(0, len(vectors), ROW_BLOCK):
        rows = vectors.table[start : start + ROW_BLOCK].astype(np.float64)
        largest = np.abs(rows).max(axis=1)
        bounded = (largest <= bound * 1.000001) & (largest > 0.7 * bound)
        uniform = bounded & (np.abs((rows**2).mean(axis=1) - expected) < tolerance)
        found.append(start + np.flatnonzero(uniform))
    return np.concatenate(found)


def constant(space: Space) -> list[Finding]:
    vectors = space.vectors
    lowest = vectors.table.min(axis=0)
    highest = vectors.table.max(axis=0)
    count = int((lowest == highest).sum())
    if not count or len(vectors) < 2:
        return []
    message = Message(
        "{count:,} of {dim:,} dimensions are the same for every word: they hold nothing.",
        count=count,
        dim=vectors.dim,
    )
    advice = Message("Lower dim, or check how the file was made.")
    return [Finding("constant", "warning", count, message, advice)]


def near_duplicates(space: Space) -> list[Finding]:
    """Different rows of the same direction; in a large space, the words of a sample against all."""
    vectors = space.vectors
    if len(vectors) < FEWEST:
        return []
    ids = space.sample(max(1000, SCORES // len(vectors)))
    ids = ids[vectors.lengths[ids] > 0]
    found: list[tuple[int, int]] = []
    starts = range(0, len(ids), ranking.QUERIES)
    for start in counted(starts, "finding duplicates", unit="blocks", report=space.report, every=1):
        found += _near_pairs(space, ids[start : start + ranking.QUERIES])
    share = len(found) / max(len(ids), 1)
    if share <= FEW:
        return []
    message = Message(
        "{share:.1%} of {words:,} words examined have another at a cosine above {near}, though not the same "
        "row.",
        share=share,
        words=len(ids),
        near=NEAR,
    )
    advice = Message(
        "Words that always have the same contexts are like that; many of them mean too little text, too few "
        "dimensions, "
        "or copies."
    )
    pairs = dict.fromkeys(tuple(sorted(pair)) for pair in found)
    examples = tuple(f"{vectors.words[one]} = {vectors.words[two]}" for one, two in list(pairs)[:3])
    severity = "serious" if share > MANY_NEAR_DUPLICATES else "note"
    return [Finding("near duplicates", severity, share, message, advice, examples)]


def _near_pairs(space: Space, ids: np.ndarray) -> list[tuple[int, int]]:
    """Each of these words that has a near duplicate, with that word."""
    vectors = space.vectors
    best = ranking.best(
        vectors.table, vectors.lengths, vectors.rows(ids), n=1, without=[[id] for id in ids.tolist()]
    )
    found: list[tuple[int, int]] = []
    for id, each in zip(ids.tolist(), best, strict=True):
        if not len(each.ids) or each.scores[0] < NEAR:
            continue
        other = int(each.ids[0])
        if not np.array_equal(vectors.table[id], vectors.table[other]):
            found.append((id, other))
    return found


CHECKS = (size, zeros, duplicates, untrained, constant, near_duplicates)
