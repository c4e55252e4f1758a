"""Phrases, decimal numbers and hashed n-grams in plain Python: the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def phrases(
    ids: np.ndarray, offsets: np.ndarray, score: str, min_count: int, threshold: float
) -> tuple[dict, list]:
    """The scores of adjacent pairs that are above `threshold`, and every sentence with those pairs joined
    from the left.

    default: (n(ab) - min_count) / (n(a) n(b)) times the number of different words and pairs (Mikolov et al.
    2013, eq. 6); npmi: log(p(ab) / (p(a) p(b))) / -log p(ab). In the sentences a joined pair is a tuple, any
    other token an id.
    """
    sentences = [ids[start:stop].tolist() for start, stop in pairwise(offsets)]
    words = Counter(id for sentence in sentences for id in sentence)
    pairs = Counter(pair for sentence in sentences for pair in pairwise(sentence))
    scores = {}
    for (a, b), together in pairs.items():
        if score == "default":
            scores[a, b] = (together - min_count) / (words[a] * words[b]) * (len(words) + len(pairs))
        elif together >= min_count:
            p_a = words[a] / len(ids)
            p_b = words[b] / len(ids)
            p_ab = together / len(ids)
            scores[a, b] = np.log(p_ab / (p_a * p_b)) / -np.log(p_ab)
    above = {pair: value for pair, value in scores.items() if value > threshold}
    joined = []
    for sentence in sentences:
        left = []
        here = 0
        while here < len(sentence):
            pair = tuple(sentence[here : here + 2])
            left.append(pair if pair in above else sentence[here])
            here += 2 if pair in above else 1
        joined.append(left)
    return above, joined


LONGEST_NUMBER = 2000
"""Bytes; the exact decimal form of any float64 is shorter, and longer ones take float() quadratic time."""


def decimals(fields: Sequence[bytes]) -> np.ndarray | None:
    """Decimal numbers as float() reads them, rounded to float32.

    None if one is no plain decimal (NaN, infinity, hexadecimal, underscores) or too large for float32.
    """
    if (
        b"".join(fields).translate(None, b"0123456789+-.eE")
        or max(map(len, fields), default=0) > LONGEST_NUMBER
    ):
        return None
    try:
        exact = np.array([float(field) for field in fields], np.float64)
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    return values if np.isfinite(values).all() else None


def shortest(values: np.ndarray) -> list[bytes]:
    """Each float32 in the fewest digits, 6 to 9, that read back as the same number.

    >>> shortest(np.array([0.1, 1 / 3], np.float32))
    [b'0.1', b'0.33333334']
    """
    texts = [b""] * len(values)
    left = np.arange(len(values))
    for digits in (6, 7, 8, 9):
        tried = (b"%%.%dg " % digits * len(left) % tuple(values[left].tolist())).split()
        for place, text in zip(left.tolist(), tried, strict=True):
            texts[place] = text
        with np.errstate(over="ignore"):
            left = left[np.array([float(text) for text in tried]).astype(np.float32) != values[left]]
    return texts


def ngrams(word: bytes, shortest: int, longest: int, buckets: int, *, end: bool = False) -> list[int]:
    """The bucket of every n-gram of a word, in fastText's order; the word </s> has none, unless `end` says
    so."""
    if word == b"</s>" and not end:
        return []
    return [fnv(each) % buckets for each in spelled(word, shortest, longest)]


def spelled(word: bytes, shortest: int, longest: int) -> list[bytes]:
    """Every n-gram of `shortest` to `longest` characters of a word between < and >; < and > alone are none.

    A character is a byte and the UTF-8 continuation bytes after it.
    """
    characters: list[bytes] = []
    for byte in b"<" + word + b">":
        if byte & 0xC0 == 0x80:
            characters[-1] += bytes([byte])
        else:
            characters.append(bytes([byte]))
    found: list[bytes] = []
    for first in range(len(characters)):
        for last in range(first + max(shortest, 1), min(first + longest, len(characters)) + 1):
            if last - first > 1 or 0 < first < len(characters) - 1:
                found.append(b"".join(characters[first:last]))
    return found


def fnv(data: bytes) -> int:
    """FNV-1a in 32 bits as fastText has it: a byte above 127 counts as negative, so that it turns all higher
    bits too."""
    value = 2166136261
    for byte in data:
        value = (value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 % 2**32
    return value


def mean_with_ngrams(
    rows: np.ndarray, buckets: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """The mean of each word's own row and the rows of its n-grams, ids[offsets[w]:offsets[w + 1]]; added up
    in that order."""
    means = np.array(rows, np.float32)
    for word, (start, stop) in enumerate(pairwise(offsets)):
        for id in ids[start:stop]:
            means[word] += buckets[id]
        means[word] *= np.float32(1 / (stop - start + 1))
    return means
