"""ELMo's files: what leads out of the file, asks for more than it holds, or is not numbers, is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inlaid.errors import FormatError, InlaidError, SourceError
from inlaid.formats.elmo import read_options, read_weights

h5py: Any = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'inlaid[elmo]'")

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)
MAGIC = b"\x89HDF\r\n\x1a\n"
SECRET = b"\x01\x02\x03\x04" * 6


def written(folder: Path, write: Callable[[Any], object]) -> Path:
    with h5py.File(folder / "lm_weights.hdf5", "w") as file:
        write(file)
    return folder


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">f8", ">f2"])
def test_floats_of_any_byte_order_are_read(dtype: str, tmp_path: Path):
    written(tmp_path, lambda file: file.create_dataset("a/b", data=NUMBERS.astype(dtype)))
    read = read_weights(tmp_path)["a/b"]
    assert read.dtype == np.dtype(dtype).newbyteorder("=")
    assert read.dtype.isnative
    assert read.tolist() == NUMBERS.tolist()


def test_compressed_arrays_are_read(tmp_path: Path):
    zeros = np.zeros((1000, 3), np.float32)
    written(tmp_path, lambda file: file.create_dataset("a", data=zeros, compression="gzip"))
    assert np.array_equal(read_weights(tmp_path)["a"], zeros)


def external(file: Any, folder: Path) -> None:
    file.create_dataset("a", (2, 3), "<f4", external=[(str(folder / "secret"), 0, len(SECRET))])


def virtual(file: Any, folder: Path) -> None:
    with h5py.File(folder / "other.hdf5", "w") as other:
        other["b"] = NUMBERS
    layout = h5py.VirtualLayout((2, 3), "<f4")
    layout[...] = h5py.VirtualSource(folder / "other.hdf5", "b", (2, 3))
    file.create_virtual_dataset("a", layout)


def link(file: Any, folder: Path) -> None:
    with h5py.File(folder / "other.hdf5", "w") as other:
        other["b"] = NUMBERS
    file["group/a"] = h5py.ExternalLink(str(folder / "other.hdf5"), "b")


@pytest.mark.parametrize("write", [external, virtual, link])
def test_no_other_file_is_read(write: Callable[[Any, Path], None], tmp_path: Path):
    (tmp_path / "secret").write_bytes(SECRET)
    written(tmp_path, lambda file: write(file, tmp_path))
    with pytest.raises(FormatError, match=r"the numbers of (group/)?a are in another file"):
        read_weights(tmp_path)


@pytest.mark.parametrize("shape", [(1 << 20, 1 << 20), (1 << 62, 4), (1 << 32, 1 << 32)])
def test_a_small_file_that_asks_for_terabytes_gets_none(shape: tuple[int, int], tmp_path: Path):
    """Chunks that were never written are not in the file; HDF5 would fill them in."""
    written(tmp_path, lambda file: file.create_dataset("a", shape, "<f4", chunks=(64, 4), fillvalue=1))
    assert (tmp_path / "lm_weights.hdf5").stat().st_size < 10_000
    with pytest.raises(FormatError, match=r"lm_weights.hdf5: it declares [0-9,]+ bytes of content in"):
        read_weights(tmp_path)


def test_many_arrays_that_are_small_each_count_together(tmp_path: Path):
    def write(file: Any) -> None:
        for number in range(20):
            file.create_dataset(str(number), (1 << 20, 8), "<f4", chunks=(64, 8))

    written(tmp_path, write)
    with pytest.raises(FormatError, match="it declares 671,088,640 bytes"):
        read_weights(tmp_path)


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (lambda file: file.create_dataset("a", data=["text"]), "object"),
        (lambda file: file.create_dataset("a", data=np.array([b"text"])), r"\|S4"),
        (lambda file: file.create_dataset("a", data=np.zeros(2, [("x", "f4"), ("y", "i4")])), "x"),
        (lambda file: file.create_dataset("a", data=np.arange(3)), "int64"),
        (lambda file: file.create_dataset("a", data=np.zeros(3, np.complex64)), "complex64"),
        (lambda file: file.create_dataset("a", data=np.zeros(3, np.longdouble)), "float128"),
        (lambda file: file.create_dataset("a", data=h5py.Empty("f4")), "nothing"),
        (lambda file: file.create_dataset("a", (3,), h5py.vlen_dtype("f4")), "object"),
        (lambda file: file.create_dataset("a", (3,), h5py.ref_dtype), "object"),
    ],
)
def test_what_is_not_floating_point_numbers_is_named(
    write: Callable[[Any], object], found: str, tmp_path: Path
):
    written(tmp_path, write)
    with pytest.raises(FormatError, match=rf"lm_weights.hdf5: a holds .*{found}.*; expected floating-point"):
        read_weights(tmp_path)


@pytest.mark.parametrize("content", [b"", MAGIC, b"<html>404</html>", MAGIC * 99])
def test_what_is_not_hdf5_is_named(content: bytes, tmp_path: Path):
    (tmp_path / "lm_weights.hdf5").write_bytes(content)
    with pytest.raises(FormatError, match="not a readable HDF5 file"):
        read_weights(tmp_path)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path):
    path = written(tmp_path, lambda file: file.create_dataset("a/b", data=NUMBERS)) / "lm_weights.hdf5"
    whole = path.read_bytes()
    for size in range(0, len(whole), 41):
        path.write_bytes(whole[:size])
        with pytest.raises(InlaidError):
            read_weights(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"lstm": 1, "char_cnn": {}}', "null", "[" * 200_000, '{"lstm": {}}']
)
def test_options_that_are_none(text: str, tmp_path: Path):
    (tmp_path / "options.json").write_text(text)
    with pytest.raises(FormatError, match=r"options.json: (not JSON|expected a JSON object)"):
        read_options(tmp_path)
    with pytest.raises(SourceError, match="Cannot read"):
        read_options(tmp_path / "nowhere")
