"""The embedded world: bilingual text whose meanings are known in advance.

A small grammar generates sentence pairs from `world.toml`, which holds lexicons, the phrases that go
with them, and frames (sentences with slots). Every word is placed on purpose, so `truth` knows which words
belong together, which relations are parallel, what an ambiguous word means in a sentence, and what a pronoun
refers to.

    for pair in world.pairs(words=1000, seed=1):
        print(pair.zh, pair.en)     # such as 汤姆昨天买了一把椅子。 Yesterday Tom bought a chair.
    world.truth("zh").analogies  # such as Analogy(relation='gender', a='国王', b='王后', c='男人', d='女人')
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Literal

from inlaid.collect import truth as planted
from inlaid.collect.grammar import (
    Concept,
    Pair,
    grammar,
    length,
    pairs_with_spaces,
    plain,
    tokens,
    unspaced,
    until,
)
from inlaid.collect.truth import Truth
from inlaid.config import SEEDS
from inlaid.errors import SettingError
from inlaid.messages import LANGUAGES, Language, Listed


def pairs(*, words: int = 100_000, seed: int = 1) -> Iterator[Pair]:
    """Sentence pairs with at least `words` English words."""
    _check(words, seed)
    return until(words, ((Pair(unspaced(zh), en), length(en)) for zh, en in pairs_with_spaces(seed)))


def sentences(
    language: Language | Literal["both"] = "both", *, words: int = 100_000, seed: int = 1
) -> Iterator[str]:
    """The sentences of the same pairs, at least `words` words; "both" gives whole pairs, Chinese first."""
    _check(words, seed)
    _check_language(language, (*LANGUAGES, "both"))
    wanted = LANGUAGES if language == "both" else (language,)
    return chain.from_iterable(until(words, _sides(wanted, seed)))


def _sides(wanted: tuple[Language, ...], seed: int) -> Iterator[tuple[list[str], int]]:
    """The sentences of each pair in the languages that are wanted, and how many words they have."""
    for pair in pairs_with_spaces(seed):
        sides = [side for side in zip(LANGUAGES, pair, strict=True) if side[0] in wanted]
        yield [plain(text, language) for language, text in sides], sum(length(text) for _, text in sides)


def segmented(*, words: int = 100_000, seed: int = 1) -> Iterator[tuple[str, ...]]:
    """The Chinese sentences of the same pairs, segmented, without punctuation."""
    _check(words, seed)
    return until(words, ((tokens(zh), length(zh)) for zh, _ in pairs_with_spaces(seed)))


def concepts() -> tuple[Concept, ...]:
    """Every meaning of the world, in the order of `world.toml`."""
    return grammar().concepts


def dictionary() -> tuple[str, ...]:
    """Every Chinese word of the world, function words included, sorted."""
    return grammar().dictionary


def truth(language: Language) -> Truth:
    """Everything known in advance about the words of `language`."""
    _check_language(language, LANGUAGES)
    return planted.truth(language)


def _check(words: int, seed: int) -> None:
    if words <= 0:
        raise SettingError("words is {words}; expected at least 1.", words=words)
    if seed not in SEEDS:
        raise SettingError("seed is {seed}; expected {expected}.", seed=seed, expected=SEEDS.message)


def _check_language(language: str, known: tuple[str, ...]) -> None:
    if language not in known:
        raise SettingError(
            "The world has no language '{language}'. Choose one of: {known}.",
            language=language,
            known=Listed(known),
        )
