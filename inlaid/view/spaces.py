"""Spaces: the vectors and models that are served, each under a name, loaded once."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.card import brief
from inlaid.errors import SettingError, UnknownName, did_you_mean, need
from inlaid.messages import Listed, Message
from inlaid.neural.kinds import AnyModel, is_model_folder, uses_of
from inlaid.report import Report, silent
from inlaid.study.analysis import plain
from inlaid.vectors import Vectors

MOST_NAMES = 20
"""Names that an error lists."""


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors or a model, under the name that clients use."""

    name: str
    value: Vectors | AnyModel
    path: Path | None = None
    """Where it was loaded from; clients are not told."""
    created: int = 0
    """Seconds since 1970: when the file was last written."""
    device: str = "cpu"
    """Where a model computes."""

    @property
    def vectors(self) -> Vectors | None:
        return self.value if isinstance(self.value, Vectors) else None

    @property
    def model(self) -> Any:
        return self.value if isinstance(self.value, AnyModel) else None

    def summary(self) -> dict[str, Any]:
        """What clients are told about it."""
        value: Any = self.value
        card = value.card
        summary = {
            "name": self.name,
            "kind": "vectors" if self.vectors is not None else "model",
            "words": None if self.vectors is None else len(self.vectors),
            "dim": value.dim if self.vectors is not None else value.config.dim,
            "uses": [] if self.vectors is not None else list(uses_of(value)),
            "language": card.encoding.get("language") or card.settings.get("language"),
            "subwords": self.vectors is not None and self.vectors.subwords is not None,
            "contexts": self.vectors is not None and self.vectors.contexts is not None,
            "card": {
                "method": card.method,
                "settings": plain(card.settings),
                "corpus": card.corpus,
                "encoding": plain(brief(card.encoding)),
                "version": card.version,
                "scores": plain(card.scores),
                "notes": list(card.notes),
            },
        }
        return _without_paths(summary)


def _without_paths(value: Any) -> Any:
    """Paths of this machine, such as that of a tokenizer in a card, by their last part."""
    if isinstance(value, dict):
        return {name: _without_paths(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_paths(each) for each in value]
    if isinstance(value, str) and value.startswith("/") and len(Path(value).parts) > 2:
        return Path(value).name
    return value


@dataclass(eq=False)
class Spaces:
    """All that is served. A space is replaced as a whole: who has taken one keeps it to the end of an answer.

    >>> spaces = Spaces.of({"en": vectors})
    >>> spaces.find("en").vectors
    """

    _by_name: Mapping[str, Space] = field(default_factory=dict[str, Space])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = 0
    """Grows with every space that is put in."""

    @classmethod
    def of(cls, named: Mapping[str, Vectors | AnyModel]) -> Spaces:
        return cls({name: Space(name, value) for name, value in named.items()})

    def find(self, name: str | None = None) -> Space:
        """The space of this name; the first without one."""
        known = self._by_name
        if name is None:
            return next(iter(known.values()))
        if name not in known:
            raise UnknownName(
                "No space is called '{name}'.{hint} There are: {names}.",
                name=name[:100],
                hint=did_you_mean(name, known) if len(name) < 100 else Message(""),
                names=Listed([*known][:MOST_NAMES]),
            )
        return known[name]

    def put(self, space: Space) -> None:
        """Serve a space from now on, in place of one of the same name."""
        with self._lock:
            self._by_name = {**self._by_name, space.name: space}
            self.version += 1

    def __iter__(self) -> Iterator[Space]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def load_spaces(typed: list[str], report: Report = silent, *, device: str = "cpu") -> Spaces:
    """The files and folders that were named, as PATH or NAME=PATH."""
    places = dict[str, Path]()
    for each in typed:
        name, path = named_path(each)
        if name in places:
            raise SettingError(
                "Two spaces are called '{name}'. Give one of them another name: NAME={path}",
                name=name,
                path=path,
            )
        places[name] = path
    spaces = Spaces()
    for name, path in places.items():
        spaces.put(load_space(name, path, report, device=device))
    return spaces


def named_path(typed: str) -> tuple[str, Path]:
    """NAME=PATH, or a path whose name is that of the file without its suffixes."""
    name, mark, path = typed.partition("=")
    if mark and name and "/" not in name and not Path(typed).exists():
        return name, Path(path)
    whole = Path(typed)
    return (whole.name if whole.is_dir() else whole.name.split(".")[0]) or typed, whole


def load_space(name: str, path: Path, report: Report = silent, *, device: str = "cpu") -> Space:
    """Vectors or a model, whichever the path is."""
    created = int(path.stat().st_mtime) if path.exists() else 0
    if is_model_folder(path):
        need("torch", extra="neural")
        from inlaid.neural.checkpoint import load_model

        return Space(name, load_model(path, device=device), path, created, device)
    from inlaid import storage

    vectors = storage.load(path, report=report)
    return Space(name, _in_memory(vectors), path, created)


def _in_memory(vectors: Vectors) -> Vectors:
    """The same, without a file behind its tables: whoever writes into the file changes no answer, and ends no
    process that has it mapped."""
    first = vectors.words[0]
    vectors.words.ids([first])  # words are read from the file when they are first asked for
    vectors.words.find(first)
    contexts = vectors.contexts
    if contexts is not None and not isinstance(contexts, np.ndarray):
        contexts = contexts.whole()
    contexts = None if contexts is None else np.array(contexts)
    return dataclasses.replace(vectors, stored=np.array(vectors.table), contexts=contexts)
