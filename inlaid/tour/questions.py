"""Questions: the same seven, put to every generation; answers that stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.errors import MissingExtra, OutOfVocabulary, SettingError
from inlaid.messages import Listed, Message
from inlaid.study.explain.fill import fill
from inlaid.study.search.analogy import analogy
from inlaid.study.search.neighbors import neighbors
from inlaid.study.search.similarity import similarity
from inlaid.tour.content import Asked, asked
from inlaid.tour.models import GENERATIONS, NETWORKS, Models
from inlaid.tour.networks import (
    blank_by_bilm,
    nearest_in_sentence,
    nearest_of,
    pooled_cosine,
    word_in_sentence,
)
from inlaid.vectors import Vectors

NAMES = {
    "onehot": "one-hot",
    "counts": Message("counts"),
    "ppmi": "PPMI",
    "sgns": "Word2Vec",
    "glove": "GloVe",
    "fasttext": "fastText",
    "bilm": "ELMo",
    "masked": "BERT",
    "causal": "GPT",
    "translation": Message("translation"),
}
LONGEST = 20
"""Tokens of a translation."""
SHOWN = 3
"""Words of an answer."""
TIED = 1e-6
"""Cosines closer than this are equal."""
NO_VECTOR = Message("no vector: out of vocabulary")
NO_BLANK = Message("cannot: it predicts no word")
NO_BLANK_IN_SOURCE = Message("cannot: it predicts words of the other language only")
NO_TRANSLATION = Message("cannot")


@dataclass(frozen=True)
class Answer:
    """What one generation answers to one question; `able` is False where it has no way to answer it."""

    generation: str
    question: str
    text: Message
    able: bool


@dataclass(frozen=True)
class Answers:
    """Answers in a table: of one generation by question, or to one question by generation."""

    answers: tuple[Answer, ...]
    by_generation: bool

    def rows(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = [
            (Message("generation") if self.by_generation else Message("question"), Message("answer"))
        ]
        for each in self.answers:
            name = NAMES[each.generation] if self.by_generation else TITLES[each.question]
            rows.append((name, each.text))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "answers": [
                {
                    "generation": each.generation,
                    "question": each.question,
                    "answer": str(each.text),
                    "able": each.able,
                }
                for each in self.answers
            ]
        }


def answers(models: Models, generation: str) -> Answers:
    """All questions, put to one generation."""
    if generation not in GENERATIONS:
        raise SettingError(
            "The tour has no generation '{name}'. There are: {known}.",
            name=generation,
            known=Listed(GENERATIONS),
        )
    found = [answer(models, generation, question) for question in QUESTIONS]
    return Answers(tuple(found), by_generation=False)


def side_by_side(models: Models, question: str) -> Answers:
    """One question, put to all generations."""
    if question not in QUESTIONS:
        raise SettingError(
            "The tour has no question '{name}'. There are: {known}.",
            name=question,
            known=Listed(QUESTIONS),
        )
    found = [answer(models, generation, question) for generation in GENERATIONS]
    return Answers(tuple(found), by_generation=True)


def answer(models: Models, generation: str, question: str) -> Answer:
    """One question, put to one generation."""
    try:
        text, able = QUESTIONS[question](models, generation, asked(models.language))
    except OutOfVocabulary:
        return Answer(generation, question, NO_VECTOR, False)
    except MissingExtra as error:
        return Answer(generation, question, Message("{error}", error=error), False)
    return Answer(generation, question, text, able)


Found = tuple[Message, bool]
"""An answer, and whether the generation has a way to answer at all."""


def _similar(models: Models, name: str, words: Asked) -> Found:
    vectors = models.vectors(name)
    one, two, other = words.near
    near = _between(vectors, one, two)
    far = _between(vectors, one, other)
    text = Message(
        "{one}–{two} {near:.2f}, {one}–{other} {far:.2f}", one=one, two=two, other=other, near=near, far=far
    )
    return text, abs(near - far) > TIED


def _analogy(models: Models, name: str, words: Asked) -> Found:
    found = list(analogy(models.vectors(name), words.analogy, n=SHOWN))
    if abs(found[0].score - found[-1].score) < TIED:
        return Message("all words are equally far"), False
    return _listed(found), True


def _unseen(models: Models, name: str, words: Asked) -> Found:
    vectors = models.vectors(name)
    if name in NETWORKS:
        row = word_in_sentence(models, name, words.unseen_in, words.unseen)
        near = _joined(nearest_in_sentence(vectors, row, SHOWN, without=(words.unseen,)))
        if name in ("masked", "causal"):  # they read words here
            return Message("{words} ([UNK]: by its context alone)", words=near), False
        return Message("{words}", words=near), True
    return _listed(neighbors(vectors, words.unseen, n=SHOWN)), True


def _senses(models: Models, name: str, words: Asked) -> Found:
    if name not in NETWORKS:
        vectors = models.vectors(name)
        same = _cosine(*(vectors[word.lower()] for word in words.word))
        return Message("one vector for both: cosine {cosine:.2f}", cosine=same), False
    rows = [word_in_sentence(models, name, *each) for each in zip(words.senses, words.word, strict=True)]
    vectors = models.vectors(name)
    near = [nearest_of(vectors, row, words.kinds) for row in rows]
    text = Message(
        "cosine {cosine:.2f}; nearest: {first} | {second}",
        cosine=_cosine(*rows),
        first=near[0].word,
        second=near[1].word,
    )
    return text, True


def _order(models: Models, name: str, words: Asked) -> Found:
    if name in NETWORKS:
        return Message("cosine {cosine:.3f}", cosine=pooled_cosine(models, name, *words.order)), True
    vectors = models.vectors(name)
    bags = [_bag(vectors, models.tokenizer.words(text)) for text in words.order]
    return Message("one bag of words: cosine {cosine:.3f}", cosine=_cosine(*bags)), False


def _between(vectors: Vectors, one: str, two: str) -> float:
    return float(similarity(vectors, one, two))


def _bag(vectors: Vectors, words: Sequence[str]) -> np.ndarray:
    """The mean of the vectors of some words."""
    return np.mean([vectors[word.lower()] for word in words], axis=0)


def _blank(models: Models, name: str, words: Asked) -> Found:
    found: Sequence[str] = ()
    if name in ("sgns", "fasttext"):
        made: Any = fill(models[name], words.blank, n=SHOWN)
        found = [each.word for each in made.words]
    elif name == "bilm":
        found = blank_by_bilm(models, words.blank, SHOWN)
    elif name == "masked":
        made = fill(models[name], words.blank, n=SHOWN)
        found = [each.word for each in made.masks[0]]
    elif name == "causal":
        from inlaid.study.use.next import next as next_tokens

        made = next_tokens(models[name], words.blank.partition("___")[0].strip(), n=SHOWN)
        return Message(
            "{words} (reads the left side only)", words=" ".join(each.token.strip() for each in made.tokens)
        ), True
    if not found:
        return (NO_BLANK_IN_SOURCE if name == "translation" else NO_BLANK), False
    return Message("{words}", words=" ".join(found)), True


def _translation(models: Models, name: str, words: Asked) -> Found:
    if name != "translation":
        return NO_TRANSLATION, False
    from inlaid.study.use.translate import translate

    made = translate(models[name], [words.translate], max_new_tokens=LONGEST).translations[0]
    return Message("{text}", text=made.translation.strip()), True


Question = Callable[[Models, str, Asked], Found]
QUESTIONS: dict[str, Question] = {
    "similarity": _similar,
    "analogy": _analogy,
    "unseen": _unseen,
    "senses": _senses,
    "order": _order,
    "blank": _blank,
    "translation": _translation,
}
TITLES = {
    "similarity": Message("similar words"),
    "analogy": Message("analogy"),
    "unseen": Message("unseen word"),
    "senses": Message("one word, two senses"),
    "order": Message("word order"),
    "blank": Message("fill a blank"),
    "translation": Message("translate"),
}


def _listed(found: Sequence[Any]) -> Message:
    return Message("{words}", words=_joined(found))


def _joined(found: Sequence[Any]) -> str:
    return " ".join(each.word for each in found)


def _cosine(one: np.ndarray, two: np.ndarray) -> float:
    return float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))
