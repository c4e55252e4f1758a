"""Parquet: what small files declare, contradictions between pages and footer, and columns of other kinds."""

from __future__ import annotations

import contextlib
import resource
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.errors import FormatError, InlaidError
from inlaid.vectors import Vectors

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'inlaid[parquet]'")
parquet = pytest.importorskip("pyarrow.parquet")


def varint(number: int, length: int = 0) -> bytes:
    """A number as Thrift writes it, in as many bytes as are asked for."""
    number <<= 1
    found = list[int]()
    while number or len(found) < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found[:-1], found[-1] & 127])


def written(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    parquet.write_table(arrow.table(columns), path, **options)
    return path


def zeros(path: Path, count: int) -> Path:
    """One row of zeros, which the file holds as one zero and how often it is repeated."""
    with parquet.ParquetWriter(path, arrow.schema([("word", arrow.string()), ("vector", LIST)])) as writer:
        offsets = arrow.array([0, count], arrow.int32())
        vector = arrow.ListArray.from_arrays(offsets, arrow.array(np.zeros(count, np.float32)))
        writer.write_batch(arrow.record_batch([arrow.array(["a"]), vector], schema=writer.schema))
    return path


LIST = arrow.list_(arrow.float32())


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["convert", str(path), str(path.parent / "out.inlaid")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path.name}: " in line
    return line


def test_a_small_file_of_many_zeros_gets_no_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = zeros(tmp_path / "a.parquet", 1 << 25)
    assert path.stat().st_size < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "it declares 134,217,728 bytes of content" in refused(path, capsys)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_pages_that_hold_more_than_the_footer_says_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    count = 1 << 24
    path = zeros(tmp_path / "a.parquet", count)
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    pages = data[: -8 - length]
    footer = data[-8 - length : -8].replace(varint(count), varint(100, len(varint(count))))
    path.write_bytes(pages + footer + data[-8:])
    assert parquet.ParquetFile(path).metadata.row_group(0).column(1).num_values == 100
    assert "the pages of the column 'vector' do not hold what the end of the file says" in refused(
        path, capsys
    )


def test_one_long_word_repeated_without_end_gets_no_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    words = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 10_000, arrow.int32()), arrow.array(["word" * 200_000])
    )
    columns = {"word": words, "vector": [[1.0]] * 10_000}
    path = written(tmp_path / "a.parquet", columns, store_schema=False)
    assert "it declares " in refused(path, capsys)


def test_a_table_of_mostly_zeros_comes_back(tmp_path: Path):
    words = [f"w{number}" for number in range(5000)]
    vectors = Vectors.of(words, np.eye(5000, dtype=np.float32))
    inlaid.save(vectors, tmp_path / "a.parquet")
    assert np.array_equal(inlaid.load(tmp_path / "a.parquet").table, vectors.table)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_files_of_other_writers_are_read(version: str, compression: str, dictionary: bool, tmp_path: Path):
    table = np.random.default_rng(1).standard_normal((3000, 7)).astype(np.float32)
    columns = {"word": [f"w{n}" for n in range(3000)], "vector": list(table), "count": list(range(3000))}
    options = {"data_page_version": version, "compression": compression, "use_dictionary": dictionary}
    path = written(tmp_path / "a.parquet", columns, row_group_size=700, data_page_size=3000, **options)
    found = inlaid.load(path)
    assert np.array_equal(found.table, table)
    assert found.counts is not None
    assert found.counts.tolist() == list(range(3000))


@pytest.mark.parametrize("names", [("", "vector"), ("word", ""), ("a.b", "a"), ("词", "向量")])
def test_columns_of_odd_names_are_read(names: tuple[str, str], tmp_path: Path):
    table = arrow.Table.from_arrays([arrow.array(["a"]), arrow.array([[1.0]])], list(names))
    parquet.write_table(table, tmp_path / "a.parquet")
    assert inlaid.load(tmp_path / "a.parquet")["a"].tolist() == [1.0]


def test_a_footer_changed_anywhere_never_ends_the_process(tmp_path: Path):
    """pyarrow aborts if it is asked for a column whose statistics are wrong."""
    path = written(tmp_path / "a.parquet", {"word": ["a", "b"], "vector": [[1.0], [2.0]]})
    whole = path.read_bytes()
    (length,) = struct.unpack("<I", whole[-8:-4])
    for place in range(len(whole) - 8 - length, len(whole) - 8):
        for bit in (0, 1, 5):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            path.write_bytes(data)
            with contextlib.suppress(InlaidError):
                inlaid.load(path, format="parquet")


def test_delta_encoded_words_are_read(tmp_path: Path):
    columns = {"word": [f"prefix{n}" for n in range(300)], "vector": [[float(n)] for n in range(300)]}
    options = {"use_dictionary": False, "column_encoding": {"word": "DELTA_BYTE_ARRAY"}}
    found = inlaid.load(written(tmp_path / "a.parquet", columns, **options))
    assert found["prefix7"].tolist() == [7.0]


@pytest.mark.parametrize("twice", ["word", "vector"])
def test_two_columns_of_one_name_are_named(twice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    columns = {"word": arrow.array(["a"]), "vector": arrow.array([[1.0]])}
    names = [*columns, twice]
    table = arrow.Table.from_arrays([*columns.values(), columns[twice]], names)
    parquet.write_table(table, tmp_path / "a.parquet")
    assert f"expected one column '{twice}'; found columns: word" in refused(tmp_path / "a.parquet", capsys)


@pytest.mark.parametrize(
    "vector",
    [
        arrow.array([["1.0", "2.0"]]),
        arrow.array([[[1.0]]]),
        arrow.array([[{"x": 1.0}]]),
        arrow.array([[True]]),
        arrow.array([1.0]),
        arrow.array([[]], LIST),
        arrow.array([None], LIST),
    ],
    ids=str,
)
def test_vectors_of_other_types_are_refused(vector: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    refused(written(tmp_path / "a.parquet", {"word": ["a"], "vector": vector}), capsys)


def test_words_that_are_not_utf8_are_refused(tmp_path: Path):
    raw = arrow.array([b"\xff\xfe", b"b"]).view(arrow.string())
    with pytest.raises(FormatError, match="not a readable parquet file"):
        inlaid.load(written(tmp_path / "a.parquet", {"word": raw, "vector": [[1.0], [2.0]]}))


def test_a_file_cut_or_damaged_anywhere_is_never_another_table(tmp_path: Path):
    table = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    columns = {"word": [f"w{n}" for n in range(50)], "vector": list(table)}
    path = written(tmp_path / "a.parquet", columns)
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(InlaidError):
            inlaid.load(path, format="parquet")
