"""PyTorch files: what a failed download leaves, and files that declare more than they hold."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.errors import FormatError, InlaidError
from inlaid.formats.pytorch import read_pytorch

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 440473133\n"
NAME = "wte.weight"


def saved(path: Path, content: Any, **options: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    torch.save(content, path, **options)
    return path


def forged(path: Path, numel: int, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Path:
    """A file with a storage of four numbers, and a tensor that declares something else."""
    saved(path, {NAME: torch.arange(4.0)})
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}

    def number(value: int) -> bytes:
        length = value.bit_length() // 8 + 1
        return b"\x8a" + bytes([length]) + value.to_bytes(length, "little", signed=True)

    def text(value: str) -> bytes:
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def several(*values: bytes) -> bytes:
        return b"(" + b"".join(values) + b"t"

    storage = (
        several(text("storage"), b"ctorch\nFloatStorage\n", text("0"), text("cpu"), number(numel)) + b"Q"
    )
    hooks = b"ccollections\nOrderedDict\n)R"
    places = (number(offset), several(*map(number, size)), several(*map(number, stride)))
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n" + several(storage, *places, b"\x89", hooks) + b"R"
    pickled = b"\x80\x02}(" + text(NAME) + tensor + b"u."
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, pickled if name.endswith("data.pkl") else data)
    return path


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a user sees."""
    (folder / "config.json").write_text("{}")
    assert main(["convert", str(folder), str(folder.parent / "out.inlaid")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pytorch_model.bin: " in line
    assert "weights_only" not in line
    return line


@pytest.mark.parametrize("old", [False, True])
def test_a_whole_file_is_read(old: bool, tmp_path: Path):
    table = torch.arange(12.0).reshape(4, 3)
    path = tmp_path / "model" / "pytorch_model.bin"
    saved(path, {NAME: table.T.contiguous().T}, _use_new_zipfile_serialization=not old)
    (path.parent / "config.json").write_text("{}")
    assert torch.equal(read_pytorch(path)[NAME], table)
    assert np.array_equal(inlaid.load(path.parent).table, table.numpy())


@pytest.mark.parametrize(
    "content",
    [b"", b"<!DOCTYPE html><title>404</title>", POINTER, bytes(5000), b"\x80" * 9, b"ustar" + bytes(600)],
)
def test_what_a_failed_download_leaves_is_named(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    line = refused(tmp_path, capsys)
    assert "not a PyTorch file: it starts with b" in line
    assert "Git LFS pointer" in line


@pytest.mark.parametrize("old", [False, True])
def test_a_file_cut_anywhere_is_refused(old: bool, tmp_path: Path):
    path = tmp_path / "pytorch_model.bin"
    saved(path, {NAME: torch.arange(300.0)}, _use_new_zipfile_serialization=not old)
    whole = path.read_bytes()
    for size in range(0, len(whole), 29):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"pytorch_model.bin: (not a|expected a file of tensors only)"):
            read_pytorch(path)


@pytest.mark.parametrize(
    ("size", "stride"), [((331_072, 331_072), (0, 0)), ((4, 1 << 40), (1, 0)), ((1 << 61, 1), (0, 1))]
)
def test_a_tensor_that_repeats_a_number_without_end_gets_no_memory(
    size: Sequence[int], stride: Sequence[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    forged(tmp_path / "pytorch_model.bin", 4, size, stride)
    assert "it declares " in refused(tmp_path, capsys)


def test_a_small_tensor_that_repeats_numbers_is_read(tmp_path: Path):
    path = forged(tmp_path / "pytorch_model.bin", 4, (3, 4), (0, 1))
    assert read_pytorch(path)[NAME].tolist() == [[0, 1, 2, 3]] * 3


@pytest.mark.parametrize(
    ("numel", "size", "stride", "offset"),
    [
        (1 << 26, (1 << 26,), (1,), 0),
        (1 << 60, (4,), (1,), 0),
        (-1, (4,), (1,), 0),
        (4, (8,), (1,), 0),
        (4, (4,), (1,), 1),
        (4, (4,), (1,), -1),
        (4, (4,), (-1,), 0),
        (4, (-4,), (1,), 0),
        (4, (4, 4), (1,), 0),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(
    numel: int, size: Sequence[int], stride: Sequence[int], offset: int, tmp_path: Path
):
    with pytest.raises(FormatError, match="expected a file of tensors only"):
        read_pytorch(forged(tmp_path / "pytorch_model.bin", numel, size, stride, offset))


def test_an_archive_that_unpacks_to_much_more_is_refused(tmp_path: Path):
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(1 << 28))
    with pytest.raises(FormatError, match="it declares 268,435,456 bytes"):
        read_pytorch(path)


@pytest.mark.parametrize(
    "content",
    [
        [torch.zeros(2)],
        torch.zeros(2),
        None,
        {1: torch.zeros(2)},
        {"model": {"w": torch.zeros(2)}},
        {"w": torch.zeros(2).to_sparse()},
        {"w": torch.zeros(2, device="meta")},
    ],
    ids=["list", "tensor", "none", "number", "nested", "sparse", "meta"],
)
def test_what_is_not_tensors_by_name_is_named(content: Any, tmp_path: Path):
    with pytest.raises(FormatError, match=r"pytorch_model.bin: .*expected tensors"):
        read_pytorch(saved(tmp_path / "pytorch_model.bin", content))


@pytest.mark.parametrize("text", ['{"weight_map": {}}', "{}", "[]", '{"weight_map": []}', "[" * 200_000])
@pytest.mark.parametrize("name", ["pytorch_model.bin.index.json", "model.safetensors.index.json"])
def test_an_index_of_nothing_is_named(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / name).write_text(text)
    (folder / "config.json").write_text("{}")
    assert main(["convert", str(folder), str(tmp_path / "out.inlaid")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{name}: " in line
    assert "weight_map" in line or "JSON" in line


@pytest.mark.parametrize("file", ["", ".", "..", "a\0b", "\ud800", "x" * 5000, "missing.bin", "a/b", 3, None])
@pytest.mark.parametrize("name", ["pytorch_model.bin.index.json", "model.safetensors.index.json"])
def test_an_index_of_files_that_are_none_is_refused(name: str, file: Any, tmp_path: Path):
    (tmp_path / name).write_text(json.dumps({"weight_map": {"w": file}}))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InlaidError):
        inlaid.load(tmp_path)
