"""Two languages in one space: align two spaces with a dictionary, or train on sentences joined with their
translations?

    python benchmarks/bilingual_quality.py [words of text in each language: 300000] [seeds: 5]

The embedded world, whose translations are known; every seed is another text and another initialization.
Aligned spaces are tested by five-fold cross-validation, so that no test pair was trained on. Means over seeds
with 95 % intervals (Student's t).
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np

import inlaid
from inlaid.collect import world
from inlaid.report import silent
from inlaid.study.compare.align import AlignSettings, align
from inlaid.study.compare.bilingual import Retrieval, precision
from inlaid.study.evaluate.statistics import student
from inlaid.vectors import Vectors

FOLDS = 5
DIM = 100
METHODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ppmi": ({}, {"window": None}),
    "sgns": ({"epochs": 20}, {"epochs": 20, "window": 40}),
}
"""Settings of each approach; joined sentences need a window that reaches the translation."""
ASKED = [("男人", "man"), ("女人", "woman")]
"""The pairs whose differences should be the same; left out of the training dictionary."""
Found = dict[str, list[float]]


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def offsets(space: Vectors, found: Found, approach: str) -> None:
    """The cosine of 男人 and man, and whether 女人 - woman equals 男人 - man (both are zero where the spaces
    coincide)."""
    zh, en = ([space[pair[side]] for pair in ASKED] for side in (0, 1))
    found[f"{approach}: cosine of 男人 and man"].append(cosine(zh[0], en[0]))
    found[f"{approach}: cosine of 女人 - woman + man and 男人"].append(cosine(zh[1] - en[1] + en[0], zh[0]))
    nearest = [each.word for each in inlaid.neighbors(space, "男人", n=1)]
    found[f"{approach}: the nearest of 男人 is man"].append(float(nearest == ["man"]))
    answer = [each.word for each in inlaid.analogy(space, "女人 - woman + man", n=1)]
    found[f"{approach}: 女人 - woman + man is 男人"].append(float(answer == ["男人"]))


def aligned(
    method: str, settings: dict[str, Any], words: int, seed: int, pairs: list[tuple[str, str]], found: Found
) -> None:
    zh, en = (
        inlaid.train(
            world.sentences(language, words=words, seed=seed),
            method,
            dim=DIM,
            report=silent,
            **settings,
            **({"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}),
            **({"seed": seed} if method == "sgns" else {}),
        )
        for language in ("zh", "en")
    )
    right = defaultdict[str, float](float)
    asked = 0
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    for fold in range(FOLDS):
        out = {pairs[id] for id in order[fold::FOLDS]}
        scores = align(zh, en, [pair for pair in pairs if pair not in out], test=sorted(out)).precision
        for each in scores:
            if each.at == 1:
                right[f"aligned, {each.mapping}, {each.by}"] += each.value * each.used
        asked += scores[0].used
    for name, number in right.items():
        found[name].append(number / asked)
    made = align(zh, en, [pair for pair in pairs if pair not in ASKED], AlignSettings(held_out=0.0))
    offsets(made.joint(("zh", "en")), found, "aligned")


def together(
    method: str, settings: dict[str, Any], words: int, seed: int, pairs: list[tuple[str, str]], found: Found
) -> None:
    lines = iter(world.sentences("both", words=2 * words, seed=seed))
    joined = [f"{zh} {en}" for zh, en in zip(lines, lines, strict=True)]
    more = {"seed": seed} if method == "sgns" else {}
    space = inlaid.train(
        joined,
        method,
        dim=DIM,
        dictionary=world.dictionary(),
        force_dictionary=True,
        report=silent,
        **settings,
        **more,
    )
    is_zh = np.array([not word.isascii() for word in space.words])
    sides = [
        Vectors.of([space.words[id] for id in ids.tolist()], space.table[ids], space.card)
        for ids in map(np.flatnonzero, (is_zh, ~is_zh))
    ]
    for each in precision(Retrieval(*sides), pairs, at=(1,)):
        found[f"together, {each.by}"].append(each.value)
    offsets(space, found, "together")


def main() -> None:
    words, seeds = (int(each) for each in (sys.argv[1:] + ["300000", "5"][len(sys.argv) - 1 :])[:2])
    pairs = [(concept.zh, concept.en) for concept in world.concepts()]
    print(f"{words:,} words of text in each language, {len(pairs)} pairs, dim {DIM}, {seeds} seeds")
    for method, (apart, joined) in METHODS.items():
        found: Found = defaultdict(list)
        for seed in range(1, seeds + 1):
            aligned(method, apart, words, seed, pairs, found)
            together(method, joined, words, seed, pairs, found)
        best = [
            max(
                (name for name in found if name.startswith(approach + ",")),
                key=lambda name: np.mean(found[name]),
            )
            for approach in ("aligned", "together")
        ]
        found[f"difference: {best[1]} less {best[0]}"] = (
            np.array(found[best[1]]) - np.array(found[best[0]])
        ).tolist()
        for name, values in found.items():
            over = student(values)
            print(
                f"{method:5} {name:70} {np.mean(values):6.3f}  ({over.low:.3f} to {over.high:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
