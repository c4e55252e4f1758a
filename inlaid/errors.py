"""Everything Inlaid raises on purpose; need() for optional dependencies."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any


class InlaidError(Exception):
    """Something a user can mend; its text says what was found, what was expected and what to do."""


class SettingError(InlaidError):
    """A setting outside what it may be."""


class UnknownName(InlaidError):
    """A method, format, tokenizer, flag or key that does not exist."""


class UnknownWord(InlaidError):
    """A word the vectors have no row for."""


class SourceError(InlaidError):
    """Text that is missing, empty or cannot be read."""


class FormatError(InlaidError):
    """A file that is not what it says it is."""


class WriteError(InlaidError):
    """A result that could not be written; what stood there before is untouched."""


class Diverged(InlaidError):
    """Training that went wrong: a loss or a table that is no number any more, or a loss that blew up."""

    done: int | None = None
    """Where the tables that the work now holds come from: the last good ones. None: there were none to go back to."""
    vectors: Any = None
    """The vectors of those tables."""


class MissingExtra(InlaidError):
    """An optional dependency that is not installed."""


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it.

    >>> need("umap", extra="umap")
    MissingExtra: umap is not installed: run `pip install 'inlaid[umap]'`
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is there, but broken inside: that is another story
        raise MissingExtra(f"{module} is not installed: run `pip install 'inlaid[{extra}]'`") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence naming the closest of `known`, or nothing when none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
