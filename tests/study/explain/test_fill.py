"""Blanks filled and claims about two tables, on tables made to have the answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus
from inlaid.errors import OutOfVocabulary, SettingError, SourceError
from inlaid.feed.cooccurrence import Cells, cooccurrence
from inlaid.fit.ppmi import PPMI
from inlaid.study.explain.fill import fill
from inlaid.study.explain.pseudo_inverse import pseudo_inverse
from inlaid.vectors import Card, Vectors

ADJECTIVES = {"红", "绿", "甜", "酸", "便宜", "贵", "成熟", "新鲜", "有机", "红色"}


def two_tables(corpus: Corpus, dim: int = 200) -> Vectors:
    """Positive PMI as words times contexts, the roots of the singular values on either side."""
    cells = cooccurrence(corpus, window=5)
    forward, _ = PPMI()._associations(cells)
    left, strength, right = np.linalg.svd(Cells(cells.starts, cells.columns, forward).dense())
    root = np.sqrt(strength[:dim])
    table, contexts = ((part[:, :dim] * root).astype(np.float32) for part in (left, right.T))
    card = Card(method="planted", settings={"window": 5}, encoding=corpus.manifest["encoding"])
    return Vectors(corpus.vocabulary.words, table, corpus.vocabulary.counts, card, contexts)


@pytest.fixture(scope="module")
def both(chinese: tuple[Vectors, Corpus]) -> Vectors:
    return two_tables(chinese[1])


@pytest.mark.parametrize("text", ["这是一个___苹果", "这是一个___的苹果", "这是一个＿＿苹果。"])
def test_the_world_says_what_apples_are(both: Vectors, text: str):
    found = fill(both, text, n=10, prior=False)
    first = [each.word for each in found.words[:2]]
    assert first[0] == "红"  # the color that the world gives to nothing but fruit
    assert set(first) <= ADJECTIVES
    assert len(ADJECTIVES & {each.word for each in found.words}) >= 5
    assert found.context[:4] == ("这", "是", "一", "个")
    assert not set(found.context) & {each.word for each in found.words}
    assert found.unknown == ()


def planted(objective: str, *, counted: bool = False) -> Vectors:
    """Sum of context vectors: `red` fits `apple`, `blue` fits `sky`; words and contexts live on different
    axes."""
    words = ["apple", "sky", "red", "blue"]
    inputs, outputs = np.zeros((2, 4, 4), np.float32)
    if objective == "cbow":  # the words around give inputs, candidates outputs
        inputs[0, 0] = inputs[1, 1] = 1
        outputs[2, 0] = outputs[3, 1] = 1
    else:
        inputs[2, 0] = inputs[3, 1] = 1
        outputs[0, 0] = outputs[1, 1] = 1
    card = Card(
        method="sgns",
        settings={"objective": objective, "window": 2, "cbow_combine": "mean", "noise_exponent": 0.75},
    )
    made = Vectors.of(words, inputs, card)
    return dataclasses.replace(made, contexts=outputs, counts=np.array([8, 8, 1, 100]) if counted else None)


@pytest.mark.parametrize("objective", ["cbow", "skipgram"])
def test_each_objective_uses_its_tables_the_way_it_learned_them(objective: str):
    vectors = planted(objective)
    assert fill(vectors, "the ___ apple", n=1).words[0].word == "red"
    assert fill(vectors, "sky is ___", n=1).words[0].word == "blue"
    assert fill(vectors, "the ___ apple").unknown == ("the",)
    assert fill(vectors, "the ___ apple").objective == objective
    assert sum(
        each.probability for each in fill(vectors, "the ___ apple", n=9, include=True).words
    ) == pytest.approx(1)


def test_nearer_words_have_larger_weights():
    vectors = planted("skipgram")
    assert fill(vectors, "___ apple sky", n=1).words[0].word == "red"
    assert fill(vectors, "___ sky apple", n=1).words[0].word == "blue"
    scores = {each.word: each.score for each in fill(vectors, "___ sky apple").words}
    assert scores == {
        "blue": 1.0,
        "red": 0.5,
    }  # a window drawn from 1 and 2 reaches the second word half of the time


def test_the_prior_prefers_frequent_words():
    for objective, power in (("skipgram", 1.0), ("cbow", 0.75)):
        vectors = planted(objective, counted=True)
        scores = {each.word: each.score for each in fill(vectors, "the ___ apple").words}
        assert scores["blue"] == pytest.approx(power * np.log(100))
        assert scores["red"] == pytest.approx(1)
        assert fill(vectors, "the ___ apple", n=1, prior=False).words[0].word == "red"


def test_mistakes_in_blanks(both: Vectors):
    with pytest.raises(SettingError, match="have one"):
        fill(dataclasses.replace(both, contexts=None), "这是___")
    for text, blanks in (("这是苹果", 0), ("__ 是 __", 2)):
        with pytest.raises(SettingError, match=f"holds {blanks} blanks; expected one"):
            fill(both, text)
    with pytest.raises(SourceError, match="no word around"):
        fill(both, "___。")
    with pytest.raises(OutOfVocabulary, match="No word around the blank"):
        fill(both, "zzz ___ qqq")
    with pytest.raises(SettingError, match="n is 0"):
        fill(both, "这是___", n=0)
    assert not fill(
        dataclasses.replace(both, counts=None), "这是___"
    ).prior  # without counts there is nothing to add


def test_where_all_words_are_in_the_text_none_is_left():
    vectors = dataclasses.replace(Vectors.of(["a", "b"], np.eye(2)), contexts=np.eye(2, dtype=np.float32))
    assert fill(vectors, "a ___ b").words == ()


# --- the pseudo-inverse
# -------------------------------------------------------------------------------------------------


def test_a_pseudo_inverse_is_recognised_and_so_is_a_multiple_of_it():
    table = np.random.default_rng(1).standard_normal((40, 5)).astype(np.float32)
    for factor in (1, 7):
        contexts = (factor * np.linalg.pinv(table).T).astype(np.float32)
        found = pseudo_inverse(
            dataclasses.replace(Vectors.of([f"w{id}" for id in range(40)], table), contexts=contexts)
        )
        assert found.cosine == pytest.approx(1, abs=1e-5)
        assert found.missed == pytest.approx(0, abs=1e-5)
        assert found.missed_by_any == pytest.approx(0, abs=1e-5)


def test_what_is_measured_is_the_distance_from_the_matrix_itself():
    random = np.random.default_rng(2)
    table, contexts = random.standard_normal((2, 40, 5)).astype(np.float32)
    inverse = np.linalg.pinv(table.astype(np.float64)).T
    found = pseudo_inverse(
        dataclasses.replace(Vectors.of([f"w{id}" for id in range(40)], table), contexts=contexts)
    )
    best = (inverse * contexts).sum() / (inverse**2).sum()
    assert found.missed == pytest.approx(((contexts - best * inverse) ** 2).sum() / (contexts**2).sum())
    left = contexts - inverse @ np.linalg.lstsq(inverse, contexts.astype(np.float64), rcond=None)[0]
    assert found.missed_by_any == pytest.approx((left**2).sum() / (contexts**2).sum(), rel=1e-5)


def test_two_learned_tables_are_far_from_it(both: Vectors):
    assert pseudo_inverse(both).missed > 0.3


def test_one_table_is_no_answer():
    with pytest.raises(SettingError, match="one table"):
        pseudo_inverse(Vectors.of(["a", "b"], np.eye(2)))
