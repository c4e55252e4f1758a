"""Text from files, folders, patterns and standard input: all of it, in order, or an error with the reason."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.collect import sources
from inlaid.collect.sources import Source, TextBlock
from inlaid.errors import SourceError
from inlaid.report import Note, Progress

TEXT = "the cat\n我喜欢苹果\n" * 100


def read(path: object, field: str = "text") -> str:
    return b"".join(block.data for block in Source(path, field).blocks()).decode()  # pyright: ignore[reportArgumentType]


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
    assert any(isinstance(note, Note) and "already read" in note.text for note in notes)


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
        blocks = list(sources.line_blocks(io.BytesIO(text.encode()).read, "t"))
    data = text.encode()
    assert b"".join(each.data for each in blocks) == data
    here = 0
    for each in blocks[:-1]:
        here += len(each.data)
        assert data[:here].decode() is not None  # whole characters
        if each.ends_line:
            assert each.data[-1:] in (b"\n", b"\r")
        elif b" " in each.data or b"\t" in each.data:
            assert each.data[-1:] in (b" ", b"\t")


def test_lines_are_numbered_across_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "BLOCK", 10)
    blocks = list(sources.line_blocks(io.BytesIO(b"one\ntwo\nthree\nfour\nfive\n").read, "t"))
    assert blocks[0] == TextBlock(b"one\ntwo\n", "t", 1)
    assert [each.line for each in blocks] == [1, 3, 5][: len(blocks)]
