"""Hugging Face folders: config, and tensors in safetensors files (sharded or not) or pytorch_model.bin.

Nothing is unpickled. Opening reads headers only; a tensor is read when it is used.
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
    """A tensor in a file: its dtype, shape and place, not its values."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    start: int = 0
    """The offset of its bytes, in a safetensors file."""

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
    """Tensors of a pytorch_model.bin, which must be read as a whole."""

    def read(self, name: str) -> Any:
        """One tensor, as a torch.Tensor."""
        if name in self.loaded:
            return self.loaded[name]
        need("torch", extra="neural")
        with safe_open(self.tensors[name].file, framework="pt") as file:
            return file.get_tensor(name)

    def content(self, name: str) -> np.ndarray:
        """The bytes of one tensor of any dtype; memory-mapped, so comparing two tables copies neither."""
        stored = self.tensors[name]
        if name in self.loaded:
            torch = need("torch", extra="neural")
            return self.loaded[name].contiguous().view(torch.uint8).numpy().reshape(-1)
        if not stored.bytes:
            return np.zeros(0, np.uint8)
        return np.memmap(stored.file, np.uint8, "r", stored.start, (stored.bytes,))


def open_folder(path: Path) -> Folder:
    """Config and the list of tensors; a folder without weights raises FormatError."""
    return open_weights(path, read_config(path))


def open_weights(path: Path, config: Mapping[str, Any]) -> Folder:
    """The list of tensors of a folder whose config is elsewhere, or missing."""
    if (path / INDEX).is_file():
        return Folder(path, config, _sharded(path, _shards(path / INDEX)))
    if (path / WEIGHTS).is_file():
        return Folder(path, config, _safetensors(path / WEIGHTS))
    old = sorted(_shards(path / OLD_INDEX)) if (path / OLD_INDEX).is_file() else [OLD_WEIGHTS]
    if (path / old[0]).is_file():
        return _old_folder(path, config, [path / name for name in old])
    raise FormatError(
        "{path}: expected {weights}, {index} or {old}; found only: {found}.",
        path=path,
        weights=WEIGHTS,
        index=INDEX,
        old=OLD_WEIGHTS,
        found=", ".join(sorted(each.name for each in path.iterdir())),
    )


def read_config(path: Path) -> dict[str, Any]:
    """The config.json of a folder, or a config.json itself."""
    if path.is_dir():
        path = path / CONFIG
    config = _json(path)
    if not isinstance(config, dict):
        raise FormatError(
            "{path}: expected a JSON object, found {found}. Get the file again.",
            path=path,
            found=type(config).__name__,
        )
    return config


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SourceError(
            "Cannot read {path}: {reason}. A checkpoint is a folder with config.json and its weights.",
            path=path,
            reason=error.strerror,
        ) from None
    except ValueError as error:
        raise FormatError(
            "{path}: not JSON ({error}). Get the file again.", path=path, error=str(error)
        ) from None


def _shards(index: Path) -> dict[str, list[str]]:
    """File -> the names of the tensors that the index expects in it."""
    try:
        places = dict(_json(index)["weight_map"])
    except (KeyError, TypeError, ValueError):
        raise FormatError(
            "{path}: expected a `weight_map` from tensors to files. Get the file again.", path=index
        ) from None
    shards: dict[str, list[str]] = {}
    for name, file in places.items():
        if not isinstance(file, str) or Path(file).name != file:
            raise FormatError(
                "{path}: the file of {name} is {file!r}; expected the name of a file in this folder.",
                path=index,
                name=name,
                file=file,
            )
        shards.setdefault(file, []).append(name)
    return shards


def _sharded(path: Path, shards: Mapping[str, Iterable[str]]) -> dict[str, Stored]:
    tensors: dict[str, Stored] = {}
    for file, names in shards.items():
        found = _safetensors(path / file)
        missing = sorted(set(names) - set(found))
        extra = sorted(set(found) - set(names))
        if missing:
            raise FormatError(
                "{path}: the index promises tensors that the file does not have: {missing}. Get both again.",
                path=path / file,
                missing=", ".join(missing),
            )
        if extra:
            raise FormatError(
                "{path}: the file has tensors that the index does not know: {extra}. Get both again.",
                path=path / file,
                extra=", ".join(extra),
            )
        tensors |= found
    return tensors


def _safetensors(path: Path) -> dict[str, Stored]:
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            layout = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            "{path}: not a readable safetensors file ({error}). Get the file again.",
            path=path,
            error=str(error),
        ) from None
    with path.open("rb") as file:
        start = 8 + int.from_bytes(
            file.read(8), "little"
        )  # the length of the header, which safe_open has checked
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
                "{path}: expected a file of tensors only; other pickled objects are never loaded ({error}).",
                path=file,
                error=str(error).splitlines()[0],
            ) from None
        for name, tensor in content.items():
            if not isinstance(tensor, torch.Tensor):
                raise FormatError(
                    "{path}: {name} is a {found}; expected tensors only.",
                    path=file,
                    name=name,
                    found=type(tensor).__name__,
                )
            dtype = str(tensor.dtype).removeprefix("torch.")
            loaded[name] = tensor
            stored[name] = Stored(name, TORCH_NAMES.get(dtype, dtype), tuple(tensor.shape), file)
    return Folder(path, config, stored, loaded)
