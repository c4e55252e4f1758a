"""`inlaid draw`: a picture, its flags, and the file it is written to."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated, Any

import tyro

from inlaid import registry
from inlaid.commands.examples import examples_text
from inlaid.commands.options import OVERWRITE_HELP, config_values, flagged, values_of_group
from inlaid.commands.parsing import parse
from inlaid.commands.terminal import listed, print_json, print_rows
from inlaid.config import settings_of
from inlaid.messages import Message, spoken_language, translated
from inlaid.progress import drawn


def draw_command(words: list[str]) -> None:
    """Pictures of the geometry behind embeddings and Transformers, with their numbers."""
    if not words or words[0] in ("-h", "--help"):
        print(Message("usage: {usage}", usage="inlaid draw PICTURE [-o FILE] [--lang zh] [OPTIONS]\n"))
        print(Message("pictures:"))
        print(listed({entry.name: translated(entry.summary) for entry in registry.entries("picture")}))
        print(Message("\n`inlaid draw PICTURE --help` lists the settings of one picture."))
        print(examples_text("inlaid draw"))
        return
    name = words[0]
    kind = registry.find("picture", name)

    from inlaid.study.draw.draw import draw_picture

    options = _parsed(name, kind, words[1:])
    with drawn() as report:
        made = draw_picture(
            name,
            kind(**values_of_group(options.settings)),
            options.output,
            lang=spoken_language(),
            overwrite=options.overwrite,
            report=report,
        )
    if options.json:
        print_json(made.to_dict())
    else:
        print_rows(made.rows())


def _parsed(name: str, kind: Any, words: list[str]) -> Any:
    arg = tyro.conf.arg
    field = dataclasses.field
    output_help = "write the figure: .png, .svg, or an .html page with the numbers, which needs no network"
    config_help = "a TOML file of settings; flags override it"
    settings = flagged(settings_of(kind, config_values(words)))
    fields: list[Any] = [
        ("settings", type(settings), field(default=settings)),
        ("output", Annotated[Path | None, arg(aliases=["-o"], help=output_help)], field(default=None)),
        ("overwrite", Annotated[bool, arg(help=OVERWRITE_HELP)], field(default=False)),
        ("config", Annotated[Path | None, arg(help=config_help)], field(default=None)),
        ("json", Annotated[bool, arg(help="print the numbers as JSON")], field(default=False)),
    ]
    options = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    return parse(options, words, f"inlaid draw {name}", inspect.getdoc(kind))
