"""How fast do word vectors embed short texts? Beside gensim with NumPy and model2vec, with one thread.

    INLAID_DATA=/path/to/data python benchmarks/texts_speed.py [texts: 50000] [rounds: 5]

English: ten words each of Wikipedia, GloVe of 30,000 words x 50. Chinese: clauses of Wikipedia, word2vec of
20,000 words x 100. gensim averages the vectors of `text.lower().split()` (English) or `rjieba.cut` (Chinese).
model2vec reads texts with its own tokenizer and a table of the same dimension (English). Every round runs
all of them, in turns; the median of the CPU time counts, since other processes may run beside. `new` starts
with the vectors as they were loaded; `again` has seen the texts before.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import rjieba
from gensim.models import KeyedVectors
from model2vec import StaticModel
from tokenizers import Tokenizer

import inlaid
from inlaid.report import silent
from inlaid.study.evaluate.oov import KnownWords

DATA = Path(os.environ["INLAID_DATA"])


class Side(NamedTuple):
    """A language: its vectors, its texts, and how its peer cuts a text."""

    vectors: Any
    texts: list[str]
    cut: Callable[[str], list[str]]


def start_of(name: str, characters: int) -> str:
    with lzma.open(DATA / name, "rt", encoding="utf-8") as file:
        return file.read(characters)


def english(count: int) -> Side:
    words = start_of("corpus_enwiki/enwiki_slice.txt.xz", 100 * count).split()
    texts = [" ".join(words[start : start + 10]) for start in range(0, 10 * count, 10)]
    vectors = inlaid.load(DATA / "pretrained_glove/glove.6B.50d.top30k.txt.xz", report=silent)
    return Side(vectors, texts, lambda text: text.lower().split())


def chinese(count: int) -> Side:
    texts = re.findall(r"[^。，\n]{8,}", start_of("corpus_zhwiki/zhwiki_slice.txt.xz", 60 * count))[:count]
    vectors = inlaid.load(DATA / "pretrained_synonyms_zh_word2vec/words.top20k.bin.xz", report=silent)
    return Side(vectors, texts, rjieba.cut)


def by_gensim(side: Side) -> Callable[[], Any]:
    keyed = KeyedVectors(side.vectors.dim)
    keyed.add_vectors(list(side.vectors.words), np.array(side.vectors.table))

    def run() -> None:
        for text in side.texts:
            words = [word for word in side.cut(text) if word in keyed.key_to_index]
            if words:
                keyed[words].mean(axis=0)

    return run


def by_model2vec(side: Side) -> Callable[[], Any]:
    tokenizer = Tokenizer.from_file(str(DATA / "pretrained_minilm_tokenizer/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    table = np.random.default_rng(1).normal(size=(tokenizer.get_vocab_size(), side.vectors.dim))
    model = StaticModel(table.astype(np.float32), tokenizer, normalize=False)
    return lambda: model.encode(side.texts, use_multiprocessing=False)


def measure(name: str, side: Side, rounds: int) -> None:
    known = KnownWords(side.vectors)
    runners: dict[str, Callable[[], Any]] = {
        "inlaid, new": lambda: inlaid.embed(side.vectors, side.texts),
        "inlaid, new, sif": lambda: inlaid.embed(
            side.vectors, side.texts, weights="sif", remove_components=1
        ),
        "inlaid, again": lambda: known.sentences(side.texts),
        "gensim, NumPy": by_gensim(side),
    }
    if name == "English":
        runners["model2vec"] = by_model2vec(side)
    taken: dict[str, list[float]] = {who: [] for who in runners}
    for number in range(rounds + 1):  # the first compiles
        for who, run in runners.items():
            start = time.process_time()
            run()
            if number:
                taken[who].append(time.process_time() - start)
    seconds = {who: statistics.median(times) for who, times in taken.items()}
    slowest = seconds["gensim, NumPy"]
    for who, own in seconds.items():
        line = {
            "texts": name,
            "who": who,
            "texts/s": round(len(side.texts) / own),
            "times gensim": round(slowest / own, 1),
        }
        print(json.dumps(line), flush=True)


def main(count: int, rounds: int) -> None:
    measure("English", english(count), rounds)
    measure("Chinese", chinese(count), rounds)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*given, *(50_000, 5)[len(given) :])
