"""Tables: which tables a folder stores, and which of them are one; no torch needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlaid.errors import FormatError
from inlaid.formats.huggingface import Folder, Stored
from inlaid.neural.architecture import Architecture
from inlaid.neural.names import Names, full_names, names_of


@dataclass(frozen=True)
class Source:
    """A folder whose tensors are called by their full present-day names."""

    folder: Folder
    files: Mapping[str, str]
    """Full name -> the name in the file."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Full name of a table that is not stored -> that of the one that stands in for it."""

    def name(self, full: str) -> str:
        """The full name of what is read for a tensor: its own, or that of its stand-in."""
        return self.stand_ins.get(full, full)

    def stored(self, full: str) -> Stored:
        return self.folder.tensors[self.files[self.name(full)]]

    def read(self, full: str) -> Any:
        return self.folder.read(self.stored(full).name)

    def same(self, one: str, two: str) -> bool:
        """Whether two tensors are equal to the last bit."""
        first = self.stored(one)
        second = self.stored(two)
        if (first.shape, first.dtype) != (second.shape, second.dtype):
            return False
        return np.array_equal(self.folder.content(first.name), self.folder.content(second.name))


def source_of(folder: Folder, names: Names) -> Source:
    """The folder as the family names it; T5 goes back to its shared table for each of three that is not
    stored."""
    files = full_names(folder.tensors, names)
    missing = [name for name in (names.table, names.target, names.head) if name not in files]
    return Source(folder, files, dict.fromkeys(missing, names.shared) if names.shared in files else {})


def with_sides(shape: Architecture, model_type: str, folder: Folder) -> Architecture:
    """The architecture with a second table where the folder stores one that its config is silent about.

    T5's config has no word for it, and Marian's means nothing where tie_word_embeddings is false.
    """
    names = names_of(model_type)
    if shape.kind != "seq2seq" or shape.target_words or (shape.tied and not names.silent):
        return shape
    source = source_of(folder, names)
    sides = [side for side in names.copies if side in source.files]
    if names.table not in source.files and len(sides) < len(names.copies):
        return shape  # one is missing, which reading will say
    own = names.table not in source.files or any(not source.same(side, names.table) for side in sides)
    return dataclasses.replace(shape, target_words=shape.words) if own else shape


def decide_tie(shape: Architecture, names: Names, source: Source, chosen: bool | None) -> bool:
    """Whether the output layer uses the input table; a config and a file that disagree are not reconciled by
    guessing."""
    present = source.name(names.head) in source.files
    path = source.folder.path
    if shape.head == "none":
        return shape.tied
    tied = shape.tied if chosen is None else chosen
    if not tied and not present:
        raise FormatError(
            f"{path}: the output layer is not tied (tie_word_embeddings: false), but there is no {names.head}. "
            "Load with tied=True if it should share the input table."
        )
    if tied and present and chosen is None and not source.same(names.head, names.written):
        if names.silent:
            return False
        raise FormatError(
            f"{path}: config.json says tie_word_embeddings: true, but {names.head} differs from {names.written}. "
            "Load with tied=False to keep both, or with tied=True to drop the former."
        )
    return tied
