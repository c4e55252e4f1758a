"""How good and how fast are classifiers? Inlaid and fastText on the same tokens, with one thread.

    INLAID_DATA=/path/to/data python benchmarks/classify_quality.py [epochs: 10]

SST-2 and TREC (English), ChnSentiCorp, THUCNews headlines and waimai_10k (Chinese). Where a set has no
labelled test part, a fifth of it is held out. fastText reads the tokens that Inlaid made, from a file, in a
random order; settings are the same. Accuracies are means over seeds. Time is CPU time, from the tokens
(fastText) or the texts (Inlaid, segmentation included) to the classifier: the median of the seeds. fastText
stops with "Encountered NaN" in some runs: then the next lower learning rate is tried.
"""

from __future__ import annotations

import csv
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import fasttext
import numpy as np

from inlaid.classification import quantized, train_classifier
from inlaid.classifier import Classifier
from inlaid.collect.sources import TextBlock
from inlaid.feed.bags import cleaner_of
from inlaid.feed.labelled import Labelled
from inlaid.report import silent
from inlaid.study.evaluate.statistics import mean, paired

DATA = Path(os.environ["INLAID_DATA"])
LEARNING_RATES = (0.5, 0.25, 0.1)
SEEDS = (1, 2, 3, 4, 5)


class Parts(NamedTuple):
    """A set: what to train on, and what to test on."""

    train: Labelled
    test: Labelled


def lines(name: str, charset: str = "utf-8") -> list[str]:
    return (DATA / name).read_text(charset).splitlines()


def split(rows: Sequence[tuple[str, str]]) -> Parts:
    """Rows of (text, label): four fifths to train on."""
    mixed = random.Random(0).sample(list(rows), len(rows))
    cut = len(mixed) * 4 // 5
    return Parts(of(mixed[:cut]), of(mixed[cut:]))


def of(rows: Sequence[tuple[str, str]]) -> Labelled:
    return Labelled.of([text for text, _ in rows], [label for _, label in rows])


def labelled_lines(name: str, charset: str = "utf-8") -> Labelled:
    """Lines of a label, a space, and a text; of "NUM:dist" the part before the colon."""
    cut = [line.split(" ", 1) for line in lines(name, charset)]
    return of([(text, label.partition(":")[0]) for label, text in cut])


def chnsenticorp() -> Parts:
    """The texts of the development part that are not in the training part."""
    train = [line.split("\t") for line in lines("cls_chnsenticorp/train.tsv")[1:]]
    test = [line.split("\t") for line in lines("cls_chnsenticorp/dev.tsv")[1:]]
    seen = {text for _, text in train}
    return Parts(
        of([(text, label) for label, text in train]),
        of([(text, label) for _, label, text in test if text not in seen]),
    )


def waimai() -> Parts:
    rows = list(csv.reader(lines("cls_waimai_10k/waimai_10k.csv")))[1:]
    return split([(text, label) for label, text in rows])


SETS: dict[str, Callable[[], Parts]] = {
    "sst2": lambda: Parts(
        labelled_lines("cls_sst2/stsa.binary.train"), labelled_lines("cls_sst2/stsa.binary.test")
    ),
    "trec": lambda: Parts(
        labelled_lines("cls_trec/train.txt", "latin-1"), labelled_lines("cls_trec/test.txt", "latin-1")
    ),
    "chnsenticorp": chnsenticorp,
    "thucnews": lambda: split(
        [(text, label) for text, label in (line.split("\t") for line in lines("cls_thucnews_titles/dev.txt"))]
    ),
    "waimai": waimai,
}


def tokens(texts: Sequence[str], made: Classifier) -> list[str]:
    """The tokens that Inlaid makes of each text, with spaces between them."""
    data = "".join(" ".join(text.split()) + "\n" for text in texts).encode()
    cleaned = cleaner_of(made.card.encoding, made.embedder.bags.words).clean(TextBlock(data, "", 1))
    found = cleaned.text[: cleaned.size].tobytes().decode().split("\n")
    return [" ".join(line.split()) for line in found[: len(texts)]]


class Peer(NamedTuple):
    """What fastText got right, how long it took, and the learning rate that did not end in NaN."""

    right: np.ndarray
    seconds: float
    learning_rate: float


def peer(parts: Parts, made: Classifier, epochs: int, seed: int) -> Peer:
    cut = tokens(parts.train.texts, made)
    order = random.Random(seed).sample(range(len(cut)), len(cut))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"__label__{parts.train.labels[n]} {cut[n]}\n" for n in order)
        file.flush()
        for learning_rate in LEARNING_RATES:
            start = time.process_time()
            try:
                model = fasttext.train_supervised(
                    file.name,
                    lr=learning_rate,
                    epoch=epochs,
                    wordNgrams=2,
                    dim=100,
                    thread=1,
                    seed=seed,
                    verbose=0,
                )
            except RuntimeError:
                continue
            seconds = time.process_time() - start
            found = [
                model.f.predict(f"{text}\n", 1, 0.0, "strict") for text in tokens(parts.test.texts, made)
            ]
            labels = [each[0][1] if each else "" for each in found]
            right = [one == f"__label__{two}" for one, two in zip(labels, parts.test.labels, strict=True)]
            return Peer(np.array(right, float), seconds, learning_rate)
    raise RuntimeError("fastText ended in NaN with every learning rate.")


class Run(NamedTuple):
    """What a seed gave: whether each text of the test part was right, in float32 and int8, and what fastText
    got."""

    right: np.ndarray
    right_int8: np.ndarray
    seconds: float
    peer: Peer


def run(parts: Parts, epochs: int, seed: int) -> Run:
    start = time.process_time()
    made = train_classifier(
        parts.train, learning_rate=LEARNING_RATES[0], epochs=epochs, seed=seed, report=silent
    )
    seconds = time.process_time() - start
    small = quantized(made, parts.test.texts, silent)
    labels = np.array(parts.test.labels)
    right = np.array(made.predict(parts.test.texts)) == labels
    right_int8 = np.array(small.predict(parts.test.texts)) == labels
    return Run(right, right_int8, seconds, peer(parts, made, epochs, seed))


def main(epochs: int) -> None:
    train_classifier(["a b", "c d"] * 5, [0, 1] * 5, report=silent)  # compiles the kernels
    for name, read in SETS.items():
        parts = read()
        runs = [run(parts, epochs, seed) for seed in SEEDS]
        ours = np.mean([run.right for run in runs], axis=0)
        theirs = np.mean([run.peer.right for run in runs], axis=0)
        difference = paired(ours[:, None], theirs[:, None], mean, seed=1)
        seconds = float(np.median([run.seconds for run in runs]))
        peer_seconds = float(np.median([run.peer.seconds for run in runs]))
        result = {
            "set": name,
            "texts": [len(parts.train), len(parts.test)],
            "accuracy": round(float(ours.mean()), 4),
            "int8": round(float(np.mean([run.right_int8 for run in runs])), 4),
            "fasttext": round(float(theirs.mean()), 4),
            "difference": round(difference.difference, 4),
            "interval": [round(difference.interval.low, 4), round(difference.interval.high, 4)],
            "seconds": round(seconds, 2),
            "fasttext_seconds": round(peer_seconds, 2),
            "times_faster": round(peer_seconds / seconds, 1),
            "fasttext_learning_rates": sorted({run.peer.learning_rate for run in runs}),
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
