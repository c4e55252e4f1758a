"""Pages: one HTML file of text, tables, figures and widgets; it needs no network and loads nothing.

    page(Message("Attention"), [Text("..."), Table(rows), Picture(png, "...")], language="zh")

All text is escaped. Only a `Widget` has markup and a script of its own, written by us; its data is JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files as resources
from typing import Any

from inlaid.messages import Language, Message, speaking
from inlaid.places import HTML_MARK

POLICY = "default-src 'none'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Heading:
    """A title within the page; the level is 2 or 3."""

    text: str | Message
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph. A note stands apart: a warning, or what an instrument cannot show."""

    text: str | Message
    note: bool = False


@dataclass(frozen=True)
class Code:
    """What is typed or printed, as it is."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells by row, the header first, as in `rows()` of a result."""

    rows: Sequence[Sequence[Any]]
    caption: str | Message = ""


@dataclass(frozen=True)
class Picture:
    """A PNG, and the sentence that says what to see: shown below it, and read aloud instead of it."""

    png: bytes
    caption: str | Message


@dataclass(frozen=True)
class Widget:
    """Markup of ours with a script, which is called with the element and the data: `(root, data) => ...`."""

    markup: str
    script: str = ""
    style: str = ""
    data: Any = field(default=None)


Block = Heading | Text | Code | Table | Picture | Widget


def page(title: str | Message, blocks: Sequence[Block], *, language: Language) -> str:
    """The whole file; messages in it are in its language, whatever the terminal speaks."""
    styles = dict.fromkeys(each.style for each in blocks if isinstance(each, Widget))
    with speaking(language):
        body = "\n".join(_block(each) for each in blocks)
        shown = escape(str(title))
    style = (resources("inlaid.study") / "page.css").read_text("utf-8") + "".join(styles)
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
{HTML_MARK.decode()}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{shown}</title>
<style>{style}</style>
</head>
<body>
<h1>{shown}</h1>
{body}
</body>
</html>
"""


def json_data(value: Any) -> str:
    """JSON that may stand within a script element: no string in it can end the script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{escape(str(block.text))}</h{block.level}>"
        case Text():
            kind = ' class="note"' if block.note else ""
            return f"<p{kind}>{escape(str(block.text))}</p>"
        case Code():
            return f"<pre>{escape(block.text)}</pre>"
        case Table():
            return _table(block)
        case Picture():
            return _picture(block)
        case Widget():
            return _widget(block)


def _table(table: Table) -> str:
    header, *rows = ([escape(str(cell)) for cell in row] for row in table.rows)
    caption = f"<caption>{escape(str(table.caption))}</caption>" if table.caption else ""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    caption = escape(str(picture.caption))
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{caption}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _widget(widget: Widget) -> str:
    if not widget.script:
        return widget.markup
    data = json_data(widget.data)
    return (
        f"<div>{widget.markup}<script>({widget.script})(document.currentScript.parentElement, {data})"
        f"</script></div>"
    )
