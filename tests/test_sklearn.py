"""The estimators behave as scikit-learn's own do."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import inlaid

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from inlaid.errors import SettingError
from inlaid.report import silent
from inlaid.sklearn import TextClassifier, TextEmbedder, WordEmbedder

TEXTS = ["good film", "很好 吃", "bad film", "难吃"] * 15
LABELS = [1, 1, 0, 0] * 15
WORDS = ["good", "bad", "film", "很", "好", "吃", "难吃", "很好"]


@pytest.fixture(scope="module")
def vectors() -> inlaid.Vectors:
    return inlaid.Vectors.of(WORDS, np.eye(8, 5) + np.arange(8)[:, None] / 10)


CHECKS = [
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_estimator_repr,
    checks.check_valid_tag_types,
]
"""Checks that need no table of numbers, and that the tags leave out with those that do."""
ESTIMATORS = {
    "TextEmbedder": lambda vectors: TextEmbedder(vectors),
    "WordEmbedder": lambda vectors: WordEmbedder(vectors),
    "TextClassifier": lambda _: TextClassifier(dim=4, epochs=3),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_check_estimator(name: str, vectors: inlaid.Vectors):
    """All checks that scikit-learn has for estimators of texts: parameters, cloning, tags, repr. Those that
    fit tables of random numbers do not apply; scikit-learn leaves them out by the tags, with a warning."""
    checked = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for estimator, check in estimator_checks_generator(ESTIMATORS[name](vectors)):
            check(estimator)
            checked += 1
    for check in CHECKS:
        check(name, ESTIMATORS[name](vectors))
    assert checked


def test_a_pipeline_in_a_grid_search_in_two_processes(vectors: inlaid.Vectors, tmp_path: Path):
    inlaid.save(vectors, tmp_path / "v.inlaid")
    for given in (vectors, tmp_path / "v.inlaid"):
        pipeline = make_pipeline(TextEmbedder(given), LogisticRegression())
        grid = {"textembedder__unit": [True, False], "logisticregression__C": [0.1, 10]}
        search = GridSearchCV(pipeline, grid, n_jobs=2, cv=3).fit(TEXTS, LABELS)
        assert search.best_score_ == 1.0


def test_the_classifier_in_a_grid_search_in_two_processes():
    search = GridSearchCV(TextClassifier(dim=8), {"epochs": [2, 20]}, n_jobs=2, cv=3).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert search.predict(["good film"]).tolist() == [1]
    assert search.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_cloned_and_pickled(name: str, vectors: inlaid.Vectors):
    made = clone(ESTIMATORS[name](vectors)).fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(made))
    call = "predict" if name == "TextClassifier" else "transform"
    assert np.array_equal(getattr(again, call)(TEXTS), getattr(made, call)(TEXTS))


def test_the_vectors_are_those_of_embed(vectors: inlaid.Vectors):
    found = TextEmbedder(vectors).fit_transform(["good film", "好 吃"])
    np.testing.assert_allclose(found, inlaid.embed(vectors, ["good film", "好 吃"]).table, rtol=1e-6)


def test_sif_and_common_components_are_those_of_embed(vectors: inlaid.Vectors):
    texts = ["good film", "bad film", "好 吃", "难吃"]
    embedder = TextEmbedder(vectors, weights="sif", sif=0.1, remove_components=1)
    expected = inlaid.embed(vectors, texts, weights="sif", sif=0.1, remove_components=1)
    np.testing.assert_allclose(embedder.fit_transform(texts), expected.table, atol=1e-6)
    alone = pickle.loads(pickle.dumps(embedder)).transform(["good film"])  # the components are those of fit
    np.testing.assert_allclose(alone[0], expected.table[0], atol=1e-6)
    with pytest.raises(SettingError, match="sif is -1"):
        TextEmbedder(vectors, sif=-1.0).fit(texts)


def test_words_out_of_the_vocabulary_are_composed_as_in_embed():
    made = inlaid.train(["the good film", "a bad film"] * 9, "fasttext", dim=8, min_count=1, report=silent)
    found = TextEmbedder(made).fit_transform(["goodfilm", "the filmm"])
    assert found.any(axis=1).all()
    np.testing.assert_allclose(found, inlaid.embed(made, ["goodfilm", "the filmm"]).table, rtol=1e-5)


def test_words_outside_the_vocabulary(vectors: inlaid.Vectors):
    assert not WordEmbedder(vectors).fit_transform(["xyzzy"]).any()
    assert np.array_equal(WordEmbedder(vectors).fit_transform(["吃"])[0], vectors["吃"])
    with pytest.raises(SettingError, match="out of vocabulary"):
        WordEmbedder(vectors, oov="error").fit_transform(["xyzzy"])


def test_a_table_of_numbers_is_refused(vectors: inlaid.Vectors):
    with pytest.raises(ValueError, match="Expected texts"):
        TextEmbedder(vectors).fit(np.eye(3))
