"""Flags that several commands share."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.config import field_help, read_toml
from inlaid.errors import SettingError
from inlaid.messages import Message

TEXT_HELP = "files or folders of text, or the folder of a corpus"
PAIRS_HELP = "a file of pairs (tsv, csv, jsonl, parquet), two files of as many lines, or a corpus of pairs"
Text = Positional[tuple[Path, ...]]
Output = Annotated[Path, tyro.conf.arg(aliases=["-o"])]
FLAGS = {"charset": "encoding"}
"""Settings whose flag has another name: in code, `Encoding` is how text becomes ids."""
METAVARS = {"dictionary": "FILE|WORD..."}
"""Settings whose values the help calls by more than their types."""
OVERWRITE_HELP = "replace the output even if nothing in it shows that Inlaid wrote it"


def reading_options(*more: tuple[str, Any, Any], text_help: str = TEXT_HELP, **groups: object) -> type:
    """Options of a command that reads text: input, output, other fields, and groups of settings with their
    defaults."""
    fixed = [
        ("text", Annotated[Text, tyro.conf.arg(metavar="TEXT...", help=text_help)]),
        ("output", Annotated[Output, tyro.conf.arg(help="what to write")]),
        (
            "config",
            Annotated[Path | None, tyro.conf.arg(help="a TOML file of settings; flags override it")],
            dataclasses.field(default=None),
        ),
    ]
    given = [(name, type(default), dataclasses.field(default=default)) for name, default in groups.items()]
    return dataclasses.make_dataclass("Options", [*fixed, *more, *given], frozen=True, kw_only=True)


def flagged(settings: Any) -> Any:
    """The same settings, of a class that tells tyro what is in FLAGS and METAVARS, and the help of each field
    as one paragraph: tyro keeps the line ends of docstrings."""
    kind = type(settings)
    hints = typing.get_type_hints(kind, include_extras=True)
    helps = field_help(kind)
    renamed = list[tuple[str, Any]]()
    for name in [field.name for field in dataclasses.fields(kind)]:
        flag = tyro.conf.arg(name=FLAGS.get(name), help=helps.get(name), metavar=METAVARS.get(name))
        renamed.append((name, Annotated[hints[name], flag]))
    made: Any = dataclasses.make_dataclass(
        kind.__name__, renamed, bases=(kind,), frozen=True, kw_only=True, namespace={"__doc__": kind.__doc__}
    )
    return made(**values_of_group(settings))


def format_help() -> str:
    formats = ", ".join(entry.name for entry in registry.entries("format"))
    return str(Message("format of the output, where its suffix does not say it: {formats}", formats=formats))


def saving_fields() -> list[tuple[str, Any, Any]]:
    """The flags of a command that writes vectors."""
    arg = tyro.conf.arg
    return [
        ("format", Annotated[str | None, arg(help=format_help())], dataclasses.field(default=None)),
        ("overwrite", Annotated[bool, arg(help=OVERWRITE_HELP)], dataclasses.field(default=False)),
    ]


def reading_fields(without: Collection[str] = ()) -> list[tuple[str, Any, Any]]:
    """The flags of a command that reads vectors, `without` those that mean something else there."""
    from inlaid.formats.reading import Reading

    hints = typing.get_type_hints(Reading, include_extras=True)
    return [
        (
            field.name,
            Annotated[hints[field.name], tyro.conf.arg(name=FLAGS.get(field.name), help=text)],
            dataclasses.field(default=field.default),
        )
        for field, text in zip(dataclasses.fields(Reading), field_help(Reading).values(), strict=True)
        if field.name not in without
    ]


def reading_values(options: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """What was given for `reading_fields`."""
    return {name: getattr(options, name) for name, *_ in reading_fields(without)}


def config_values(words: list[str]) -> dict[str, Any]:
    """The settings in the file named by --config: the defaults of the flags, so it is read before them."""
    for word in words:
        if word.startswith("--config="):
            return read_toml(Path(word.partition("=")[2]))
    if "--config" not in words[:-1]:
        return {}
    return read_toml(Path(words[words.index("--config") + 1]))


def text_of(options: Any) -> Path | list[Path]:
    if not options.text:
        raise SettingError("No text was named. Name files or folders of text, or the folder of a corpus.")
    return options.text[0] if len(options.text) == 1 else list(options.text)


def one_of(options: Any) -> Path:
    if len(options.text) != 1:
        raise SettingError("Name one corpus: the folder that `inlaid corpus` wrote.")
    return options.text[0]


def values_of_group(settings: Any) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
