"""What Python shows of a value: the rows that a terminal shows, as text, and in notebooks as HTML.

Colours are those of the page, so dark and light themes are both readable; the lines of tables are half
transparent.
"""

from __future__ import annotations

import base64
import html
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inlaid.marked import Marked
from inlaid.messages import Message

MOST_ROWS = 200
"""Rows of a table that a notebook shows."""
MOST_LINES = 60
"""Lines that a prompt shows."""
NUMBER = re.compile(r"[+\-]?[\d.,]+%?")
LINE = "border:0;border-bottom:1px solid rgba(128,128,128,0.35);padding:2px 10px 2px 0;background:none;"


def html_of(rows: Iterable[Any]) -> str:
    """Lines as paragraphs, and each run of tuples as a table; a first row of messages is its header.

    >>> html_of([("0.98", "cat & dog")]).count("&amp;")
    1
    """
    parts: list[str] = []
    for is_table, run in itertools.groupby(rows, key=lambda row: isinstance(row, tuple)):
        lines = list(run)
        parts += [_table(lines)] if is_table else [_paragraph(line) for line in lines]
    return f"<div>{''.join(parts)}</div>"


def text_of(rows: Iterable[Any]) -> str:
    """Lines as they are, and each run of tuples as a table; of many lines the first.

    >>> text_of([("0.900", "queen"), ("0.83", "猫")])
    '0.900  queen\\n0.83   猫'
    """
    lines = list[str]()
    for is_table, run in itertools.groupby(rows, key=lambda row: isinstance(row, tuple)):
        if is_table:
            lines += aligned(list(run))
        else:
            lines += map(str, run)
    more = len(lines) - MOST_LINES
    if more > 0:
        lines[MOST_LINES:] = [f"… {more:,}"]
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of a table, its columns aligned by what a terminal shows (猫 is two wide)."""
    from rich.cells import cell_len

    rows = [tuple(map(str, row)) for row in rows]
    widths = [max(map(cell_len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join(cells).rstrip()


def picture(png: bytes, alt: str) -> str:
    """A picture as HTML, with its words for who does not see it."""
    data = base64.b64encode(png).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(alt)}" style="max-width:100%">'


def _paragraph(line: Any) -> str:
    return f'<div style="white-space:pre-wrap">{_written(line)}</div>'


def _written(cell: Any) -> str:
    if isinstance(cell, Marked):
        return cell.shown(html.escape, "<b>", "</b>")
    return html.escape(str(cell))


def _table(rows: Sequence[tuple[Any, ...]]) -> str:
    has_header = all(isinstance(cell, Message) for cell in rows[0])
    shown = rows[: MOST_ROWS + has_header]
    lines = [_row(row, "th" if has_header and not at else "td") for at, row in enumerate(shown)]
    more = len(rows) - len(shown)
    if more:
        lines.append(_row((f"… {more:,}",), "td"))
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def _row(cells: Sequence[Any], tag: str) -> str:
    return f"<tr>{''.join(_cell(cell, tag) for cell in cells)}</tr>"


def _cell(cell: Any, tag: str) -> str:
    side = "right" if NUMBER.fullmatch(str(cell).strip()) else "left"
    return f'<{tag} style="{LINE}text-align:{side}">{_written(cell)}</{tag}>'
