"""Models: one of each generation, all trained on the embedded world; each when it is first used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid import files, pipeline, registry, storage
from inlaid.collect import world
from inlaid.encode.corpus import Corpus
from inlaid.encode.tokenizers import Tokenizer, Word
from inlaid.errors import SettingError, need
from inlaid.messages import LANGUAGES, Language, Listed, spoken_language
from inlaid.report import Report, automatic
from inlaid.tour import text
from inlaid.tour.cache import Storage, cached
from inlaid.vectors import Card, Vectors

Size = Literal["full", "tiny"]
SIZE_VARIABLE = "INLAID_TOUR_SIZE"
FORMAT = 1
"""Raised when what is trained changes although no setting does: earlier results are not opened."""
NETWORKS = ("bilm", "masked", "causal", "translation")
GENERATIONS = ("onehot", "counts", "ppmi", "sgns", "glove", "fasttext", *NETWORKS)
MIN_COUNT = 2
"""How often a word occurs at least, to have a vector."""
VECTORS_FILE = "vectors.inlaid"
MODEL_FOLDER = "model"


@dataclass(frozen=True)
class Budget:
    """How much text is read, and the settings of each method."""

    sentences: int
    averaged: int
    """Sentences over which the contextual vectors of a word are averaged."""
    settings: Mapping[str, Mapping[str, Any]]


NETWORK: dict[str, Any] = {"learning_rate": 0.003, "dropout": 0.0, "held_out": 0.0}
BUDGETS: dict[Size, Budget] = {
    "full": Budget(
        sentences=6_000,
        averaged=1_500,
        settings={
            "ppmi": {"dim": 100},
            "sgns": {"epochs": 30},
            "glove": {"epochs": 50},
            "fasttext": {"epochs": 30, "buckets": 50_000},
            "bilm": {**NETWORK, "learning_rate": 0.006, "batch_tokens": 512, "epochs": 8},
            "masked": {**NETWORK, "layers": 2, "epochs": 10},
            "causal": {**NETWORK, "layers": 2, "epochs": 8},
            "translation": {
                **NETWORK,
                "learning_rate": 0.0015,  # post-norm networks collapse at a higher one
                "warmup": 0.1,
                "layers": 2,
                "batch_tokens": 512,
                "epochs": 12,
                "subwords": 1000,
            },
        },
    ),
    "tiny": Budget(
        sentences=3_000,
        averaged=300,
        settings={
            "ppmi": {"dim": 30},
            "sgns": {"dim": 20, "epochs": 2},
            "glove": {"dim": 20, "epochs": 2},
            "fasttext": {"dim": 20, "epochs": 2, "buckets": 2_000},
            "bilm": {"dim": 8, "cell_dim": 16, "epochs": 1},
            "masked": {"dim": 16, "layers": 2, "epochs": 1},
            "causal": {"dim": 16, "layers": 1, "epochs": 1},
            "translation": {"dim": 16, "layers": 1, "epochs": 1, "subwords": 900},
        },
    ),
}
"""full: answers that make sense, in about three minutes on two cores. tiny: seconds, to see that it runs."""


def models(
    language: Language | None = None,
    *,
    size: Size | None = None,
    fresh: bool = False,
    report: Report = automatic,
) -> Models:
    """The models of the tour in one language. Each is trained when it is first used, and kept in a cache.

    The language is by default that of the locale. The size "tiny" trains in seconds, and its answers make
    little sense; it is "full" unless the variable INLAID_TOUR_SIZE says otherwise. `fresh` trains anew.
    """
    language = language or spoken_language()
    told = TOLD.get()
    if told is not None and told.language == language:
        return told
    size = size or os.environ.get(SIZE_VARIABLE, "full")  # pyright: ignore[reportAssignmentType]
    if language not in LANGUAGES:
        raise SettingError(
            "The tour has no language '{language}'. Choose one of: {known}.",
            language=language,
            known=Listed(LANGUAGES),
        )
    if size not in BUDGETS:
        raise SettingError("size is '{size}'; expected one of: {known}.", size=size, known=Listed(BUDGETS))
    return Models(language, size, fresh, report)


class Models:
    """One model of each generation: `models.sgns` and the others are the names of the methods."""

    def __init__(self, language: Language, size: Size, fresh: bool, report: Report) -> None:
        self.language: Language = language
        self.size: Size = size
        self.fresh = fresh
        self.report = report
        self.budget = BUDGETS[size]
        self._means: dict[str, Vectors] = {}

    def __repr__(self) -> str:
        return f"Models({self.language!r}, size={self.size!r})"

    def __getitem__(self, name: str) -> Any:
        """A generation by its name; an unknown name raises UnknownName."""
        if name not in GENERATIONS:
            registry.entry("method", name)
            raise SettingError("The tour has no model '{name}'.", name=name)
        return getattr(self, name)

    # --- text

    @property
    def words(self) -> dict[str, Any]:
        """How Chinese is cut: by the dictionary of the world, which knows all its words."""
        if self.language == "en":
            return {}
        return {"dictionary": world.dictionary(), "force_dictionary": True}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """What cuts a sentence into words."""
        return Word(**self.words)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The text that all of them read."""
        return tuple(getattr(pair, self.language) for pair in text.pairs(self.budget.sentences))

    @cached_property
    def corpus(self) -> Corpus:
        """The text as ids."""
        return pipeline.corpus(list(self.sentences), min_count=MIN_COUNT, report=self.report, **self.words)

    # --- vectors of words

    @cached_property
    def onehot(self) -> Vectors:
        return self._vectors("onehot")

    @cached_property
    def counts(self) -> Vectors:
        """Each word by its row of the co-occurrence table."""

        def counted() -> Vectors:
            from inlaid.study.explain.cooccurrence import cooccurrence

            table = cooccurrence(self.corpus, n=len(self.corpus.vocabulary), report=self.report)
            return Vectors.of(list(table.words), table.counts.astype(np.float32), Card(method="counts"))

        return self._cached("counts", counted, VECTORS, {"min_count": MIN_COUNT})

    @cached_property
    def ppmi(self) -> Vectors:
        return self._vectors("ppmi")

    @cached_property
    def sgns(self) -> Vectors:
        return self._vectors("sgns")

    @cached_property
    def glove(self) -> Vectors:
        return self._vectors("glove")

    @cached_property
    def fasttext(self) -> Vectors:
        return self._vectors("fasttext")

    def _vectors(self, method: str) -> Vectors:
        settings = dict(self.budget.settings.get(method, {}))
        if method == "fasttext" and self.language == "zh":
            settings |= {"min_n": 1, "max_n": 3}  # most Chinese words have two characters

        def trained() -> Vectors:
            return pipeline.train(self.corpus, method, report=self.report, **settings)

        return self._cached(method, trained, VECTORS, {"min_count": MIN_COUNT, **settings})

    # --- networks

    @cached_property
    def bilm(self) -> Any:
        """ELMo."""
        return self._network("bilm", self.words)

    @cached_property
    def masked(self) -> Any:
        """BERT; it reads words, so that a blank is one word."""
        return self._network("masked", {"tokenizer": "word", **self.words})

    @cached_property
    def causal(self) -> Any:
        """GPT; it reads words, so that the next token is one."""
        return self._network("causal", {"tokenizer": "word", **self.words})

    @cached_property
    def translation(self) -> Any:
        """A Transformer with an encoder and a decoder, to the other language."""
        return self._network("translation", {"reverse": self.language == "en"})

    def _network(self, method: str, more: Mapping[str, Any]) -> Any:
        need("torch", extra="neural")
        settings = {**self.budget.settings[method], **more}

        def trained() -> Any:
            read: Any = list(self.sentences)
            if method == "translation":
                read = [(pair.zh, pair.en) for pair in text.pairs(self.budget.sentences)]
            return pipeline.train(read, method, report=self.report, **settings)

        return self._cached(method, trained, MODEL, settings)

    def vectors(self, name: str) -> Vectors:
        """Words as vectors in any generation. A network gives a word another vector in every sentence; here
        it is their mean over the sentences of the text (Bommasani et al. 2020)."""
        if name not in NETWORKS:
            return self[name]
        if name not in self._means:
            model = self[name]
            made_from = {"averaged": self.budget.averaged, **self.budget.settings[name]}
            self._means[name] = self._cached(
                f"means-{name}", lambda: self._mean_vectors(model), VECTORS, made_from
            )
        return self._means[name]

    def _mean_vectors(self, model: Any) -> Vectors:
        totals: dict[str, np.ndarray] = {}
        counts: dict[str, int] = {}
        read = list(self.sentences[: self.budget.averaged])
        for each in model.embed_words(read, tokenizer=self.tokenizer, report=self.report):
            for word, row in zip(each.words, each.table, strict=True):
                word = word.lower()
                totals[word] = totals.get(word, 0) + row.astype(np.float64)
                counts[word] = counts.get(word, 0) + 1
        words = [word for word in totals if any(map(str.isalnum, word))]
        table = np.stack([totals[word] / counts[word] for word in words]).astype(np.float32)
        return Vectors.of(words, table, Card(method="mean of contextual vectors"))

    def _cached(self, name: str, make: Any, kind: Storage, made_from: Mapping[str, Any]) -> Any:
        import inlaid

        known = {
            "format": FORMAT,
            "version": inlaid.__version__,
            "language": self.language,
            "sentences": self.budget.sentences,
            "dictionary": 0,
            **made_from,
        }
        if "dictionary" in made_from:  # thousands of words
            known["dictionary"] = files.checksum("\n".join(made_from["dictionary"]).encode())
        label = f"{name}-{self.language}"
        return cached(label, known, make, kind, fresh=self.fresh, report=self.report)


def _save_vectors(vectors: Vectors, folder: Path) -> None:
    storage.save(vectors, folder / VECTORS_FILE)


def _load_vectors(folder: Path) -> Vectors:
    return storage.load(folder / VECTORS_FILE)


def _save_network(model: Any, folder: Path) -> None:
    from inlaid.neural.checkpoint import save_model

    save_model(model, folder / MODEL_FOLDER)


def _load_network(folder: Path) -> Any:
    from inlaid.neural.checkpoint import load_model

    return load_model(folder / MODEL_FOLDER)


TOLD: ContextVar[Models | None] = ContextVar("told", default=None)
"""The models of the tour that is being told: its code asks for models by `models`, and gets these."""
VECTORS = Storage(_save_vectors, _load_vectors)
MODEL = Storage(_save_network, _load_network)
