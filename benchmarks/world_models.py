"""What do small models learn of the embedded world, in minutes on a CPU?

    python benchmarks/world_models.py [translation] [order] [senses] [--words 100000] [--epochs 12] [--seed 1]

translation: both ways, BLEU (sacreBLEU) and exact matches on sentences that are not in the training text.
order: the same network without positions, on pairs that differ in word order alone (我打你, 你打我).
senses: contextual vectors of a masked model on the task world-senses, beside the mean of static vectors.
One line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import sacrebleu

import inlaid
from inlaid.collect import world
from inlaid.neural.generate import GenerationSettings, generate_texts
from inlaid.neural.model import Model
from inlaid.report import silent

TEST_WORDS = 8_000
ORDER = (("我打你。", "I hit you."), ("你打我。", "You hit me."), ("他打我。", "He hits me."))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("questions", nargs="*", default=["translation", "order", "senses"])
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for question in options.questions:
        {"translation": translation, "order": order, "senses": senses}[question](options)


def translation(options: Any) -> None:
    for direction in ("zh-en", "en-zh"):
        scored(direction, options, positions=None)


def order(options: Any) -> None:
    scored("zh-en", options, positions="none")


def scored(direction: str, options: Any, positions: str | None) -> None:
    pairs = list(world.pairs(words=options.words, seed=options.seed))
    known = {text for pair in pairs for text in (pair.zh, pair.en)}
    test = world.pairs(words=TEST_WORDS, seed=options.seed + 1000)
    test = [pair for pair in test if pair.zh not in known and pair.en not in known]
    began = time.perf_counter()
    model: Model = inlaid.train(
        [(pair.zh, pair.en) for pair in pairs],
        "translation",
        reverse=direction == "en-zh",
        layers=2,
        epochs=options.epochs,
        subwords=3000,
        learning_rate=0.002,
        dropout=0.0,
        positions=positions,
        seed=options.seed,
        report=silent,
    )
    seconds = time.perf_counter() - began
    source = [pair.zh if direction == "zh-en" else pair.en for pair in test]
    right = [pair.en if direction == "zh-en" else pair.zh for pair in test]
    found = translated(model, source)
    bleu = sacrebleu.metrics.BLEU(tokenize="13a" if direction == "zh-en" else "zh")
    line = {
        "question": f"world translation {direction}",
        "positions": positions or "sinusoidal",
        "BLEU": round(bleu.corpus_score(found, [right]).score, 2),
        "exact": round(sum(map(str.__eq__, found, right)) / len(right), 4),
        "test": len(test),
        "pairs": len(pairs),
        "seconds": round(seconds),
        "signature": str(bleu.get_signature()),
    }
    print(json.dumps({**line, "seed": options.seed}, ensure_ascii=False), flush=True)
    if direction == "zh-en":
        answers = translated(model, [zh for zh, _ in ORDER])
        print(
            json.dumps(
                {"order": dict(zip([zh for zh, _ in ORDER], answers, strict=True))}, ensure_ascii=False
            )
        )


def translated(model: Model, texts: list[str]) -> list[str]:
    settings = GenerationSettings(method="greedy", max_new_tokens=50)
    found: list[str] = []
    for start in range(0, len(texts), 64):
        found += generate_texts(model, texts[start : start + 64], settings)
    return [text.strip() for text in found]


def senses(options: Any) -> None:
    for language in ("zh", "en"):
        sentences = list(world.sentences(language, words=3 * options.words, seed=options.seed))
        words = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
        static = inlaid.train(sentences, "sgns", epochs=10, seed=options.seed, report=silent, **words)
        began = time.perf_counter()
        model = inlaid.train(
            sentences,
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
        for who, space in (("sgns", static), ("masked", model)):
            for score in inlaid.evaluate(space, "world-senses", report=silent):
                if score.language == language:
                    line = {"question": "world senses", "who": who, "language": language}
                    line |= {
                        "metric": score.metric,
                        "score": round(score.value, 4),
                        "seconds": round(seconds),
                    }
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
