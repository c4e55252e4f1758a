"""How fast are counting and GloVe? Seconds on English Wikipedia, by workers, with the memory it took.

    INLAID_DATA=/path/to/data python benchmarks/glove_speed.py [MB of text: 100] [workers: 1 2]

On the first 100 MB, a-z only, window 10, dim 100, the original C program took 12.5 s to count, 10.2 s to
shuffle and 46 s an epoch, on two threads. It is not in this run: there is no package of it. SciPy is: one
product of the sparse matrix with 120 columns, which PPMI makes twelve of, by its kernel and by ours.
"""

from __future__ import annotations

import itertools
import lzma
import os
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.fit.glove import GloVe
from inlaid.fit.ppmi import PPMI, Matrix

C_READY = 22.7
C_EPOCH = 46.0
"""Seconds of the C program on two threads, for 100 MB."""


def lines(size: int) -> Iterator[str]:
    """Lower-case words a-z, a line a sentence, until `size` characters were read."""
    path = Path(os.environ["INLAID_DATA"]) / "corpus_enwiki" / "enwiki_slice.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield " ".join(re.findall("[a-z]+", line.lower()))
            size -= len(line)
            if size <= 0:
                return


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def epoch(training: Any) -> None:
    done = 0
    while done < len(training.tiles):
        done = training.step(done).done


def measure(corpus: Corpus, workers: int, same_text: bool) -> None:
    method = GloVe(workers=workers, epochs=1)
    counting = list[float]()
    ready = list[float]()
    trained = list[float]()
    for _ in range(3):
        counting.append(seconds(lambda: cooccurrence(corpus, window=10, decay=True, workers=workers))[0])
        taken, training = seconds(lambda: method.start(corpus))
        ready.append(taken)
        trained.append(seconds(lambda training=training: epoch(training))[0])
        cells = len(training.tiles)
    middle = [statistics.median(each) for each in (counting, ready, trained)]
    peer = f"   C / ours {C_READY / middle[1]:.1f} and {C_EPOCH / middle[2]:.1f}" if same_text else ""
    print(
        f"{workers} workers   {cells / 1e6:.1f} M cells   counting {middle[0]:5.2f} s   "
        f"ready to train {middle[1]:5.2f} s   "
        f"epoch {middle[2]:5.2f} s{peer}"
    )


def products(corpus: Corpus) -> None:
    """One product with 120 columns on one thread, ours and SciPy's in turn."""
    cells = cooccurrence(corpus, window=5)
    matrix = Matrix(cells.starts, cells.columns, cells.counts.astype(np.float32))
    peer = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts))
    dense = np.random.default_rng(1).standard_normal((cells.size, 120), np.float32)
    pairs = [
        (seconds(lambda: PPMI()._times(matrix, dense))[0], seconds(lambda: peer @ dense)[0]) for _ in range(3)
    ]
    ours, theirs = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(
        f"sparse times dense, {len(cells) / 1e6:.1f} M cells   "
        f"inlaid {ours:.2f} s   SciPy {theirs:.2f} s   x {theirs / ours:.1f}"
    )


def main(megabytes: int, workers: list[int]) -> None:
    corpus = encode(lines(megabytes * 1_000_000), Encoding(tokenizer="whitespace"))
    print(f"{len(corpus.ids):,} words, {len(corpus.vocabulary):,} different")
    small = encode(itertools.repeat("a b c d", 10), Encoding())
    epoch(GloVe(epochs=1).start(small))  # compile before the clock runs
    for each in workers:
        measure(corpus, each, megabytes == 100)
    products(corpus)
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, [int(each) for each in sys.argv[2:]] or [1, 2])
