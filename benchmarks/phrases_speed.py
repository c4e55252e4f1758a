"""How fast are phrases learned and joined? Inlaid and gensim on the same sentences of English Wikipedia.

    INLAID_DATA=/path/to/data python benchmarks/phrases_speed.py [words, in millions: 3]

Both start from their own input in memory (ids, lists of words) and use one thread. gensim applies its frozen
phrases, the faster of its two ways.
"""

from __future__ import annotations

import itertools
import lzma
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gensim.models import phrases as peer

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.phrases import Phrases, collocations, join


def sentences(words: int) -> Iterator[list[str]]:
    """Lower-case words a-z, one sentence per line, with at least `words` words."""
    path = Path(os.environ["INLAID_DATA"]) / "corpus_enwiki" / "enwiki_slice.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            found = re.findall("[a-z]+", line.lower())
            yield found
            words -= len(found)
            if words <= 0:
                return


def words_of(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [
        [words[id] for id in corpus.ids[start:stop].tolist()]
        for start, stop in itertools.pairwise(corpus.offsets.tolist())
    ]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def gensim_join(text: Any, passes: int) -> Any:
    for _ in range(passes):
        model = peer.Phrases(text).freeze()
        text = [model[sentence] for sentence in text]
    return text


def main(millions: float) -> None:
    corpus = encode(sentences(int(millions * 1_000_000)), Encoding(min_count=5))
    text = words_of(corpus)
    size = len(corpus.vocabulary)
    print(
        f"{len(corpus.ids):,} words, {size:,} distinct, {len(text):,} sentences; "
        "seconds, million words/s, ratio"
    )
    join(encode([["a", "b"]], Encoding(min_count=1)))  # compile before the clock runs
    questions: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "learn": (
            lambda: collocations(corpus.ids, corpus.offsets, size, Phrases()),
            lambda: peer.Phrases(text),
        ),
        "learn and join, 1 pass": (lambda: join(corpus, Phrases(passes=1)), lambda: gensim_join(text, 1)),
        "learn and join, 2 passes": (lambda: join(corpus, Phrases(passes=2)), lambda: gensim_join(text, 2)),
    }
    millions_read = len(corpus.ids) / 1e6
    for name, (ours, theirs) in questions.items():
        mine = min(seconds(ours)[0] for _ in range(3))
        other = seconds(theirs)[0]
        print(
            f"{name:<26}inlaid {mine:6.2f} s {millions_read / mine:6.1f}   "
            f"gensim {other:6.2f} s {millions_read / other:6.2f}   x {other / mine:.0f}"
        )
    same = words_of(join(corpus, Phrases(passes=1))) == gensim_join(text, 1)
    print(f"the same sentences after one pass: {same}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3)
