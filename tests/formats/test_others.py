"""Archives, parquet and projector folders from elsewhere, and what is wrong with some of them."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.errors import FormatError, SettingError
from inlaid.report import Event
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


def test_an_archive_that_unpacks_to_nothing_but_zeros_is_refused(tmp_path: Path):
    np.savez_compressed(
        tmp_path / "a.npz", words=np.array(["cat"]), table=np.zeros((1, 2_000_000), np.float32)
    )
    with pytest.raises(FormatError, match="more than 300 times its size"):
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
    with pytest.raises(
        FormatError, match="word 3: 'cat' is there a second time .*word 1.*--duplicates first"
    ):
        inlaid.load(tmp_path / "a.npz")
    assert inlaid.load(tmp_path / "a.npz", duplicates="first")["cat"].tolist() == [0, 1]
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
