"""Inlaid: from raw text to vectors you can trust, look into and put to work.

    import inlaid
    vectors = inlaid.train("text.txt", "ppmi")
    inlaid.neighbors(vectors, "上海")

Importing this costs next to nothing: each verb loads what it needs when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inlaid.collect import world
    from inlaid.encode.corpus import Corpus
    from inlaid.neural.checkpoint import load_model, save_model
    from inlaid.pipeline import convert, corpus, demo, info, load, phrases, save, tokenize, train, verify
    from inlaid.study.align import align
    from inlaid.study.approximate import approximate
    from inlaid.study.axes import axis
    from inlaid.study.compare import changes, compare, stability
    from inlaid.study.dimensions import dimensions
    from inlaid.study.doctor import doctor
    from inlaid.study.evaluate import evaluate, evaluate_against, summarize
    from inlaid.study.explain import explain
    from inlaid.study.hubs import space_figures
    from inlaid.study.inspect import inspect
    from inlaid.study.lookup import Policy
    from inlaid.study.map import map_words
    from inlaid.study.pictures import draw_map
    from inlaid.study.search import analogy, nearest, neighbors, neighbors_of_each
    from inlaid.study.tables import fill
    from inlaid.study.task_files import read_tasks
    from inlaid.vectors import Vectors

    __version__: str

_HOMES = {
    "Corpus": "encode.corpus:Corpus",
    "Policy": "study.lookup:Policy",
    "Vectors": "vectors:Vectors",
    "align": "study.align:align",
    "analogy": "study.search:analogy",
    "approximate": "study.approximate:approximate",
    "axis": "study.axes:axis",
    "changes": "study.compare:changes",
    "compare": "study.compare:compare",
    "convert": "pipeline:convert",
    "corpus": "pipeline:corpus",
    "demo": "pipeline:demo",
    "dimensions": "study.dimensions:dimensions",
    "doctor": "study.doctor:doctor",
    "draw_map": "study.pictures:draw_map",
    "evaluate": "study.evaluate:evaluate",
    "evaluate_against": "study.evaluate:evaluate_against",
    "explain": "study.explain:explain",
    "fill": "study.tables:fill",
    "info": "pipeline:info",
    "inspect": "study.inspect:inspect",
    "load": "pipeline:load",
    "load_model": "neural.checkpoint:load_model",
    "map_words": "study.map:map_words",
    "nearest": "study.search:nearest",
    "neighbors": "study.search:neighbors",
    "neighbors_of_each": "study.search:neighbors_of_each",
    "phrases": "pipeline:phrases",
    "read_tasks": "study.task_files:read_tasks",
    "save": "pipeline:save",
    "save_model": "neural.checkpoint:save_model",
    "space_figures": "study.hubs:space_figures",
    "stability": "study.compare:stability",
    "summarize": "study.evaluate:summarize",
    "tokenize": "pipeline:tokenize",
    "train": "pipeline:train",
    "verify": "pipeline:verify",
    "world": "collect.world:",
}

__all__ = [
    "Corpus", "Policy", "Vectors", "align", "analogy", "approximate", "axis", "changes", "compare", "convert", "corpus", "demo",
    "dimensions", "doctor", "draw_map", "evaluate", "evaluate_against", "explain", "fill", "info", "inspect", "load", "load_model",
    "map_words", "nearest", "neighbors", "neighbors_of_each", "phrases", "read_tasks", "save", "save_model", "space_figures",
    "stability", "summarize", "tokenize", "train", "verify", "world",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("inlaid")
    if name not in _HOMES:
        raise AttributeError(f"module 'inlaid' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].partition(":")
    if module.startswith("neural."):
        importlib.import_module("inlaid.errors").need("torch", extra="neural")
    home = importlib.import_module(f"inlaid.{module}")
    return getattr(home, attribute) if attribute else home


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
