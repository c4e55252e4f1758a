"""Sentences of the embedded world with what is known about their words: field, sense, number, tense."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

from inlaid.collect import world
from inlaid.collect.english import Inflection
from inlaid.collect.grammar import Mention, drawn, plain, tokens, write
from inlaid.collect.truth import spans_of
from inlaid.messages import LANGUAGES, Language
from inlaid.study.probe.tagged import LabelledSentence, LabelledWord

NOT_NOUNS = ("verb", "adjective", "feeling", "taste", "colour", "number", "name")
"""Fields without singular and plural, or whose forms are other things."""
IRREGULAR_THIRD = ("has", "goes", "does")


def world_sentences(language: Language, *, seed: int, count: int) -> list[LabelledSentence]:
    """Different sentences of the world, with their words in lower case."""
    found: dict[str, LabelledSentence] = {}
    side = LANGUAGES.index(language)
    for frame, fillers in itertools.islice(drawn(Random(seed)), 20 * count):
        text = write(frame, fillers)[side]
        if text not in found:
            mentions = [each for filler in fillers for each in filler.mentions if each.language == language]
            found[text] = LabelledSentence(plain(text, language), tuple(_words(text, language, mentions)))
        if len(found) == count:
            break
    return list(found.values())


def _words(text: str, language: Language, mentions: list[Mention]) -> Iterator[LabelledWord]:
    """The words that occur once in a sentence, so that it is clear which a mention means."""
    known = {each.text: each for each in mentions}
    for word in dict.fromkeys(tokens(text)):
        spans = spans_of(text, word, language)
        if len(spans) == 1:
            labels = _labels(known[word], language) if word in known else {}
            yield LabelledWord(word, spans[0], labels)


def _labels(mention: Mention, language: Language) -> dict[str, str]:
    field = mention.concept.field
    labels = {"field": field}
    base = (mention.concept.zh if language == "zh" else mention.concept.en).lower()
    if language == "zh":
        return labels
    if field == "verb":
        forms = Inflection({}).forms(base)
        if mention.text in (forms["third"], *IRREGULAR_THIRD):
            labels["tense"] = "present"
        elif mention.text not in (base, forms["ing"]):  # `read` may be either
            labels["tense"] = "past"
    elif field not in NOT_NOUNS:
        labels["number"] = "singular" if mention.text == base else "plural"
    return labels


def world_senses(language: Language) -> list[LabelledSentence]:
    """The planted sentences of ambiguous words, as many of each sense; the sense is the label."""
    return [
        LabelledSentence(
            usage.sentence,
            (LabelledWord(each.word, usage.span, {"sense": f"{each.word}: {sense.field}"}),),
        )
        for each in world.truth(language).senses
        for sense in each.senses
        for usage in sense.usages
    ]
