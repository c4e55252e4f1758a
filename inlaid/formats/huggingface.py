"""Hugging Face folders: config, and tensors in safetensors (sharded or not) or pytorch_model.bin; nothing is
unpickled.

Opening reads headers only; a tensor is read when it is asked for.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from inlaid.errors import FormatError, SourceError, need

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
OLD_WEIGHTS = "pytorch_model.bin"
OLD_INDEX = "pytorch_model.bin.index.json"
WIDTHS = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
}
TORCH_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "bool": "BOOL",
}


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: what it is, not what it holds."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    start: int = 0
    """Where its bytes begin, in a safetensors file."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * WIDTHS.get(self.dtype, 4)


@dataclass
class Folder:
    """A checkpoint on disk. Made by `open_folder`."""

    path: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Stored]
    loaded: dict[str, Any] = field(default_factory=dict[str, Any])
    """Tensors of a pytorch_model.bin, which cannot be read one by one."""

    def read(self, name: str) -> Any:
        """One tensor, as torch has it."""
        if name in self.loaded:
            return self.loaded[name]
        need("torch", extra="neural")
        with safe_open(self.tensors[name].file, framework="pt") as file:
            return file.get_tensor(name)

    def content(self, name: str) -> np.ndarray:
        """The bytes of one tensor, whatever its type; mapped, so that comparing two tables copies neither."""
        stored = self.tensors[name]
        if name in self.loaded:
            torch = need("torch", extra="neural")
            return self.loaded[name].contiguous().view(torch.uint8).numpy().reshape(-1)
        return (
            np.memmap(stored.file, np.uint8, "r", stored.start, (stored.bytes,))
            if stored.bytes
            else np.zeros(0, np.uint8)
        )


def open_folder(path: Path) -> Folder:
    """Config and the list of tensors; a folder without weights raises FormatError."""
    return open_weights(path, read_config(path))


def open_weights(path: Path, config: Mapping[str, Any]) -> Folder:
    """The list of tensors of a folder whose config lies elsewhere, or nowhere."""
    if (path / INDEX).is_file():
        return Folder(path, config, _sharded(path, _shards(path / INDEX)))
    if (path / WEIGHTS).is_file():
        return Folder(path, config, _safetensors(path / WEIGHTS))
    old = sorted(_shards(path / OLD_INDEX)) if (path / OLD_INDEX).is_file() else [OLD_WEIGHTS]
    if (path / old[0]).is_file():
        return _old_folder(path, config, [path / name for name in old])
    found = ", ".join(sorted(each.name for each in path.iterdir())) or "nothing"
    raise FormatError(f"{path}: expected {WEIGHTS}, {INDEX} or {OLD_WEIGHTS}; found {found}.")


def read_config(path: Path) -> dict[str, Any]:
    """The config.json of a folder, or a config.json itself."""
    if path.is_dir():
        path = path / CONFIG
    config = _json(path)
    if not isinstance(config, dict):
        raise FormatError(f"{path}: expected a JSON object, found {type(config).__name__}.")
    return config


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SourceError(
            f"Cannot read {path}: {error.strerror}. A checkpoint is a folder with config.json and its weights."
        ) from None
    except ValueError as error:
        raise FormatError(f"{path}: not JSON ({error}).") from None


def _shards(index: Path) -> dict[str, list[str]]:
    """File -> the tensors it should hold."""
    try:
        places = dict(_json(index)["weight_map"])
    except (KeyError, TypeError, ValueError):
        raise FormatError(
            f"{index}: expected a weight_map that says which file holds which tensor."
        ) from None
    shards: dict[str, list[str]] = {}
    for name, file in places.items():
        if not isinstance(file, str) or Path(file).name != file:
            raise FormatError(f"{index}: {name} lies in {file!r}, which is no file of this folder.")
        shards.setdefault(file, []).append(name)
    return shards


def _sharded(path: Path, shards: Mapping[str, Iterable[str]]) -> dict[str, Stored]:
    tensors: dict[str, Stored] = {}
    for file, names in shards.items():
        found = _safetensors(path / file)
        missing = sorted(set(names) - set(found))
        extra = sorted(set(found) - set(names))
        if missing or extra:
            raise FormatError(
                f"{path / file}: the index promises {missing or 'nothing'} more, and does not know {extra or 'nothing'}."
            )
        tensors |= found
    return tensors


def _safetensors(path: Path) -> dict[str, Stored]:
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            layout = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a readable safetensors file ({error}).") from None
    with path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")  # the header said so, and safe_open has checked it
    tensors: dict[str, Stored] = {}
    for name, (dtype, shape) in layout.items():
        tensors[name] = Stored(name, dtype, shape, path, start)
        start += tensors[name].bytes
    return tensors


def _old_folder(path: Path, config: Mapping[str, Any], files: Iterable[Path]) -> Folder:
    torch = need("torch", extra="neural")
    loaded: dict[str, Any] = {}
    stored: dict[str, Stored] = {}
    for file in files:
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise FormatError(
                f"{file}: not a file of tensors alone, and nothing else is loaded ({str(error).splitlines()[0]})."
            ) from None
        for name, tensor in content.items():
            if not isinstance(tensor, torch.Tensor):
                raise FormatError(f"{file}: {name} is a {type(tensor).__name__}; expected tensors only.")
            kind = str(tensor.dtype).removeprefix("torch.")
            loaded[name] = tensor
            stored[name] = Stored(name, TORCH_NAMES.get(kind, kind), tuple(tensor.shape), file)
    return Folder(path, config, stored, loaded)
