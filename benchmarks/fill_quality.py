"""How often does `fill` find a content word that was blanked in a sentence of held-out text?

    python benchmarks/fill_quality.py TEXT [TEXT ...] [--train-bytes 40000000] [--held-bytes 6000000]
        [--items 1500] [--epochs 3] [--objectives skipgram cbow] [--seed 1]

TEXT is a Wikipedia with one paragraph a line and an empty line between articles, plain or compressed by xz.
`sgns` is trained on its first bytes; the articles after these give the sentences, one blank each. The first
half of these articles is for development: `SIF` of `inlaid/study/explain/blanks.py` and the default of
`prior` were chosen there. The second half is the test. The peer is the scoring that word2vec's training
suggests: products weighted as its windows are drawn, plus the log frequency of the word. One line of JSON for
each text, objective and half: mean reciprocal rank (MRR) among all words, the share of answers among the
first ten, and the difference of MRR with its 95 % interval (paired bootstrap over sentences).
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import inlaid
from inlaid.collect.normalize import normalizer
from inlaid.collect.sentences import split
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.report import silent
from inlaid.study.explain import blanks
from inlaid.study.explain.fill import FillSettings
from inlaid.vectors import Vectors

FREQUENT = 300
"""The most frequent words are not blanked: most of them are function words."""
LENGTHS = range(8, 41)
"""Known words of a sentence that is used."""
WINDOW = 5
DRAWS = 2000
GRID = [(sif, prior) for sif in (1e-3, 1e-2, 1e-1) for prior in (0.0, 0.125, 0.25, 0.5, 1.0)]


class Item(NamedTuple):
    """A sentence as ids, and the place of its blank."""

    ids: list[int]
    blank: int

    @property
    def context(self) -> np.ndarray:
        return np.array(self.ids[: self.blank] + self.ids[self.blank + 1 :])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--train-bytes", type=int, default=40_000_000)
    parser.add_argument("--held-bytes", type=int, default=6_000_000)
    parser.add_argument("--items", type=int, default=1500)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--objectives", nargs="+", default=["skipgram", "cbow"])
    parser.add_argument("--grid", action="store_true", help="score every setting on the development half")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for path in options.texts:
        text, held = parts(path, options.train_bytes, options.held_bytes)
        corpus = encode(text.split("\n"), Encoding(), workers=1)
        half = len(held) // 2
        halves = {"development": held[:half], "test": held[half:]}
        items = {name: cloze(corpus, articles, options) for name, articles in halves.items()}
        for objective in options.objectives:
            settings = {"objective": objective, "epochs": options.epochs, "seed": options.seed}
            vectors = inlaid.train(corpus, "sgns", **settings, report=silent)
            if options.grid:
                show_grid(vectors, items["development"], {"text": path.name, "objective": objective})
            for name in halves:
                line = {"question": "fill", "text": path.name, "objective": objective, "half": name}
                print(json.dumps(line | compared(vectors, items[name], options.seed)), flush=True)


def parts(path: Path, train_bytes: int, held_bytes: int) -> tuple[str, list[str]]:
    """Whole articles: the text to train on, and the articles after it."""
    with lzma.open(path, "rb") if path.suffix == ".xz" else path.open("rb") as file:
        data = file.read(train_bytes + held_bytes)
    cut = data.rfind(b"\n\n", 0, train_bytes) + 2
    end = data.rfind(b"\n\n") + 2
    return data[:cut].decode(), data[cut:end].decode().strip().split("\n\n")


def cloze(corpus: Corpus, articles: list[str], options: Any) -> list[Item]:
    """Sentences in random order, each with one content word blanked."""
    random = np.random.default_rng(options.seed)
    normalize = normalizer(corpus.manifest["encoding"]["normalize"])
    tokenizer = corpus.tokenizer()
    words = corpus.vocabulary.words
    lines = [line for article in articles for line in article.split("\n")[1:]]  # without its title
    sentences = [sentence for line in lines for sentence in split(line)]
    items: list[Item] = []
    for number in random.permutation(len(sentences)).tolist():
        tokens = tokenizer.words(normalize(sentences[number]))
        ids = [id for token in tokens if (id := words.find(token)) is not None]
        blanks_possible = [place for place, id in enumerate(ids) if is_content(words[id], id, ids)]
        if len(ids) in LENGTHS and blanks_possible:
            items.append(Item(ids, int(random.choice(blanks_possible))))
        if len(items) == options.items:
            break
    return items


def is_content(word: str, id: int, ids: list[int]) -> bool:
    """A word of letters that is not frequent, and occurs once in the sentence. Chinese words of one character
    are mostly function words."""
    chinese = "\u4e00" <= word[0] <= "\u9fff"
    return id >= FREQUENT and word.isalpha() and ids.count(id) == 1 and (len(word) > 1 or not chinese)


def compared(vectors: Vectors, items: list[Item], seed: int) -> dict[str, Any]:
    """Ranks by `fill` and by the peer, on the same sentences."""
    default = FillSettings().prior
    new = np.array([rank(fill_scores(vectors, item, blanks.SIF, default), item) for item in items])
    old = np.array([rank(peer_scores(vectors, item), item) for item in items])
    differences = 1 / new - 1 / old
    random = np.random.default_rng(seed)
    means = differences[random.integers(0, len(items), (DRAWS, len(items)))].mean(axis=1)
    line: dict[str, Any] = {"items": len(items), "words": len(vectors)}
    for name, ranks in (("fill", new), ("peer", old)):
        line[f"{name} MRR"] = round(float((1 / ranks).mean()), 4)
        line[f"{name} top 10"] = round(float((ranks <= 10).mean()), 4)
        line[f"{name} median rank"] = float(np.median(ranks))
    line["difference of MRR"] = round(float(differences.mean()), 4)
    line["95 %"] = [round(float(each), 4) for each in np.quantile(means, (0.025, 0.975))]
    return line


def show_grid(vectors: Vectors, items: list[Item], about: dict[str, str]) -> None:
    for sif, prior in GRID:
        ranks = np.array([rank(fill_scores(vectors, item, sif, prior), item) for item in items])
        figures = {"SIF": sif, "prior": prior, "MRR": round(float((1 / ranks).mean()), 4)}
        print(json.dumps({"question": "grid"} | about | figures), flush=True)


def rank(scores: np.ndarray, item: Item) -> int:
    """The rank of the answer among all words that are not in the text."""
    scores[item.context] = -np.inf
    return 1 + int((scores > scores[item.ids[item.blank]]).sum())


def objective_of(vectors: Vectors) -> blanks.Objective:
    return "cbow" if vectors.card.settings["objective"] == "cbow" else "skipgram"


def fill_scores(vectors: Vectors, item: Item, sif: float, prior: float) -> np.ndarray:
    weights = blanks.context_weights(vectors, item.context, item.blank, sif)
    return blanks.word_scores(vectors, item.context, weights, objective_of(vectors), prior)


def peer_scores(vectors: Vectors, item: Item) -> np.ndarray:
    """The products that were trained, weighted by how often a window reaches each context, plus the log
    frequency: relative to the noise distribution for CBOW, whole for skip-gram."""
    left = item.ids[max(0, item.blank - WINDOW) : item.blank]
    right = item.ids[item.blank + 1 : item.blank + 1 + WINDOW]
    distances = np.array([*range(len(left), 0, -1), *range(1, len(right) + 1)])
    weights = (WINDOW + 1 - distances) / WINDOW
    assert isinstance(vectors.contexts, np.ndarray)
    assert vectors.counts is not None
    if objective_of(vectors) == "cbow":
        center = weights @ vectors.table[left + right] / weights.sum()
        return vectors.contexts @ center + 0.75 * np.log(vectors.counts)
    return vectors.table @ (weights @ vectors.contexts[left + right]) + np.log(vectors.counts)


if __name__ == "__main__":
    main()
