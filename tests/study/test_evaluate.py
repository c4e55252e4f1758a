"""Scores on vectors whose answers are known: all right, all wrong, some missing."""

from __future__ import annotations

import numpy as np
import pytest

from inlay.collect import world
from inlay.errors import SourceError, UnknownName
from inlay.study.evaluate import evaluate
from inlay.vectors import Vectors


def field_vectors(language: world.Language, *, share: float = 1.0) -> Vectors:
    """Every concept's vector is its field's axis, and a little of its own."""
    words: dict[str, np.ndarray] = {}
    fields = sorted({concept.field for concept in world.concepts()})
    for number, concept in enumerate(world.concepts()):
        vector = np.zeros(len(fields) + 1)
        vector[fields.index(concept.field)] = 1
        vector[-1] = number / 1e4
        words.setdefault((concept.zh if language == "zh" else concept.en).lower(), vector)
    kept = sorted(words)[: int(len(words) * share)]
    return Vectors.of(kept, [words[word] for word in kept])


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_space_made_of_fields_scores_full_marks(language: world.Language):
    score = next(each for each in evaluate(field_vectors(language), ["world-fields"]) if each.language == language)
    assert score.value > 0.99  # a word of two fields has been given one of them
    assert score.low <= score.value <= score.high
    assert score.used == score.total


def test_coverage_counts_what_is_known():
    score = next(each for each in evaluate(field_vectors("zh", share=0.5), ["world-fields"]) if each.language == "zh")
    assert score.used == score.total // 2


def test_random_vectors_score_near_nothing():
    whole = field_vectors("en")
    noise = Vectors(whole.words, np.random.default_rng(1).standard_normal((len(whole), 50)).astype(np.float32))
    scores = {each.task: each for each in evaluate(noise) if each.language == "en"}
    assert scores["world-fields"].high < 0.2
    assert scores["world-analogies"].high < 0.1


def test_planted_analogies_are_solved_exactly():
    """Every word is the sum of its parts, so b - a + c is d to the last digit."""
    truth = world.truth("en")
    relations = sorted({each.relation for each in truth.analogies})
    pairs = sorted({(each.relation, a, b) for each in truth.analogies for a, b in ((each.a, each.b), (each.c, each.d))})
    random = np.random.default_rng(1)
    offset = {relation: random.standard_normal(300) for relation in relations}
    words: dict[str, np.ndarray] = {}
    for relation, a, b in pairs:
        words.setdefault(a, random.standard_normal(300))
        words.setdefault(b, words[a] + offset[relation])
    scores = evaluate(Vectors.of(list(words), np.array(list(words.values()))), ["world-analogies"])
    assert next(each for each in scores if each.language == "en").value > 0.9


def test_vectors_that_know_nothing_are_refused():
    with pytest.raises(SourceError, match="know no word of world-fields or world-analogies"):
        evaluate(Vectors.of(["xyzzy"], [[1.0]]))


def test_an_unknown_task_is_refused():
    with pytest.raises(UnknownName, match="No task is called 'world-field'. Did you mean 'world-fields'?"):
        evaluate(Vectors.of(["cat"], [[1.0]]), ["world-field"])
