"""What notebooks show of a value: the rows that a terminal shows, as HTML.

Colours are those of the page, so dark and light themes are both readable; the lines of tables are half
transparent.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from inlaid.marked import Marked
from inlaid.messages import Message

MOST_ROWS = 200
"""Rows of a table that are shown."""
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
