"""Rendering: the tour as blocks of a page, as Markdown and as a notebook."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inlaid.messages import Language
from inlaid.study import pages
from inlaid.tour.content import Chapter, Code, Paragraph, Tour
from inlaid.tour.showing import Output, Row, Runner, lines_of

SEE = {"zh": "看什么：", "en": "What to see: "}
"""Before what there is to see in an output."""
NOTEBOOK_FORMAT = {"nbformat": 4, "nbformat_minor": 5}
NOTEBOOK_LANGUAGE = {
    "zh": 'import os\n\nos.environ["LC_ALL"] = "zh_CN.UTF-8"  # 表格用中文显示',
    "en": 'import os\n\nos.environ["LC_ALL"] = "C.UTF-8"  # tables are shown in English',
}
"""The first cell: what is shown is in the language of the notebook, whatever the locale of its reader is."""


@dataclass(frozen=True)
class Played:
    """A block of the tour, and what its code showed."""

    block: Paragraph | Code
    output: Output | None = None


@dataclass(frozen=True)
class PlayedChapter:
    """A chapter whose code was run."""

    chapter: Chapter
    blocks: tuple[Played, ...]


def play_chapter(chapter: Chapter, runner: Runner) -> PlayedChapter:
    """Run the code of a chapter."""
    played = [
        Played(block, runner.run(block) if isinstance(block, Code) else None) for block in chapter.blocks
    ]
    return PlayedChapter(chapter, tuple(played))


def page(tour: Tour, chapters: Sequence[PlayedChapter], language: Language) -> str:
    """One HTML file."""
    blocks: list[pages.Block] = []
    for played in chapters:
        blocks.append(pages.Heading(played.chapter.title))
        for each in played.blocks:
            blocks += _page_blocks(each, language)
    return pages.page(tour.title, blocks, language=language)


def _page_blocks(played: Played, language: Language) -> Iterator[pages.Block]:
    if isinstance(played.block, Paragraph):
        yield pages.Text(played.block.text)
        return
    yield pages.Code(played.block.code)
    rows = () if played.output is None else played.output.rows
    for table in tables(rows):
        if isinstance(table[0], str):
            if any(table):
                yield pages.Code("\n".join(str(row) for row in table).strip("\n"))
        elif _has_header(table):
            yield pages.Table(table)  # pyright: ignore[reportArgumentType]
        else:
            yield pages.Code("\n".join(lines_of(table)))
    yield pages.Text(SEE[language] + played.block.see, note=True)


def tables(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Runs of lines, and runs of rows with the same number of cells, which are one table."""
    for _, run in itertools.groupby(rows, key=lambda row: 0 if isinstance(row, str) else len(row)):
        yield list(run)


def _has_header(table: Sequence[Row]) -> bool:
    """Whether the first row names the columns, and is not of numbers."""
    return len(table) > 1 and _words(table[0])


def _words(row: Row) -> bool:
    return not isinstance(row, str) and not any(any(map(str.isdigit, cell)) for cell in row)


def markdown(chapters: Sequence[tuple[Chapter, Sequence[Sequence[Row] | None]]], language: Language) -> str:
    """Chapters as Markdown; outputs that were recorded stand below their code."""
    lines: list[str] = []
    for chapter, outputs in chapters:
        lines += ["", f"## {chapter.title}"]
        for block, rows in zip(chapter.blocks, outputs, strict=True):
            if isinstance(block, Paragraph):
                lines += ["", block.text]
                continue
            lines += ["", "```python", block.code, "```"]
            if rows:
                lines += ["", "```text", *lines_of(rows), "```"]
            lines += ["", f"*{SEE[language].strip()}* {block.see}"]
    return "\n".join(lines).strip() + "\n"


def notebook(tour: Tour, language: Language) -> str:
    """The tour as a Jupyter notebook, without outputs."""
    cells = [_cell("markdown", f"# {tour.title}", 0), _cell("code", NOTEBOOK_LANGUAGE[language], 1)]
    for chapter in tour.chapters:
        cells.append(_cell("markdown", f"## {chapter.title}", len(cells)))
        for block in chapter.blocks:
            if isinstance(block, Paragraph):
                cells.append(_cell("markdown", block.text, len(cells)))
            else:
                cells.append(_cell("code", block.code, len(cells)))
                cells.append(_cell("markdown", f"*{SEE[language].strip()}* {block.see}", len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": cells, "metadata": metadata, **NOTEBOOK_FORMAT}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    cell["source"] = text.splitlines(keepends=True)
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell
