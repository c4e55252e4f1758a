"""Estimators for scikit-learn: texts to vectors, words to vectors, texts to labels.

    make_pipeline(TextEmbedder("vectors.inlaid"), LogisticRegression()).fit(texts, labels)

They can be cloned, pickled and searched over. A path is opened when an estimator is fitted, not before.
"""

# ruff: noqa: N803 - scikit-learn calls the argument X
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from inlaid.classification import train_classifier
from inlaid.classifier import Classifier
from inlaid.config import settings_of
from inlaid.errors import SettingError, SourceError, need
from inlaid.neural.kinds import is_model_folder
from inlaid.report import silent
from inlaid.storage import load
from inlaid.study.use.embed import EmbedSettings, by_model, by_words
from inlaid.study.use.sif import common_components, remove_components
from inlaid.vectors import Vectors

need("sklearn", extra="sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


class _Embedder:
    """Vectors of texts. A pickle has what they are made of: the vectors, or the path of the model."""

    def __init__(self, source: Vectors | Path, settings: EmbedSettings) -> None:
        self.source = source
        self.settings = settings

    @functools.cached_property
    def _computing(self) -> Any:
        if isinstance(self.source, Vectors):
            return by_words(self.source, self.settings, silent)
        need("torch", extra="neural")
        from inlaid.neural.checkpoint import load_model

        return by_model(load_model(self.source), dataclasses.replace(self.settings, truncate=True))

    def embed(self, texts: list[str]) -> np.ndarray:
        """A vector for each text (text, dim); zeros where it has no known word."""
        return self._computing.vectors(texts)[0]

    def __reduce__(self) -> Any:
        return _Embedder, (self.source, self.settings)


class _OfTexts(TransformerMixin, BaseEstimator):
    """What transformers of texts share: what they accept, and the names of their columns."""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.requires_fit = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns: textembedder0, textembedder1 and so on."""
        check_is_fitted(self, "dim_")
        name = type(self).__name__.lower()
        return np.array([f"{name}{number}" for number in range(cast("Any", self).dim_)], object)


class TextEmbedder(_OfTexts):
    """A vector for each text as `inlaid.embed` gives it: the mean of word vectors, weighted or not, or by a
    model. A text without a known word gets zeros.

    >>> TextEmbedder("vectors.inlaid", weights="sif", remove_components=1).fit_transform(texts).shape
    (2, 300)
    """

    def __init__(
        self,
        vectors: Any = None,
        *,
        weights: str = "mean",
        sif: float = EmbedSettings.sif,
        remove_components: int = 0,
        unit: bool = False,
    ) -> None:
        self.vectors = vectors
        """Vectors, the file of vectors, or the folder of a model."""
        self.weights = weights
        """Word vectors: mean, or sif, which gives frequent words less weight."""
        self.sif = sif
        """Word vectors: the constant of the weights sif."""
        self.remove_components = remove_components
        """Remove this many components that the texts of `fit` have in common."""
        self.unit = unit
        """Scale every vector to length 1."""

    def fit(self, X: Any, y: Any = None) -> TextEmbedder:
        """Open the vectors; only the components to remove are learned from the texts."""
        texts = _texts(X)
        settings = settings_of(EmbedSettings, {"weights": self.weights, "sif": self.sif})
        self.embedder_ = _Embedder(_source(self.vectors), settings)
        table = self.embedder_.embed(texts if self.remove_components else texts[:1])
        self.dim_ = table.shape[1]
        self.components_ = np.zeros((0, self.dim_), np.float32)
        if self.remove_components:
            self.components_ = common_components(table, self.remove_components)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "embedder_")
        table = self.embedder_.embed(_texts(X))
        remove_components(table, self.components_)
        if self.unit:
            lengths = np.linalg.norm(table, axis=1, keepdims=True)
            table = table / np.where(lengths == 0, 1, lengths)
        return table


class WordEmbedder(_OfTexts):
    """The vector of each word. One outside the vocabulary, which cannot be made from subwords either, gets
    zeros, or is an error."""

    def __init__(self, vectors: Any = None, *, oov: str = "zeros") -> None:
        self.vectors = vectors
        """Vectors, or a file of vectors."""
        self.oov = oov
        """What an out-of-vocabulary word gets: zeros, or an error."""

    def fit(self, X: Any, y: Any = None) -> WordEmbedder:
        """Open the vectors; nothing is learned from the words."""
        _texts(X)
        if self.oov not in ("zeros", "error"):
            raise SettingError("oov is {oov!r}; expected zeros or error.", oov=self.oov)
        given = _given(self.vectors)
        self.vectors_ = given if isinstance(given, Vectors) else load(given, report=silent)
        self.dim_ = self.vectors_.dim
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "vectors_")
        return np.stack([self._vector(word) for word in _texts(X)])

    def _vector(self, word: str) -> np.ndarray:
        found = self.vectors_.find(word)
        if found is not None:
            return np.asarray(self.vectors_.rows([found])[0])
        composed = self.vectors_.composed(word) if self.vectors_.composes else None
        if composed is None and self.oov == "error":
            raise SettingError("'{word}' is out of vocabulary. Leave it out, or use oov='zeros'.", word=word)
        return np.zeros(self.dim_, np.float32) if composed is None else composed


class TextClassifier(ClassifierMixin, BaseEstimator):
    """Texts to labels, by bags of words and n-grams trained end to end.

    >>> TextClassifier(epochs=20).fit(texts, labels).predict(["very good"])
    """

    def __init__(
        self,
        *,
        dim: int = 100,
        word_ngrams: int = 2,
        min_n: int = 0,
        max_n: int = 0,
        learning_rate: float = 0.5,
        epochs: int = 10,
        tokenizer: str = "word",
        random_state: int = 1,
    ) -> None:
        self.dim = dim
        self.word_ngrams = word_ngrams
        self.min_n = min_n
        self.max_n = max_n
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.tokenizer = tokenizer
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    def fit(self, X: Any, y: Any) -> TextClassifier:
        texts = _texts(X)
        self.classes_, places = np.unique(np.asarray(y), return_inverse=True)
        settings = self.get_params()
        self.classifier_: Classifier = train_classifier(
            texts, places.tolist(), "ngrams", report=silent, seed=settings.pop("random_state"), **settings
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Columns in the order of `classes_`."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.probabilities(_texts(X))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _given(vectors: Any) -> Any:
    if vectors is None:
        raise SettingError("There are no vectors. Give some, the path of a file, or the folder of a model.")
    return vectors


def _source(vectors: Any) -> Vectors | Path:
    """What texts are embedded by: vectors, from a file too, or the folder of a model."""
    given = _given(vectors)
    if isinstance(given, Vectors):
        return given
    path = Path(given)
    if not path.exists():
        raise SourceError("There is no file or folder '{path}'. Check the path.", path=path)
    return path.resolve() if is_model_folder(path) else load(path, report=silent)


def _texts(X: Any) -> list[str]:
    """The texts of a list, an array, a column of a data frame."""
    if isinstance(X, str) or (not isinstance(X, (Sequence, np.ndarray)) and not hasattr(X, "tolist")):
        raise ValueError(f"Expected a sequence of texts, found {type(X).__name__}.")
    flat: list[Any] = list(cast("Any", X).tolist() if hasattr(X, "tolist") else X)
    if not flat:
        raise ValueError("Found no texts; expected at least one.")
    wrong = next((each for each in flat if not isinstance(each, str)), None)
    if wrong is not None:
        raise ValueError(f"Expected texts, found {wrong!r}. Pass a column of text, not a table.")
    return flat
