"""Commands on files of vectors: convert, info, verify."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.commands.options import values_of_group
from inlaid.commands.terminal import drawn, parse


def convert(words: list[str]) -> None:
    """Read vectors in one format and write them in another."""
    from inlaid import files, pipeline
    from inlaid.formats.native import Numbers
    from inlaid.formats.reading import Reading

    formats = ", ".join(entry.name for entry in registry.entries("format"))
    fields = [
        ("source", Annotated[Positional[Path], tyro.conf.arg(help="a file or folder of vectors")]),
        (
            "target",
            Annotated[Positional[Path], tyro.conf.arg(help="what to write; its ending says the format")],
        ),
        (
            "format",
            Annotated[str | None, tyro.conf.arg(help=f"format of the target: {formats}")],
            dataclasses.field(default=None),
        ),
        (
            "numbers",
            Annotated[Numbers, tyro.conf.arg(help="how Inlaid's own format keeps them")],
            dataclasses.field(default="float32"),
        ),
        ("reading", tyro.conf.OmitArgPrefixes[Reading], dataclasses.field(default=Reading())),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid convert", convert.__doc__)
    if options.target.suffix:
        files.can_write(options.target)
    with drawn() as report:
        vectors = pipeline.convert(
            options.source,
            options.target,
            format=options.format,
            numbers=options.numbers,
            report=report,
            **values_of_group(options.reading),
        )
    print(f"{options.target}: {len(vectors):,} words x {vectors.dim}")


def info(path: Positional[Path]) -> None:
    """What a file of vectors or a corpus holds, and where it comes from.

    Args:
        path: a file of vectors, or the folder of a corpus
    """
    import json

    from inlaid.pipeline import info

    print(json.dumps(info(path), indent=2, ensure_ascii=False))


def verify(path: Positional[Path]) -> None:
    """Read every byte of a file of vectors or a corpus and compare checksums.

    Args:
        path: a file of vectors, or the folder of a corpus
    """
    from inlaid.pipeline import verify

    print(f"{path}: {verify(path):,} bytes, all as written")
