"""How fast do word vectors learn? Words a second beside gensim and fastText, in the same run.

    INLAID_DATA=... python benchmarks/train_speed.py [MB of English] [dim]

Words are those of the vocabulary (seen 5 times or more), before subsampling, with gensim's default threshold
of 1e-3 for all, unless stated otherwise; only training is timed, but for the last race,
from raw text to saved vectors. One thread, interleaved medians and ratios to gensim. Seconds are those of the
processor, so that a busy machine disturbs less; for two workers they are those of the clock, with the time a
cache line takes from core to core beside them, which moves such figures most. Character n-grams are timed on
the first few MB alone, as fastText takes its time.
"""

from __future__ import annotations

import json
import lzma
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ping_pong import ping_pong

import inlaid
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.fit.fasttext import FastText
from inlaid.fit.sgns import SGNS

ROUNDS = 3
SAME = {"subsample": 1e-3, "learning_rate": 0.025}
EAGER = {"subsample": 1e-4, "learning_rate": 0.05}
"""The defaults of gensim, and ours; each is given to both."""
NGRAM_MEGABYTES = 5
RESULTS = Path(__file__).parent / "results" / "train_speed.jsonl"
Run = Callable[[], float]
"""Trains for one epoch and says how many words a second that was."""


def plain_text(data: Path, megabytes: int, folder: Path) -> Path:
    """The first lines of the English slice as words of a to z, so that all tools see the same words."""
    with lzma.open(data / "corpus_enwiki/enwiki_slice.txt.xz") as packed:
        text = packed.read(megabytes * 1_000_000).decode("utf-8", "ignore")
    path = folder / "words.txt"
    path.write_text(
        "\n".join(" ".join(re.findall("[a-z]+", line.lower())) for line in text.split("\n")), "utf-8"
    )
    return path


def ours(
    corpus: Corpus, clock: Callable[[], float], method: type[SGNS | FastText] = SGNS, **settings: object
) -> Run:
    def run() -> float:
        training = method(epochs=1, **(SAME | settings)).start(corpus)  # pyright: ignore[reportArgumentType]
        done = 0
        start = clock()
        while done < training.total:
            done = training.step(done).done
        return training.total / (clock() - start)

    return run


def gensim(path: Path, words: int, sg: int, dim: int, setting: dict[str, float] = SAME) -> Run:
    from gensim.models import Word2Vec

    model = Word2Vec(
        sg=sg,
        vector_size=dim,
        workers=1,
        min_count=5,
        sample=setting["subsample"],
        alpha=setting["learning_rate"],
    )
    model.build_vocab(corpus_file=str(path))

    def run() -> float:
        start = time.process_time()
        model.train(
            corpus_file=str(path),
            total_words=model.corpus_total_words,
            total_examples=model.corpus_count,
            epochs=1,
        )
        return words / (time.process_time() - start)

    return run


def fasttext(path: Path, words: int, name: str, dim: int) -> Run:
    """Without character n-grams: the same model, but its own subsampling threshold, as 1e-3 makes it stop
    with NaN at times: it reads fewer words.

    Its time includes the vocabulary, which it does not let one take apart.
    """
    from fasttext import train_unsupervised

    def run() -> float:
        start = time.process_time()
        train_unsupervised(str(path), name, dim=dim, lr=0.025, epoch=1, minn=0, maxn=0, thread=1, verbose=0)
        return words / (time.process_time() - start)

    return run


def fasttext_ngrams(path: Path, words: int, name: str, dim: int) -> Run:
    """With n-grams, on one core. Twelve threads share it: with fewer than ten, fastText 0.9.3 leaves rows
    unset and stops with NaN."""

    def run() -> float:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return words / pool.submit(_ngram_seconds, str(path), name, dim).result()

    return run


def _ngram_seconds(path: str, name: str, dim: int) -> float:
    """Two epochs less one: setting up two million rows takes seconds, and is not training."""
    from fasttext import train_unsupervised

    os.sched_setaffinity(0, {0})
    taken: list[float] = []
    for epochs in (1, 2):
        start = time.process_time()
        train_unsupervised(path, name, dim=dim, lr=0.05, t=1e-3, epoch=epochs, thread=12, verbose=0)
        taken.append(time.process_time() - start)
    return taken[1] - taken[0]


def compare_ngrams(data: Path, megabytes: int, dim: int, folder: Path) -> None:
    path = plain_text(data, megabytes, folder)
    corpus = encode(path, Encoding(tokenizer="whitespace", normalize=()))
    words = len(corpus.ids)
    cpu = time.process_time
    for objective in ("skipgram", "cbow"):
        runs = {
            "fasttext": fasttext_ngrams(path, words, objective, dim),
            "inlaid": ours(corpus, cpu, FastText, objective=objective, dim=dim, learning_rate=0.05),
        }
        if objective == "cbow":
            runs["inlaid, position weights"] = ours(
                corpus, cpu, FastText, objective=objective, dim=dim, learning_rate=0.05, position_weights=True
            )
        compared(f"{objective} over n-grams of 3 to 6, first {megabytes} MB, one core", runs, "fasttext")


def raw_text_to_file(path: Path, words: int) -> dict[str, Run]:
    """From raw text to vectors in a file, five epochs: reading, counting, training, writing."""
    from gensim.models import Word2Vec

    def theirs() -> float:
        start = time.process_time()
        Word2Vec(corpus_file=str(path), sg=1, workers=1).wv.save_word2vec_format(
            str(path.with_suffix(".bin")), binary=True
        )
        return words / (time.process_time() - start)

    def mine() -> float:
        start = time.process_time()
        inlaid.save(
            inlaid.train(path, "sgns", tokenizer="whitespace", normalize=(), **SAME),
            path.with_suffix(".inlaid"),
        )
        return words / (time.process_time() - start)

    return {"inlaid": mine, "gensim": theirs}


def compared(title: str, runs: dict[str, Run], base: str, beside: Callable[[], str] = lambda: "") -> None:
    for name, run in list(runs.items()):
        try:
            run()  # compiled, loaded, in the page cache
        except RuntimeError as error:  # fastText's NaN
            print(f"{name} left out: {error}")
            del runs[name]
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    notes: list[str] = []
    for _ in range(ROUNDS):
        for name, run in runs.items():
            speeds[name].append(run())
        notes.append(beside())
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    print(f"\n{title} {' '.join(notes)}")
    RESULTS.parent.mkdir(exist_ok=True)
    for name, speed in medians.items():
        print(f"  {name:<40}{speed / 1e6:8.2f} M words/s{speed / medians[base]:8.2f} x {base}")
        with RESULTS.open("a") as file:
            row = {
                "when": time.time(),
                "text": title,
                "what": name,
                "words_per_s": speed,
                "ratio": speed / medians[base],
                "to": base,
            }
            file.write(json.dumps(row | {"beside": notes}) + "\n")


def peers(path: Path, words: int, objective: str, dim: int) -> dict[str, Run]:
    found = {"gensim": gensim(path, words, int(objective == "skipgram"), dim)}
    try:
        found["fasttext, no n-grams"] = fasttext(path, words, objective, dim)
    except ModuleNotFoundError:
        print("fasttext is not installed: left out")
    return found


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    dim = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory() as name:
        path = plain_text(Path(os.environ["INLAID_DATA"]), megabytes, Path(name))
        corpus = encode(path, Encoding(tokenizer="whitespace", normalize=()))
        words = len(corpus.ids)
        size = len(corpus.vocabulary)
        print(f"first {megabytes} MB of English: {words / 1e6:.2f} M words, {size:,} different; dim {dim}")
        cpu = time.process_time
        wall = time.perf_counter
        for objective in ("skipgram", "cbow"):
            mine = {"inlaid": ours(corpus, cpu, objective=objective, dim=dim)}
            compared(f"{objective}, one thread", mine | peers(path, words, objective, dim), "gensim")
            eager = {"inlaid": ours(corpus, cpu, objective=objective, dim=dim, **EAGER)}
            eager["gensim"] = gensim(path, words, int(objective == "skipgram"), dim, EAGER)
            compared(f"{objective}, one thread, subsample 1e-4, learning rate 0.05", eager, "gensim")
        if dim < 300:
            wide = {"inlaid": ours(corpus, cpu, dim=300), "gensim": gensim(path, words, 1, 300)}
            compared("skipgram of dim 300, one thread", wide, "gensim")
        compare_ngrams(Path(os.environ["INLAID_DATA"]), min(megabytes, NGRAM_MEGABYTES), dim, Path(name))
        ping_pong(10)
        threads = {
            "1 worker": ours(corpus, wall, dim=dim),
            "2 workers": ours(corpus, wall, dim=dim, workers=2),
        }
        compared(
            "skipgram, wall time; ns for two threads to wait for each other:",
            threads,
            "1 worker",
            lambda: f"{ping_pong():.0f}",
        )
        compared("skipgram, raw text to saved vectors, 5 epochs", raw_text_to_file(path, words), "gensim")


if __name__ == "__main__":
    main()
