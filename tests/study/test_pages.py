"""Pages: all text is escaped, nothing is loaded from elsewhere, and a widget gets its data."""

from __future__ import annotations

import re

import pytest

from inlaid.messages import Message
from inlaid.places import is_ours
from inlaid.study import figures
from inlaid.study.pages import Code, Heading, Picture, Table, Text, Widget, json_data, page

NASTY = "</script><b>&\"'猫"
ESCAPED = "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#x27;猫"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (Heading(NASTY, 3), f"<h3>{ESCAPED}</h3>"),
        (Text(NASTY), f"<p>{ESCAPED}</p>"),
        (Text(Message("{word}!", word=NASTY), note=True), f'<p class="note">{ESCAPED}!</p>'),
        (Code(NASTY), f"<pre>{ESCAPED}</pre>"),
        (Table([(NASTY,), (1,)]), f"<th>{ESCAPED}</th></tr></thead>\n<tbody><tr><td>1</td>"),
        (Table([("a",), (NASTY,)], NASTY), f"<caption>{ESCAPED}</caption>"),
        (Picture(b"png", NASTY), f'<img src="data:image/png;base64,cG5n" alt="{ESCAPED}">'),
    ],
)
def test_text_is_escaped(block, expected):
    made = page(NASTY, [block], language="zh")
    assert expected in made
    assert f"<title>{ESCAPED}</title>" in made
    assert NASTY not in made


def test_data_of_a_widget_cannot_end_its_script():
    made = page("a", [Widget("<i></i>", "(root, data) => {}", data=[NASTY])], language="en")
    assert len(re.findall("</script", made)) == 1
    assert json_data([NASTY]) in made


def test_the_style_of_a_widget_stands_once():
    widget = Widget("<i></i>", style="i { color: red }")
    assert page("a", [widget, widget], language="en").count("color: red") == 1


def test_a_page_is_replaced_by_a_later_one_and_loads_nothing(tmp_path):
    path = tmp_path / "a.html"
    made = page("a", [Text("b")], language="en")
    figures.write(path, made)
    assert is_ours(path)
    assert "default-src 'none'" in made
    assert "http" not in made.replace("http-equiv", "")
