"""Text from wherever it lies; what cannot be read is named, and nothing is read in part without a word."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
from pathlib import Path

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.collect import packed, sources
from inlaid.collect.sources import Block, Source
from inlaid.errors import SourceError
from inlaid.report import Note, Progress

TEXT = "the cat\n我喜欢苹果\n" * 100


def read(path: object, field: str = "text") -> str:
    return b"".join(block.data for block in Source(path, field).blocks()).decode()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)]
)
def test_packed_files_read_like_plain_ones(tmp_path: Path, suffix: str, pack):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(pack(TEXT.encode()))
    source = Source(path)
    assert b"".join(block.data for block in source.blocks()).decode() == TEXT
    raw = path.read_bytes()
    assert [(each.name, each.size, each.hash) for each in source.inputs] == [
        (path.name, len(raw), xxhash.xxh3_64_hexdigest(raw))
    ]
    assert source.documents == 1


def test_zst(tmp_path: Path):
    zstandard = pytest.importorskip("zstandard", reason="zstandard comes with the extra `zst`")
    (tmp_path / "a.zst").write_bytes(zstandard.ZstdCompressor().compress(TEXT.encode()))
    assert read(tmp_path / "a.zst") == TEXT


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_packed_file_cut_short_is_refused(tmp_path: Path, suffix: str, pack):
    whole = pack(os.urandom(50_000).hex().encode())
    for size in (len(whole) // 2, len(whole) - 4, 0):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(whole[:size])
        if size == 0 and suffix == ".gz":
            assert read(path) == ""  # nothing at all is how gzip writes nothing
            continue
        with pytest.raises(SourceError, match=f"is not a whole {suffix} file"):
            read(path)


def test_a_compression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packed, "BLOCK", 1 << 12)
    monkeypatch.setattr(sources, "BLOCK", 1 << 12)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(SourceError, match="unpacks to more than 300 times its size"):
        read(tmp_path / "a.gz")


def test_jsonl(tmp_path: Path):
    rows = [{"id": 1, "body": "the cat"}, {"id": 2, "body": "two\nlines 猫"}]
    (tmp_path / "a.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows), "utf-8")
    source = Source(tmp_path / "a.jsonl", "body")
    assert b"".join(block.data for block in source.blocks()).decode() == "the cat\ntwo\nlines 猫\n"
    assert source.documents == 2
    with pytest.raises(
        SourceError, match=r"a.jsonl:1: expected an object with text under 'text', found id, body"
    ):
        read(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(SourceError, match=r"b.jsonl:2: not JSON"):
        read(tmp_path / "b.jsonl")


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


def test_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra `parquet`")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow comes with the extra `parquet`")
    parquet.write_table(pyarrow.table({"text": ["the cat", None, "猫"]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == "the cat\n猫\n"
    (tmp_path / "b.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(SourceError, match="is not a parquet file"):
        read(tmp_path / "b.parquet")


def test_folders_patterns_and_order(tmp_path: Path):
    for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    assert read(tmp_path) == "a.txt\nb.txt\nsub/c.txt\n"
    assert read(tmp_path / "*.txt") == "a.txt\nb.txt\n"
    assert read([tmp_path / "b.txt", tmp_path / "a.txt"]) == "b.txt\na.txt\n"
    with pytest.raises(SourceError, match="No file matches"):
        read(tmp_path / "*.csv")
    with pytest.raises(SourceError, match="There is no file"):
        read(tmp_path / "none.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no files"):
        read(tmp_path / "empty")


def test_a_folder_that_holds_itself_ends(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    notes: list[object] = []
    assert b"".join(block.data for block in Source(tmp_path, report=notes.append).blocks()) == b"a\n"
    assert any(isinstance(note, Note) and "leads back" in note.text for note in notes)


def test_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert read(Path("-")) == TEXT


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "BLOCK", 64)
    path = tmp_path / "a.txt"
    path.write_text("the cat\n" * 20)
    blocks = Source(path).blocks()
    next(blocks)
    os.utime(path, (1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        list(blocks)


def test_progress_counts_bytes_to_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "BLOCK", 100)
    for name in ("a", "b"):
        (tmp_path / name).write_text(TEXT)
    events: list[Progress] = []
    list(Source(tmp_path, report=events.append).blocks())  # pyright: ignore[reportArgumentType]
    size = 2 * len(TEXT.encode())
    assert {event.total for event in events} == {size}
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert events[-1].done == size


@given(
    text=st.text(st.sampled_from("ab 猫，é\n\r\t"), max_size=400),
    block=st.integers(1, 40),
    longest=st.integers(10, 60),
)
@settings(deadline=None)
def test_any_cut_into_blocks_loses_nothing_and_keeps_words(text: str, block: int, longest: int):
    """Blocks put together are the text, and none ends inside a word unless the word is longer than a block
    may be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BLOCK", block)
        patch.setattr(sources, "LONGEST", longest)
        blocks = list(sources._lines(io.BytesIO(text.encode()), "t"))
    data = text.encode()
    assert b"".join(each.data for each in blocks) == data
    here = 0
    for each in blocks[:-1]:
        here += len(each.data)
        assert data[:here].decode() is not None  # whole characters
        if each.whole:
            assert each.data[-1:] in (b"\n", b"\r")
        elif b" " in each.data or b"\t" in each.data:
            assert each.data[-1:] in (b" ", b"\t")


def test_lines_are_numbered_across_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "BLOCK", 10)
    blocks = list(sources._lines(io.BytesIO(b"one\ntwo\nthree\nfour\nfive\n"), "t"))
    assert blocks[0] == Block(b"one\ntwo\n", "t", 1)
    assert [each.line for each in blocks] == [1, 3, 5][: len(blocks)]
