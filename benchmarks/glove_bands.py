"""Do rare words learn as well from tiles as from cells in one shuffled order, and what does x_max do to them?

    INLAID_DATA=/path/to/data python benchmarks/glove_bands.py [MB of English: 12] [dim: 50] [epochs: 15]

Four trainings on the same counts (window 15, one seed each): ours at x_max 100 and 10, and the step of the
specification over all cells in one shuffled order, in double precision, whose biases learn at the learning
rate, as here, or at rate 1, as in some versions of the original program.

By the frequency of the words: how many of the 20 nearest neighbors are also those of GloVe trained on 6
billion words, with the 95 % interval of the difference to the first; and Spearman's correlation with human
similarities, where a pair is as rare as its rarer word.
"""

from __future__ import annotations

import lzma
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba import njit
from scipy.stats import rankdata

import inlaid
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.feed.cooccurrence import Cells, cooccurrence
from inlaid.fit.glove import GloVe

WINDOW = 15
RATE = 0.05
NEAREST = 20
WORDS = 1500
"""Words of a band whose neighbors are compared, at most."""
BANDS = ((5, 20), (20, 60), (60, 200), (200, 1000), (1000, 1 << 60))
SIMILARITIES = ("MTurk-771", "MTurk-287", "SIMLEX-999", "SimVerb-3500", "WS-353-ALL")


def lines(data: Path, size: int) -> Iterator[str]:
    with lzma.open(data / "corpus_enwiki" / "enwiki_slice.txt.xz", "rt", encoding="utf-8") as file:
        for line in file:
            yield " ".join(re.findall("[a-z]+", line.lower()))
            size -= len(line)
            if size <= 0:
                return


@njit
def shuffled_epoch(words, contexts, word_sums, context_sums, cells, order, bias_rate):
    # glove_step of kernels/glove/reference.py; a row is a vector and its bias
    rows, columns, logs, weights = cells
    dim = words.shape[1] - 1
    for n in order:
        word, context = words[rows[n]], contexts[columns[n]]
        word_sum, context_sum = word_sums[rows[n]], context_sums[columns[n]]
        score = word[dim] + context[dim]
        for k in range(dim):
            score += word[k] * context[k]
        gradient = weights[n] * (score - logs[n])
        for k in range(dim + 1):
            rate = RATE if k < dim else bias_rate
            word_step = rate * gradient * (context[k] if k < dim else 1.0)
            context_step = rate * gradient * (word[k] if k < dim else 1.0)
            word[k] -= word_step / math.sqrt(word_sum[k])
            context[k] -= context_step / math.sqrt(context_sum[k])
            word_sum[k] += word_step**2
            context_sum[k] += context_step**2


def shuffled(cells: Cells, dim: int, epochs: int, bias_rate: float) -> np.ndarray:
    random = np.random.default_rng(1)
    words, contexts = ((random.random((cells.size, dim + 1)) - 0.5) / dim for _ in range(2))
    sums = np.ones_like(words), np.ones_like(contexts)
    rows = np.repeat(np.arange(cells.size), np.diff(cells.starts))
    weights = np.minimum(1, (cells.counts / 100) ** 0.75)
    order = random.permutation(len(cells))
    given = rows, cells.columns, np.log(cells.counts), weights
    for _ in range(epochs):
        shuffled_epoch(words, contexts, *sums, given, order, bias_rate)
    return (words + contexts)[:, :dim]


def ours(corpus: Corpus, dim: int, epochs: int, x_max: float) -> np.ndarray:
    method = GloVe(dim=dim, epochs=epochs, window=WINDOW, learning_rate=RATE, x_max=x_max, zero_weight=0.0)
    training = method.start(corpus)
    done = 0
    while done < training.total:
        done = training.step(done).done
    return training.result().table


class Questions:
    """Words of each band with their neighbors in the large GloVe, and pairs of words with similarities."""

    def __init__(self, data: Path, corpus: Corpus) -> None:
        index = {word: id for id, word in enumerate(corpus.vocabulary.words)}
        counts = np.asarray(corpus.vocabulary.counts)
        large = inlaid.load(data / "pretrained_glove" / "glove.6B.50d.top30k.txt.xz", format="glove")
        both = [(index[word], n) for n, word in enumerate(large.words) if word in index]
        self.shared = np.array([id for id, _ in both])
        table = large.table[[n for _, n in both]]
        self.bands: list[tuple[np.ndarray, list[set[int]]]] = []
        random = np.random.default_rng(1)
        for low, high in BANDS:
            known = np.flatnonzero((counts[self.shared] >= low) & (counts[self.shared] < high))
            chosen = random.permutation(known)[:WORDS]
            self.bands.append((chosen, nearest(table - table.mean(axis=0), chosen)))
        pairs = list[np.ndarray]()
        for name in SIMILARITIES:
            rows = [
                line.lower().split()
                for line in (data / "wordsim_en" / f"EN-{name}.txt").open(encoding="utf-8")
            ]
            found = np.array(
                [(index[a], index[b], float(s)) for a, b, s in rows if a in index and b in index]
            )
            found[:, 2] = rankdata(found[:, 2]) / len(found)
            pairs.append(found)
        pairs_of_all = np.concatenate(pairs)
        self.pairs = pairs_of_all[:, :2].astype(int)
        self.similarities = pairs_of_all[:, 2]
        self.rarer = counts[self.pairs].min(axis=1)

    def neighbors(self, table: np.ndarray) -> list[np.ndarray]:
        """By band, the share of the neighbors of each word that the large GloVe has, too."""
        shares = list[np.ndarray]()
        for chosen, expected in self.bands:
            found = nearest(table[self.shared], chosen)
            shares.append(np.array([len(a & b) / NEAREST for a, b in zip(found, expected, strict=True)]))
        return shares

    def correlations(self, table: np.ndarray) -> list[float]:
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cosines = (unit[self.pairs[:, 0]] * unit[self.pairs[:, 1]]).sum(axis=1)
        inside = [(self.rarer >= low) & (self.rarer < high) for low, high in BANDS]
        return [
            float(np.corrcoef(rankdata(cosines[each]), rankdata(self.similarities[each]))[0, 1])
            for each in inside
        ]


def nearest(table: np.ndarray, chosen: np.ndarray) -> list[set[int]]:
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit[chosen] @ unit.T
    cosines[np.arange(len(chosen)), chosen] = -2
    return [set(row) for row in np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST].tolist()]


def main(megabytes: int, dim: int, epochs: int) -> None:
    data = Path(os.environ["INLAID_DATA"])
    corpus = encode(lines(data, megabytes * 1_000_000), Encoding(tokenizer="whitespace"))
    cells = cooccurrence(corpus, window=WINDOW, decay=True)
    print(f"{len(corpus.ids):,} words, {len(corpus.vocabulary):,} different, {len(cells):,} cells")
    questions = Questions(data, corpus)
    trained = {
        "shuffled, biases at the rate": shuffled(cells, dim, epochs, RATE),
        "shuffled, biases at rate 1": shuffled(cells, dim, epochs, 1.0),
        "inlaid, x_max 100": ours(corpus, dim, epochs, 100.0),
        "inlaid, x_max 10": ours(corpus, dim, epochs, 10.0),
    }
    shares = {name: questions.neighbors(table) for name, table in trained.items()}
    correlations = {name: questions.correlations(table) for name, table in trained.items()}
    first = next(iter(trained))
    for n, (low, high) in enumerate(BANDS):
        pairs = int(((questions.rarer >= low) & (questions.rarer < high)).sum())
        below = f", fewer than {high}" if (low, high) != BANDS[-1] else ""
        print(f"\nseen {low} times or more{below}: {len(shares[first][n])} words, {pairs} pairs")
        for name in trained:
            change = shares[name][n] - shares[first][n]
            margin = 1.96 * change.std() / math.sqrt(len(change))
            print(
                f"  {name:30} neighbors {shares[name][n].mean():.3f}"
                f" ({change.mean() - margin:+.3f} to {change.mean() + margin:+.3f})"
                f"   similarities {correlations[name][n]:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*(int(given) for given in (sys.argv[1:] + ["12", "50", "15"][len(sys.argv) - 1 :])[:3]))
