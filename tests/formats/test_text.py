"""Lines of words and numbers: what is written comes back, and what is wrong is named with its line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from inlaid import storage
from inlaid.errors import FormatError, InlaidError, SettingError, WriteError
from inlaid.formats import line_parser, lines, text
from inlaid.formats.reading import Reading, Start
from inlaid.formats.text import GLOVE, WORD2VEC_TEXT, TextFormat
from inlaid.messages import in_terminal
from inlaid.report import Event, Note
from inlaid.vectors import Vectors


@pytest.fixture(autouse=True, scope="module")
def shown_in_a_terminal() -> Iterator[None]:
    """Errors advise commands, not calls of Python."""
    with in_terminal():
        yield


BOTH = pytest.mark.parametrize("format", [GLOVE, WORD2VEC_TEXT], ids=["glove", "word2vec-text"])
word = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\0"), min_size=1, max_size=8
)
number = st.floats(width=32, allow_nan=False, allow_infinity=False)
slow = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["quick", "plain", "numba missing"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test with this goes through the kernel, in tiny blocks, and without it."""
    if request.param != "plain":
        monkeypatch.setattr(lines, "BLOCK", 16)
        monkeypatch.setattr(text, "WRITE_NUMBERS", 1)
    if request.param == "numba missing":
        monkeypatch.setattr(text, "load_kernels", lambda: None)
        monkeypatch.setattr(line_parser, "load_kernels", lambda: None)
    return request.param


def file(folder: Path, content: str | bytes, name: str = "v.txt") -> Path:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


def rows_of(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.table.tolist(), strict=True))


def refused(format: TextFormat, path: Path, **reading) -> str:
    with pytest.raises(FormatError) as caught:
        format.read(path, Reading(**reading))
    assert str(path) in str(caught.value)
    return str(caught.value).removeprefix(str(path))


@BOTH
@slow
@given(st.data())
def test_any_words_and_numbers_come_back_bit_for_bit(
    tmp_path: Path, way: str, format: TextFormat, data: st.DataObject
):
    words = data.draw(
        st.lists(word.filter(lambda word: word[0] != "\ufeff"), min_size=1, max_size=8, unique=True)
    )
    dim = data.draw(st.integers(1, 5))
    table = np.array(
        data.draw(st.lists(number, min_size=len(words) * dim, max_size=len(words) * dim)), np.float32
    ).reshape(-1, dim)
    format.write(Vectors.of(words, table), tmp_path / "v.vec")
    found = format.read(tmp_path / "v.vec")
    assert list(found.words) == words
    assert found.table.tobytes() == table.tobytes()


@pytest.mark.parametrize("name", ["v.vec", "v.vec.gz", "v.vec.xz"])
def test_a_file_is_recognized_by_its_content(tmp_path: Path, name: str):
    vectors = Vectors.of(["猫", "😀", "\u00a0", "5"], [[1, 2], [3, 4], [5, 6], [7, 8]])
    for format in ("glove", "word2vec-text"):
        storage.save(vectors, tmp_path / name, format=format, overwrite=True)
        assert rows_of(storage.load(tmp_path / name)) == rows_of(vectors)


def test_the_suffix_vec_means_a_header_and_txt_must_be_explained(tmp_path: Path):
    vectors = Vectors.of(["a"], [[1, 2]])
    storage.save(vectors, tmp_path / "v.vec")
    assert (tmp_path / "v.vec").read_bytes() == b"1 2\na 1 2\n"
    with pytest.raises(SettingError, match="files of glove, word2vec-text end in .txt. .*--format glove"):
        storage.save(vectors, tmp_path / "v.txt")


def test_odd_but_clear_files_are_read(tmp_path: Path, way: str):
    expected = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
    for content in (
        "a 1 2\r\nb 3 4\r\n",
        "a 1 2 \nb 3 4 \n",
        "a\t1\t2\nb\t3\t4\n",
        "a  1 \t 2\nb 3 4",
        "a 1 2\nb 3 4\n\n \n\r\n",
        "\ufeffa 1 2\nb 3 4\n",
    ):
        assert rows_of(GLOVE.read(file(tmp_path, content))) == expected, content
        headed = "\ufeff2 2\n" + content[1:] if content[0] == "\ufeff" else "2 2\n" + content
        assert rows_of(WORD2VEC_TEXT.read(file(tmp_path, headed))) == expected, headed


def test_numbers_and_unicode_whitespace_may_be_words(tmp_path: Path, way: str):
    content = "3.5 1 2\nnew\u00a0york 3 4\n\u3000 5 6\nx\x0by 7 8\nx\x85 9 0\n"
    assert list(GLOVE.read(file(tmp_path, content)).words) == [
        "3.5",
        "new\u00a0york",
        "\u3000",
        "x\x0by",
        "x\x85",
    ]


def test_words_with_spaces_are_kept_or_refused(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "BLOCK", 30)  # the first block shows how many numbers most lines have
    path = file(tmp_path, "at 3 0.5 0.25\na 1 2\n. . 3 4\na b c 5 6\n")
    expected = {"at 3": [0.5, 0.25], "a": [1, 2], ". .": [3, 4], "a b c": [5, 6]}
    notes: list[Event] = []
    assert rows_of(GLOVE.read(path, Reading(), notes.append)) == expected
    assert any("words that contain spaces: 3" in event.text for event in notes if isinstance(event, Note))
    assert rows_of(GLOVE.read(path, Reading(spaces="keep"))) == expected
    path = file(tmp_path, "a 1 2\na b 5 6\n")
    problem = refused(GLOVE, path, spaces="error")
    assert problem.startswith(
        ":2: expected 2 numbers after the word 'a', found 3. If words contain spaces: `inlaid convert "
    )
    assert "--spaces keep" in problem


@pytest.mark.parametrize(
    "line", ["b 0.5 3.5 4.5", "b 7 3 4", "b 3.5 4.5 c 5.5 6.5", "b -7 3.5 4.5", "b 1e3 3.5 4.5"]
)
def test_numbers_of_a_damaged_line_are_no_word(tmp_path: Path, way: str, line: str):
    """A number too many, or a line end that is lost."""
    path = file(tmp_path, f"3 2\na 1 2\n{line}\nc 5 6\n")
    assert ":3: expected 2 numbers after the word 'b'" in refused(WORD2VEC_TEXT, path)
    assert len(WORD2VEC_TEXT.read(path, Reading(spaces="keep"))) == 3


def test_a_line_without_a_word_is_left_out(tmp_path: Path, way: str):
    path = file(tmp_path, "3 2\na 1 2\n 3 4\nb 5 6\n")
    notes: list[Event] = []
    assert rows_of(WORD2VEC_TEXT.read(path, Reading(), notes.append)) == {"a": [1, 2], "b": [5, 6]}
    assert [event.text for event in notes if isinstance(event, Note)] == [
        f"{path}: 1 lines have no word; they were left out."
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", ": empty; expected lines of a word and its numbers."),
        ("\n\n", ": empty;"),
        ("hello\n", ":1: expected a word and its numbers, found 'hello'."),
        ("a 1 2\nb 3\n", ":2: expected 2 numbers after the word 'b', found 1."),
        ("a 1 2 3\nb 1", ":2: expected 3 numbers after the word 'b', found 1."),
        ("a 1 2\nb\n", ":2: expected 2 numbers after the word 'b', found 0."),
        ("a 1 2\n\nb 3 4\n", ":2: an empty line."),
        ("a 1 2\n 3\n", ":2: expected a word at the start of the line, found a space and then '3'."),
        ("a 1 2\nb x 4\n", ":2: expected numbers after the word 'b', found 'x'."),
        ("a 1 2\nb 1_0 4\n", ":2: expected numbers after the word 'b', found '1_0'."),
        ("a 1 2\nb nan 4\n", ":2: expected finite numbers after the word 'b', found 'nan'."),
        ("a 1 2\nb 4 -inf\n", ":2: expected finite numbers after the word 'b', found '-inf'."),
        ("a 1 2\nb 4 1e39\n", ":2: expected numbers within float32 after the word 'b', found '1e39'."),
        (
            "5 3\na 1 2\n",
            ":2: expected 1 numbers after the word 'a', found 2. If words contain spaces: `inlaid convert",
        ),
    ],
)
def test_what_is_wrong_with_a_file_without_header_is_named(
    tmp_path: Path, way: str, content: str, problem: str
):
    assert refused(GLOVE, file(tmp_path, content)).startswith(problem)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("2 2\n", ": its first line promises 2 words of dimension 2, but no line follows."),
        (
            "3 2\na 1 2\nb 3 4\n",
            ": its first line promises 3 words, found only 2. The file is cut short, or its first line",
        ),
        ("2 3\na 1 2\nb 3 4\n", ":2: expected 3 numbers after the word 'a', found 2."),
        (
            "99999999999999999 2\na 1 2\n",
            ": its first line promises 99,999,999,999,999,999 words, found only 1.",
        ),
        ("2 8000000\na 1 2\n" + "b 3 4\n" * 50, ":2: expected 8,000,000 numbers"),
        ("2 99999999999999\na 1 2\n", ":1: the header says dimension 99,999,999,999,999; expected 1 to"),
        ("2 0\na\nb\n", ":1: the header says dimension 0;"),
        (
            "2 -2\na 1 2\n",
            ":1: expected a header (number of words, vector dimension) like '400000 300', found '2 -2'.",
        ),
        ("2" * 5000 + " 2\na 1 2\n", ":1: expected a header"),
        (
            "a 1 2\nb 3 4\n",
            ":1: expected a header (number of words, vector dimension) like '400000 300', found 'a 1 2'.",
        ),
        (
            "5 3\n7 2\n",
            ":2: expected 3 numbers after the word '7', found 1. If the first line is not a header",
        ),
    ],
)
def test_a_wrong_header_is_named(tmp_path: Path, way: str, content: str, problem: str):
    assert refused(WORD2VEC_TEXT, file(tmp_path, content)).startswith(problem)


def test_a_first_line_that_may_be_either_is_not_guessed(tmp_path: Path):
    path = file(tmp_path, "5 3\n7 2\n")
    with pytest.raises(FormatError, match="--source-format glove"):
        storage.load(path)
    assert rows_of(storage.load(path, format="glove")) == {"5": [3], "7": [2]}


def test_a_header_that_was_taken_for_a_word_is_suspected(tmp_path: Path, way: str):
    said = refused(GLOVE, file(tmp_path, "5 3\na 1 2\n"))
    assert " If the first line, '5 3', is a header (number of words, vector dimension): `inlaid" in said
    assert "--source-format word2vec-text" in said


def test_the_first_words_alone_are_read(tmp_path: Path, way: str):
    path = file(tmp_path, "a 1 2\nb 3 4\nc broken\n")
    assert rows_of(GLOVE.read(path, Reading(top=2))) == {"a": [1, 2], "b": [3, 4]}
    assert rows_of(WORD2VEC_TEXT.read(file(tmp_path, "9 2\na 1 2\nb 3 4\n"), Reading(top=2))) == {
        "a": [1, 2],
        "b": [3, 4],
    }


def test_duplicates_and_broken_words_follow_the_settings(tmp_path: Path, way: str):
    path = file(tmp_path, b"a 1 2\n\xff 3 4\na 5 6\n")
    assert rows_of(GLOVE.read(path, Reading(duplicates="last", invalid="skip"))) == {"a": [5, 6]}
    assert rows_of(GLOVE.read(path, Reading(duplicates="first", invalid="replace"))) == {
        "a": [1, 2],
        "\ufffd": [3, 4],
    }
    assert refused(GLOVE, path).startswith(":2: '\\xff' is not UTF-8")


def test_a_word_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100_000)
    assert refused(GLOVE, file(tmp_path, "a 1\n" + "b" * 70_000 + " 1\n")).startswith(
        ":2: a word of more than 65,536 bytes"
    )
    monkeypatch.setattr(lines, "BLOCK", 1000)
    assert refused(GLOVE, file(tmp_path, "a 1\n" + "b" * 200_000)).startswith(":2: longer than 100,000 bytes")


def test_what_may_have_been_lost_is_reported(tmp_path: Path):
    said: list[Event] = []
    GLOVE.read(file(tmp_path, "\ufeffa 1 2\nb 3 4"), Reading(), said.append)
    notes = [event.text for event in said if isinstance(event, Note)]
    assert "byte order mark" in notes[0]
    assert "no line end" in notes[1]


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\n", "", "a\0"])
@BOTH
def test_words_the_file_cannot_hold_are_not_written(tmp_path: Path, format: TextFormat, word: str):
    with pytest.raises(WriteError, match=r"word 2, .* contains whitespace"):
        format.write(Vectors.of(["x", word], [[1], [2]]), tmp_path / "v.vec")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"Chapter 1\nIt was a dark night\n",
        b"the 1000\nof 900\n",
        b"tiger cat 7.35\ntiger tiger 10\n",
        b"1.5 2.5 3.5\n4 5 6\n",
        b"In 1999 2000 2001\nwe went there\n",
        b"12 34\nHello world\n",
        b"PK\x03\x04\0 1 2",
        b"PAR1\x15\x04",
        b"\xba\x16\x4f\x2f\x0c\0\0\0 1 2\n",
        b"2 2\nab \x00\x20\x41\xba\x00\x60\xad\xb8",
    ],
)
def test_other_files_are_not_taken_for_vectors(content: bytes):
    assert not GLOVE.recognizes(Start(Path("x.txt"), content))
    assert not WORD2VEC_TEXT.recognizes(Start(Path("x.txt"), content))


def test_short_and_wide_files_are_recognized():
    wide = b"word" + b" 0.123456" * 20_000
    assert GLOVE.recognizes(Start(Path("x"), b"the 0.5 0.25"))
    assert GLOVE.recognizes(Start(Path("x"), b"the nan 0.25\n"))
    assert GLOVE.recognizes(Start(Path("x"), wide[: 1 << 16]))
    assert WORD2VEC_TEXT.recognizes(Start(Path("x"), (b"5 20000\n" + wide)[: 1 << 16]))
    assert WORD2VEC_TEXT.recognizes(Start(Path("x"), b"5 3"))


@BOTH
@slow
@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
    st.booleans(),
)
@example(0, [], False)
def test_damaged_files_give_vectors_or_a_format_error(
    tmp_path: Path, way: str, format: TextFormat, length: int, flips: list[tuple[int, int]], keep: bool
):
    content = (
        bytearray(b"5 3\n" if format.has_header else b"")
        + b"the 0.5 -0.25 1e-3\nnew 1 2 3\n\xe7\x8c\xab .5 5. 1E5\nz 0 -0 +1\nlast 1.23456789012345678 2 3\n"
    )
    for place, byte in flips:
        content[place % len(content)] = byte
    try:
        vectors = format.read(
            file(tmp_path, bytes(content[:length])), Reading(spaces="keep" if keep else "error")
        )
    except FormatError:
        return
    assert np.isfinite(vectors.table).all()


def test_both_ways_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(3)
    texts = [
        f"w{n} "
        + " ".join(
            f"{value:.{random.integers(1, 20)}{random.choice(list('efg'))}}"
            for value in random.standard_normal(7) * 10.0 ** random.integers(-40, 30)
        )
        for n in range(500)
    ]
    path = file(tmp_path, "\n".join(texts) + "\n")
    plain = GLOVE.read(path)
    monkeypatch.setattr(lines, "BLOCK", 1000)
    quick = GLOVE.read(path)
    assert quick.words == plain.words
    assert quick.table.tobytes() == plain.table.tobytes()
    exact = np.array([[float(field) for field in line.split()[1:]] for line in texts]).astype(np.float32)
    assert plain.table.tobytes() == exact.tobytes()


def test_a_small_file_loads_no_compiler(tmp_path: Path):
    path = file(tmp_path, "a 1 2\nb 3 4\n")
    code = (
        "import sys, pathlib\nfrom inlaid.formats.text import GLOVE\n"
        f"vectors = GLOVE.read(pathlib.Path({str(path)!r}))\n"
        f"GLOVE.write(vectors, pathlib.Path({str(tmp_path / 'w.vec')!r}))\n"
        "print('numba' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_every_error_is_ours(tmp_path: Path):
    with pytest.raises(InlaidError):
        GLOVE.read(tmp_path)


@pytest.mark.parametrize("spaces", ["error", "keep"])
@pytest.mark.parametrize("text", ["\n", "\n \n\t\n", " \n" * 5000])
def test_a_file_of_blank_lines_is_empty(tmp_path: Path, text: str, spaces: Any):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(FormatError, match="empty; expected lines"):
        GLOVE.read(tmp_path / "v.txt", Reading(spaces=spaces))
