"""How fast are n-grams hashed, and fastText files read and looked up? Inlaid, fastText, gensim on one model.

    python benchmarks/ngrams_speed.py [words, in thousands: 100]

The model is synthetic: half English letters, half Chinese characters, n-grams of 3 to 6, as many buckets as
words, dim 100.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fasttext as peer
import numpy as np
from gensim.models.fasttext import load_facebook_vectors

from inlaid.encode.ngrams import NGrams, NGramTable, bucket_ids
from inlaid.encode.vocabulary import Words
from inlaid.formats import fasttext
from inlaid.kernels.text import reference
from inlaid.vectors import Vectors

DIM = 100
SHORTEST = 3
LONGEST = 6


def make(size: int) -> Vectors:
    random = np.random.default_rng(1)
    starts = random.choice([97, 0x4E00], size)
    widths = random.integers(3, 14, size)
    spelled = (
        "".join(chr(start + n) for n in random.integers(0, 26, width))
        for start, width in zip(starts, widths, strict=True)
    )
    words = Words.of(dict.fromkeys(spelled))
    own = random.standard_normal((len(words), DIM), dtype=np.float32)
    buckets = random.standard_normal((size, DIM), dtype=np.float32)
    ngrams = NGrams(own=own, buckets=buckets, size=size, min_n=SHORTEST, max_n=LONGEST)
    return Vectors(words, NGramTable.of(words, ngrams), np.arange(len(words), 0, -1), subwords=ngrams)


def medians(*works: Callable[[], Any], times: int = 3) -> list[float]:
    """The median seconds of each, in interleaved runs."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(times):
        for kept, work in zip(taken, works, strict=True):
            start = time.perf_counter()
            work()
            kept.append(time.perf_counter() - start)
    return [statistics.median(each) for each in taken]


def main(size: int) -> None:
    vectors = make(size)
    words = list(vectors.words)
    blob = vectors.words.blob
    offsets = vectors.words.offsets
    few = [word.encode() for word in words[:2000]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        fasttext.write(vectors, path)
        model = peer.load_model(str(path))
        opened = fasttext.read(path)
        same = all(
            np.array_equal(opened[word], model.get_word_vector(word))
            for word in [*words[:500], "unseen", "没见过的"]
        )
        _ = opened.table  # compile before the clock runs
        hashed, plain = medians(
            lambda: bucket_ids(blob, offsets, min_n=SHORTEST, max_n=LONGEST, buckets=size),
            lambda: [reference.ngrams(word, SHORTEST, LONGEST, size) for word in few],
        )
        plain *= len(words) / len(few)
        table, lookups = medians(
            lambda: fasttext.read(path).stored.whole(),
            lambda: [model.get_word_vector(word) for word in words],
        )  # pyright: ignore
        read, theirs, gensim = medians(
            lambda: fasttext.read(path),
            lambda: peer.load_model(str(path)),
            lambda: load_facebook_vectors(str(path)),
            times=1,
        )
    print(f"{len(words):,} words; the same vectors, bit for bit: {same}")
    print(f"hash all n-grams      inlaid {hashed:.2f} s, plain Python {plain:.2f} s: x {plain / hashed:.0f}")
    print(
        f"vectors of all words  inlaid {table:.2f} s, reading included; fastText {lookups:.2f} s, loaded: "
        f"x {lookups / table:.1f}"
    )
    ratios = f"x {theirs / read:.1f}, x {gensim / read:.0f}"
    print(
        f"open the file         inlaid {read:.2f} s, fastText {theirs:.2f} s, gensim {gensim:.2f} s: {ratios}"
    )


if __name__ == "__main__":
    main(int(float(sys.argv[1]) * 1000) if len(sys.argv) > 1 else 100_000)
