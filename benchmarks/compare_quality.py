"""Does `compare` find the words that changed, and only those?

    python benchmarks/compare_quality.py [groups of texts in each language: 12]

The embedded world, 60,000 words a text, `ppmi` of dim 50; all texts have other seeds. In each group a first
run, two or three other runs, and a second space are compared: once as they are, where every word found is a
false alarm, and with pairs of words swapped in the text of the second space, in all sentences or in every
second one.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

import inlaid
from inlaid.collect import world
from inlaid.report import silent
from inlaid.study.compare.compare import SIGNIFICANT
from inlaid.vectors import Vectors

WORDS = 60_000
DIM = 50
RUNS = (2, 3)
"""Other runs of the first space."""
FREQUENT = 20
"""How often a word occurs in the text, at least, to be swapped."""
SWAPS = {"nothing": (0, 1), "1 pair": (1, 1), "6 pairs": (6, 1), "6 pairs, every second sentence": (6, 2)}
"""How many pairs are swapped, and in every which sentence."""

Sentence = tuple[str, ...]


def sentences(language: world.Language, seed: int) -> list[Sentence]:
    if language == "zh":
        return list(world.segmented(words=WORDS, seed=seed))
    text = world.sentences("en", words=WORDS, seed=seed)
    return [tuple(re.findall(r"[a-z]+", line.lower())) for line in text]


def space(text: Sequence[Sentence]) -> Vectors:
    lines = [" ".join(sentence) for sentence in text]
    return inlaid.train(lines, "ppmi", dim=DIM, tokenizer="whitespace", report=silent)


def pairs_of(text: Sequence[Sentence], language: world.Language, seed: int) -> list[tuple[str, str]]:
    """Twelve frequent words, each of a field of its own, in six pairs."""
    counts = Counter(word for sentence in text for word in sentence)
    fields: dict[str, list[str]] = {}
    for group in world.truth(language).groups:
        fields[group.field] = [word for word in group.words if counts[word] >= FREQUENT]
    random = np.random.default_rng(seed)
    large = [name for name, words in fields.items() if words]
    chosen = [random.choice(fields[large[id]]) for id in random.permutation(len(large))]
    twelve = list(dict.fromkeys(chosen))[:12]
    return list(zip(twelve[:6], twelve[6:], strict=True))


def swapped(text: Sequence[Sentence], pairs: Sequence[tuple[str, str]], every: int) -> Iterator[Sentence]:
    other = dict(pairs) | {b: a for a, b in pairs}
    for number, sentence in enumerate(text):
        yield sentence if number % every else tuple(other.get(word, word) for word in sentence)


def group(language: world.Language, number: int, found: Counter[tuple[str, int, str]]) -> None:
    """Compares the spaces of one group, and counts what was found."""
    seeds = range(1000 + 10 * number, 1010 + 10 * number)
    runs = [space(sentences(language, seed)) for seed in seeds[: 1 + max(RUNS)]]
    text = sentences(language, seeds[-1])
    pairs = pairs_of(text, language, seed=number)
    for name, (several, every) in SWAPS.items():
        changed = pairs[:several]
        second = space(list(swapped(text, changed, every)))
        words = {word for pair in changed for word in pair}
        for others in RUNS:
            moves = inlaid.compare(runs[0], second, seeds=runs[1 : 1 + others]).moved
            moved = {move.word for move in moves if move.p is not None and move.p < SIGNIFICANT}
            found[name, others, "swapped"] += len(words)
            found[name, others, "found"] += len(words & moved)
            found[name, others, "other"] += len(moved - words)
            found[name, others, "words"] += len(moves)


def main() -> None:
    groups = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    for language in ("zh", "en"):
        found = Counter[tuple[str, int, str]]()
        for number in range(groups):
            group(language, number, found)
        for name in SWAPS:
            for others in RUNS:
                counts = {what: found[name, others, what] for what in ("found", "swapped", "other", "words")}
                print(
                    f"{language} {name:32} {others} other runs: {{found}} of {{swapped}} found, "
                    "{other} others of {words:,}".format(**counts),
                    flush=True,
                )


if __name__ == "__main__":
    main()
