"""The embedded world: bilingual text whose meanings are known in advance.

A small grammar generates sentence pairs from `world.toml`, which holds sheets of words and frames (sentences
with slots). Every word is placed on purpose, so `truth` knows which words belong together, which relations
are parallel, what an ambiguous word means in a sentence, and what a pronoun refers to.

    for pair in world.pairs(words=1000, seed=1):
        print(pair.zh, pair.en)     # such as 汤姆昨天独自买了椅子。 Yesterday Tom bought chairs alone.
    world.truth("zh").analogies  # such as Analogy(relation='gender', a='国王', b='王后', c='男人', d='女人')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, cycle, islice, permutations
from random import Random
from typing import Literal

from inlaid.collect.grammar import (
    ENGLISH_FORMS,
    LANGUAGES,
    Concept,
    Frame,
    Grammar,
    Language,
    Pair,
    Row,
    Variable,
    fill,
    grammar,
    is_word,
    length,
    pairs_with_spaces,
    pick,
    plain,
    tokens,
    unspaced,
    until,
    write,
)
from inlaid.config import SEEDS
from inlaid.errors import SettingError

ANALOGIES_PER_RELATION = 80
EXAMPLES_PER_SENSE = 20
INDICATORS_PER_SENSE = 10
REFERENTS_PER_FRAME = 20


@dataclass(frozen=True)
class Group:
    """The words of a semantic field, with the inflected forms that occur in the text."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Analogy:
    """`a` is to `b` as `c` is to `d`."""

    relation: str
    a: str
    b: str
    c: str
    d: str


@dataclass(frozen=True)
class Sense:
    """One meaning of an ambiguous word."""

    field: str
    indicators: tuple[str, ...]
    """Words that occur only in sentences with this meaning, most frequent first."""
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Ambiguity:
    """An ambiguous word and its meanings."""

    word: str
    senses: tuple[Sense, ...]


@dataclass(frozen=True)
class Referent:
    """What a pronoun in a sentence refers to."""

    sentence: str
    pronoun: str
    referent: str


@dataclass(frozen=True)
class Truth:
    """What is known about the words of one language; words are in lower case, as in a trained vocabulary."""

    language: Language
    groups: tuple[Group, ...]
    analogies: tuple[Analogy, ...]
    senses: tuple[Ambiguity, ...]
    translations: tuple[Pair, ...]
    referents: tuple[Referent, ...]


def pairs(*, words: int = 100_000, seed: int = 1) -> Iterator[Pair]:
    """Sentence pairs with at least `words` English words."""
    _check(words, seed)
    return until(words, ((Pair(unspaced(zh), en), length(en)) for zh, en in pairs_with_spaces(seed)))


def sentences(
    language: Language | Literal["both"] = "both", *, words: int = 100_000, seed: int = 1
) -> Iterator[str]:
    """The sentences of the same pairs, with at least `words` words; "both" alternates, Chinese first."""
    _check(words, seed)
    _check_language(language, (*LANGUAGES, "both"))
    wanted = LANGUAGES if language == "both" else (language,)
    sides = chain.from_iterable(zip(LANGUAGES, pair, strict=True) for pair in pairs_with_spaces(seed))
    return until(words, ((plain(text, side), length(text)) for side, text in sides if side in wanted))


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


@cache
def truth(language: Language) -> Truth:
    """Everything known in advance about the words of `language`."""
    _check_language(language, LANGUAGES)
    world = grammar()
    return Truth(
        language=language,
        groups=_groups(world, language),
        analogies=tuple(_analogies(world, language)),
        senses=_ambiguities(world, language),
        translations=tuple(dict.fromkeys(Pair(concept.zh, concept.en.lower()) for concept in world.concepts)),
        referents=tuple(_referents(world, language)),
    )


# ---- The truth, derived from rows and frames


def _groups(world: Grammar, language: Language) -> tuple[Group, ...]:
    fields: dict[str, dict[str, None]] = {}
    for variable in (v for frame in world.frames for v in frame.variables):
        for key in variable.keys[language]:
            for filling in variable.fillings:
                _note_form(fields, filling.row, key, language)
    return tuple(Group(field, tuple(words)) for field, words in fields.items())


def _note_form(fields: dict[str, dict[str, None]], row: Row, key: str, language: Language) -> None:
    """Add the form a slot writes to the field of its concept; `a cat` counts as `cat`."""
    head, _, last = key.rpartition(".")
    column = head if last in ENGLISH_FORMS else key
    text = row.text[language][column if last == "a" else key].lower()
    if column in row.concepts and is_word(text):
        fields.setdefault(row.concepts[column].field, {})[text] = None


def _analogies(world: Grammar, language: Language) -> Iterator[Analogy]:
    """All ordered pairs of rows of a relation, or a fixed sample if there are many."""
    for relation, members in world.relations.items():
        ends = dict.fromkeys(
            (row.text[language][""], row.text[language].get(key, "")) for row, key in members
        )
        known = [(a.lower(), b.lower()) for a, b in ends if b and is_word(a, b)]
        rng = Random(0)
        shuffled = sorted(permutations(known, 2), key=lambda _: rng.random())
        for (a, b), (c, d) in shuffled[:ANALOGIES_PER_RELATION]:
            yield Analogy(relation, a, b, c, d)


def _ambiguities(world: Grammar, language: Language) -> tuple[Ambiguity, ...]:
    meanings: dict[str, list[Concept]] = {}
    for concept in world.concepts:
        meanings.setdefault(getattr(concept, language).lower(), []).append(concept)
    return tuple(
        Ambiguity(word, _senses(world, language, known)) for word, known in meanings.items() if len(known) > 1
    )


def _senses(world: Grammar, language: Language, meanings: list[Concept]) -> tuple[Sense, ...]:
    texts = [_examples(world, concept, language) for concept in meanings]
    counts = [Counter(token for text in known for token in tokens(text)) for known in texts]
    return tuple(
        Sense(
            field=concept.field,
            indicators=_indicators(counts[n], counts[:n] + counts[n + 1 :]),
            sentences=tuple(plain(text, language) for text in texts[n]),
        )
        for n, concept in enumerate(meanings)
    )


def _indicators(counts: Counter[str], others: list[Counter[str]]) -> tuple[str, ...]:
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(word for word in ranked if not any(word in other for other in others))[:INDICATORS_PER_SENSE]


def _examples(world: Grammar, concept: Concept, language: Language) -> list[str]:
    """Sentences that use the word of `concept` in that meaning, from all its frames; Chinese has spaces."""
    rng = Random(0)
    word = getattr(concept, language).lower()
    examples: dict[str, None] = {}
    for frame, variable in islice(cycle(_places(world, concept)), 10 * EXAMPLES_PER_SENSE):
        filling = pick(variable.fillings, rng, set())
        fillings = fill(frame, rng, {variable.name: filling})
        text = write(frame, fillings)[LANGUAGES.index(language)]
        if word in tokens(text):  # English may use the plural there, which need not be ambiguous
            examples[text] = None
    return list(examples)[:EXAMPLES_PER_SENSE]


def _places(world: Grammar, concept: Concept) -> Iterator[tuple[Frame, Variable]]:
    """Frames that can express `concept`, and their variables limited to the rows that do."""
    for frame in world.frames:
        for variable in frame.variables:
            keys = variable.keys["zh"]
            fillings = tuple(
                filling
                for filling in variable.fillings
                if any(filling.row.concepts.get(key) == concept for key in keys)
            )
            if fillings:
                yield frame, replace(variable, fillings=fillings)


def _referents(world: Grammar, language: Language) -> Iterator[Referent]:
    rng = Random(0)
    for frame in (frame for frame in world.frames if frame.pronoun):
        name, _, key = frame.pronoun.partition(".")
        place = [variable.name for variable in frame.variables].index(name)
        for _ in range(REFERENTS_PER_FRAME):
            fillings = fill(frame, rng)
            forms = fillings[place].row.text[language]
            text = write(frame, fillings)[LANGUAGES.index(language)]
            yield Referent(plain(text, language), forms[key], forms[""].lower())


def _check(words: int, seed: int) -> None:
    if words <= 0:
        raise SettingError("words is {words}; expected at least 1.", words=words)
    if seed not in SEEDS:
        raise SettingError("seed is {seed}; expected {expected}.", seed=seed, expected=SEEDS)


def _check_language(language: str, known: tuple[str, ...]) -> None:
    if language not in known:
        raise SettingError(
            "The world has no language '{language}'. Choose one of: {known}.",
            language=language,
            known=", ".join(known),
        )
