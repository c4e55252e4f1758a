"""Classifiers: trained on labelled texts, saved, loaded and tested.

labelled texts --encode_labelled--> LabelledCorpus --method.start--> Training --run--> Classifier
labelled texts --embed--> rows --logistic regression--> Classifier
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from inlaid import places, registry, storage
from inlaid.classifier import BagEmbedder, Classifier, Embedder, ModelFolder
from inlaid.config import settings_of, with_values
from inlaid.encode.corpus import Encoding
from inlaid.errors import SettingError, SourceError
from inlaid.feed.labelled import Labelled, read_labelled
from inlaid.feed.labelled_corpus import encode_labelled
from inlaid.fit.classifier import NGramClassifier
from inlaid.formats import classifier_file
from inlaid.jobs.arguments import default_encoding, split_settings
from inlaid.jobs.job import Job
from inlaid.jobs.plan import Plan, announce_plan, plan_for
from inlaid.jobs.safety import Safety
from inlaid.neural.kinds import is_model_folder
from inlaid.progress import shows_progress
from inlaid.report import Note, Report, automatic, log
from inlaid.study.use.classify import (
    ClassifierTest,
    LogisticClassifier,
    ModelEmbedder,
    fit_logistic,
    word_embedder,
)
from inlaid.study.use.classify import test_classifier as tested
from inlaid.vectors import Int8Table, Vectors

Dtype = Literal["float32", "int8"]
MEASURED = 5_000
"""Texts on which the loss of int8 is measured."""


@shows_progress
def train_classifier(
    texts: Sequence[str] | str | Path | Labelled,
    labels: Sequence[Any] | None = None,
    method: str | NGramClassifier | LogisticClassifier = "ngrams",
    *,
    embedder: Vectors | str | Path | None = None,
    encoding: Encoding | None = None,
    safety: Safety | None = None,
    report: Report = automatic,
    **settings: Any,
) -> Classifier:
    """Learn a classifier from texts and their labels, or from a file of labelled texts.

    The method is a name with settings beside it, or a settings object; `embedder` are the word vectors, or
    the folder of the model, that `logistic` embeds texts with.

    >>> classifier = train_classifier("reviews.tsv", epochs=20)
    >>> classifier = train_classifier(texts, labels, "logistic", embedder="vectors.inlaid")
    """
    if embedder is not None and method == "ngrams":
        method = "logistic"
    labelled = labelled_texts(texts, labels, report)
    chosen, encoding = _settings(method, encoding, settings)
    if isinstance(chosen, LogisticClassifier):
        return fit_logistic(labelled, open_embedder(embedder or chosen.embedder, report), chosen, report)
    if embedder is not None:
        raise SettingError("embedder is for the method logistic. Leave it out, or choose logistic.")
    job = Job(name="ngrams", method=cast("Any", chosen), safety=safety or Safety())
    job.check()
    corpus = encode_labelled(labelled, encoding, report)
    announce_plan(corpus, job.method, None, report)
    return job.learn_from(corpus, report)


def plan_classifier(texts: Any, labels: Any = None, **settings: Any) -> Plan:
    """The time and memory of `train_classifier` with n-grams, from a trial on a part of the texts."""
    chosen, encoding = _settings("ngrams", settings.pop("encoding", None), settings)
    corpus = encode_labelled(labelled_texts(texts, labels, log), encoding)
    return plan_for(corpus, cast("Any", chosen), None)


def labelled_texts(texts: Any, labels: Any, report: Report) -> Labelled:
    """Texts with labels, given or in files."""
    if isinstance(texts, Labelled):
        return texts
    if labels is not None:
        return Labelled.of(list(texts), list(labels))
    if isinstance(texts, (str, Path)):
        return read_labelled([Path(texts)], report=report)
    raise SettingError("Labels are missing. Give a label for each text, or the path of a file with both.")


def _settings(method: Any, encoding: Encoding | None, settings: dict[str, Any]) -> tuple[Any, Encoding]:
    """The settings of the method and of the encoding, each made once."""
    kind = registry.find("classifier", method) if isinstance(method, str) else type(method)
    of_method, of_encoding = split_settings(settings, kind)
    chosen = settings_of(kind, of_method) if isinstance(method, str) else with_values(method, of_method)
    return chosen, with_values(encoding or default_encoding(kind), of_encoding)


def open_embedder(given: Vectors | str | Path | None, report: Report = log) -> Embedder:
    """What gives texts vectors: word vectors, or the folder of a model."""
    if given is None:
        raise SettingError(
            "The method logistic needs vectors of texts. Name a file of word vectors, or the folder of a "
            "model, as embedder."
        )
    if isinstance(given, Vectors):
        return word_embedder(given)
    path = Path(given)
    if not path.exists():
        raise SourceError("There is no file or folder '{path}'. Check the path.", path=path)
    if not is_model_folder(path):
        return word_embedder(storage.load(path, report=report))
    return ModelEmbedder(path.resolve())


@shows_progress
def load_classifier(
    path: str | Path, *, model: str | Path | None = None, report: Report = automatic
) -> Classifier:
    """Read a classifier. `model` is the folder of the model whose vectors it reads, where it has moved."""
    path = Path(path)
    if not path.is_file():
        raise SourceError("There is no classifier '{path}'. Check the path.", path=path)
    classifier = classifier_file.read(path, report)
    if not isinstance(classifier.embedder, ModelFolder):
        return classifier
    folder = classifier.embedder.path if model is None else Path(model)
    if not folder.is_dir():
        raise SourceError(
            "{path} reads the vectors of a model that was in {folder}, where there is none now. Name its "
            "folder as model.",
            path=path,
            folder=folder,
        )
    return dataclasses.replace(classifier, embedder=ModelEmbedder(folder))


@shows_progress
def save_classifier(
    classifier: Classifier, path: str | Path, *, overwrite: bool = False, report: Report = automatic
) -> None:
    """Write a classifier to one file. `quantized` gives one of a quarter of the size."""
    path = Path(path)
    places.check_replaceable(path, overwrite=overwrite)
    classifier_file.write(classifier, path)


def quantized(classifier: Classifier, texts: Sequence[str], report: Report = log) -> Classifier:
    """The classifier with a table in int8, a quarter of the size; how many of these texts get another label
    is measured, reported and kept in its card."""
    embedder = classifier.embedder
    if not isinstance(embedder, BagEmbedder) or isinstance(embedder.table, Int8Table):
        raise SettingError("Only a classifier with a table of float32 can be quantized to int8.")
    small = dataclasses.replace(classifier, embedder=BagEmbedder(embedder.bags, Int8Table.of(embedder.table)))
    measured = texts[:: max(len(texts) // MEASURED, 1)]
    before = classifier.probabilities(measured).argmax(axis=1)
    changed = int(np.sum(before != small.probabilities(measured).argmax(axis=1)))
    report(
        Note(
            "int8: {changed:,} of {count:,} texts of the training get another label than with float32.",
            changed=changed,
            count=len(measured),
        )
    )
    scores = dict(classifier.card.scores) | {"int8": {"changed": changed, "texts": len(measured)}}
    return dataclasses.replace(small, card=dataclasses.replace(classifier.card, scores=scores))


@shows_progress
def test_classifier(
    classifier: Classifier, texts: Any, labels: Sequence[Any] | None = None, *, report: Report = automatic
) -> ClassifierTest:
    """What a classifier gets right on texts with known labels: accuracy with an interval, F1, mistakes."""
    return tested(classifier, labelled_texts(texts, labels, report))
