"""How well does a small translator learn the embedded world in minutes, and what does it owe to its parts?

    python benchmarks/world_models.py [translation] [positions] [residual] [norms] [tying] [--words 100000]
        [--epochs 12] [--seed 1] [--threads 2]

translation: both ways, BLEU (sacreBLEU) and exact matches on new sentences of patterns that the training text
has, on new sentences that have a twin of the same words in another order (both must be right), and on
sentences of patterns that it does not have at all.
positions, residual, norms, tying: Chinese to English again without each of them.
One line of JSON for each, and the answers to 我打你 and 你打我.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from random import Random
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import Tensor, nn

import inlaid
from inlaid.collect.grammar import Frame, drawn, grammar, length, unspaced, until, write
from inlaid.neural.blocks import TransformerBlock
from inlaid.neural.generate import GenerationSettings, generate_texts
from inlaid.neural.model import Model
from inlaid.report import silent

TEST = 800
"""Sentences of each test."""
TWIN_WORDS = 400_000
"""Words of the text that twins are looked for in."""
PATTERNS = 0.04
"""Share of the patterns that are held out."""
KEPT = "我 打 你"
"""The pattern of ORDER, which is not held out."""
ORDER = (("我打你。", "I hit you."), ("你打我。", "You hit me."), ("他打我。", "He hits me."))


class Sentence(NamedTuple):
    """A pair of sentences, and the number of its pattern."""

    zh: str
    en: str
    pattern: int


class Split(NamedTuple):
    training: list[Sentence]
    new_sentences: list[Sentence]
    twins: list[Sentence]
    """Sentences that differ from the one before or after them in word order alone."""
    new_patterns: list[Sentence]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("questions", nargs="*", default=[*QUESTIONS])
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for question in options.questions:
        QUESTIONS[question](options)


def translation(options: Any) -> None:
    for direction in ("zh-en", "en-zh"):
        score("whole", direction, options)


def positions(options: Any) -> None:
    score("without positions", "zh-en", options, positions="none")


def residual(options: Any) -> None:
    with mock.patch.object(TransformerBlock, "_after", without_residual):
        score("without residual connections", "zh-en", options)


def norms(options: Any) -> None:
    with without_norms():
        score("without norms", "zh-en", options)


def tying(options: Any) -> None:
    score("untied", "zh-en", options, tied=False)


QUESTIONS = {each.__name__: each for each in (translation, positions, residual, norms, tying)}


def without_residual(
    block: TransformerBlock, x: Tensor, added: Tensor, norm: nn.Module, dropout: nn.Module
) -> Tensor:
    return added if block.pre_norm else norm(added)


@contextlib.contextmanager
def without_norms() -> Iterator[None]:
    def before(block: TransformerBlock, x: Tensor, norm: nn.Module) -> Tensor:
        return x

    def after(
        block: TransformerBlock, x: Tensor, added: Tensor, norm: nn.Module, dropout: nn.Module
    ) -> Tensor:
        return x + added

    with (
        mock.patch.object(TransformerBlock, "_before", before),
        mock.patch.object(TransformerBlock, "_after", after),
    ):
        yield


def score(who: str, direction: str, options: Any, **settings: Any) -> None:
    """Train a translator, and print what it scores on both kinds of test sentences."""
    import sacrebleu  # `world_variants.py` trains where it is not installed

    split = split_by_pattern(options.words, options.seed)
    began = time.perf_counter()
    model: Model = inlaid.train(
        [(pair.zh, pair.en) for pair in split.training],
        "translation",
        reverse=direction == "en-zh",
        layers=2,
        epochs=options.epochs,
        subwords=3000,
        learning_rate=0.002,
        dropout=0.0,
        seed=options.seed,
        report=silent,
        **settings,
    )
    seconds = time.perf_counter() - began
    for name, test in zip(("new sentences", "twins", "new patterns"), split[1:], strict=True):
        source = [pair.zh if direction == "zh-en" else pair.en for pair in test]
        right = [pair.en if direction == "zh-en" else pair.zh for pair in test]
        found = translated(model, source)
        exact = list(map(str.__eq__, found, right))
        if name == "twins":
            exact = [one and two for one, two in zip(exact[::2], exact[1::2], strict=True)]
        bleu = sacrebleu.metrics.BLEU(tokenize="13a" if direction == "zh-en" else "zh")
        line = {
            "question": f"world translation {direction}",
            "who": who,
            "test": name,
            "BLEU": round(bleu.corpus_score(found, [right]).score, 2),
            "exact": round(sum(exact) / len(exact), 4),
            "sentences": len(test),
            "training pairs": len(split.training),
            "seconds": round(seconds),
            "threads": options.threads,
            "seed": options.seed,
            "signature": str(bleu.get_signature()),
        }
        print(json.dumps(line, ensure_ascii=False), flush=True)
    if direction == "zh-en":
        asked = [zh for zh, _ in ORDER]
        answers = dict(zip(asked, translated(model, asked), strict=True))
        print(json.dumps({"question": "word order", "who": who, **answers}, ensure_ascii=False), flush=True)


def split_by_pattern(words: int, seed: int, sections: Collection[str] | None = None) -> Split:
    """No test sentence is in the training text, and no pattern of `new_patterns` either. With `sections`,
    sentences are of these subjects of the world alone."""
    random = Random(seed)
    held_out = {
        number
        for number, frame in enumerate(grammar().frames)
        if random.random() < PATTERNS and not can_write(frame, KEPT)
    }
    text = [pair for pair in sentences(words, seed, sections) if pair.pattern not in held_out]
    known = {side for pair in text for side in pair[:2]}
    drawn_later = sentences(TWIN_WORDS, seed + 1000, sections)
    new = {pair.zh: pair for pair in drawn_later if not known & set(pair[:2])}
    others = [pair for pair in new.values() if pair.pattern in held_out]
    same = [pair for pair in new.values() if pair.pattern not in held_out]
    return Split(text, same[:TEST], twins_among(same)[:TEST], others[:TEST])


def can_write(frame: Frame, text: str) -> bool:
    return any(text in filler.zh for variable in frame.variables for filler in variable.fillers)


def twins_among(pairs: list[Sentence]) -> list[Sentence]:
    """Pairs of sentences with the same characters and other translations, one after the other."""
    by_characters: defaultdict[str, list[Sentence]] = defaultdict(list)
    for pair in pairs:
        by_characters["".join(sorted(pair.zh))].append(pair)
    groups = [group[:2] for group in by_characters.values() if len(group) > 1]
    return [pair for group in groups if group[0].en != group[1].en for pair in group]


def sentences(words: int, seed: int, sections: Collection[str] | None = None) -> Iterator[Sentence]:
    numbers = {id(frame): number for number, frame in enumerate(grammar().frames)}
    return until(
        words,
        (
            (Sentence(unspaced(zh), en, numbers[id(frame)]), length(en))
            for frame, (zh, en) in ((frame, write(frame, fillers)) for frame, fillers in drawn(Random(seed)))
            if sections is None or frame.section in sections
        ),
    )


def translated(model: Model, texts: list[str]) -> list[str]:
    settings = GenerationSettings(method="greedy", max_new_tokens=50)
    found: list[str] = []
    for start in range(0, len(texts), 64):
        found += generate_texts(model, texts[start : start + 64], settings)
    return [text.strip() for text in found]


if __name__ == "__main__":
    main()
