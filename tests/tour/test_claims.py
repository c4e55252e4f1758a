"""Claims are measured on data whose answer is known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.tour import claims
from inlaid.tour.claims import Measured
from inlaid.vectors import Vectors


def values(measured: Measured) -> list[str]:
    return [str(each.value) for each in measured.lines]


def random_vectors(dim: int = 8, words: int = 60, seed: int = 1) -> Vectors:
    table = np.random.default_rng(seed).normal(size=(words, dim)).astype(np.float32)
    return Vectors.of([f"w{n}" for n in range(words)], table)


def test_softmax_of_the_scores_that_are_often_told():
    assert values(claims.softmax_of_scores())[1] == "0.011 0.036 0.942 0.011"


def test_softmax_keeps_large_scores_finite():
    assert claims.softmax(np.array([1000.0, 0.0])).tolist() == [1.0, 0.0]


def test_the_variance_of_scores_is_their_dimension():
    first = values(claims.scores_by_dim((16, 256)))
    for line, dim in zip(first, (16, 256), strict=False):
        variance, scaled = (float(each) for each in line.partition(";")[0].split("/"))
        assert variance == pytest.approx(dim, rel=0.15)
        assert scaled == pytest.approx(1, rel=0.15)
    mean = float(first[2].split()[0])
    assert abs(mean) < 0.1  # not 1


def test_orthogonal_queries_score_zero_and_twelve_heads_make_768():
    scores, heads = values(claims.orthogonal_query())
    assert "90°: +0.00" in scores
    assert heads == "512 768 96"


def test_a_pseudo_inverse_is_recognized_and_a_random_table_is_not():
    vectors = random_vectors()
    inverse = np.linalg.pinv(vectors.table.astype(np.float64)).T.astype(np.float32)
    other = random_vectors(seed=2).table
    same = dataclasses.replace(vectors, contexts=inverse)
    different = dataclasses.replace(vectors, contexts=other)
    assert values(claims.output_table(same))[1] == "0.000"
    assert float(values(claims.output_table(different))[1]) > 0.5


def test_a_rotation_keeps_inner_products_and_a_symmetric_matrix_does_not():
    source = random_vectors()
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))[0]
    target = Vectors.of(list(source.words), (source.table @ rotation).astype(np.float32))
    orthogonal, symmetric, pairs = values(
        claims.symmetric_map(source, target, [(word, word) for word in source.words])
    )
    assert float(orthogonal) < 1e-4
    assert float(symmetric) > 0.1
    assert pairs == "60"


def test_an_alignment_without_common_words_is_refused():
    with pytest.raises(SettingError, match="at least 2"):
        claims.symmetric_map(random_vectors(), random_vectors(), [("a", "b")])


def test_two_points_fall_together_in_fewer_dimensions():
    before, after, square = map(float, values(claims.lower_dimension()))
    assert (before, after) == (1.0, 0.0)
    assert square > 0.1


def test_layer_norm_is_of_each_token():
    pytest.importorskip("torch")
    changed, others, _ = values(claims.layer_norm())
    assert float(changed) > 1
    assert float(others) == 0


def test_six_of_eight_words_are_not_in_the_vocabulary_of_bert(tmp_path: Path):
    by_rule = claims.bert_chinese()
    assert values(by_rule) == ["猫 狗", "苹果 橙子 国王 王后 男人 女人", "6 / 8"]
    (tmp_path / "vocab.txt").write_text("[UNK]\n猫\n狗\n苹果\n", "utf-8")
    assert values(claims.bert_chinese(tmp_path / "vocab.txt"))[2] == "5 / 8"


def test_the_real_vocabulary_says_the_same(data: Path):
    assert values(claims.bert_chinese(data / claims.BERT_VOCABULARY)) == values(claims.bert_chinese())
