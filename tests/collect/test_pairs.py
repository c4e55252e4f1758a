"""Pairs of texts from every kind of file, and what is refused."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from inlaid.collect.pairs import Columns, TextPair, read_pairs
from inlaid.errors import SourceError
from inlaid.report import silent

PAIRS = [TextPair("我打你", "I hit you"), TextPair("你打我", 'you hit "me"')]


def read(text: Any, *columns: str) -> list[TextPair]:
    return read_pairs(text, Columns(*columns), silent)


def test_a_file_of_two_columns(tmp_path: Path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS), "utf-8")
    assert read(path) == PAIRS
    assert read(path, "2", "1") == [TextPair(pair.target, pair.source) for pair in PAIRS]


def test_more_columns_and_compression(tmp_path: Path):
    path = tmp_path / "cmn.txt.xz"
    lines = "".join(f"{pair.target}\t{pair.source}\tby somebody\n" for pair in PAIRS)
    path.write_bytes(lzma.compress(lines.encode()))
    assert read(path, "2", "1") == PAIRS


def test_two_files_of_lines(tmp_path: Path):
    for name in ("source", "target"):
        lines = [getattr(pair, name) for pair in PAIRS]
        (tmp_path / name).write_text("\r\n".join(lines) + "\r\n", "utf-8")
    assert read([tmp_path / "source", tmp_path / "target"]) == PAIRS


def test_columns_with_names(tmp_path: Path):
    rows = [json.dumps({"zh": pair.source, "en": pair.target}) for pair in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(rows), "utf-8")
    assert read(tmp_path / "pairs.jsonl", "zh", "en") == PAIRS
    with pytest.raises(SourceError, match="source_column"):
        read(tmp_path / "pairs.jsonl")


def test_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'inlaid[parquet]'")
    from pyarrow import parquet

    table = pyarrow.table({"a": [pair.source for pair in PAIRS], "b": [pair.target for pair in PAIRS]})
    parquet.write_table(table, tmp_path / "pairs.parquet")
    assert read(tmp_path / "pairs.parquet", "a", "b") == PAIRS


def test_a_null_of_parquet_is_an_empty_side(tmp_path: Path):
    """Left out of its column, it would shift every pair after it."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'inlaid[parquet]'")
    from pyarrow import parquet

    columns = {"a": ["一", None, "三", "四"], "b": ["one", "two", "three", None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "pairs.parquet")
    events: list[Any] = []
    found = read_pairs(tmp_path / "pairs.parquet", Columns("a", "b"), events.append)
    assert found == [TextPair("一", "one"), TextPair("三", "three")]
    assert "2 of 4 pairs have an empty side" in str(events[0])


def test_pairs_as_they_are():
    assert read(PAIRS) == PAIRS
    assert read(iter([list(pair) for pair in PAIRS])) == PAIRS


def test_pairs_with_an_empty_side_are_left_out_and_counted():
    events: list[Any] = []
    assert read_pairs([*PAIRS, ("a", " ")], Columns(), events.append) == PAIRS
    assert "1 of 3 pairs" in str(events[0])


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.txt", "one column\nonly\n", "has no columns"),
        ("a.tsv", "one column\nonly\n", "found 1"),
        ("a.tsv", "a\tb\nc\n", "a.tsv:2: expected at least 2 columns"),
        ("a.txt", "a\tb\n" * 30 + "c\n", "a.txt:31: expected at least 2 columns"),
        ("a.tsv", "", "There are no pairs"),
        ("a.txt", "", "There are no pairs"),
        ("a.tsv", "\t\n", "There are no pairs"),
    ],
)
def test_what_is_no_pairs_is_an_error(tmp_path: Path, name: str, content: str, error: str):
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=error):
        read(tmp_path / name)


def test_other_bad_input(tmp_path: Path):
    with pytest.raises(SourceError, match="There is no file"):
        read(tmp_path / "none.tsv")
    with pytest.raises(SourceError, match="expected two strings"):
        read([("a", "b", "c")])
    (tmp_path / "bytes.tsv").write_bytes("我\t你\n".encode("gb18030"))
    with pytest.raises(SourceError):
        read(tmp_path / "bytes.tsv")
    assert read_pairs(tmp_path / "bytes.tsv", Columns(), silent, "gb18030") == [TextPair("我", "你")]
