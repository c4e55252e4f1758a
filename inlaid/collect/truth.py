"""What is known in advance about the embedded world: fields, relations, senses, referents, translations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, cycle, islice, permutations
from random import Random
from typing import NamedTuple

from inlaid.collect.grammar import (
    PUNCTUATION,
    Concept,
    Filler,
    Frame,
    Grammar,
    Item,
    Pair,
    Variable,
    drawn,
    fill,
    grammar,
    is_word,
    pick,
    plain,
    tokens,
    write,
)
from inlaid.messages import LANGUAGES, Language

ANALOGIES_PER_RELATION = 80
EXAMPLES_PER_SENSE = 20
INDICATORS_PER_SENSE = 10
REFERENTS_PER_FRAME = 20
PAIRS_PER_GRADE = 100
TEXTS_PER_SUBJECT = 20
DRAWN = 6000
"""Sentences from which those for similarity and classification are chosen."""
SUBJECT_OF_ANYTHING = "everyday"
"""Sections with words of every field: their sentences are about no subject of their own."""


class Span(NamedTuple):
    """Where a word is in its sentence, in characters; the end is excluded."""

    start: int
    end: int


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
class Usage:
    """A word in a sentence."""

    sentence: str
    span: Span


@dataclass(frozen=True)
class Sense:
    """One meaning of an ambiguous word."""

    field: str
    indicators: tuple[str, ...]
    """Words that occur only in sentences with this meaning, most frequent first."""
    usages: tuple[Usage, ...]


@dataclass(frozen=True)
class Ambiguity:
    """An ambiguous word and its meanings."""

    word: str
    senses: tuple[Sense, ...]


@dataclass(frozen=True)
class Referent:
    """A pronoun in a sentence, what it refers to, and what else it might refer to."""

    sentence: str
    pronoun: Span
    referent: Span
    other: Span


@dataclass(frozen=True)
class Likeness:
    """Two words or two sentences, and how close their meanings are: a higher grade is closer."""

    one: str
    two: str
    grade: int


@dataclass(frozen=True)
class Text:
    """A sentence, or a word, and what it is about."""

    text: str
    subject: str


@dataclass(frozen=True)
class Texts:
    """Words to learn subjects from, and sentences to test them on; no sentence has one of these words."""

    train: tuple[Text, ...]
    test: tuple[Text, ...]


@dataclass(frozen=True)
class Truth:
    """What is known about the words of one language; words are in lower case, as in a trained vocabulary.

    Each part is derived when it is first asked for.
    """

    language: Language

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return _groups(grammar(), self.language)

    @cached_property
    def analogies(self) -> tuple[Analogy, ...]:
        return tuple(_analogies(grammar(), self.language))

    @cached_property
    def senses(self) -> tuple[Ambiguity, ...]:
        return _ambiguities(grammar(), self.language)

    @cached_property
    def translations(self) -> tuple[Pair, ...]:
        return tuple(dict.fromkeys(Pair(concept.zh, concept.en.lower()) for concept in grammar().concepts))

    @cached_property
    def referents(self) -> tuple[Referent, ...]:
        return tuple(_referents(grammar(), self.language))

    @cached_property
    def word_pairs(self) -> tuple[Likeness, ...]:
        """Grade 3: related words of one field (king, queen); 2: words of one field; 1: words of fields with
        the same subject; 0: of different subjects."""
        return tuple(_word_pairs(grammar(), self.language))

    @cached_property
    def sentence_pairs(self) -> tuple[Likeness, ...]:
        """Sentences that share no word. Grade 2: of the same section; 1: of the same subject; 0: of different
        subjects."""
        return tuple(_sentence_pairs(self.language))

    @cached_property
    def texts(self) -> Texts:
        return _texts(grammar(), self.language)


@cache
def truth(language: Language) -> Truth:
    return Truth(language)


# ---- Words


def _groups(world: Grammar, language: Language) -> tuple[Group, ...]:
    fields: dict[str, dict[str, None]] = {}
    variables = (variable for frame in world.frames for variable in frame.variables)
    for mention in (m for variable in variables for filler in variable.fillers for m in filler.mentions):
        if mention.language == language and is_word(mention.text):
            fields.setdefault(mention.concept.field, {})[mention.text] = None
    return tuple(Group(field, tuple(words)) for field, words in fields.items())


def _analogies(world: Grammar, language: Language) -> Iterator[Analogy]:
    """All ordered pairs of entries of a relation, or a fixed sample if there are many."""
    for relation, members in world.relations.items():
        ends = dict.fromkeys(
            (entry.text[language][""], entry.text[language].get(key, "")) for entry, key in members
        )
        known = [(a.lower(), b.lower()) for a, b in ends if b and is_word(a, b)]
        for (a, b), (c, d) in _shuffled(permutations(known, 2))[:ANALOGIES_PER_RELATION]:
            yield Analogy(relation, a, b, c, d)


def _word_pairs(world: Grammar, language: Language) -> Iterator[Likeness]:
    """The related words of one field, and more pairs of each lower grade; all of words with one meaning."""
    ambiguous = _ambiguous(world, language)
    fields = {
        word: concept.field
        for concept in world.concepts
        if (word := _word(concept, language)) not in ambiguous
    }
    related = [
        (entry.text[language][""].lower(), entry.text[language].get(key, "").lower())
        for members in world.relations.values()
        for entry, key in members
    ]
    related = [(one, two) for one, two in related if one in fields and fields[one] == fields.get(two)]
    words = list(fields)
    rng = Random(0)
    grades: dict[int, dict[tuple[str, str], None]] = {0: {}, 1: {}, 2: {}}
    while min(map(len, grades.values())) < PAIRS_PER_GRADE:
        one, two = (words[int(rng.random() * len(words))] for _ in range(2))
        grade = _grade(world, fields[one], fields[two])
        if one < two and (one, two) not in related and len(grades[grade]) < PAIRS_PER_GRADE:
            grades[grade][one, two] = None
    for grade, pairs in {**grades, 3: dict.fromkeys(related)}.items():
        yield from (Likeness(one, two, grade) for one, two in pairs)


def _grade(world: Grammar, one: str, two: str) -> int:
    """How close two fields are."""
    if one == two:
        return 2
    subject = world.subjects[one]
    return int(subject == world.subjects[two] and subject != SUBJECT_OF_ANYTHING)


# ---- Words in sentences


def _ambiguities(world: Grammar, language: Language) -> tuple[Ambiguity, ...]:
    return tuple(
        Ambiguity(word, _senses(world, language, meanings))
        for word, meanings in _ambiguous(world, language).items()
    )


def _ambiguous(world: Grammar, language: Language) -> dict[str, list[Concept]]:
    meanings: dict[str, list[Concept]] = {}
    for concept in world.concepts:
        meanings.setdefault(_word(concept, language), []).append(concept)
    return {word: known for word, known in meanings.items() if len(known) > 1}


def _senses(world: Grammar, language: Language, meanings: list[Concept]) -> tuple[Sense, ...]:
    texts = [_examples(world, concept, language) for concept in meanings]
    counts = [Counter(token for text in known for token in tokens(text)) for known in texts]
    return tuple(
        Sense(
            field=concept.field,
            indicators=_indicators(counts[n], counts[:n] + counts[n + 1 :]),
            usages=tuple(Usage(plain(text, language), span) for text, span in texts[n].items()),
        )
        for n, concept in enumerate(meanings)
    )


def _indicators(counts: Counter[str], others: list[Counter[str]]) -> tuple[str, ...]:
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(word for word in ranked if not any(word in other for other in others))[:INDICATORS_PER_SENSE]


def _examples(world: Grammar, concept: Concept, language: Language) -> dict[str, Span]:
    """Sentences that use the word of `concept` once, in that meaning, from all its frames; with spaces."""
    rng = Random(0)
    word = _word(concept, language)
    examples: dict[str, Span] = {}
    for frame, variable in islice(cycle(_places(world, concept)), 20 * EXAMPLES_PER_SENSE):
        fillers = fill(frame, rng, {variable.name: pick(variable, rng, set())})
        text = write(frame, fillers)[LANGUAGES.index(language)]
        spans = spans_of(text, word, language)
        if len(spans) == 1 and len(examples) < EXAMPLES_PER_SENSE:
            examples[text] = spans[0]
    return examples


def _places(world: Grammar, concept: Concept) -> Iterator[tuple[Frame, Variable]]:
    """Frames that can express `concept`, and their variables limited to the fillers that do."""
    for frame in world.frames:
        for variable in frame.variables:
            fillers = tuple(
                filler
                for filler in variable.fillers
                if any(mention.concept == concept for mention in filler.mentions)
            )
            if fillers:
                cumulative_weights = tuple(accumulate(filler.weight for filler in fillers))
                yield frame, replace(variable, fillers=fillers, cumulative_weights=cumulative_weights)


def _referents(world: Grammar, language: Language) -> Iterator[Referent]:
    """Questions with two candidates: those of frames that name two people, a man and a woman."""
    rng = Random(0)
    for frame in (frame for frame in world.frames if frame.pronoun):
        name, _, key = frame.pronoun.partition(".")
        for _ in range(REFERENTS_PER_FRAME):
            fillers = fill(frame, rng)
            people = {
                variable.name: filler.entry.text[language]
                for variable, filler in zip(frame.variables, fillers, strict=True)
                if key in filler.entry.text[language]
            }
            if len(people) == 2:
                (other,) = (forms for each, forms in people.items() if each != name)
                text = write(frame, fillers)[LANGUAGES.index(language)]
                asked = (people[name][key], people[name][""], other[""])
                spans = [spans_of(text, word.lower(), language) for word in asked]
                yield Referent(plain(text, language), *(span[0] for span in spans))


def spans_of(text: str, word: str, language: Language) -> list[Span]:
    """Where `word` is in a sentence with spaces, as characters of the plain sentence."""
    pieces = text.split(" ")
    wanted = word.split(" ")
    found: list[Span] = []
    start = 0
    for n, piece in enumerate(pieces):
        held = [each.strip(PUNCTUATION).lower() for each in pieces[n : n + len(wanted)]]
        if held == wanted:
            length = len(plain(" ".join(wanted), language))
            found.append(Span(start, start + length))
        start += len(piece) + (language == "en")
    return found


# ---- Sentences


class _Drawn(NamedTuple):
    frame: Frame
    fillers: list[Filler]
    text: str
    words: frozenset[str]


@cache
def _sentences(language: Language) -> tuple[_Drawn, ...]:
    """Different sentences about a subject, those of all sections mixed."""
    found: dict[str, _Drawn] = {}
    for frame, fillers in islice(drawn(Random(0)), DRAWN):
        if frame.subject != SUBJECT_OF_ANYTHING:
            text = write(frame, fillers)[LANGUAGES.index(language)]
            found[text] = _Drawn(frame, fillers, plain(text, language), frozenset(tokens(text)))
    return tuple(found.values())


def _sentence_pairs(language: Language) -> Iterator[Likeness]:
    """Pairs without a common word: what they share is meaning, not spelling."""
    known = _sentences(language)
    rng = Random(1)
    made: dict[int, dict[tuple[str, str], None]] = {0: {}, 1: {}, 2: {}}
    while min(map(len, made.values())) < PAIRS_PER_GRADE:
        one, two = (known[int(rng.random() * len(known))] for _ in range(2))
        same_subject = one.frame.subject == two.frame.subject
        grade = same_subject + (one.frame.section == two.frame.section)
        if len(made[grade]) < PAIRS_PER_GRADE and one.words.isdisjoint(two.words):
            made[grade][one.text, two.text] = None
    return (Likeness(*pair, grade) for grade, pairs in made.items() for pair in pairs)


def _texts(world: Grammar, language: Language) -> Texts:
    """Every second word of the fields of a subject, and sentences about it that have none of these words."""
    train = {
        _word(concept, language): world.subjects[concept.field]
        for concept in world.concepts[::2]
        if world.subjects[concept.field] != SUBJECT_OF_ANYTHING
    }
    for ambiguity in _ambiguous(world, language):
        train.pop(ambiguity, None)
    test: defaultdict[str, list[Text]] = defaultdict(list)
    for each in _sentences(language):
        subject = each.frame.subject
        if len(test[subject]) < TEXTS_PER_SUBJECT and each.words.isdisjoint(train):
            test[subject].append(Text(each.text, subject))
    return Texts(
        train=tuple(Text(word, subject) for word, subject in train.items()),
        test=tuple(text for texts in test.values() for text in texts),
    )


def _word(concept: Concept, language: Language) -> str:
    return (concept.zh if language == "zh" else concept.en).lower()


def _shuffled(items: Iterable[Item]) -> list[Item]:
    """In a fixed order that mixes them."""
    rng = Random(0)
    return sorted(items, key=lambda _: rng.random())
