"""Commands on files of vectors: convert, info, verify."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands.options import flagged, reading_fields, reading_values, saving_fields, values_of_group
from inlaid.commands.parsing import parse
from inlaid.commands.streams import PIPE, naming, written
from inlaid.commands.terminal import DROPPED, LINT, in_columns, print_json, words_by_dim
from inlaid.messages import Listed, Message, translated, word
from inlaid.progress import drawn
from inlaid.report import time_in_words

TEXT_FORMAT = "word2vec-text"
"""What goes to standard output unless a format is named."""


def convert_command(words: list[str]) -> None:
    """Read vectors in one format and write them in another."""
    from inlaid import storage
    from inlaid.formats.native import Dtype
    from inlaid.formats.reading import Reading

    arg = tyro.conf.arg
    reading = flagged(Reading())
    source_help = "a file or folder of vectors"
    target_help = "the file or folder to write; its suffix selects the format; - is standard output, as text"
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
    format = options.format
    if str(options.target) == PIPE:
        format = format or TEXT_FORMAT
    with drawn() as report, written(options.target) as target:
        vectors = storage.convert(
            options.source,
            target,
            source_format=options.source_format,
            format=format,
            dtype=options.dtype,
            overwrite=options.overwrite,
            report=naming(options.target, report),
            **values_of_group(options.reading),
        )
    if str(options.target) != PIPE:
        print(Message("{path}: {size}", path=options.target, size=words_by_dim(vectors)))


def info_command(words: list[str]) -> None:
    """What a file of vectors, a classifier, a corpus or a model holds, and where it comes from."""
    from inlaid import storage

    arg = tyro.conf.arg
    json_help = "print JSON instead of a table"
    fields: list[Any] = [
        (
            "path",
            Annotated[
                Positional[Path],
                arg(help="a file of vectors, a classifier, or the folder of a corpus or a model"),
            ],
        ),
        *reading_fields(),
        ("json", Annotated[bool, arg(help=json_help)], dataclasses.field(default=False)),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid info", info_command.__doc__)
    with drawn() as report:
        found = storage.info(options.path, report=report, **reading_values(options))
    if options.json:
        print_json(found)
    else:
        print(in_columns(list(_info_rows(found))))


def _info_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A line for each field that says something; what is nested is on one line, the card's fields are
    fields."""
    for name, value in found.items():
        if name == "card":
            yield from _info_rows(value or {})
        elif name == "outcome" and value:
            yield _title(name), _outcome(value)
        elif name == "lint":
            yield _title(name), _findings(value)
        elif isinstance(value, dict):
            inside = [
                f"{_key(name, key)} {_short(each)}" for key, each in value.items() if each not in NOTHING
            ]
            yield from [(_title(name), str(Listed(inside)))] if inside else []
        elif name == "kind":
            yield _title(name), translated(value)
        elif value not in NOTHING:
            yield _title(name), _short(value)


FIELDS = (
    *("kind", "words", "dim", "method", "settings", "corpus", "encoding", "version", "outcome", "inputs"),
    *("documents", "sentences", "tokens", "lint", "hash", "family", "network", "parameters", "layers"),
)
"""Fields whose names are shown in the language of the reader."""
COUNTS = ("read", "used", "dropped")
"""What is counted of documents, sentences, tokens and words."""
KINDS = ("vectors", "corpus", "model")


def _title(name: str) -> str:
    """A field as it is shown; one that is not ours stays as it is in the file."""
    return translated(name) if name in FIELDS else name


def _key(field: str, key: str) -> str:
    """What stands before a value of a field of several: settings stay as they are typed."""
    return translated(key) if field in FIELDS and key in COUNTS else key


def _findings(lint: dict[str, int]) -> str:
    """What an encoding noticed in the text, in the words that it says itself when it ends; or none."""
    found = [
        Message("{what}: {count:,}", what=translated(LINT.get(what, what)), count=count)
        for what, count in lint.items()
        if count
    ]
    return str(Listed(found)) or translated("none")


NOTHING = (None, "", [], (), {})


def _short(value: Any) -> str:
    """A value on one line; of a long list, the first entries."""
    if isinstance(value, bool):
        return translated("yes") if value else translated("no")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        shown = {translated(DROPPED.get(str(key), str(key))): each for key, each in value.items()}
        return " ".join(f"{key}={_short(each)}" for key, each in shown.items() if each not in NOTHING)
    if isinstance(value, (list, tuple)):
        listed = " ".join(_short(each) for each in value[:LISTED])
        more = len(value) - LISTED
        return str(Message("{listed} and {more:,} more", listed=listed, more=more)) if more > 0 else listed
    return str(value)


LISTED = 8
"""Entries of a list that are shown."""


def _outcome(outcome: dict[str, Any]) -> str:
    """How the training ended, in one line."""
    done = Message(
        "{reason}, {done:,} of {total:,} {unit}, {time}",
        reason=word(outcome["reason"]),
        done=outcome["done"],
        total=outcome["total"],
        unit=word(outcome["unit"]),
        time=time_in_words(outcome["seconds"]),
    )
    losses = [mark["loss"] for mark in outcome["marks"] if mark["loss"]]
    if not losses:
        return str(done)
    return str(Message("{done}, loss {first:.4g} to {last:.4g}", done=done, first=losses[0], last=losses[-1]))


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
