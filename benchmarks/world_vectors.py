"""How much of the embedded world do vectors of words learn, in each language?

    python benchmarks/world_vectors.py [words of text: 450000] [texts: 5]

Every method with its default settings, on texts of other seeds: the share of words whose nearest neighbor is
of the same field, and of analogies that are right, as means over the texts with 95 % intervals (Student's t)
and the lowest value.
"""

from __future__ import annotations

import sys

import numpy as np

import inlaid
from inlaid.collect import world
from inlaid.report import silent
from inlaid.study.evaluate.statistics import student

METHODS = ("ppmi", "sgns", "fasttext", "glove")
TASKS = {"world-fields": "accuracy", "world-analogies": "3CosAdd"}


def scores(method: str, language: world.Language, words: int, seed: int) -> dict[str, float]:
    chinese = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
    text = world.sentences(language, words=words, seed=seed)
    vectors = inlaid.train(text, method, report=silent, **chinese)
    found = inlaid.evaluate(vectors, list(TASKS))
    return {each.task: each.value for each in found if each.metric == TASKS[each.task]}


def main() -> None:
    words, texts = (int(each) for each in (sys.argv[1:] + ["450000", "5"][len(sys.argv) - 1 :])[:2])
    for method in METHODS:
        for language in ("en", "zh"):
            found = [scores(method, language, words, seed) for seed in range(1, texts + 1)]
            for task in TASKS:
                values = [each[task] for each in found]
                over = student(values)
                print(
                    f"{method:9} {language} {task:16} {np.mean(values):.3f} "
                    f"({over.low:.3f} to {over.high:.3f}), lowest {min(values):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
