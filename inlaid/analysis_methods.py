"""Analyses of the registry as methods of Vectors: `vectors.neighbors("cat", n=5)`.

Every analysis whose first input is one Vectors is a method. It is found by its name when it is called, so
`Vectors` imports no analysis. Editors read the signatures from `analysis_methods.pyi`, which `make docs`
writes. The stub is beside this file and not beside `vectors.py`: a stub replaces the types of a whole module,
and `vectors.py` would have to be written twice.
"""

from __future__ import annotations

import importlib
import types
from typing import Any

from inlaid import registry
from inlaid.errors import did_you_mean
from inlaid.habits import ATTRIBUTES, place_of
from inlaid.messages import Message

VERBS = {"save": "storage:save", "explore": "view.explorer.notebook:explore"}
"""What vectors can do and no analysis is, and where it lives."""


class AnalysisMethods:
    """What `Vectors` inherits. Attributes that `Vectors` has of its own come first."""

    def __getattr__(self, name: str) -> Any:
        if name in VERBS:
            return types.MethodType(verb(name), self)
        if not name.startswith("_"):
            for entry in registry.entries("analysis"):
                if entry.name == name and takes(entry, type(self)):
                    return types.MethodType(entry.load(), self)
        raise AttributeError(str(_no_attribute(self, name)))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *method_names(type(self)), *VERBS})


def verb(name: str) -> Any:
    """The function that a verb stands for."""
    module, _, attribute = VERBS[name].partition(":")
    return getattr(importlib.import_module(f"inlaid.{module}"), attribute)


def method_names(kind: type) -> list[str]:
    """The analyses whose first input is one object of this type; imports them all."""
    return [entry.name for entry in registry.entries("analysis") if takes(entry, kind)]


def takes(entry: registry.Entry, kind: type) -> bool:
    """Whether the first input of an analysis is one object of this type."""
    first = entry.load().analysis.inputs[0]
    return issubclass(kind, (first.type, *first.accepts)) and not first.many


def _no_attribute(owner: object, name: str) -> Message:
    analyses = registry.entries("analysis")
    if any(entry.name == name for entry in analyses):
        return Message("'{name}' is not a method of vectors. Call `inlaid.{name}(...)`.", name=name)
    return Message(
        "'{kind}' object has no attribute '{name}'.{hint}",
        kind=type(owner).__name__,
        name=name,
        hint=_hint(owner, name),
    )


def _hint(owner: object, name: str) -> Message:
    """The attribute or analysis that was meant; nothing for private names, which programs ask for."""
    if name.startswith("_"):
        return Message("")
    if place := place_of(name, ATTRIBUTES):
        return Message(" Here it is {place}.", place=place)
    analyses = registry.entries("analysis")
    meant = registry.suggestion(name, analyses)
    if "close" in meant.values:
        return meant
    own = [each for each in object.__dir__(owner) if not each.startswith("_")]
    return did_you_mean(name, own)
