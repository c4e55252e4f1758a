"""Inlaid: from raw text to vectors you can trust, look into and put to work.

    import inlaid
    vectors = inlaid.train("text.txt", "ppmi")
    vectors.neighbors("上海")            # or inlaid.neighbors(vectors, "上海")

Importing this costs next to nothing: each verb loads what it needs when it is first used. Editors and type
checkers read the names from `__init__.pyi`, which `make docs` writes.
"""

from __future__ import annotations

import importlib
from typing import Any

from inlaid import registry
from inlaid.errors import did_you_mean
from inlaid.habits import FUNCTIONS, place_of
from inlaid.messages import Message

_HOMES = {
    "Classifier": "classifier:Classifier",
    "Corpus": "encode.corpus:Corpus",
    "EvaluateSettings": "study.evaluate.evaluate:EvaluateSettings",
    "Vectors": "vectors:Vectors",
    "approximate": "study.search.approximate:approximate",
    "convert": "storage:convert",
    "corpus": "pipeline:corpus",
    "demo": "pipeline:demo",
    "draw": "study.draw.draw:draw",
    "draw_map": "study.map.pictures:draw_map",
    "info": "storage:info",
    "load": "storage:load",
    "load_classifier": "classification:load_classifier",
    "load_model": "neural.checkpoint:load_model",
    "phrases": "pipeline:phrases",
    "plan": "pipeline:plan",
    "read_tasks": "study.evaluate.task_files:read_tasks",
    "save": "storage:save",
    "save_classifier": "classification:save_classifier",
    "save_model": "neural.checkpoint:save_model",
    "summarize": "study.evaluate.evaluate:summarize",
    "tokenize": "encode.tokenize:tokenize",
    "test_classifier": "classification:test_classifier",
    "train": "pipeline:train",
    "train_classifier": "classification:train_classifier",
    "verify": "storage:verify",
    "world": "collect.world:",
}

_ANALYSES = {entry.name: entry.where for entry in registry.entries("analysis")}
"""Every analysis of the registry is a Python name too."""

_METHODS = {entry.where.partition(":")[2]: entry.where for entry in registry.entries("method")}
"""And so is the settings class of every method: `inlaid.SGNS`."""

_NAMES = {**_HOMES, **_ANALYSES, **_METHODS}
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("inlaid.version").VERSION
    where = _NAMES.get(name)
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
    if place := place_of(name, FUNCTIONS):
        return Message(" Here it is {place}.", place=place)
    meant = registry.suggestion(name, registry.entries("analysis"))
    aliases = [typed for alias in registry.ALIASES for typed in alias.typed.split()]
    is_close = "close" in meant.values
    if is_close and name in aliases:
        return meant
    return did_you_mean(name, __all__) or (meant if is_close else Message(""))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
