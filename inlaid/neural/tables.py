"""Tables: which tables a folder stores, and which of them are tied; no torch needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlaid.errors import FormatError
from inlaid.formats.huggingface import Folder, Stored
from inlaid.neural.config import Config, HeadConfig
from inlaid.neural.families.names import Names


@dataclass(frozen=True)
class Source:
    """A folder whose tensors are called by their full present-day names."""

    folder: Folder
    files: Mapping[str, str]
    """Full name -> the name in the file."""
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    """Full name of a tensor that is not stored -> the one used instead."""

    def name(self, full: str) -> str:
        """The full name of what is read for a tensor: its own, or that of its fallback."""
        return self.fallbacks.get(full, full)

    def stored(self, full: str) -> Stored:
        return self.folder.tensors[self.files[self.name(full)]]

    def read(self, full: str, *, once: bool = False) -> Any:
        return self.folder.read(self.stored(full).name, once=once)

    def same(self, one: str, two: str) -> bool:
        """Whether two tensors are equal to the last bit."""
        first = self.stored(one)
        second = self.stored(two)
        if (first.shape, first.dtype) != (second.shape, second.dtype):
            return False
        return np.array_equal(self.folder.content(first.name), self.folder.content(second.name))


def source_of(folder: Folder, names: Names) -> Source:
    """The folder with the family's names, and fallbacks for what is not stored."""
    files = names.full_names(folder.tensors)
    fallbacks = {used: spare for spare, used in names.spare.items() if spare in files}
    if names.fallback in files:
        tables = (names.input_table, names.target_table, names.output_table)
        fallbacks |= dict.fromkeys(tables, names.fallback)
    return Source(folder, files, {name: other for name, other in fallbacks.items() if name not in files})


def config_by_tensors(config: Config, names_of: Callable[[Config], Names], folder: Folder) -> Config:
    """The config, completed with what only the tensors tell: a head, a pooler, a second input table."""
    config = _without_absent_head(config, names_of, folder)
    if config.pooler:
        pooler = names_of(config).place("pooler.weight")
        files = source_of(folder, names_of(config)).files
        config = config.replace({"pooler": pooler is not None and pooler.name in files})
    return _with_target_table(config, names_of(config), folder)


def _without_absent_head(config: Config, names_of: Callable[[Config], Names], folder: Folder) -> Config:
    """Without a head whose layers are all absent, whatever class config.json names.

    Sentence encoders are often saved without the head of the class that they were made from, with its config.
    """
    names = names_of(config)
    if config.head.kind == "linear" and _was_saved_without(names, folder) and not config.head.tied:
        return config.replace({"head": HeadConfig(kind="none", tied=False)})
    if config.head.kind not in ("masked", "detector"):
        return config
    places = [names.place(f"head.{part}.weight") for part in ("transform", "norm", "output")]
    files = source_of(folder, names).files
    if any(place is not None and place.name in files for place in places):
        return config
    return config.replace({"head": HeadConfig(kind="none", tied=config.head.tied), "pooler": True})


def _was_saved_without(names: Names, folder: Folder) -> bool:
    """Whether a folder was saved from the class without a head: its names lack the prefix, and there is no
    output table."""
    if not names.prefix or any(name.startswith(names.prefix) for name in folder.tensors):
        return False
    return names.output_table not in source_of(folder, names).files


def _with_target_table(config: Config, names: Names, folder: Folder) -> Config:
    """With a second input table where the folder stores one that its config does not mention.

    T5's config has no key for it, and Marian's has no effect where tie_word_embeddings is false.
    """
    config_tells = config.head.tied and not names.tied_by_tensors
    if config.kind != "seq2seq" or config.target_vocab_size or config_tells:
        return config
    source = source_of(folder, names)
    sides = [side for side in names.copies if side in source.files]
    if names.input_table not in source.files and len(sides) < len(names.copies):
        return config  # a table is missing; reading it will raise
    shared = names.input_table in source.files
    if shared and all(source.same(side, names.input_table) for side in sides):
        return config
    return config.replace({"target_vocab_size": config.vocab_size})


def decide_tie(config: Config, names: Names, source: Source, chosen: bool | None) -> bool:
    """Whether the output layer uses the input table; if config and weights contradict each other, that is an
    error unless the caller has `chosen`."""
    if not config.head.has_table:
        return config.head.tied
    stored = source.name(names.output_table) in source.files
    tied = config.head.tied if chosen is None else chosen
    if not tied and not stored:
        raise FormatError(
            "{path}: the output layer is not tied (tie_word_embeddings: false), but there is no {output}. "
            "Load with tied=True if it should use the input table.",
            path=source.folder.path,
            output=names.output_table,
        )
    if chosen is not None or not tied or not stored or source.same(names.output_table, names.head_table):
        return tied
    if names.tied_by_tensors:
        return False
    raise FormatError(
        "{path}: config.json says tie_word_embeddings: true, but {output} differs from {input}. "
        "Load with tied=False to keep both, or with tied=True to drop the former.",
        path=source.folder.path,
        output=names.output_table,
        input=names.head_table,
    )
