"""Sentences of the embedded world in which it is known which word belongs to which.

object to verb        我 昨天 吃 了 一 个 苹果: from 苹果 to 吃
pronoun to referent   小明 告诉 小红，他 今天 很 高兴: from 他 to 小明
word to category      苹果 是 一 种 很 甜 的 水果: from 苹果 to 水果
contrast              虽然 天气 很 冷，但 我 还是 决定 出门: from 但 to 虽然
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from random import Random
from typing import NamedTuple

from inlaid.collect import world
from inlaid.collect.grammar import drawn, fill, grammar, plain, write
from inlaid.collect.truth import Span, spans_of
from inlaid.messages import LANGUAGES, Language

MOST = 4000
"""Sentences that are drawn to find those with a relation."""
KINDS = {"fruit": {"zh": "水果", "en": "fruit"}, "country": {"zh": "河流", "en": "rivers"}}
"""What the words of a lexicon are called together, in the frames that say so."""
CONTRAST = {"zh": ("虽然", "但"), "en": ("although", "still")}
CLAUSES: Mapping[Language, tuple[str, str]] = {
    "zh": ("虽然 {clause} ， 但 {who} 还是 {end} 。", "决定 出门|决定 回家|想 游泳|想 跑步|想 跳舞|想 散步"),
    "en": (
        "Although {clause}, {who} still {end}.",
        "decided to go out|decided to go home|want to swim|want to run|want to dance|want to walk",
    ),
}
BEFORE: Mapping[Language, str] = {
    "zh": "|小明 说 ， |我 的 老师 常常 说 ， |昨天 邻居 的 爷爷 告诉 我 ， ",
    "en": "|Xiaoming says that |My teacher often says that |Yesterday the grandfather of my neighbour "
    "told me that ",
}
"""So that the two words are not always at the same place."""
WHO = {"zh": "我|你|我们|他们", "en": "I|you|we|they"}


class Linked(NamedTuple):
    """A sentence, a word of it, and the word that it belongs to."""

    sentence: str
    query: Span
    key: Span


def relations(language: Language, count: int, seed: int) -> dict[str, list[Linked]]:
    """For each relation up to `count` different sentences."""
    found = {
        "object to verb": _objects(language, seed),
        "pronoun to referent": _pronouns(language, seed),
        "word to category": _categories(language, seed),
        "contrast": _contrasts(language, seed),
    }
    return {name: _different(each, count) for name, each in found.items()}


def _different(linked: Iterator[Linked], count: int) -> list[Linked]:
    by_sentence: dict[str, Linked] = {}
    for each in linked:
        by_sentence.setdefault(each.sentence, each)
        if len(by_sentence) == count:
            break
    return list(by_sentence.values())


def _linked(text: str, query: str, key: str, language: Language) -> Iterator[Linked]:
    """The sentence, if each of the two words is in it once."""
    queries = spans_of(text, query.lower(), language)
    keys = spans_of(text, key.lower(), language)
    if len(queries) == 1 and len(keys) == 1:
        yield Linked(plain(text, language), queries[0], keys[0])


def _objects(language: Language, seed: int) -> Iterator[Linked]:
    """Of the frames of verbs: the verb is the first slot of its variable, its object the second."""
    side = LANGUAGES.index(language)
    for frame, fillers in islice(drawn(Random(seed)), MOST):
        if frame.section != "verb":
            continue
        text = write(frame, fillers)[side]
        for variable, filler in zip(frame.variables, fillers, strict=True):
            words = filler.zh if language == "zh" else filler.en
            if variable.name == "verb" and len(words) == 2:
                yield from _linked(text, words[1].split()[-1], words[0], language)


def _pronouns(language: Language, seed: int) -> Iterator[Linked]:
    known = list(world.truth(language).referents)
    rng = Random(seed)
    for each in sorted(known, key=lambda _: rng.random()):
        yield Linked(each.sentence, each.pronoun, each.referent)


def _categories(language: Language, seed: int) -> Iterator[Linked]:
    side = LANGUAGES.index(language)
    wanted = []
    for frame in grammar().frames:
        template = (frame.zh, frame.en)[side]
        for variable in frame.variables:
            kind = KINDS.get(variable.name.rstrip("0123456789"), {}).get(language)
            if kind is not None and f" {kind}" in template:
                wanted.append((frame, variable.name, kind))
    rng = Random(seed)
    for number in range(MOST if wanted else 0):
        frame, name, kind = wanted[number % len(wanted)]
        fillers = fill(frame, rng)
        text = write(frame, fillers)[side]
        filler = next(f for v, f in zip(frame.variables, fillers, strict=True) if v.name == name)
        words = filler.zh if language == "zh" else filler.en
        yield from _linked(text, words[0].split()[-1], kind, language)


def _contrasts(language: Language, seed: int) -> Iterator[Linked]:
    """Clauses of the world of different lengths, so that the distance between the two words varies."""
    rng = Random(seed)
    pattern, ends = CLAUSES[language]
    key, query = CONTRAST[language]
    starts = BEFORE[language].split("|")
    for frame, fillers in islice(drawn(Random(seed)), MOST):
        if frame.section == "greeting":
            continue
        clause = write(frame, fillers)[LANGUAGES.index(language)].rstrip("。.！!？?")
        if language == "en" and clause.split()[0] not in _capitalized():
            clause = clause[0].lower() + clause[1:]
        chosen = [each.split("|")[int(rng.random() * len(each.split("|")))] for each in (WHO[language], ends)]
        start = starts[int(rng.random() * len(starts))]
        text = pattern.format(clause=clause, who=chosen[0], end=chosen[1])
        text = f"{start}{text[0].lower()}{text[1:]}" if start else text
        yield from _linked(text, query, key, language)


@cache
def _capitalized() -> frozenset[str]:
    """English words that have a capital anywhere in a sentence."""
    return frozenset(each.en.split()[0] for each in world.concepts() if each.en[0].isupper()) | {"I"}
