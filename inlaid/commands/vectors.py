"""Commands on files of vectors: convert, info, verify."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands.options import flagged, reading_fields, reading_values, saving_fields, values_of_group
from inlaid.commands.parsing import parse
from inlaid.commands.terminal import drawn, print_json, words_by_dim
from inlaid.messages import Message


def convert_command(words: list[str]) -> None:
    """Read vectors in one format and write them in another."""
    from inlaid import storage
    from inlaid.formats.native import Dtype
    from inlaid.formats.reading import Reading

    arg = tyro.conf.arg
    reading = flagged(Reading())
    source_help = "a file or folder of vectors"
    target_help = "the file or folder to write; its suffix selects the format"
    source_format_help = "format of the source, where it is not recognized by the content"
    dtype_help = "dtype of the table in Inlaid's own format"
    fields: list[Any] = [
        ("source", Annotated[Positional[Path], arg(help=source_help)]),
        ("target", Annotated[Positional[Path], arg(help=target_help)]),
        (
            "source_format",
            Annotated[str | None, arg(help=source_format_help)],
            dataclasses.field(default=None),
        ),
        *saving_fields(),
        ("dtype", Annotated[Dtype, arg(help=dtype_help)], dataclasses.field(default="float32")),
        ("reading", tyro.conf.OmitArgPrefixes[type(reading)], dataclasses.field(default=reading)),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid convert", convert_command.__doc__)
    with drawn() as report:
        vectors = storage.convert(
            options.source,
            options.target,
            source_format=options.source_format,
            format=options.format,
            dtype=options.dtype,
            overwrite=options.overwrite,
            report=report,
            **values_of_group(options.reading),
        )
    print(Message("{path}: {size}", path=options.target, size=words_by_dim(vectors)))


def info_command(words: list[str]) -> None:
    """What a file of vectors, a corpus or a model holds, and where it comes from, as JSON."""
    from inlaid import storage

    arg = tyro.conf.arg
    json_help = "accepted as by other commands; the output is JSON in any case"
    fields: list[Any] = [
        (
            "path",
            Annotated[Positional[Path], arg(help="a file of vectors, or the folder of a corpus or a model")],
        ),
        *reading_fields(),
        ("json", Annotated[bool, arg(help=json_help)], dataclasses.field(default=False)),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid info", info_command.__doc__)
    with drawn() as report:
        found = storage.info(options.path, report=report, **reading_values(options))
    print_json(found)


def verify_command(path: Positional[Path], json: bool = False) -> None:
    """Read every byte of a file of vectors or a corpus and compare checksums.

    Args:
        path: a file of vectors, or the folder of a corpus
        json: print JSON instead of text
    """
    from inlaid.storage import verify

    size = verify(path)
    if json:
        print_json({"path": str(path), "bytes": size})
        return
    print(Message("{path}: {size:,} bytes, all as written", path=path, size=size))
