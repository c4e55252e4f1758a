"""Flags that several commands share."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.config import read_toml
from inlaid.errors import SettingError

TEXT_HELP = "files or folders of text, or the folder of a corpus"
Text = Positional[tuple[Path, ...]]
Output = Annotated[Path, tyro.conf.arg(aliases=["-o"])]
OVERWRITE_HELP = "replace the output even if nothing in it shows that Inlaid wrote it"


def reading_options(*more: tuple[str, Any, Any], **groups: object) -> type:
    """Options of a command that reads text: input, output, other fields, and groups of settings with their
    defaults."""
    fixed = [
        ("text", Annotated[Text, tyro.conf.arg(metavar="TEXT...", help=TEXT_HELP)]),
        ("output", Annotated[Output, tyro.conf.arg(help="what to write")]),
        (
            "config",
            Annotated[Path | None, tyro.conf.arg(help="a TOML file of settings; flags override it")],
            dataclasses.field(default=None),
        ),
    ]
    given = [(name, type(default), dataclasses.field(default=default)) for name, default in groups.items()]
    return dataclasses.make_dataclass("Options", [*fixed, *more, *given], frozen=True, kw_only=True)


def format_help() -> str:
    formats = ", ".join(entry.name for entry in registry.entries("format"))
    return f"format of the output, where its suffix does not say it: {formats}"


def saving_fields() -> list[tuple[str, Any, Any]]:
    """The flags of a command that writes vectors."""
    arg = tyro.conf.arg
    return [
        ("format", Annotated[str | None, arg(help=format_help())], dataclasses.field(default=None)),
        ("overwrite", Annotated[bool, arg(help=OVERWRITE_HELP)], dataclasses.field(default=False)),
    ]


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
