"""What do analyses of a large space cost: CPU seconds, memory, and the longest time without progress?

    python benchmarks/understand_speed.py [words: 50000] [dim: 100] [only these analyses: compare align ...]

Two spaces of clusters and noise, the second a rotated and noisy copy of the first; counts follow Zipf's law,
and the first words are those of the embedded world. Every command runs in its own process. CPU seconds say
more than wall time on a shared machine; memory is the peak of the process, including memory-mapped files.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CLUSTERS = 2000
PAIRS = 5000
TEXT = 100_000
"""Of the spaces, of the dictionary; and the sentences, and words at most, of the text that `explain`
reads."""


def make(folder: Path, words: int, dim: int) -> None:
    """Two spaces, a dictionary between them, and a text."""
    import numpy as np

    import inlaid
    from inlaid.collect import world
    from inlaid.encode.vocabulary import Words
    from inlaid.vectors import Vectors

    random = np.random.default_rng(1)
    real = list(
        dict.fromkeys(word for concept in world.concepts() for word in (concept.en.lower(), concept.zh))
    )
    named = (real + [f"w{n}" for n in range(words)])[:words]
    counts = (10 * words / np.arange(1, words + 1)).astype(np.int64)
    centers = random.standard_normal((CLUSTERS, dim), dtype=np.float32)
    rotation = np.linalg.qr(random.standard_normal((dim, dim)))[0].astype(np.float32)
    table = np.empty((words, dim), np.float32)
    other = np.empty((words, dim), np.float32)
    for start in range(0, words, 50_000):
        block = slice(start, min(start + 50_000, words))
        size = block.stop - start
        table[block] = centers[random.integers(0, CLUSTERS, size)] + random.standard_normal(
            (size, dim), dtype=np.float32
        )
        other[block] = table[block] @ rotation + 0.5 * random.standard_normal((size, dim), dtype=np.float32)
    for name, rows in (("a", table), ("b", other)):
        inlaid.save(Vectors(Words.of(named), rows, counts), folder / f"{name}.inlaid")
    (folder / "pairs.txt").write_text(
        "".join(f"{word}\t{word}\n" for word in named[:PAIRS]), encoding="utf-8"
    )
    chances = counts[:TEXT] / counts[:TEXT].sum()
    ids = random.choice(len(chances), (TEXT, 20), p=chances)
    (folder / "text.txt").write_text(
        "\n".join(" ".join(named[id] for id in line) for line in ids.tolist()), encoding="utf-8"
    )
    inlaid.corpus(folder / "text.txt", folder / "corpus", tokenizer="whitespace", normalize=())


def commands(folder: Path) -> dict[str, list[str]]:
    a = str(folder / "a.inlaid")
    b = str(folder / "b.inlaid")
    return {
        "compare": ["compare", a, b, "--words", "cat"],
        "compare, 2 seeds": ["compare", a, b, "--seeds", b, a],
        "align": ["align", a, b, str(folder / "pairs.txt"), "--words", "cat"],
        "align, saved": ["align", a, b, str(folder / "pairs.txt"), "-o", str(folder / "joint.inlaid")],
        "doctor": ["doctor", a],
        "map": ["map", a, "-o", str(folder / "map.html"), "--sample"],
        "explain": ["explain", a, "cat", "dog", "--corpus", str(folder / "corpus")],
        "axis": [
            "axis",
            a,
            "--from",
            "man",
            "king",
            "boy",
            "--to",
            "woman",
            "queen",
            "girl",
            "--words",
            "cat",
            "dog",
        ],
        "dimensions": ["dimensions", a],
    }


def measured(arguments: list[str], sender: Any) -> None:
    """Run one command and listen to its events; send its exit status, CPU seconds, megabytes, the longest
    time without an event and where it was."""
    from inlaid.commands import terminal

    heard = [("start", time.process_time())]
    longest = (0.0, "")

    @contextlib.contextmanager
    def listening() -> Iterator[Callable[[Any], None]]:
        yield lambda event: hear(getattr(event, "stage", "note"))

    def hear(stage: str) -> None:
        nonlocal longest
        now = time.process_time()
        longest = max(longest, (now - heard[-1][1], f"{heard[-1][0]} to {stage}"))
        heard.append((stage, now))

    terminal.drawn = listening  # before commands/ imports it from there
    from inlaid.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    hear("end")
    sender.send(
        (status, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, *longest)
    )


def in_a_process(work: Callable[..., None], *given: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(*given, sender) if work is measured else given)
    process.start()
    process.join()
    return receiver.recv() if work is measured and receiver.poll() else None


def main() -> None:
    words, dim = (int(each) for each in (sys.argv[1:3] + ["50000", "100"][len(sys.argv) - 1 :])[:2])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        in_a_process(make, folder, words, dim)
        print(f"{words:,} words x {dim}; a table is {words * dim * 4 / 2**20:,.0f} MB")
        print(f"{'':<20}{'CPU':>12}{'peak':>12}{'silent':>10}")
        for name, arguments in commands(folder).items():
            if not sys.argv[3:] or name.split(",")[0] in sys.argv[3:]:
                status, seconds, peak, silent, where = in_a_process(measured, arguments) or (
                    1,
                    *[float("nan")] * 3,
                    "",
                )
                said = "" if status == 0 else "  failed"
                print(f"{name:<20}{seconds:10.1f} s{peak:9,.0f} MB{silent:8.1f} s  {where}{said}", flush=True)


if __name__ == "__main__":
    main()
