"""Archives, parquet and projector folders from elsewhere, and what is wrong with some of them."""

from __future__ import annotations

import dataclasses
import io
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid import untrusted
from inlaid.cli import main
from inlaid.errors import FormatError, SettingError
from inlaid.report import Event, Note
from inlaid.vectors import Vectors


def test_an_archive_of_other_names_is_read_where_only_one_array_can_be_meant(tmp_path: Path):
    np.savez_compressed(tmp_path / "a.npz", vocab=np.array(["cat", "猫"]), emb=np.eye(2))
    found = inlaid.load(tmp_path / "a.npz")
    assert list(found.words) == ["cat", "猫"]
    assert found["猫"].tolist() == [0, 1]


def test_an_archive_with_two_matrices_asks_for_a_name(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["cat", "猫"]), one=np.eye(2), two=np.eye(2))
    with pytest.raises(FormatError, match="expected a matrix of float32 called 'table'; found words <U3"):
        inlaid.load(tmp_path / "a.npz")


def test_pickled_words_are_never_loaded(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["cat", None], object), table=np.eye(2))
    with pytest.raises(FormatError, match="Pickled objects are never loaded"):
        inlaid.load(tmp_path / "a.npz")


def test_a_header_that_promises_more_than_the_file_holds_gets_no_memory(tmp_path: Path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 300)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("table.npy", header.getvalue() + bytes(1200))
    with pytest.raises(FormatError, match="promises 1,200,000,000,128 bytes"):
        inlaid.load(tmp_path / "a.npz")


@pytest.mark.parametrize("lies", [["file_size"], ["file_size", "compress_size"]])
def test_a_directory_that_confirms_the_header_gets_no_memory(
    lies: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A tiny file whose headers and whose zip directory agree on terabytes."""
    rows = 10**9
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, descr, shape in (("words", "<U4", (rows,)), ("table", "<f4", (rows, 300))):
            header = io.BytesIO()
            about = {"descr": descr, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(header, about)
            archive.writestr(f"{name}.npy", header.getvalue())
            for lie in lies:
                promised = math.prod(shape) * np.dtype(descr).itemsize + len(header.getvalue())
                setattr(archive.filelist[-1], lie, promised)
    assert path.stat().st_size < 2000
    assert main(["neighbors", str(path), "cat"]) == 2
    assert main(["convert", str(path), str(tmp_path / "v.inlaid")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") for line in lines)


def test_an_archive_larger_than_memory_is_refused_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.npz"
    np.savez(path, words=np.array(["cat", "dog"]), table=np.ones((2, 1000)), other=np.ones((1, 1000), int))
    assert main(["neighbors", str(path), "cat"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(untrusted, "ALWAYS_ALLOWED", 0)
    monkeypatch.setattr(untrusted, "available_memory", lambda: 16_023)
    assert main(["neighbors", str(path), "cat"]) == 2
    assert "takes 16,024 bytes of memory, and 16,023 are available" in capsys.readouterr().err
    monkeypatch.setattr(untrusted, "available_memory", lambda: 16_024)
    assert main(["neighbors", str(path), "cat"]) == 0


def test_an_archive_that_unpacks_to_nothing_but_zeros_is_refused(tmp_path: Path):
    np.savez_compressed(
        tmp_path / "a.npz", words=np.array(["cat"]), table=np.zeros((1, 30_000_000), np.float32)
    )
    with pytest.raises(FormatError, match="declares 120,000,128 bytes .* more than 300 times as much"):
        inlaid.load(tmp_path / "a.npz")


def test_an_archive_whose_names_are_no_text_is_refused(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["cat"]), table=np.ones((1, 2)))
    data = (tmp_path / "a.npz").read_bytes().replace(b"words.npy", b"wor\x82s.npy")
    flag = data.rindex(b"PK\x01\x02") + 8
    first = data.index(b"PK\x01\x02") + 8
    data = bytearray(data)
    for place in (first, flag):
        data[place + 1] |= 0x08  # "names are UTF-8"
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FormatError):
        inlaid.load(tmp_path / "a.npz")


def test_a_duplicate_word_names_the_flag(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["cat", "dog", "cat"]), table=np.arange(6.0).reshape(3, 2))
    with pytest.raises(FormatError, match="word 3: 'cat' is there a second time .*word 1.*duplicates=.first"):
        inlaid.load(tmp_path / "a.npz", duplicates="error")
    notes: list[Event] = []
    assert inlaid.load(tmp_path / "a.npz", report=notes.append)["cat"].tolist() == [0, 1]
    assert any("1 words are duplicates" in event.text for event in notes if isinstance(event, Note))
    assert inlaid.load(tmp_path / "a.npz", duplicates="last")["cat"].tolist() == [4, 5]


def test_numbers_too_large_for_float32_are_refused(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["cat"]), table=np.array([[1e300]]))
    with pytest.raises(FormatError, match="The vector of 'cat' .* holds NaN or infinity"):
        inlaid.load(tmp_path / "a.npz")


def test_parquet_of_a_data_frame_with_lists_of_double(tmp_path: Path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        arrow.table({"id": [7, 8], "token": ["cat", "猫"], "embedding": [[1.0, 2.0], [3.0, 4.0]]}),
        tmp_path / "a.parquet",
    )
    found = inlaid.load(tmp_path / "a.parquet")
    assert found["猫"].tolist() == [3, 4]
    assert found.counts is None


def test_parquet_lists_of_different_lengths_name_the_row(tmp_path: Path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        arrow.table({"word": ["a", "b", "c"], "vector": [[1.0, 2.0], [3.0, 4.0], [5.0]]}),
        tmp_path / "a.parquet",
    )
    with pytest.raises(FormatError, match="row 3: expected 2 numbers, found 1"):
        inlaid.load(tmp_path / "a.parquet")


def test_a_projector_folder_from_elsewhere(tmp_path: Path):
    (tmp_path / "tensors.tsv").write_text("1\t2\r\n3\t4\r\n")
    (tmp_path / "metadata.tsv").write_text("label\tkind\ncat\tanimal\n猫\tanimal\n")
    found = inlaid.load(tmp_path)
    assert list(found.words) == ["cat", "猫"]
    assert found["猫"].tolist() == [3, 4]


def test_a_projector_row_of_another_width_names_its_line(tmp_path: Path):
    (tmp_path / "tensors.tsv").write_text("1\t2\n3\n")
    (tmp_path / "metadata.tsv").write_text("cat\ndog\n")
    with pytest.raises(FormatError, match=r"tensors.tsv:2: expected 2 numbers, found 1"):
        inlaid.load(tmp_path)


def test_words_without_rows_are_counted(tmp_path: Path):
    (tmp_path / "tensors.tsv").write_text("1\t2\n3\t4\n")
    (tmp_path / "metadata.tsv").write_text("cat\n")
    with pytest.raises(FormatError, match="2 rows and metadata.tsv 1 words"):
        inlaid.load(tmp_path)


def test_a_label_with_a_tab_cannot_be_written(tmp_path: Path):
    with pytest.raises(FormatError, match="Word 1 is 'a\\\\tb'"):
        inlaid.save(Vectors.of(["a\tb"], [[1.0]]), tmp_path / "p", format="projector")
    assert not (tmp_path / "p").exists()


def test_int8_reports_its_loss_and_other_formats_refuse_it(tmp_path: Path):
    vectors = Vectors.of([f"w{n}" for n in range(100)], np.random.default_rng(1).standard_normal((100, 50)))
    events: list[Event] = []
    inlaid.save(vectors, tmp_path / "v.inlaid", dtype="int8", report=events.append)
    assert "Of 100 words, the cosine with the original vector is 0.9999" in str(events[0])
    found = inlaid.load(tmp_path / "v.inlaid")
    largest = np.abs(vectors.table).max(axis=1, keepdims=True)
    assert (np.abs(found.table - vectors.table) <= largest / 254 + 1e-6).all()
    np.testing.assert_array_equal(found.rows([3, 99]), found.table[[3, 99]])
    with pytest.raises(SettingError, match="dtype is int8, which only Inlaid's own format can store"):
        inlaid.save(vectors, tmp_path / "v.npz", dtype="int8")


def test_float16_halves_the_file(tmp_path: Path):
    vectors = Vectors.of([f"w{n}" for n in range(100)], np.random.default_rng(1).standard_normal((100, 50)))
    inlaid.save(vectors, tmp_path / "v.inlaid", dtype="float16")
    assert (
        inlaid.load(tmp_path / "v.inlaid")["w7"].tolist()
        == vectors["w7"].astype(np.float16).astype(np.float32).tolist()
    )
    with pytest.raises(FormatError, match="too large for float16"):
        inlaid.save(Vectors.of(["a"], [[1e30]]), tmp_path / "w.inlaid", dtype="float16")


def test_only_the_rows_that_are_read_are_verified(tmp_path: Path):
    vectors = Vectors.of([f"w{n}" for n in range(40_000)], np.ones((40_000, 50)))
    inlaid.save(vectors, tmp_path / "v.inlaid")
    data = bytearray((tmp_path / "v.inlaid").read_bytes())
    data[-30_000 * 200] ^= 1  # inside the table, far from its start and end
    (tmp_path / "v.inlaid").write_bytes(data)
    found = inlaid.load(tmp_path / "v.inlaid")
    assert found["w0"].tolist() == [1] * 50
    with pytest.raises(FormatError, match="'table' is damaged"):
        _ = found.table
    with pytest.raises(FormatError, match="damaged"):
        inlaid.verify(tmp_path / "v.inlaid")


def test_what_a_format_cannot_store_is_reported(tmp_path: Path):
    vectors = Vectors.of(["a", "b"], np.eye(2))
    full = dataclasses.replace(vectors, counts=np.array([2, 1]), contexts=np.eye(2, dtype=np.float32))
    for name, said in (("v.npz", "parts of the vectors: contexts."), ("v.vec", "vectors: contexts, counts.")):
        events: list[Event] = []
        inlaid.save(full, tmp_path / name, report=events.append)
        assert said in str(events)
    events = []
    inlaid.save(vectors, tmp_path / "w.vec", report=events.append)
    assert "cannot store" not in str(events)


def resaved(path: Path, **changed: bytes | np.ndarray) -> Path:
    """An archive of three words, with some of its entries replaced."""
    entries: dict[str, bytes | np.ndarray] = {
        "words": np.array(["cat", "猫", "dog"]),
        "table": np.eye(3, dtype=np.float32),
        "counts": np.array([3, 2, 1]),
        **changed,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, entry in entries.items():
            content = io.BytesIO(entry if isinstance(entry, bytes) else b"")
            if not isinstance(entry, bytes):
                np.save(content, entry, allow_pickle=False)
            archive.writestr(f"{name}.npy", content.getvalue())
    return path


def test_an_archive_without_words_is_refused(tmp_path: Path):
    np.savez(tmp_path / "v.npz", words=np.array([], "<U3"), table=np.ones((0, 3), np.float32))
    with pytest.raises(FormatError, match="holds no words"):
        inlaid.load(tmp_path / "v.npz")


def test_words_of_an_archive_that_are_no_characters_are_refused(tmp_path: Path):
    words = np.array(["cat", "dog"])
    words.view(np.uint32)[1] = 0x110000
    np.savez(tmp_path / "v.npz", words=words, table=np.ones((2, 3), np.float32))
    with pytest.raises(FormatError, match="hold the number 1114112, which is no character"):
        inlaid.load(tmp_path / "v.npz")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), } '''",
        "{'descr': '<f4'",
        "(" * 5000,
        "",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904)}",
        "{'descr': 3, 'fortran_order': False, 'shape': (3, 3)}",
    ],
)
def test_a_header_that_does_not_parse_is_one_line(
    tmp_path: Path, header: str, capsys: pytest.CaptureFixture[str]
):
    text = header.encode() + b"\n"
    entry = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(36)
    path = resaved(tmp_path / "v.npz", table=entry)
    assert main(["neighbors", str(path), "cat"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}: table.npy ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (np.array(["3", "two", "1"]), "its counts are <U3; expected whole numbers"),
        (np.array([3, -2, 1]), "the count of word 2 is -2; expected a number from 0"),
        (np.array([3, 2, np.nan]), "the count of word 3 is nan; expected a number from 0"),
        (np.array([np.inf, 2, 1]), "the count of word 1 is inf; expected a number from 0"),
        (np.array([3, 2.5, 1]), "the count of word 2 is 2.5; expected a whole number"),
        (np.array([3, 2, 2**64 - 1], np.uint64), "the count of word 3 is 18446744073709551615; expected"),
    ],
)
def test_counts_that_are_none_are_refused(
    tmp_path: Path, counts: np.ndarray, expected: str, capsys: pytest.CaptureFixture[str]
):
    path = resaved(tmp_path / "v.npz", counts=counts)
    assert main(["neighbors", str(path), "cat"]) == 2
    assert expected in capsys.readouterr().err


def test_whole_counts_of_any_dtype_are_read(tmp_path: Path):
    for dtype in (np.float32, np.uint8, np.int16):
        found = inlaid.load(resaved(tmp_path / "v.npz", counts=np.array([3, 2, 1], dtype))).counts
        assert found is not None
        assert found.dtype == np.int64
        assert found.tolist() == [3, 2, 1]


def test_a_negative_count_in_a_projector_folder_is_refused(tmp_path: Path):
    vectors = dataclasses.replace(Vectors.of(["cat", "dog"], np.eye(2)), counts=np.array([2, 1]))
    inlaid.save(vectors, tmp_path / "p", format="projector")
    (tmp_path / "p" / "metadata.tsv").write_text("word\tcount\ncat\t2\ndog\t-1\n", "utf-8")
    with pytest.raises(FormatError, match="the count of word 2 is -1"):
        inlaid.load(tmp_path / "p")


@pytest.mark.parametrize(
    "card", ["null", "3", "[]", '"a"', '{"method": null}', '{"encoding": {"normalize": 3}}']
)
def test_a_card_of_a_folder_of_wrong_types_is_one_line(
    tmp_path: Path, card: str, capsys: pytest.CaptureFixture[str]
):
    inlaid.save(Vectors.of(["cat", "dog"], np.eye(2)), tmp_path / "v", format="static-embedding")
    (tmp_path / "v" / "card.json").write_text(card, "utf-8")
    assert main(["neighbors", str(tmp_path / "v"), "cat"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {tmp_path / 'v' / 'card.json'}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["train sgns {} -o v.inlaid", "phrases {} -o out", "info {}", "verify {}"]
)
def test_vectors_renamed_to_a_corpus_are_one_line(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    inlaid.save(Vectors.of(["cat", "dog"], np.eye(2)), tmp_path / "v.inlaid")
    (tmp_path / "folder").mkdir()
    (tmp_path / "v.inlaid").rename(tmp_path / "folder" / "corpus.safetensors")
    assert main(command.format("folder").split()) == 2
    assert "corpus.safetensors: has no manifest; expected a corpus" in capsys.readouterr().err
