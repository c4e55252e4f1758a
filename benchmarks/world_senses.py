"""Does a masked model tell the senses of a word apart in contexts that are new to it?

    python benchmarks/world_senses.py [zh] [en] [--words 600000] [--epochs 8] [--seed 1] [--threads 2]

The text is the embedded world's. A cue is a word that occurs beside an ambiguous word in one of its senses
only. Some cues of each sense are held out: no training sentence has the ambiguous word and one of them, and
the sentences to test on have no other cues. The vectors of the word itself are clustered, without labels
(k-means with as many clusters as senses), and scored by the best assignment of clusters to senses. Beside it,
on the same sentences: the mean of the static vectors of the words around it (`sgns`); the static vector of
the word itself is the same in every sentence. One line of JSON for each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch

import inlaid
from inlaid.collect import world
from inlaid.collect.grammar import LANGUAGES, Language, drawn, length, plain, tokens, write
from inlaid.collect.truth import Usage, spans_of
from inlaid.report import silent
from inlaid.study.evaluate.model_space import known_words
from inlaid.study.evaluate.oov import OOVSettings

HELD_OUT = 0.2
"""Share of the sentences of a sense that have held-out cues alone."""
AT_MOST_LOST = 0.7
"""Share of the sentences of a sense that have a held-out cue."""
CANDIDATES = 20
AT_LEAST = 10
"""Test sentences of each sense, or the word is left out."""
AT_MOST = 50
RESTARTS = 20


@dataclass(frozen=True)
class Sentence:
    """A sentence with spaces between its words, and the sense that each ambiguous word has in it."""

    text: str
    words: frozenset[str]
    senses: dict[str, int]


@dataclass(frozen=True)
class Question:
    """A word in a sentence, and its sense there."""

    word: str
    sense: int
    usage: Usage
    around: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("languages", nargs="*", default=["zh", "en"])
    parser.add_argument("--words", type=int, default=600_000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for language in options.languages:
        measure(language, options)


def measure(language: Language, options: Any) -> None:
    text = list(sentences(language, options.words, options.seed))
    held = held_out_cues(text, options.seed)
    training = [plain(each.text, language) for each in text if not has_held_out(each, held)]
    questions = test_questions(language, held, options.seed + 1000)
    words = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
    static = inlaid.train(training, "sgns", epochs=10, seed=options.seed, report=silent, **words)
    began = time.perf_counter()
    model = inlaid.train(
        training,
        "masked",
        tokenizer="word",
        layers=2,
        epochs=options.epochs,
        learning_rate=0.002,
        dropout=0.0,
        seed=options.seed,
        report=silent,
        **words,
    )
    seconds = time.perf_counter() - began
    around = known_words(static, OOVSettings())
    contexts = [" ".join(each.around) for each in questions]
    spaces = {"mean of the static vectors around it": around.sentences(contexts)[0]}
    inside = known_words(model, OOVSettings())
    usages = [each.usage for each in questions]
    spaces["masked: the word itself"] = inside.occurrences(usages)[0]
    for who, table in spaces.items():
        right = separated(questions, np.asarray(table, np.float64))
        by_word = {word: round(float(np.mean(each)), 3) for word, each in right.items()}
        line = {
            "question": "world senses",
            "language": language,
            "who": who,
            "right": round(float(np.mean(np.concatenate([*right.values()]))), 4),
            "contexts": len(questions),
            "words": by_word,
            "training sentences": len(training),
            "left out": len(text) - len(training),
            "seconds": round(seconds),
            "threads": options.threads,
            "seed": options.seed,
        }
        print(json.dumps(line, ensure_ascii=False), flush=True)


def sentences(language: Language, words: int, seed: int) -> Any:
    """Sentences with the senses of their ambiguous words, with at least this many words."""
    meanings = {each.word: [sense.field for sense in each.senses] for each in world.truth(language).senses}
    side = LANGUAGES.index(language)
    for frame, fillers in drawn(Random(seed)):
        text = write(frame, fillers)[side]
        mentions = [mention for filler in fillers for mention in filler.mentions]
        senses: dict[str, int] = {}
        for mention in mentions:
            word = (mention.concept.zh if language == "zh" else mention.concept.en).lower()
            if word in meanings and len(spans_of(text, word, language)) == 1:
                senses[word] = meanings[word].index(mention.concept.field)
        yield Sentence(text, frozenset(tokens(text)), senses)
        words -= length(text)
        if words <= 0:
            return


def held_out_cues(text: list[Sentence], seed: int) -> dict[str, list[dict[str, bool]]]:
    """For each ambiguous word and each of its senses: its cues, and whether each is held out.

    The cues of one sentence after another are held out, until a share of the sentences has no others.
    """
    beside: dict[str, defaultdict[int, list[frozenset[str]]]] = defaultdict(lambda: defaultdict(list))
    for each in text:
        for word, sense in each.senses.items():
            beside[word][sense].append(each.words - {word})
    random = Random(seed)
    cues: dict[str, list[dict[str, bool]]] = {}
    for word, senses in beside.items():
        if len(senses) < 2:
            continue
        seen = {sense: frozenset().union(*contexts) for sense, contexts in senses.items()}
        cues[word] = []
        for sense in sorted(senses):
            others = frozenset().union(*(seen[other] for other in seen if other != sense))
            contexts = [context - others for context in senses[sense] if context - others]
            held = chosen_cues(contexts, random)
            cues[word].append({cue: cue in held for cue in sorted(seen[sense] - others)})
    return cues


def chosen_cues(contexts: list[frozenset[str]], random: Random) -> set[str]:
    """Cues to hold out. Of some contexts drawn at random, the one that takes the fewest others from training
    comes next."""
    held: set[str] = set()
    while sum(context <= held for context in contexts) < HELD_OUT * len(contexts):
        drawn_contexts = [contexts[int(random.random() * len(contexts))] for _ in range(CANDIDATES)]
        offered = [held | context for context in drawn_contexts if not context <= held]
        if not offered:
            continue
        lost = [sum(not context.isdisjoint(cues) for context in contexts) for cues in offered]
        if min(lost) > AT_MOST_LOST * len(contexts):
            break
        held = offered[lost.index(min(lost))]
    return held


def has_held_out(each: Sentence, cues: dict[str, list[dict[str, bool]]]) -> bool:
    """An ambiguous word and a cue that it must not be seen with."""
    return any(
        held.get(word, False)
        for ambiguous in each.words & cues.keys()
        for held in cues[ambiguous]
        for word in each.words
    )


def test_questions(language: Language, cues: dict[str, list[dict[str, bool]]], seed: int) -> list[Question]:
    """Sentences whose cues are all held out; words that have too few in one of their senses are left out."""
    found: dict[str, defaultdict[int, dict[str, Question]]] = defaultdict(lambda: defaultdict(dict))
    for each in sentences(language, 3_000_000, seed):
        for word, sense in each.senses.items():
            if word not in cues or len(found[word][sense]) == AT_MOST:
                continue
            beside = [cues[word][sense].get(other) for other in each.words]
            known = [held for held in beside if held is not None]
            if known and all(known):
                usage = Usage(plain(each.text, language), spans_of(each.text, word, language)[0])
                around = tuple(other for other in tokens(each.text) if other != word)
                found[word][sense][each.text] = Question(word, sense, usage, around)
    return [
        question
        for word, senses in found.items()
        if len(senses) == len(cues[word]) and min(map(len, senses.values())) >= AT_LEAST
        for each in senses.values()
        for question in each.values()
    ]


def separated(questions: list[Question], table: np.ndarray) -> dict[str, np.ndarray]:
    """For each word, which of its sentences are in the cluster of their sense."""
    found: dict[str, np.ndarray] = {}
    for word in dict.fromkeys(each.word for each in questions):
        rows = [row for row, each in enumerate(questions) if each.word == word]
        senses = np.array([questions[row].sense for row in rows])
        found[word] = best_assignment(k_means(table[rows], len(set(senses.tolist()))), senses)
    return found


def k_means(table: np.ndarray, clusters: int) -> np.ndarray:
    """The cluster of each row: the best of several runs of Lloyd's algorithm on unit vectors."""
    rows = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    random = np.random.default_rng(1)
    best = (np.inf, np.zeros(len(rows), int))
    for _ in range(RESTARTS):
        centers = rows[random.choice(len(rows), clusters, replace=False)]
        for _ in range(50):
            distances = ((rows[:, None] - centers[None]) ** 2).sum(axis=2)
            labels = distances.argmin(axis=1)
            centers = np.stack(
                [
                    rows[labels == n].mean(axis=0) if (labels == n).any() else centers[n]
                    for n in range(clusters)
                ]
            )
        best = min(best, (float(distances.min(axis=1).sum()), labels), key=lambda each: each[0])
    return best[1]


def best_assignment(labels: np.ndarray, senses: np.ndarray) -> np.ndarray:
    kinds = sorted(set(senses.tolist()))
    matches = [
        np.array([order[label] for label in labels]) == senses for order in itertools.permutations(kinds)
    ]
    return max(matches, key=lambda each: each.sum()).astype(float)


if __name__ == "__main__":
    main()
