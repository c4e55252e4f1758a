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
    found = fill(both, text, n=10, prior=0.0)
    words = [each.word for each in found.words]
    assert set(words[:5]) <= ADJECTIVES
    assert "红" in words[:3]  # the color that the world gives to nothing but fruit
    assert len(ADJECTIVES & set(words)) >= 7
    assert "的" not in [each.word for each in fill(both, text, n=5).words]  # the most frequent word
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
    found = fill(vectors, "___ sky apple")
    assert found.weights == (1, 1 / 2)  # 1 / distance
    # The mean of both directions; these tables know only one of them.
    assert {each.word: each.score for each in found.words} == {"blue": 1 / 2, "red": 1 / 4}


def test_skipgram_is_asked_in_both_directions():
    """`red` fits `apple` by one product of the two tables, `blue` by both."""
    vectors = planted("skipgram")
    table = vectors.table.copy()
    contexts = np.array(vectors.contexts)
    table[0, 3] = contexts[3, 3] = 1
    table[3, 0] = 1
    both = dataclasses.replace(Vectors.of(list(vectors.words), table, vectors.card), contexts=contexts)
    assert {each.word: each.score for each in fill(both, "the ___ apple").words} == {
        "blue": 1,
        "red": 1 / 2,
        "sky": 0,
    }


def test_the_prior_prefers_frequent_words():
    for objective, fit in (("skipgram", 1 / 2 * 0.01 / (0.01 + 8 / 117)), ("cbow", 1)):
        vectors = planted(objective, counted=True)
        for prior in (0.125, 1.0):
            scores = {each.word: each.score for each in fill(vectors, "the ___ apple", prior=prior).words}
            assert scores["blue"] == pytest.approx(prior * np.log(100))
            assert scores["red"] == pytest.approx(fit)
        assert fill(vectors, "the ___ apple", n=1, prior=0.0).words[0].word == "red"
        assert fill(vectors, "the ___ apple", n=1, prior=1.0).words[0].word == "blue"


def test_frequent_contexts_say_little():
    """`the` fits `blue` as well as `apple` fits `red`, and is nearer, but it is everywhere."""
    vectors = planted("skipgram")
    words = ["apple", "the", "red", "blue"]
    counts = np.array([10, 100_000, 10, 10])
    common = dataclasses.replace(
        Vectors.of(words, vectors.table, vectors.card), contexts=vectors.contexts, counts=counts
    )
    found = fill(common, "apple the ___", prior=0.0)
    assert [(each.word, each.reason) for each in found.words] == [("red", "apple"), ("blue", "the")]
    uncounted = dataclasses.replace(common, counts=None)
    assert fill(uncounted, "apple the ___").words[0].word == "blue"


@pytest.mark.parametrize("combine", ["mean", "sum"])
def test_a_sum_of_contexts_is_scaled_as_in_training(combine: str):
    vectors = planted("cbow")
    card = dataclasses.replace(vectors.card, settings=vectors.card.settings | {"cbow_combine": combine})
    found = fill(dataclasses.replace(vectors, card=card), "___ apple", n=1)
    assert found.words[0].score == (1 if combine == "mean" else 3)  # a window of 2 has 3 words on average


def test_the_answer_is_marked_in_the_text():
    vectors = planted("skipgram")
    found = fill(vectors, "An apple — so ___!")
    assert str(found.sentence) == "An apple — so **red**!"
    assert found.to_dict()["sentence"] == {"text": "An apple — so red!", "marks": [[14, 17]]}
    assert found.rows()[0] == found.sentence


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
