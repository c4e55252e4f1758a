"""What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inlay.errors import SourceError, UnknownName
from inlay.formats import elmo, huggingface
from inlay.formats.huggingface import Folder
from inlay.neural.architecture import Architecture
from inlay.neural.families import OWN, read_config, read_elmo
from inlay.neural.names import NAMES, full_names
from inlay.neural.sizes import parameters

SHOWN = 6
"""How many matrices are listed, the largest, where the tables among them are not known."""
ROLES = ("input table", "output table", "positions", "segments")


@dataclass(frozen=True)
class StoredTable:
    """A matrix in the file, and what it is for where that is known."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str = ""


@dataclass(frozen=True)
class Tie:
    """Whether the output layer shares the input table, by three witnesses; None: it says nothing."""

    config: bool | None = None
    names: bool | None = None
    content: bool | None = None

    @property
    def agree(self) -> bool:
        """A stored copy that is equal is a tie too, so content speaks before names."""
        stored = self.names if self.content is None else self.content
        return None in (self.config, stored) or self.config == stored


@dataclass(frozen=True)
class Inspection:
    """What a checkpoint, or a config alone, says about itself."""

    path: str
    model_type: str
    shape: Architecture | None
    """None where the model type is not one Inlay builds."""
    parts: dict[str, int]
    """Parameters by part: by the architecture, or by the first words of the names where it is not known."""
    stored: int | None
    """Numbers in the file, copies included; None for a config alone."""
    dtypes: dict[str, int]
    """Type -> numbers stored in it."""
    tables: tuple[StoredTable, ...]
    tie: Tie

    @property
    def parameters(self) -> int:
        return sum(self.parts.values())

    @property
    def memory(self) -> dict[str, int]:
        """Bytes the parameters need, by type."""
        return {"float32": 4 * self.parameters, "bfloat16": 2 * self.parameters}

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def inspect(path: str | Path) -> Inspection:
    """Look into a checkpoint folder, or at a config.json alone. Reads headers, and two tables where they should be equal."""
    path = Path(path)
    if not path.exists():
        raise SourceError(f"There is no folder or config '{path}'.")
    if path.is_dir() and elmo.recognizes(path):
        return _from_shape(path, "elmo", read_elmo(elmo.read_options(path)))
    config = huggingface.read_config(path)
    kind = str(config.get("model_type"))
    try:
        shape = read_config(config)
    except UnknownName:
        if not path.is_dir():
            raise  # with neither an architecture nor tensors there is nothing to tell
        shape = None
    if not path.is_dir() or not _has_weights(path):
        return _from_shape(path, kind, shape) if shape else _from_folder(huggingface.open_folder(path), kind, None)
    return _from_folder(huggingface.open_folder(path), kind, shape)


def _has_weights(path: Path) -> bool:
    files = (huggingface.WEIGHTS, huggingface.INDEX, huggingface.OLD_WEIGHTS, huggingface.OLD_INDEX)
    return any((path / name).is_file() for name in files)


def _from_shape(path: Path, kind: str, shape: Architecture) -> Inspection:
    tie = Tie(shape.tied if shape.head != "none" else None)
    return Inspection(str(path), kind, shape, parameters(shape), None, {}, (), tie)


def _from_folder(folder: Folder, kind: str, shape: Architecture | None) -> Inspection:
    dtypes: dict[str, int] = {}
    for tensor in folder.tensors.values():
        dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + tensor.size
    roles = _roles(folder, kind)
    if shape is not None and shape.pooler and not any("pooler" in name for name in folder.tensors):
        shape = dataclasses.replace(shape, pooler=False)  # BERT's config cannot say it; its tensors do
    parts = _parts_by_name(folder) if shape is None else parameters(shape)
    tables, tie = _tables(folder, roles), _tie(folder, kind, shape, roles)
    return Inspection(str(folder.path), kind, shape, parts, sum(dtypes.values()), dtypes, tables, tie)


def _tables(folder: Folder, roles: dict[str, str]) -> tuple[StoredTable, ...]:
    found = [each for each in folder.tensors.values() if each.name in roles or (not roles and len(each.shape) == 2)]
    found.sort(key=lambda each: (ROLES.index(roles[each.name]) if roles else 0, -each.size))
    return tuple(StoredTable(each.name, each.shape, each.dtype, roles.get(each.name, "")) for each in found[:SHOWN])


def _roles(folder: Folder, kind: str) -> dict[str, str]:
    """Name in the file -> which table it is."""
    if kind == OWN:
        named = {"tokens.weight": "input table", "head.table": "output table", "head.output.table": "output table"}
        return {name: role for name, role in named.items() if name in folder.tensors}
    if kind not in NAMES:
        return {}
    files, names = full_names(folder.tensors, NAMES[kind]), NAMES[kind]
    known = {names.table: "input table", names.head: "output table"}
    known |= {theirs: "positions" for ours, theirs in names.parts.items() if ours.endswith("positions.table")}
    known |= {f"{names.parts['stack.segments']}.weight": "segments"} if "stack.segments" in names.parts else {}
    return {files[name]: role for name, role in known.items() if name in files}


def _tie(folder: Folder, kind: str, shape: Architecture | None, roles: dict[str, str]) -> Tie:
    by_role = {role: name for name, role in roles.items()}
    table, head = by_role.get("input table"), by_role.get("output table")
    if shape is None or shape.head == "none" or table is None:
        return Tie()
    if head is None:
        return Tie(shape.tied, True)
    one, two = folder.tensors[table], folder.tensors[head]
    same = (one.shape, one.dtype) == (two.shape, two.dtype) and np.array_equal(folder.content(table), folder.content(head))
    return Tie(shape.tied, False, same)


def _parts_by_name(folder: Folder) -> dict[str, int]:
    parts: dict[str, int] = {}
    for tensor in folder.tensors.values():
        part = ".".join(tensor.name.split(".")[:2])
        parts[part] = parts.get(part, 0) + tensor.size
    return parts


def _lines(found: Inspection) -> list[str]:
    shape = found.shape
    lines = [f"{found.path}: {found.model_type}"]
    if shape is None:
        lines += ["  not an architecture Inlay builds; parts are named as the file names them"]
    elif shape.kind == "bilm":
        lines += [f"  {shape.kind}, {shape.layers} layers each way, {shape.dim} wide"]
    else:
        layers = f"{shape.layers} + {shape.decoder_layers}" if shape.decoder_layers else str(shape.layers)
        heads = f"{shape.heads} heads of {shape.head_width}" + (f" ({shape.kv_heads} of keys)" if shape.key_heads != shape.heads else "")
        lines += [f"  {shape.kind}, {layers} layers, {shape.dim} wide, {heads}, {shape.words:,} words"]
    lines += [f"  {count:>18,}  {part}" for part, count in found.parts.items()]
    lines += [f"  {found.parameters:>18,}  parameters in all"]
    if found.stored is not None:
        kinds = ", ".join(f"{count:,} in {dtype}" for dtype, count in found.dtypes.items())
        lines += [f"  {found.stored:>18,}  numbers in the file ({kinds})"]
    lines += ["  memory: " + ", ".join(f"{bytes / 2**30:.2f} GiB in {dtype}" for dtype, bytes in found.memory.items())]
    lines += [f"  {table.name} {' x '.join(map(str, table.shape))} {table.dtype}  {table.role}".rstrip() for table in found.tables]
    return [*lines, f"  output layer: {_tie_line(found.tie)}"]


def _tie_line(tie: Tie) -> str:
    if tie == Tie():
        return "none, or not known"
    words = {True: "tied", False: "not tied", None: "silent"}
    said = f"config {words[tie.config]}, names {words[tie.names]}, content {words[tie.content]}"
    return f"{said}; {'they agree' if tie.agree else 'THEY DISAGREE'}"
