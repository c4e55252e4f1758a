"""Inlaid: from raw text to vectors you can trust, look into and put to work.

    import inlaid
    vectors = inlaid.train("text.txt", "ppmi")
    vectors.neighbors("上海")            # or inlaid.neighbors(vectors, "上海")

Importing this costs next to nothing: each verb loads what it needs when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from inlaid import registry
from inlaid.errors import did_you_mean
from inlaid.messages import Message

if TYPE_CHECKING:
    from inlaid.collect import world
    from inlaid.encode.corpus import Corpus
    from inlaid.fit.fasttext import FastText
    from inlaid.fit.glove import GloVe
    from inlaid.fit.onehot import OneHot
    from inlaid.fit.ppmi import PPMI
    from inlaid.fit.sgns import SGNS
    from inlaid.neural.checkpoint import load_model, save_model
    from inlaid.pipeline import (
        convert,
        corpus,
        demo,
        info,
        load,
        phrases,
        plan,
        save,
        tokenize,
        train,
        verify,
    )
    from inlaid.study.compare.align import align
    from inlaid.study.compare.changes import changes, stability
    from inlaid.study.compare.compare import compare
    from inlaid.study.doctor.doctor import doctor
    from inlaid.study.evaluate.evaluate import EvaluateSettings, evaluate, summarize
    from inlaid.study.evaluate.task_files import read_tasks
    from inlaid.study.explain.axis import axis
    from inlaid.study.explain.cooccurrence import cooccurrence
    from inlaid.study.explain.dimensions import dimensions
    from inlaid.study.explain.explain import explain
    from inlaid.study.explain.fill import fill
    from inlaid.study.explain.inspect import inspect
    from inlaid.study.map.layout import map_words
    from inlaid.study.map.map import map
    from inlaid.study.map.pictures import draw_map
    from inlaid.study.search.analogy import analogy
    from inlaid.study.search.approximate import approximate
    from inlaid.study.search.geometry import geometry
    from inlaid.study.search.neighbors import neighbors
    from inlaid.study.search.odd_one_out import odd_one_out
    from inlaid.study.search.similarity import similarity
    from inlaid.study.search.vector import vector
    from inlaid.vectors import Vectors

    __version__: str

_HOMES = {
    "Corpus": "encode.corpus:Corpus",
    "EvaluateSettings": "study.evaluate.evaluate:EvaluateSettings",
    "Vectors": "vectors:Vectors",
    "approximate": "study.search.approximate:approximate",
    "convert": "pipeline:convert",
    "corpus": "pipeline:corpus",
    "demo": "pipeline:demo",
    "draw_map": "study.map.pictures:draw_map",
    "info": "pipeline:info",
    "load": "pipeline:load",
    "load_model": "neural.checkpoint:load_model",
    "map_words": "study.map.layout:map_words",
    "phrases": "pipeline:phrases",
    "plan": "pipeline:plan",
    "read_tasks": "study.evaluate.task_files:read_tasks",
    "save": "pipeline:save",
    "save_model": "neural.checkpoint:save_model",
    "summarize": "study.evaluate.evaluate:summarize",
    "tokenize": "pipeline:tokenize",
    "train": "pipeline:train",
    "verify": "pipeline:verify",
    "world": "collect.world:",
}

_ANALYSES = {entry.name: entry.where for entry in registry.entries("analysis")}
"""Every analysis of the registry is a Python name too."""

_METHODS = {entry.where.partition(":")[2]: entry.where for entry in registry.entries("method")}
"""And so is the settings class of every method: `inlaid.SGNS`."""

__all__ = sorted([*_HOMES, *_ANALYSES, *_METHODS])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("inlaid")
    where = _HOMES.get(name) or _ANALYSES.get(name) or _METHODS.get(name)
    if where is None:
        raise AttributeError(str(_no_attribute(name)))
    module, _, attribute = where.partition(":")
    if module.startswith("neural."):
        importlib.import_module("inlaid.errors").need("torch", extra="neural")
    home = importlib.import_module(f"inlaid.{module}")
    return getattr(home, attribute) if attribute else home


def _no_attribute(name: str) -> Message:
    # Submodules are asked for first while they are imported, and private names by programs: no hint for
    # these.
    hint = Message("") if name.startswith("_") else _hint(name)
    return Message("module 'inlaid' has no attribute '{name}'.{hint}", name=name, hint=hint)


def _hint(name: str) -> Message:
    meant = registry.suggestion(name, registry.entries("analysis"))
    return meant if "close" in meant.values else did_you_mean(name, __all__)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
