"""word2vec's binary file: what is written comes back, both ways of ending rows are read, and damage is named
with its place."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inlaid import storage
from inlaid.errors import FormatError, WriteError
from inlaid.formats import word2vec
from inlaid.formats.reading import Reading, Start
from inlaid.messages import in_terminal
from inlaid.vectors import Vectors


@pytest.fixture(autouse=True, scope="module")
def shown_in_a_terminal() -> Iterator[None]:
    """Errors advise commands, not calls of Python."""
    with in_terminal():
        yield


word = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\0"), min_size=1, max_size=8
)
number = st.floats(width=32, allow_nan=False, allow_infinity=False)
slow = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TWO = {"</s>": [1.0, 2.0], "猫": [3.0, -0.5]}


@pytest.fixture(params=[1 << 22, 32])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """In one block, and in many."""
    monkeypatch.setattr(word2vec, "BLOCK", request.param)
    return request.param


def content(rows: dict[str, list[float]], header: str | None = None, ending: bytes = b"\n") -> bytes:
    dim = len(next(iter(rows.values())))
    packed = [word.encode() + b" " + struct.pack(f"<{dim}f", *row) + ending for word, row in rows.items()]
    return (header or f"{len(rows)} {dim}").encode() + b"\n" + b"".join(packed)


def file(folder: Path, data: bytes) -> Path:
    (folder / "v.bin").write_bytes(data)
    return folder / "v.bin"


def rows_of(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.table.tolist(), strict=True))


@slow
@given(st.data())
def test_any_words_and_numbers_come_back_bit_for_bit(tmp_path: Path, block: int, data: st.DataObject):
    words = data.draw(st.lists(word, min_size=1, max_size=8, unique=True))
    dim = data.draw(st.integers(1, 5))
    table = np.array(
        data.draw(st.lists(number, min_size=len(words) * dim, max_size=len(words) * dim)), np.float32
    ).reshape(-1, dim)
    word2vec.write(Vectors.of(words, table), tmp_path / "v.bin")
    found = word2vec.read(tmp_path / "v.bin")
    assert list(found.words) == words
    assert found.table.tobytes() == table.tobytes()


@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz", "v.bin.xz"])
def test_the_file_is_as_word2vec_writes_it_and_is_recognized(tmp_path: Path, name: str):
    vectors = Vectors.of(list(TWO), list(TWO.values()))
    storage.save(vectors, tmp_path / name, format="word2vec")
    assert rows_of(storage.load(tmp_path / name)) == TWO
    if name == "v.bin":
        assert (tmp_path / name).read_bytes() == content(TWO)


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_rows_may_end_in_a_newline_or_not(tmp_path: Path, block: int, ending: bytes):
    assert rows_of(word2vec.read(file(tmp_path, content(TWO, ending=ending)))) == TWO


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "expected a first line like '3000000 300'"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "leave the format out"),
        (content(TWO, "2 -2"), "expected a first line"),
        (content(TWO, "0 2"), "promises 0 words of dimension 2"),
        (content(TWO, "2 0"), "promises 2 words of dimension 0"),
        (content(TWO, "2 99999999999999"), "promises 2 words of dimension 99,999,999,999,999"),
        (
            content(TWO, "2 9999999"),
            "word 1 at byte 10 is cut short or missing: expected a word and 9,999,999 numbers",
        ),
        (content(TWO, "999999999999 2"), "word 3 at byte 41 is cut short or missing: .* --top 2"),
        (content(TWO, "1 2"), "promises 1 words of dimension 2, but more follows at byte 17"),
        (content(TWO)[:-3], "word 2 at byte 17 is cut short or missing"),
        (
            content(TWO)[:4],
            "word 1 at byte 4 is cut short or missing: expected a word and 2 numbers, found 0 bytes",
        ),
        (content({"a": [1.0, float("nan")]}), "the vector of word 1 at byte 4, b'a', holds NaN or infinity"),
        (
            content({"a": [1.0, 2.0], "b": [float("inf"), float("-inf")]}),
            "the vector of word 2 at byte 15, b'b', holds NaN or infinity",
        ),
        (content({"a": [1.0], "": [2.0]}, "2 1"), "word 2 at byte 11, b'', cannot be a word"),
        (content({"a": [1.0], "b\nc": [2.0]}, "2 1"), "word 2 at byte 11, b'b.nc', cannot be a word"),
        (
            content({"a": [1.0], "b" * 70_000: [2.0]}, "2 1"),
            "word 2 at byte 10 has no end within 65,536 bytes",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, block: int, data: bytes, problem: str):
    with pytest.raises(FormatError, match=problem):
        word2vec.read(file(tmp_path, data))


def test_the_first_words_alone_are_read(tmp_path: Path, block: int):
    assert rows_of(word2vec.read(file(tmp_path, content(TWO, "9 2")), Reading(top=2))) == TWO
    assert rows_of(word2vec.read(file(tmp_path, content(TWO)), Reading(top=1))) == {"</s>": [1, 2]}
    assert rows_of(word2vec.read(file(tmp_path, content(TWO)), Reading(top=5))) == TWO


def test_duplicates_and_broken_words_follow_the_settings(tmp_path: Path):
    path = file(
        tmp_path, content({"a": [1.0], "b": [2.0], "c": [3.0]}).replace(b"b ", b"\xff ").replace(b"c ", b"a ")
    )
    with pytest.raises(FormatError, match="word 2: .* is not UTF-8"):
        word2vec.read(path)
    assert rows_of(word2vec.read(path, Reading(invalid="skip", duplicates="last"))) == {"a": [3]}


@pytest.mark.parametrize("word", ["a b", "a\n", ""])
def test_words_the_file_cannot_hold_are_not_written(tmp_path: Path, word: str):
    with pytest.raises(WriteError, match="contains whitespace"):
        word2vec.write(Vectors.of([word], [[1]]), tmp_path / "v.bin")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"5 3",
        b"5 3\n",
        b"2 2\na 1 2\nb 3 4\n",
        b"12 34\nHello to all the world\n",
        b"1 2\n\xe7\x8c\xab \xe7\x8c\xab\xe7\x8c\xab\xe7\x8c",
        b"PK\x03\x04",
    ],
)
def test_other_files_are_not_taken_for_vectors(head: bytes):
    assert not word2vec.recognizes(Start(Path("x.bin"), head))
    assert word2vec.recognizes(Start(Path("x.bin"), content(TWO)))


@slow
@given(st.integers(0, 60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=3))
def test_damaged_files_give_vectors_or_a_format_error(
    tmp_path: Path, length: int, flips: list[tuple[int, int]]
):
    data = bytearray(content({"the": [1.0, 2.0, 3.0], "new": [-1.0, 0.0, 1e-9], "猫": [1.0, 1.0, 1.0]}))
    for place, byte in flips:
        data[place % len(data)] = byte
    try:
        vectors = word2vec.read(file(tmp_path, bytes(data[:length])))
    except FormatError:
        return
    assert np.isfinite(vectors.table).all()
