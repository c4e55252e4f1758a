"""How fast are Google's 19,544 analogies answered? Ours (3CosAdd and 3CosMul, with intervals) beside gensim's
3CosAdd.

    INLAID_DATA=/path/to/data python benchmarks/evaluate_speed.py [words: 100000] [dim: 300]

The table is random, which changes no timing; its words hold those of the questions. gensim answers one
question after another, so it is asked a part of them, evenly taken, between our runs, and the time for all is
reckoned from that.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from inlaid.study.evaluate.evaluate import GENSIM, evaluate
from inlaid.vectors import Vectors

RUNS = 3
EVERY = 100


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def some(path: Path) -> list[str]:
    """Every hundredth question, with the lines that name sections."""
    lines = path.read_text("utf-8").splitlines()
    return [line for number, line in enumerate(lines) if line.startswith(":") or number % EVERY == 0]


def main(words: int, dim: int) -> None:
    path = Path(os.environ["INLAID_DATA"]) / "analogy_en" / "questions-words.txt"
    lines = path.read_text("utf-8").splitlines()
    asked = sorted({word.lower() for line in lines if not line.startswith(":") for word in line.split()})
    names = asked + [f"word{n}" for n in range(words - len(asked))]
    table = np.random.default_rng(1).standard_normal((words, dim), np.float32)
    ours = Vectors.of(names, table)
    theirs = KeyedVectors(dim)
    theirs.add_vectors(names, table)
    total = sum(not line.startswith(":") for line in lines)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.txt"
        part.write_text("\n".join(some(path)), "utf-8")
        share = total / sum(not line.startswith(":") for line in some(path))
        mine = []
        other = []
        for _ in range(RUNS):
            taken, scores = seconds(lambda: evaluate(ours, [path], settings=GENSIM))
            mine.append(taken)
            other.append(share * seconds(lambda: theirs.evaluate_word_analogies(str(part)))[0])
        same = (
            evaluate(ours, [part], settings=GENSIM)[0].value == theirs.evaluate_word_analogies(str(part))[0]
        )
    one = statistics.median(mine)
    two = statistics.median(other)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{scores[0].used:,} questions, {words:,} words x {dim}; median of {RUNS}, peak memory {peak:.1f} GiB"
    )
    print(f"inlaid {one:7.1f} s   gensim {two:7.1f} s (extrapolated)   x {two / one:.0f}")
    print(f"the same score on the part: {same}")


if __name__ == "__main__":
    main(*(int(given) for given in (*sys.argv[1:], *("100000", "300")[len(sys.argv) - 1 :])))
