"""Classifier: texts in, labels out. Bags of features or embedded texts, and a linear layer over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from inlaid.errors import SettingError
from inlaid.feed import bags
from inlaid.feed.bags import Bags
from inlaid.kernels.classifier.reference import softmax
from inlaid.vectors import Card, Int8Table

CHUNK = 4096
"""Texts classified at a time."""


@runtime_checkable
class Embedder(Protocol):
    """Gives texts vectors, such as a model."""

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """A vector for each text (text, dim), and whether it has one."""
        ...


class Prediction(NamedTuple):
    """A label, and the probability that the classifier gives it."""

    label: str
    probability: float


@dataclass(frozen=True, eq=False)
class BagEmbedder:
    """The mean of the rows of a text's features."""

    bags: Bags
    table: np.ndarray | Int8Table
    """(features, dim), float32 or int8."""

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        found = self.bags.of(texts)
        known = np.diff(found.bounds) > 0
        if isinstance(self.table, np.ndarray):
            return bags.means(self.table, found), known
        used, places = np.unique(found.ids, return_inverse=True)
        rows = found._replace(ids=places.astype(np.int32))
        return bags.means(self.table.rows(used), rows), known


@dataclass(frozen=True)
class ModelFolder:
    """The folder of a model that gives texts their vectors; `load_classifier` opens it."""

    path: Path

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        raise SettingError(
            "This classifier reads the vectors of the model in {path}, which is not open. Load the "
            "classifier with inlaid.load_classifier(file).",
            path=self.path,
        )


@dataclass(frozen=True, eq=False)
class Classifier:
    """Texts in, labels out; immutable.

    >>> classifier = train_classifier(["good film", "bad film"] * 9, ["+", "-"] * 9)
    >>> classifier.predict(["a good one"])
    ['+']
    """

    labels: tuple[str, ...]
    embedder: Embedder
    output: np.ndarray
    """(label, dim) float32."""
    bias: np.ndarray
    card: Card = field(default_factory=Card)

    def __repr__(self) -> str:
        some = ", ".join(self.labels[:5])
        dots = ", ..." if len(self.labels) > 5 else ""
        return f"<Classifier by {self.card.method}: {len(self.labels):,} labels: {some}{dots}>"

    @property
    def dim(self) -> int:
        return self.output.shape[1]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """The probability of each label for each text, (text, label). A text without any known word gets the
        probabilities of a text about which nothing is known."""
        if isinstance(texts, str):
            raise SettingError("Expected some texts, found one string. Give a list: [text].")
        found = [np.zeros((0, len(self.labels)), np.float32)]
        for start in range(0, len(texts), CHUNK):
            rows, _ = self.embedder.embed(texts[start : start + CHUNK])
            found.append(softmax(rows @ self.output.T + self.bias))
        return np.concatenate(found)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The most probable label of each text."""
        return [self.labels[place] for place in self.probabilities(texts).argmax(axis=1).tolist()]

    def ranked(self, texts: Sequence[str], n: int = 1) -> list[list[Prediction]]:
        """The `n` most probable labels of each text with their probabilities."""
        shares = self.probabilities(texts)
        order = np.argsort(-shares, axis=1, kind="stable")[:, :n]
        return [
            [Prediction(self.labels[place], float(row[place])) for place in places]
            for row, places in zip(shares, order.tolist(), strict=True)
        ]

    def known(self, texts: Sequence[str]) -> np.ndarray:
        """Whether each text has anything that the classifier knows."""
        parts = [
            self.embedder.embed(texts[start : start + CHUNK])[1] for start in range(0, len(texts), CHUNK)
        ]
        return np.concatenate([np.zeros(0, bool), *parts])
