"""Hugging Face folders: config, and tensors in safetensors files (sharded or not) or pytorch_model.bin.

Nothing is unpickled. Opening reads headers only; a tensor is read when it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from inlaid import open_file
from inlaid.errors import FormatError, need
from inlaid.formats.pytorch import bytes_of, read_pytorch
from inlaid.messages import Listed
from inlaid.open_file import Memory, OpenFile
from inlaid.untrusted import parse_json, read_json_object, reading_file

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
OLD_WEIGHTS = "pytorch_model.bin"
OLD_INDEX = "pytorch_model.bin.index.json"
ADAPTER = "adapter_config.json"
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
    bytes: int
    start: int = 0
    """The offset of its bytes, in a safetensors file."""
    opened: OpenFile | None = None
    """The safetensors file."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_mapped(self) -> bool:
        return self.opened is not None and self.bytes > open_file.MAPPED

    def refuse_changed(self) -> None:
        """Raise FormatError if the file was cut or overwritten since it was opened. There are no checksums
        by which the numbers could be verified again."""
        if self.opened is not None and self.opened.stamp() != self.opened.opened:
            raise FormatError(
                "{path} was changed after it was opened. Load it again. A file in use can be replaced (write "
                "another, rename it), not overwritten.",
                path=self.file,
            )

    def content(self) -> np.ndarray:
        """Its bytes in the file: read, or memory-mapped if they are many, as `open_arrays` does."""
        assert self.opened is not None
        self.refuse_changed()
        memory = Memory(self.opened, self.start, self.bytes, np.dtype(np.uint8))
        if not memory.is_mapped:
            memory.keep(0, memory.read(0, self.bytes))
            self.refuse_changed()  # while it was read
        return memory.array((self.bytes,))


@dataclass
class Folder:
    """A checkpoint on disk. Made by `open_folder`."""

    path: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Stored]
    loaded: dict[str, Any] = field(default_factory=dict[str, Any])
    """Tensors of a pytorch_model.bin, which must be read as a whole."""
    readers: dict[Path, Any] = field(default_factory=dict[Path, Any])
    """The safetensors library on each file: it parses the header of all tensors when it opens one."""

    def read(self, name: str, *, once: bool = False) -> Any:
        """One tensor, as a torch.Tensor, memory-mapped. `once`: it is dropped as soon as another is made of
        it; the file that all tensors share would stay in memory beside the new one."""
        if name in self.loaded:
            return self.loaded[name]
        torch = need("torch", extra="neural")
        stored = self.tensors[name]
        path = stored.file
        kinds = [kind for kind, known in TORCH_NAMES.items() if known == stored.dtype]
        if once and kinds and stored.bytes and stored.opened is not None:
            stored.refuse_changed()
            data = stored.opened.map_part(stored.start, stored.bytes)
            return torch.frombuffer(data, dtype=getattr(torch, kinds[0])).view(stored.shape)
        with reading_file(path, "safetensors"):
            if path not in self.readers:
                self.readers[path] = safe_open(path, framework="pt")
            return self.readers[path].get_tensor(name)

    def content(self, name: str) -> np.ndarray:
        """The bytes of one tensor of any dtype."""
        if name in self.loaded:
            torch = need("torch", extra="neural")
            return self.loaded[name].contiguous().view(torch.uint8).numpy().reshape(-1)
        return self.tensors[name].content()


def open_folder(path: Path) -> Folder:
    """Config and the list of tensors; a folder without weights, or with an adapter that would be added to
    them, raises FormatError."""
    if (path / ADAPTER).is_file():
        raise FormatError(
            "{path}: {adapter} says that an adapter (PEFT, LoRA) belongs to the weights; none is supported. "
            "Merge it into them with merge_and_unload() of peft, save the model and load that folder.",
            path=path,
            adapter=ADAPTER,
        )
    return open_weights(path, read_config(path))


def open_weights(path: Path, config: Mapping[str, Any]) -> Folder:
    """The list of tensors of a folder whose config is elsewhere, or missing."""
    if (path / INDEX).is_file():
        return Folder(path, config, _sharded(path, _shards(path / INDEX)))
    if (path / WEIGHTS).is_file():
        return Folder(path, config, _safetensors(path / WEIGHTS))
    if (path / OLD_INDEX).is_file():
        return _old_folder(path, config, [path / name for name in sorted(_shards(path / OLD_INDEX))])
    if (path / OLD_WEIGHTS).is_file():
        return _old_folder(path, config, [path / OLD_WEIGHTS])
    raise FormatError(
        "{path}: expected {weights}, {index} or {old}; found only: {found}.",
        path=path,
        weights=WEIGHTS,
        index=INDEX,
        old=OLD_WEIGHTS,
        found=Listed(sorted(each.name for each in path.iterdir())),
    )


def read_config(path: Path) -> dict[str, Any]:
    """The config.json of a folder, or a config.json itself."""
    return read_json_object(path / CONFIG if path.is_dir() else path)


def _shards(index: Path) -> dict[str, list[str]]:
    """File -> the names of the tensors that the index expects in it."""
    places = read_json_object(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise FormatError(
            "{path}: expected a `weight_map` from tensors to files. Get the file again.", path=index
        )
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
                missing=Listed(missing),
            )
        if extra:
            raise FormatError(
                "{path}: the file has tensors that the index does not know: {extra}. Get both again.",
                path=path / file,
                extra=Listed(extra),
            )
        tensors |= found
    return tensors


def _safetensors(path: Path) -> dict[str, Stored]:
    with reading_file(path, "safetensors"), safe_open(path, framework="numpy"):
        pass  # the library, whose parser is fuzzed, has checked the header: every tensor is inside the file
    opened = OpenFile(path)
    size = int.from_bytes(opened.read(0, 8), "little")
    header = parse_json(opened.read(8, size))
    tensors: dict[str, Stored] = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        if not isinstance(about, dict):  # the library also takes the fields as a list
            raise FormatError(
                "{path}: the header has a list for {name}; expected an object. Get the file again.",
                path=path,
                name=name,
            )
        start, stop = about["data_offsets"]
        tensors[name] = Stored(
            name, about["dtype"], tuple(about["shape"]), path, stop - start, 8 + size + start, opened
        )
    return tensors


def _old_folder(path: Path, config: Mapping[str, Any], files: Iterable[Path]) -> Folder:
    loaded: dict[str, Any] = {}
    stored: dict[str, Stored] = {}
    for file in files:
        tensors = read_pytorch(file)
        loaded |= tensors
        for name, tensor in tensors.items():
            dtype = str(tensor.dtype).removeprefix("torch.")
            stored[name] = Stored(
                name, TORCH_NAMES.get(dtype, dtype), tuple(tensor.shape), file, bytes_of(tensor)
            )
    return Folder(path, config, stored, loaded)
