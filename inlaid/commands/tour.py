"""`inlaid tour`: the whole story on one page, from one-hot to translation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from inlaid.commands.options import OVERWRITE_HELP
from inlaid.commands.terminal import in_columns, places, wrapped
from inlaid.errors import UnknownName, did_you_mean
from inlaid.messages import Listed, Message, spoken_language
from inlaid.progress import drawn
from inlaid.report import Progress, Report

if TYPE_CHECKING:
    from inlaid.messages import Language
    from inlaid.tour.content import Tour
    from inlaid.tour.rendering import Played, PlayedChapter
    from inlaid.tour.showing import Runner

SUFFIXES = (".html", ".ipynb")


def tour_command(
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    chapter: str | None = None,
    size: Literal["full", "tiny"] | None = None,
    fresh: bool = False,
    overwrite: Annotated[bool, tyro.conf.arg(help=OVERWRITE_HELP)] = False,
) -> None:
    """Lead through ten generations of embeddings, from one-hot to translation, with the same questions.

    Args:
        output: write a page (.html) or a notebook (.ipynb) instead of showing the tour
        chapter: show this chapter only, such as onehot or claims
        size: full trains for about three minutes; tiny for seconds, and its answers make little sense
        fresh: train again instead of using what an earlier run has kept
    """
    from inlaid.study import figures
    from inlaid.tour import content, rendering
    from inlaid.tour.models import models
    from inlaid.tour.showing import Runner

    language = spoken_language()
    told = content.tour(language)
    wanted = _wanted(told, chapter)
    if output is not None:
        figures.writable(output, Message("A tour"), suffixes=SUFFIXES, overwrite=overwrite)
    if output is not None and output.suffix.lower() == ".ipynb":
        _write(output, rendering.notebook(told, language))
        return
    with drawn() as report:
        made = models(language, size=size, fresh=fresh, report=report)
        chapters = _played(told, wanted, Runner(made), report)
    if output is not None:
        figures.write(output, rendering.page(told, chapters, language))
        print(Message("{path}: {count} chapters", path=output, count=len(chapters)))
        return
    _print(told.title, chapters, language)


def _wanted(told: Tour, name: str | None) -> Sequence[str]:
    """The names of the chapters to show."""
    known = [each.name for each in told.chapters]
    if name is None:
        return known
    if name not in known:
        raise UnknownName(
            "The tour has no chapter '{name}'.{hint} There are: {known}.",
            name=name,
            hint=did_you_mean(name, known),
            known=Listed(known),
        )
    return [name]


def _write(path: Path, text: str) -> None:
    from inlaid import files

    files.write_text(path, text)
    print(path)


def _played(told: Tour, wanted: Sequence[str], runner: Runner, report: Report) -> list[PlayedChapter]:
    """The chapters with their outputs. A single one needs the first block of the tour and its own."""
    from inlaid.tour.rendering import play_chapter

    played: list[PlayedChapter] = []
    for number, each in enumerate(told.chapters):
        # Chapters that train take far longer than others: their number says nothing about the time left.
        report(Progress("tour", number, len(told.chapters), "chapters", {"speed": 0.0}))
        if each.name in wanted:
            played.append(play_chapter(each, runner))
    return played


def _print(title: str, chapters: Sequence[PlayedChapter], language: Language) -> None:
    print(title)
    for number, played in enumerate(chapters, 1):
        heading = f"{number}. {played.chapter.title}"
        print(f"\n{heading}\n{'-' * places(heading)}")
        for each in played.blocks:
            print()
            _print_block(each, language)


def _print_block(played: Played, language: Language) -> None:
    from inlaid.tour.content import Paragraph
    from inlaid.tour.rendering import SEE, tables

    if isinstance(played.block, Paragraph):
        print(wrapped(played.block.text))
        return
    print("\n".join(f"    {line}".rstrip() for line in played.block.code.splitlines()))
    print()
    for rows in tables(played.output.rows if played.output is not None else ()):
        print(in_columns(rows, indent=4))
    print(f"\n{wrapped(SEE[language] + played.block.see, first='  ', rest='  ')}")
