"""How fast are the nearest words found? Ours beside NumPy, gensim and faiss's flat index, on one table, in
one run.

    python benchmarks/search_speed.py [words: 1000000] [dim: 300] [runs: 7]

Random vectors around random centers: the time of exact search does not depend on what the numbers mean,
recall and the number of rows that codes cannot rule out do. Rounds are interleaved, medians are given; all
use the same number of threads.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
from gensim.models import KeyedVectors

from inlaid.study.search.approximate import ApproximateSettings, approximate
from inlaid.study.search.index import index_of
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Int8Table, Vectors

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def table_of(words: int, dim: int) -> np.ndarray:
    random = np.random.default_rng(1)
    table = random.standard_normal((words, dim), dtype=np.float32)
    centers = random.standard_normal((2000, dim), dtype=np.float32)
    for start in range(0, words, 50_000):
        block = table[start : start + 50_000]
        block += centers[random.integers(0, len(centers), len(block))]
        block *= random.uniform(0.5, 4, (len(block), 1)).astype(np.float32)
    return table


def by_numpy(unit: np.ndarray, queries: np.ndarray, n: int) -> np.ndarray:
    """What one writes by hand: a table of unit vectors, a product, argpartition."""
    scores = unit @ queries.T
    if len(queries) == 1:
        best = np.argpartition(-scores[:, 0], n)[:n]
        return best[np.argsort(-scores[best, 0])][None]
    best = np.argpartition(-scores, n, axis=0)[:n]
    return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 0), axis=0), 0).T


def interleaved(work: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    for each in work.values():
        each()  # compile, load, touch the memory
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(runs):
        for name, each in work.items():
            start = time.perf_counter()
            each()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def told(title: str, medians: dict[str, float], queries: int) -> None:
    peers = {name: each for name, each in medians.items() if not name.startswith(("inlaid", "roof"))}
    best = min(peers.values())
    print(f"\n{title}: ms a query, and times the best peer ({min(peers, key=lambda name: peers[name])})")
    for name, each in medians.items():
        print(f"  {name:<28}{each / queries * 1e3:9.2f}   x {each / best:.2f}")


def one_query(vectors: Vectors, peers: dict[str, Any], runs: int) -> None:
    word = vectors.words[77]
    row = peers["unit"][77:78].copy()
    other = np.zeros(len(vectors), np.float32)
    medians = interleaved(
        {
            "roof: read the table": lambda: np.einsum("wd->", vectors.table),
            "roof: numpy sgemv alone": lambda: np.dot(vectors.table, row[0], out=other),
            "inlaid": lambda: neighbors(vectors, word),
            "inlaid, int8 codes": lambda: neighbors(vectors, word, int8=True),
            "numpy": lambda: by_numpy(peers["unit"], row, 11),
            "gensim": lambda: peers["gensim"].most_similar(word),
            "faiss flat": lambda: peers["faiss"].search(row, 11),
        },
        runs,
    )
    told("one query", medians, 1)
    print(f"  int8 over float32: {medians['inlaid, int8 codes'] / medians['inlaid']:.2f}")


def many_queries(vectors: Vectors, peers: dict[str, Any], count: int, runs: int) -> None:
    words = [vectors.words[id] for id in range(0, len(vectors), len(vectors) // count)][:count]
    rows = peers["unit"][[vectors.id(word) for word in words]]
    work: dict[str, Callable[[], Any]] = {
        "inlaid": lambda: neighbors(vectors, words),
        "faiss flat": lambda: peers["faiss"].search(rows, 11),
    }
    if count <= 16:
        work["inlaid, int8 codes"] = lambda: neighbors(vectors, words, int8=True)
    if count * len(vectors) <= 1 << 27:  # by hand all scores are held at once
        work["numpy"] = lambda: by_numpy(peers["unit"], rows, 11)
        work["gensim"] = lambda: [
            peers["gensim"].most_similar(word) for word in words
        ]  # it takes one query at a time
    told(f"{count} queries", interleaved(work, runs), count)


def recalls(vectors: Vectors, codes: Int8Table, queries: int = 100) -> None:
    """Through codes alone, and through codes with the rows they cannot rule out scored again."""
    words = [vectors.words[id] for id in range(5, len(vectors), len(vectors) // queries)][:queries]
    exact = [{each.word for each in found} for found in neighbors(vectors, words)]
    alone = Vectors(vectors.words, codes.rows(slice(None)))
    rough = neighbors(alone, words)
    again = [neighbors(vectors, word, int8=True) for word in words]
    for name, found in (("codes alone", rough), ("codes, then rows", again)):
        share = statistics.mean(
            len({each.word for each in one} & right) / len(right)
            for one, right in zip(found, exact, strict=True)
        )
        print(f"  {name:<28}recall@10 {share:.4f} over {queries} queries")


def main(count: int, dim: int, runs: int) -> None:
    faiss.omp_set_num_threads(THREADS)
    vectors = Vectors.of([f"w{id}" for id in range(count)], table_of(count, dim))
    gensim = KeyedVectors(dim)
    gensim.add_vectors(list(vectors.words), vectors.table)
    gensim.fill_norms()
    flat = faiss.IndexFlatIP(dim)
    flat.add(vectors.unit)
    peers = {"unit": vectors.unit, "gensim": gensim, "faiss": flat}
    codes = index_of(vectors).filter.codes
    table_size = vectors.table.nbytes / 1e9
    codes_size = codes.codes.nbytes / 1e9
    print(f"{count:,} words x {dim}, {table_size:.2f} GB, codes {codes_size:.2f} GB, {THREADS} threads")
    one_query(vectors, peers, runs)
    for batch in (8, 100, 1000):
        many_queries(vectors, peers, batch, max(1, runs * 8 // batch))
    print("\nint8")
    recalls(vectors, codes)
    some = Vectors.of(vectors.words[: min(count, 20_000)], vectors.table[:20_000])
    print("\napproximate, 20,000 words")
    for kind in ("hnsw", "ivf"):
        start = time.perf_counter()
        near = approximate(some, ApproximateSettings(kind=kind))
        built = time.perf_counter() - start
        medians = interleaved(
            {"exact": lambda: neighbors(some, "w77"), kind: lambda near=near: near.neighbors("w77")}, runs
        )
        print(f"  {kind}: built in {built:.1f} s, recall@10 {near.recall:.3f}")
        print(f"    {medians[kind] * 1e3:.2f} ms a query (exact {medians['exact'] * 1e3:.2f})")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [1_000_000, 300, 7][len(given) :]))
