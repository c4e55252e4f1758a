"""How long until vectors can be used? Native files opened and verified; other formats beside gensim.

    python benchmarks/load_speed.py [thousands of words in the native file: 3000] [in the others: 50]

Random vectors of dimension 300 in a temporary folder. Three million take 3.6 GB; the native file never takes
more than a third of the free space. Times are medians of interleaved runs, with files in the page cache. CPU
seconds, of all threads together, say more than the clock if others use the machine, too.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from inlaid.arrays import open_arrays
from inlaid.encode.vocabulary import Words
from inlaid.formats import native, word2vec
from inlaid.formats.text import GLOVE, WORD2VEC_TEXT
from inlaid.vectors import Vectors

DIM = 300
RUNS = 3


def made(words: int) -> Vectors:
    table = np.random.default_rng(1).standard_normal((words, DIM), np.float32)
    return Vectors(Words.of_bytes([b"word%d" % n for n in range(words)]), table)


@dataclass(frozen=True)
class Taken:
    """Seconds by the clock, and of CPU."""

    clock: float
    cpu: float


def taken(work: Callable[[], Any]) -> Taken:
    clock = time.perf_counter()
    cpu = time.process_time()
    work()
    return Taken(time.perf_counter() - clock, time.process_time() - cpu)


def medians(questions: dict[str, Callable[[], Any]]) -> dict[str, Taken]:
    """The median time of each, in interleaved runs, so that a slow moment of the machine affects all."""
    times: dict[str, list[Taken]] = {name: [] for name in questions}
    for _ in range(RUNS):
        for name, work in questions.items():
            times[name].append(taken(work))
    median = statistics.median
    return {
        name: Taken(median(each.clock for each in all), median(each.cpu for each in all))
        for name, all in times.items()
    }


def own_format(folder: Path, words: int) -> None:
    words = min(words, shutil.disk_usage(folder).free // 3 // (DIM * 4))
    native.write(made(words), folder / "v.inlaid")
    size = (folder / "v.inlaid").stat().st_size
    last = f"word{words - 1}"
    answers = medians(
        {
            "open": lambda: native.read(folder / "v.inlaid"),
            "open and first row": lambda: native.read(folder / "v.inlaid").rows([0]),
            "open and find a word": lambda: native.read(folder / "v.inlaid")[last],
            "verify every byte": lambda: open_arrays(folder / "v.inlaid").verify(),
        }
    )
    print(f"native, {words:,} words of {DIM}, {size / 1e9:.2f} GB")
    for name, each in answers.items():
        print(f"  {name:<22}{each.clock * 1000:10.2f} ms")


def others(folder: Path, words: int) -> None:
    vectors = made(words)
    text = folder / "v.vec"
    short = folder / "short.txt"
    binary = folder / "v.bin"
    theirs = str(folder / "theirs")
    load = KeyedVectors.load_word2vec_format
    peer = KeyedVectors(DIM)
    peer.add_vectors(list(vectors.words), vectors.table)
    print(f"{words:,} words of {DIM}; seconds, MB/s, CPU seconds, ratio of the clock and of CPU")
    compare(
        "write text",
        text,
        lambda: WORD2VEC_TEXT.write(vectors, text),
        lambda: peer.save_word2vec_format(theirs),
    )
    GLOVE.write(Vectors(vectors.words, np.round(vectors.table, 5)), short)
    compare("read text", text, lambda: WORD2VEC_TEXT.read(text), lambda: load(str(text)))
    compare(
        "read text, 5 decimals", short, lambda: GLOVE.read(short), lambda: load(str(short), no_header=True)
    )
    compare(
        "write binary",
        binary,
        lambda: word2vec.write(vectors, binary),
        lambda: peer.save_word2vec_format(theirs, binary=True),
    )
    compare("read binary", binary, lambda: word2vec.read(binary), lambda: load(str(binary), binary=True))
    same = (
        WORD2VEC_TEXT.read(text).table.tobytes()
        == load(str(text)).vectors.tobytes()
        == vectors.table.tobytes()
    )
    print(f"the same bits in all: {same}")


def compare(name: str, path: Path, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    ours()  # compile and fill the page cache first
    answers = medians({"inlaid": ours, "gensim": theirs})
    size = path.stat().st_size / 1e6
    inlaid = answers["inlaid"]
    gensim = answers["gensim"]
    columns = "   ".join(
        f"{who} {each.clock:6.2f} s {size / each.clock:5.0f} {each.cpu:6.2f}" for who, each in answers.items()
    )
    print(f"  {name:<22}{columns}   x {gensim.clock / inlaid.clock:.1f} {gensim.cpu / inlaid.cpu:.1f}")


if __name__ == "__main__":
    large = int(sys.argv[1]) * 1000 if len(sys.argv) > 1 else 3_000_000
    small = int(sys.argv[2]) * 1000 if len(sys.argv) > 2 else 50_000
    with tempfile.TemporaryDirectory() as temporary:
        own_format(Path(temporary), large)
    with tempfile.TemporaryDirectory() as temporary:
        others(Path(temporary), small)
