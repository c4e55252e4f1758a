"""Commands on files of vectors: evaluate, convert, info, verify, inspect."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.commands.options import values_of_group
from inlaid.commands.terminal import drawn, parse, print_scores
from inlaid.errors import SettingError


def evaluate(
    vectors: Positional[Path],
    tasks: Positional[tuple[str, ...]] = (),
    against: Path | None = None,
    also: tuple[Path, ...] = (),
    top: int | None = None,
    fold: bool = False,
    unknown: Literal["skip", "wrong"] = "skip",
    sections: bool = False,
    json: bool = False,
) -> None:
    """Score vectors on tasks with known answers.

    Args:
        vectors: a file of vectors
        tasks: names of tasks, or files and folders of task files; all named tasks when none is given
        against: other vectors, compared on the items both know
        also: more vectors of the same kind, such as other seeds: means and their intervals are shown
        top: only the first so many words take part, as answers too
        fold: words that differ in case alone are one
        unknown: items with an unknown word are left out, or count as wrong
        sections: also show the sections of each task
        json: print JSON instead of a table
    """
    from inlaid import pipeline
    from inlaid.study.evaluate.evaluate import evaluate, evaluate_against, summarize
    from inlaid.study.evaluate.oov import Policy

    if against and also:
        raise SettingError("--against compares two models and --also averages several; give one of them.")
    with drawn() as report:
        policy = Policy(top=top, fold=fold, unknown=unknown)
        first = pipeline.load(vectors)
        if against:
            found: Sequence[Any] = evaluate_against(
                first, pipeline.load(against), tasks, policy=policy, report=report
            )
        else:
            runs = [
                evaluate(each, tasks, policy=policy, report=report)
                for each in (first, *map(pipeline.load, also))
            ]
            found = summarize(runs) if also else runs[0]
    print_scores(found, sections=sections, as_json=json)


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
    """What a file of vectors or a corpus holds and how it came to be.

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


def inspect(path: Positional[Path]) -> None:
    """What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory.

    Args:
        path: a folder with config.json and weights, or a config.json alone
    """
    from inlaid.study.explain.inspect import inspect

    print(inspect(path))
