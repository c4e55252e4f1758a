"""Hugging Face folders: tensors are found by header, shard indexes are checked, and bytes are the tensor's
own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import inlaid
from inlaid.errors import FormatError, SourceError
from inlaid.formats.huggingface import open_folder, read_config


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    save_file(
        {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.arange(4, dtype=np.int64)},
        tmp_path / "model.safetensors",
    )
    return tmp_path


def shard(folder: Path, places: dict[str, str]) -> None:
    (folder / "model.safetensors").unlink(missing_ok=True)
    save_file({"a": np.ones(2, np.float32)}, folder / "one.safetensors")
    save_file({"b": np.zeros((1, 2), np.float16)}, folder / "two.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_headers_and_bytes(folder: Path):
    opened = open_folder(folder)
    assert opened.config == {"model_type": "gpt2"}
    assert {name: (each.dtype, each.shape, each.bytes) for name, each in opened.tensors.items()} == {
        "a": ("I64", (4,), 32),
        "b": ("F32", (2, 3), 24),
    }
    assert opened.content("b").view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert opened.content("a").view(np.int64).tolist() == [0, 1, 2, 3]


def test_shards(folder: Path):
    shard(folder, {"a": "one.safetensors", "b": "two.safetensors"})
    opened = open_folder(folder)
    assert sorted(opened.tensors) == ["a", "b"]
    assert opened.content("a").view(np.float32).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (
            {"a": "one.safetensors", "b": "one.safetensors"},
            r"promises tensors that the file does not have: b",
        ),
        ({"a": "one.safetensors", "b": "three.safetensors"}, "three.safetensors: not a readable"),
        ({"a": "../one.safetensors"}, "expected the name of a file in this folder"),
        ({"c": "two.safetensors"}, r"promises tensors that the file does not have: c"),
    ],
)
def test_indexes_that_do_not_hold(places: dict[str, str], said: str, folder: Path):
    shard(folder, places)
    with pytest.raises(FormatError, match=said):
        open_folder(folder)


def test_tensors_that_the_index_does_not_know(folder: Path):
    shard(folder, {"a": "one.safetensors"})
    save_file({"a": np.ones(2, np.float32), "c": np.ones(1, np.float32)}, folder / "one.safetensors")
    with pytest.raises(FormatError, match="has tensors that the index does not know: c"):
        open_folder(folder)


def test_configs_that_are_none(tmp_path: Path):
    with pytest.raises(SourceError, match="Cannot read"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(FormatError, match="expected a JSON object, found list"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        read_config(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("dtype", "count", "size"), [("F8_E8M0", 4, 4), ("F4", 8, 4), ("C64", 1, 8), ("U16", 2, 4)]
)
def test_tensors_after_one_of_a_rare_dtype_are_in_their_place(
    dtype: str, count: int, size: int, tmp_path: Path
):
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    header = {
        "other": {"dtype": dtype, "shape": [count], "data_offsets": [0, size]},
        "wte.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [size, size + 24]},
    }
    text = json.dumps(header).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(size) + table.tobytes()
    (tmp_path / "model.safetensors").write_bytes(content)
    (tmp_path / "config.json").write_text("{}")
    assert np.array_equal(inlaid.load(tmp_path).table, table)


def test_a_tensor_described_by_a_list_is_refused(tmp_path: Path):
    text = json.dumps({"wte.weight": ["F32", [1, 1], [0, 4]]}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FormatError, match="the header has a list for wte.weight; expected an object"):
        inlaid.load(tmp_path)


@pytest.mark.parametrize("shape", [[0, 1 << 62], [1 << 62, 0], [(1 << 64) - 1, 0], [0, 3], [3, 0]], ids=str)
def test_a_table_without_numbers_is_named(shape: list[int], tmp_path: Path):
    text = json.dumps({"wte.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FormatError, match="the input table wte.weight has shape"):
        inlaid.load(tmp_path)
