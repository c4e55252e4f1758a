"""What a classifier gets right: accuracy with an interval, F1, labels that it confuses; and how it learns
from embedded texts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.classifier import BagEmbedder, Classifier, Embedder
from inlaid.config import Range, check
from inlaid.errors import SettingError, need
from inlaid.feed.bags import Bags
from inlaid.feed.labelled import Labelled
from inlaid.messages import Message
from inlaid.report import Progress, Report, silent
from inlaid.study.analysis import Row
from inlaid.study.evaluate import logistic
from inlaid.study.evaluate.statistics import Interval, interval, mean
from inlaid.study.use.embed import EmbedSettings, by_model
from inlaid.study.use.texts import chunks
from inlaid.vectors import Card, Vectors
from inlaid.version import VERSION

CHUNK = 4096
"""Texts embedded at a time."""
SHOWN_PAIRS = 5
"""Pairs of labels shown that are confused most often."""
SHOWN_LABELS = 30
"""Labels shown, those with the lowest F1 first."""


@dataclass(frozen=True, kw_only=True)
class LogisticClassifier:
    """Multinomial logistic regression on embedded texts: by word vectors or by a model."""

    encoding_defaults: ClassVar = {}

    embedder: Path | None = None
    """A file of word vectors, or the folder of a model. A classifier keeps the vectors of the words; of a
    model it keeps the path."""
    penalty: Annotated[float, Range(0)] = 1.0
    """Half of this times the squared weights is added to the sum of the losses."""

    def __post_init__(self) -> None:
        check(self)


class ModelEmbedder:
    """Vectors of texts by a model, which is opened when it is first needed. A pickle has the path alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def model(self) -> Any:
        need("torch", extra="neural")
        from inlaid.neural.checkpoint import load_model

        return load_model(self.path)

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return by_model(self.model, EmbedSettings(truncate=True)).vectors(texts)

    def __reduce__(self) -> Any:
        return ModelEmbedder, (self.path,)


def word_embedder(vectors: Vectors) -> BagEmbedder:
    """Texts as the mean of word vectors, read with the tokenizer of the vectors."""
    bags = Bags(words=vectors.words, encoding=vectors.card.encoding, tokenizer_json=vectors.tokenizer_json)
    return BagEmbedder(bags, np.ascontiguousarray(vectors.table, np.float32))


def fit_logistic(
    labelled: Labelled, embedder: Embedder, settings: LogisticClassifier, report: Report = silent
) -> Classifier:
    """Embed labelled texts and fit a linear layer to them; texts without a known word are left out."""
    names = tuple(sorted(set(labelled.labels)))
    if len(names) < 2:
        raise SettingError(
            "All {count:,} texts have one label: there is nothing to tell apart. Add texts of another label.",
            count=len(labelled),
        )
    rows: list[np.ndarray] = []
    known: list[np.ndarray] = []
    for some in chunks(labelled.texts, CHUNK):
        table, has_vector = embedder.embed(some)
        rows.append(table[has_vector])
        known.append(has_vector)
        report(Progress("embedding", min(len(known) * CHUNK, len(labelled)), len(labelled), "texts"))
    places = {name: place for place, name in enumerate(names)}
    labels = np.array([places[label] for label in labelled.labels])[np.concatenate(known)]
    if not len(labels):
        raise SettingError("None of the texts has a word that these vectors know. Use other vectors.")
    table = np.concatenate(rows).astype(np.float64)
    fitted = logistic.fit(table, labels, classes=len(names), penalty=settings.penalty)
    card = Card(method="logistic", settings={"penalty": settings.penalty}, version=VERSION)
    return Classifier(
        names, embedder, fitted.weights.astype(np.float32), fitted.bias.astype(np.float32), card
    )


@dataclass(frozen=True)
class LabelScore:
    """How well one label is found."""

    label: str
    precision: float
    recall: float
    f1: float
    texts: int


@dataclass(frozen=True)
class Confusion:
    """Texts with one label that got another."""

    label: str
    predicted: str
    count: int


@dataclass(frozen=True, kw_only=True)
class ClassifierTest:
    """What a classifier got right on texts with known labels."""

    texts: int
    accuracy: float
    interval: Interval
    """95 %, by the bootstrap over texts."""
    macro_f1: float
    labels: tuple[LabelScore, ...]
    """In the order of F1, lowest first."""
    confusions: tuple[Confusion, ...]
    """The most frequent mistakes first."""
    unknown: int = 0
    """Texts without any word that the classifier knows."""

    def rows(self) -> list[Row]:
        accuracy = Message(
            "accuracy {accuracy:.4f} (95 %: {low:.4f} to {high:.4f}), macro F1 {f1:.4f}, {texts:,} texts",
            accuracy=self.accuracy,
            low=self.interval.low,
            high=self.interval.high,
            f1=self.macro_f1,
            texts=self.texts,
        )
        rows: list[Row] = [accuracy]
        if self.unknown:
            rows.append(Message("{count:,} texts have no known word", count=self.unknown))
        rows.append(
            (Message("label"), Message("precision"), Message("recall"), Message("F1"), Message("texts"))
        )
        for each in self.labels[:SHOWN_LABELS]:
            numbers = [f"{value:.3f}" for value in (each.precision, each.recall, each.f1)]
            rows.append((each.label, *numbers, f"{each.texts:,}"))
        if self.confusions:
            rows.append(Message("most frequent mistakes:"))
            rows.append((Message("label"), Message("predicted"), Message("texts")))
            rows += [
                (each.label, each.predicted, f"{each.count:,}") for each in self.confusions[:SHOWN_PAIRS]
            ]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "accuracy": self.accuracy,
            "interval": [self.interval.low, self.interval.high],
            "macro_f1": self.macro_f1,
            "labels": [vars(each) for each in self.labels],
            "confusions": [vars(each) for each in self.confusions],
            "unknown": self.unknown,
        }


def test_classifier(classifier: Classifier, labelled: Labelled) -> ClassifierTest:
    """Predict the labels of texts and compare them with the known ones."""
    predicted = classifier.predict(labelled.texts)
    known = classifier.known(labelled.texts)
    right = np.array([one == other for one, other in zip(predicted, labelled.labels, strict=True)], float)
    names = sorted({*labelled.labels, *predicted})
    scores = sorted((_score(name, labelled.labels, predicted) for name in names), key=lambda each: each.f1)
    return ClassifierTest(
        texts=len(labelled),
        accuracy=float(right.mean()),
        interval=interval(right[:, None], mean, seed=1),
        macro_f1=float(np.mean([each.f1 for each in scores if each.texts])),
        labels=tuple(scores),
        confusions=_confusions(labelled.labels, predicted),
        unknown=int((~known).sum()),
    )


def _score(name: str, labels: Sequence[str], predicted: Sequence[str]) -> LabelScore:
    true = np.array([label == name for label in labels])
    found = np.array([label == name for label in predicted])
    hits = int((true & found).sum())
    precision = hits / max(int(found.sum()), 1)
    recall = hits / max(int(true.sum()), 1)
    f1 = 2 * hits / max(int(found.sum()) + int(true.sum()), 1)
    return LabelScore(name, precision, recall, f1, int(true.sum()))


def _confusions(labels: Sequence[str], predicted: Sequence[str]) -> tuple[Confusion, ...]:
    counts = Counter((one, other) for one, other in zip(labels, predicted, strict=True) if one != other)
    return tuple(Confusion(*pair, count) for pair, count in counts.most_common())
