"""Text in files of records: the right field of every record, or an error that names the place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from inlaid import cli
from inlaid.collect import tables
from inlaid.collect.sources import Source
from inlaid.errors import FormatError, SourceError


def read(path: object, field: str = "text") -> str:
    return b"".join(block.data for block in Source(path, field).blocks()).decode()  # pyright: ignore[reportArgumentType]


def test_jsonl(tmp_path: Path):
    rows = [{"id": 1, "body": "the cat"}, {"id": 2, "body": "two\nlines 猫"}]
    (tmp_path / "a.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows), "utf-8")
    source = Source(tmp_path / "a.jsonl", "body")
    assert b"".join(block.data for block in source.blocks()).decode() == "the cat\ntwo\nlines 猫\n"
    assert source.documents == 2
    with pytest.raises(
        SourceError, match=r"a.jsonl:1: expected an object with text under 'text', found the keys id, body"
    ):
        read(tmp_path / "a.jsonl")
    with pytest.raises(SourceError, match=r"a.jsonl:1: expected .* under 'id', found a int there"):
        read(tmp_path / "a.jsonl", "id")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(SourceError, match=r"b.jsonl:2: expected a JSON object .* not JSON"):
        read(tmp_path / "b.jsonl")


def test_deeply_nested_jsonl_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(SourceError, match=r"a.jsonl:2: .*nested more than 200 levels"):
        read(path)
    assert cli.main(["corpus", str(path), "-o", str(tmp_path / "c")]) != 0
    assert "nested more than 200 levels" in " ".join(capsys.readouterr().err.split())


def test_csv_and_tsv(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes('\ufefflabel,review\r\n1,"好吃, very\ngood"\r\n0,难吃\r\n'.encode())
    assert read(tmp_path / "a.csv", "review") == "好吃, very\ngood\n难吃\n"
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a\ttext\n1\tthe cat\n"))
    assert read(tmp_path / "a.tsv.gz") == "the cat\n"
    with pytest.raises(SourceError, match=r"no column is called 'reviw'. Did you mean 'review'\?"):
        read(tmp_path / "a.csv", "reviw")
    (tmp_path / "b.csv").write_text("label,text\n1\n")
    with pytest.raises(SourceError, match=r"b.csv:2: expected 2 columns, found 1"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_csv_lines_end_in_any_way_wherever_a_block_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int
):
    monkeypatch.setattr(tables, "BLOCK", block)
    rows = ["n,text", "1,猫 cat", '2,"a, b"', "", "3,c"]
    (tmp_path / "a.csv").write_bytes(("\ufeff" if block > 2 else "").encode() + end.join(rows).encode())
    assert read(tmp_path / "a.csv") == "猫 cat\na, b\nc\n"


def test_a_csv_line_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "MAX_LINE", 1000)
    monkeypatch.setattr(tables, "BLOCK", 100)
    (tmp_path / "a.csv").write_text("text\nok\n" + "a" * 2000)
    with pytest.raises(SourceError, match="a.csv:3: the line is longer than 1,000 bytes"):
        read(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text('text\nok\n"' + "a\n" * 2000)
    with pytest.raises(SourceError, match=r"b.csv:\d+: .*field larger than field limit"):
        read(tmp_path / "b.csv")


@pytest.fixture
def pyarrow():
    pytest.importorskip("pyarrow.parquet", reason="pyarrow comes with the extra `parquet`")
    return pytest.importorskip("pyarrow", reason="pyarrow comes with the extra `parquet`")


def test_parquet(tmp_path: Path, pyarrow):
    path = tmp_path / "a.parquet"
    texts = ["the cat", None, "猫"]
    kinds = [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]
    for kind in kinds:
        pyarrow.parquet.write_table(
            pyarrow.table({"text": pyarrow.array(texts, pyarrow.string()).cast(kind)}), path
        )
        assert read(path) == "the cat\n猫\n"


def test_a_parquet_file_cut_or_damaged_anywhere_is_refused(tmp_path: Path, pyarrow):
    path = tmp_path / "a.parquet"
    texts = [f"sentence {number} {number * 7919 % 1000}" for number in range(20_000)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=5000)
    whole = path.read_bytes()
    for size in [0, 3, 4, 8, *range(100, len(whole), len(whole) // 17), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match="is not a complete parquet file"):
            read(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(2000) + whole[middle + 2000 :])
    with pytest.raises((SourceError, FormatError), match=r"a\.parquet.*(not a complete|do not hold)"):
        read(path)


def test_one_long_text_repeated_without_end_is_refused(tmp_path: Path, pyarrow):
    """The file holds the text once, and a few bytes that repeat it: 8 GB."""
    path = tmp_path / "a.parquet"
    once = pyarrow.array(["the cat sat " * 40_000])
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 17_000, pyarrow.int32()), once)
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, store_schema=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(FormatError, match=r"a.parquet: it declares [0-9,]+ bytes of content"):
        read(path)


def test_two_parquet_columns_of_one_name_are_refused(
    tmp_path: Path, pyarrow, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "a.parquet"
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], ["text", "text"])
    pyarrow.parquet.write_table(table, path)
    assert cli.main(["corpus", str(path), "-o", str(tmp_path / "c")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "2 columns are called 'text'; expected one" in line


def test_a_parquet_column_of_numbers_is_refused(tmp_path: Path, pyarrow, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [1, 2], "raw": [b"a", b"b"]}), path)
    with pytest.raises(SourceError, match="expected text in the column 'text', found int64"):
        read(path)
    with pytest.raises(SourceError, match="expected text in the column 'raw', found binary"):
        read(path, "raw")
    assert cli.main(["corpus", str(path), "-o", str(tmp_path / "c")]) != 0
    assert "found int64. Name a text column with --field" in " ".join(capsys.readouterr().err.split())
