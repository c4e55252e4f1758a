"""Commands on files of vectors: neighbors, analogy, evaluate, convert, info, verify, inspect."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.commands.options import Number, values_of_group
from inlaid.errors import SettingError
from inlaid.terminal import drawn, parse, print_json_neighbors, print_neighbors, print_scores


def neighbors(
    vectors: Positional[Path],
    words: Positional[tuple[str, ...]],
    n: Number = 10,
    by: Literal["cosine", "csls", "frequency"] = "cosine",
    top: int | None = None,
    include: bool = False,
    json: bool = False,
) -> None:
    """The words nearest to each WORD.

    Args:
        vectors: a file of vectors
        words: the words to look around, one list each
        n: how many neighbors
        by: cosine, csls (free of hubs) or frequency (free of what words of a frequency share)
        top: only among so many first words
        include: let a word find itself
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.search import neighbors as search

    if not words:
        raise SettingError("No word was named. Name the words to look around.")
    found = search.neighbors_of_each(pipeline.load(vectors), words, n=n, by=by, top=top, include=include)
    print_json_neighbors(words, found) if json else print_neighbors(words, found)


def analogy(
    vectors: Positional[Path],
    formula: Positional[str],
    n: Number = 10,
    by: Literal["cosine", "csls", "frequency"] = "cosine",
    top: int | None = None,
    include: bool = False,
    json: bool = False,
) -> None:
    """The words nearest to a sum of words: "king - man + woman".

    Args:
        vectors: a file of vectors
        formula: words joined by + and -, with blanks around the signs; 2 * word, brackets, "new york" in quotes
        n: how many answers
        by: cosine, csls (free of hubs) or frequency (free of what words of a frequency share)
        top: only among so many first words
        include: let the words of the formula be answers
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.search import formulas
    from inlaid.study.search import neighbors as search

    space = pipeline.load(vectors)
    read = formulas.parse(formula, space.__contains__)
    if formulas.parse(formula) != read:  # signs without blanks: say how they were taken
        print(f"note: read as {read}", file=sys.stderr)
    found = [search.analogy(space, read, n=n, by=by, top=top, include=include)]
    print_json_neighbors([str(read)], found) if json else print_neighbors([str(read)], found)


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
    from inlaid.formats.native import Dtype
    from inlaid.formats.reading import Reading

    formats = ", ".join(entry.name for entry in registry.entries("format"))
    arg = tyro.conf.arg
    source_help = "a file or folder of vectors"
    target_help = "the file or folder to write; its suffix selects the format"
    source_format_help = "format of the source, where it is not recognized by the content"
    format_help = f"format of the target: {formats}"
    dtype_help = "dtype of the table in Inlaid's own format"
    fields = [
        ("source", Annotated[Positional[Path], arg(help=source_help)]),
        ("target", Annotated[Positional[Path], arg(help=target_help)]),
        (
            "source_format",
            Annotated[str | None, arg(help=source_format_help)],
            dataclasses.field(default=None),
        ),
        ("format", Annotated[str | None, arg(help=format_help)], dataclasses.field(default=None)),
        ("dtype", Annotated[Dtype, arg(help=dtype_help)], dataclasses.field(default="float32")),
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
            source_format=options.source_format,
            format=options.format,
            dtype=options.dtype,
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
