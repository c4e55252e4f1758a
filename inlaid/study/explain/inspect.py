"""What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid.errors import SourceError, UnknownName
from inlaid.formats import elmo, huggingface
from inlaid.formats.huggingface import Folder
from inlaid.neural.architecture import Architecture
from inlaid.neural.families import OWN, read_config, read_elmo
from inlaid.neural.names import Names, names_of
from inlaid.neural.sizes import parameters
from inlaid.neural.tables import Source, source_of, with_sides
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain

SHOWN = 6
"""How many matrices are listed, the largest, where the tables among them are not known."""
ROLES = ("input table", "target table", "output table", "positions", "segments")


@dataclass(frozen=True)
class StoredTable:
    """A matrix in the file, and what it is for where that is known."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str = ""


@dataclass(frozen=True)
class Tie:
    """Whether the output layer shares the input table (of two, the target's), by three witnesses; None: it
    says nothing."""

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
    """None where the model type is not one Inlaid builds."""
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
        return "\n".join(str(line) for line in _lines(self))

    def rows(self) -> Sequence[Row]:
        return [str(line) for line in _lines(self)]

    def to_dict(self) -> dict[str, Any]:
        return plain(self) | {"parameters": self.parameters, "memory": self.memory}


@analysis
def inspect(path: str | Path, *, report: Report = silent) -> Inspection:
    """What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory.

    Reads headers, and the content of tables only where they should be equal.

    Args:
        path: a folder with config.json and weights, or a config.json alone
    """
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
        return (
            _from_shape(path, kind, shape)
            if shape
            else _from_folder(huggingface.open_folder(path), kind, None)
        )
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
    stored = (sum(dtypes.values()), dtypes)
    if shape is None:
        return Inspection(
            str(folder.path), kind, None, _parts_by_name(folder), *stored, _tables(folder, {}), Tie()
        )
    if shape.pooler and not any("pooler" in name for name in folder.tensors):
        shape = dataclasses.replace(shape, pooler=False)  # BERT's config cannot say it; its tensors do
    shape = shape if kind == OWN else with_sides(shape, kind, folder)
    names = _own_names(folder, shape) if kind == OWN else names_of(kind, separate=bool(shape.target_words))
    source = source_of(folder, names)
    tie = _tie(source, names, shape)
    if names.silent and tie.content is False:
        shape = dataclasses.replace(shape, tied=False)
    return Inspection(
        str(folder.path), kind, shape, parameters(shape), *stored, _tables(folder, _roles(source, names)), tie
    )


def _tables(folder: Folder, roles: dict[str, str]) -> tuple[StoredTable, ...]:
    found = [
        each for each in folder.tensors.values() if each.name in roles or (not roles and len(each.shape) == 2)
    ]
    found.sort(key=lambda each: (ROLES.index(roles[each.name]) if roles else 0, -each.size))
    return tuple(
        StoredTable(each.name, each.shape, each.dtype, roles.get(each.name, "")) for each in found[:SHOWN]
    )


def _own_names(folder: Folder, shape: Architecture) -> Names:
    """What tables are called in a folder of our own."""
    head = "head.output.table" if "head.output.table" in folder.tensors else "head.table"
    return Names(
        "", {}, "tokens.weight", head, {}, "", target="target_tokens.weight" if shape.target_words else ""
    )


def _roles(source: Source, names: Names) -> dict[str, str]:
    """Name in the file -> which table it is."""
    known = {theirs: "positions" for ours, theirs in names.parts.items() if ours.endswith("positions.table")}
    known |= (
        {f"{names.parts['stack.segments']}.weight": "segments"} if "stack.segments" in names.parts else {}
    )
    tables = {"output table": names.head, "target table": names.target, "input table": names.table}
    known |= {source.name(name): role for role, name in tables.items()}
    return {source.files[name]: role for name, role in known.items() if name in source.files}


def _tie(source: Source, names: Names, shape: Architecture) -> Tie:
    head = source.name(names.head)
    written = source.name(names.written)
    if shape.head == "none" or written not in source.files:
        return Tie()
    config = None if names.silent and shape.tied else shape.tied
    if head not in source.files or head == written:
        return Tie(config, True)
    return Tie(config, False, source.same(head, written))


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
        lines += ["  not an architecture Inlaid builds; parts are named as the file names them"]
    elif shape.kind == "bilm":
        lines += [f"  {shape.kind}, {shape.layers} layers each way, {shape.dim} wide"]
    else:
        layers = f"{shape.layers} + {shape.decoder_layers}" if shape.decoder_layers else str(shape.layers)
        heads = f"{shape.heads} heads of {shape.head_width}" + (
            f" ({shape.kv_heads} of keys)" if shape.key_heads != shape.heads else ""
        )
        words = f"{shape.words:,} words" + (
            f" read, {shape.target_words:,} written" if shape.target_words else ""
        )
        lines += [f"  {shape.kind}, {layers} layers, {shape.dim} wide, {heads}, {words}"]
        if shape.rotary_scaling != "none":
            lines += [f"  rotations slowed {shape.rotary_factor:g} times ({shape.rotary_scaling})"]
    lines += [f"  {count:>18,}  {part}" for part, count in found.parts.items()]
    lines += [f"  {found.parameters:>18,}  parameters in all"]
    if found.stored is not None:
        kinds = ", ".join(f"{count:,} in {dtype}" for dtype, count in found.dtypes.items())
        lines += [f"  {found.stored:>18,}  numbers in the file ({kinds})"]
    lines += [
        "  memory: "
        + ", ".join(f"{bytes / 2**30:.2f} GiB in {dtype}" for dtype, bytes in found.memory.items())
    ]
    lines += [
        f"  {table.name} {' x '.join(map(str, table.shape))} {table.dtype}  {table.role}".rstrip()
        for table in found.tables
    ]
    return [*lines, f"  output layer: {_tie_line(found.tie)}"]


def _tie_line(tie: Tie) -> str:
    if tie == Tie():
        return "none, or not known"
    words = {True: "tied", False: "not tied", None: "silent"}
    said = f"config {words[tie.config]}, names {words[tie.names]}, content {words[tie.content]}"
    return f"{said}; {'they agree' if tie.agree else 'THEY DISAGREE'}"
