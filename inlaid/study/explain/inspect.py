"""Inspect a checkpoint without loading it: tables, tied or not, parameters by part, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid.errors import SourceError, UnknownName
from inlaid.formats import huggingface
from inlaid.formats.huggingface import Folder
from inlaid.messages import Listed, Message, word
from inlaid.neural.config import Config
from inlaid.neural.families import family_of
from inlaid.neural.families.family import Family
from inlaid.neural.families.names import Names
from inlaid.neural.sizes import parameters
from inlaid.neural.tables import Source, source_of
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, local_only, plain

SHOWN = 6
"""Most matrices listed; the largest, if the tables among them are not known."""
ROLES = ("input table", "target table", "output table", "positions", "segments")
PART_NAMES = {"head": "output head"}
"""Parts whose name means something else beside attention."""
WEIGHT_FILES = (huggingface.WEIGHTS, huggingface.INDEX, huggingface.OLD_WEIGHTS, huggingface.OLD_INDEX)


@dataclass(frozen=True)
class StoredTable:
    """A matrix in the file, and its role where that is known."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str = ""


@dataclass(frozen=True)
class Tie:
    """Whether the output layer is tied to the input table (of two, the target's), from three sources of
    evidence; None: no evidence."""

    config: bool | None = None
    names: bool | None = None
    content: bool | None = None

    @property
    def agree(self) -> bool:
        """Whether config and weights agree. A stored copy that is equal counts as tied."""
        stored = self.names if self.content is None else self.content
        return None in (self.config, stored) or self.config == stored


@dataclass(frozen=True)
class Inspection:
    """What a checkpoint, or a config.json alone, says about itself."""

    path: str
    model_type: str
    config: Config | None
    """None if the model type is not of a registered family."""
    parts: dict[str, int]
    """Parameters by part: from the config, or by the beginnings of tensor names if that is not known."""
    stored: int | None
    """Numbers in the file, copies included; None for a config.json alone."""
    dtypes: dict[str, int]
    """dtype -> numbers stored in it."""
    tables: tuple[StoredTable, ...]
    tie: Tie

    @property
    def parameters(self) -> int:
        return sum(self.parts.values())

    @property
    def memory(self) -> dict[str, int]:
        """Bytes the parameters need, by dtype."""
        return {"float32": 4 * self.parameters, "bfloat16": 2 * self.parameters}

    def __str__(self) -> str:
        return "\n".join(str(line) for line in _lines(self))

    def rows(self) -> Sequence[Row]:
        return _lines(self)

    def to_dict(self) -> dict[str, Any]:
        return plain(self) | {"parameters": self.parameters, "memory": self.memory}


@analysis
@local_only("path")
def inspect(path: str | Path, *, report: Report = silent) -> Inspection:
    """What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory.

    Reads headers, and the content of tables only where they should be equal.

    Args:
        path: a folder with config.json and weights, or a config.json alone

    Examples:
        inlaid inspect model
        inlaid inspect model/config.json --json
    """
    path = Path(path)
    if not path.exists():
        raise SourceError("There is no folder or config '{path}'.", path=path)
    if path.is_file() and path.suffix != ".json":
        raise SourceError(
            "{path}: expected the folder of a checkpoint, or its config.json. If it holds vectors, use "
            "`inlaid info`.",
            path=path,
        )
    try:
        family = family_of(path)
    except UnknownName:
        if not path.is_dir():
            raise  # with neither a known family nor tensors there is nothing to show
        return _unknown_family(huggingface.open_folder(path))
    config = family.read_folder(path)
    if not path.is_dir() or not any((path / name).is_file() for name in WEIGHT_FILES):
        tie = Tie(config.head.tied if config.head.has_table else None)
        return Inspection(str(path), family.model_type, config, parameters(config), None, {}, (), tie)
    return _from_folder(huggingface.open_folder(path), family, config)


def _unknown_family(folder: Folder) -> Inspection:
    dtypes = _dtypes(folder)
    return Inspection(
        path=str(folder.path),
        model_type=str(folder.config.get("model_type")),
        config=None,
        parts=_parts_by_name(folder),
        stored=sum(dtypes.values()),
        dtypes=dtypes,
        tables=_tables(folder, {}),
        tie=Tie(),
    )


def _from_folder(folder: Folder, family: Family, config: Config) -> Inspection:
    config = family.config_by_tensors(config, folder)
    names = family.names(config)
    source = source_of(folder, names)
    tie = _tie(source, names, config)
    if names.tied_by_tensors and tie.content is False:
        config = config.replace({"head.tied": False})
    dtypes = _dtypes(folder)
    return Inspection(
        path=str(folder.path),
        model_type=family.model_type,
        config=config,
        parts=parameters(config),
        stored=sum(dtypes.values()),
        dtypes=dtypes,
        tables=_tables(folder, _roles(source, names)),
        tie=tie,
    )


def _dtypes(folder: Folder) -> dict[str, int]:
    dtypes: dict[str, int] = {}
    for tensor in folder.tensors.values():
        dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + tensor.size
    return dtypes


def _tables(folder: Folder, roles: dict[str, str]) -> tuple[StoredTable, ...]:
    if roles:
        found = [each for each in folder.tensors.values() if each.name in roles]
        found.sort(key=lambda each: (ROLES.index(roles[each.name]), -each.size))
    else:
        found = [each for each in folder.tensors.values() if len(each.shape) == 2]
        found.sort(key=lambda each: -each.size)
    return tuple(
        StoredTable(each.name, each.shape, each.dtype, roles.get(each.name, "")) for each in found[:SHOWN]
    )


def _roles(source: Source, names: Names) -> dict[str, str]:
    """Name in the file -> which table it is."""
    known: dict[str, str] = {}
    for stack in ("stack", "encoder", "decoder"):
        for ours, role in (
            (f"{stack}.positions.table", "positions"),
            (f"{stack}.segments.weight", "segments"),
        ):
            place = names.place(ours)
            if place is not None:
                known[place.name] = role
    known[source.name(names.output_table)] = "output table"
    known[source.name(names.target_table)] = "target table"
    known[source.name(names.input_table)] = "input table"
    return {source.files[name]: role for name, role in known.items() if name in source.files}


def _tie(source: Source, names: Names, config: Config) -> Tie:
    output = source.name(names.output_table)
    head_table = source.name(names.head_table)
    if not config.head.has_table or not source.files.keys() & {output, head_table}:
        return Tie()
    by_config = None if names.tied_by_tensors and config.head.tied else config.head.tied
    if head_table not in source.files:  # a biLM reads characters and predicts words
        return Tie(by_config, False)
    if output not in source.files or output == head_table:
        return Tie(by_config, True)
    return Tie(by_config, False, source.same(output, head_table))


def _parts_by_name(folder: Folder) -> dict[str, int]:
    parts: dict[str, int] = {}
    for tensor in folder.tensors.values():
        part = ".".join(tensor.name.split(".")[:2])
        parts[part] = parts.get(part, 0) + tensor.size
    return parts


def _lines(found: Inspection) -> list[Message]:
    lines = [Message("{path}: {model_type}", path=found.path, model_type=found.model_type)]
    lines += _config_lines(found.config)
    lines += [
        Message("  {count:>18,}  {part}", count=count, part=word(PART_NAMES.get(part, part)))
        for part, count in found.parts.items()
    ]
    lines.append(Message("  {count:>18,}  parameters in total", count=found.parameters))
    if found.stored is not None:
        dtypes = Listed(
            Message("{count:,} in {dtype}", count=count, dtype=dtype) for dtype, count in found.dtypes.items()
        )
        lines.append(
            Message("  {count:>18,}  numbers in the file ({dtypes})", count=found.stored, dtypes=dtypes)
        )
    sizes = Listed(
        Message("{size:.2f} GiB in {dtype}", size=bytes / 2**30, dtype=dtype)
        for dtype, bytes in found.memory.items()
    )
    lines.append(Message("  memory: {sizes}", sizes=sizes))
    for table in found.tables:
        size = " x ".join(map(str, table.shape))
        stored = f"{table.name} {size} {table.dtype}"
        role = Message("  {role}", role=word(table.role)) if table.role else ""
        lines.append(Message("  {table}{role}", table=stored, role=role))
    return [*lines, Message("  output layer: {tie}", tie=_tie_line(found.tie))]


def _config_lines(config: Config | None) -> list[Message]:
    if config is None:
        return [Message("  not of a registered family; parts have the names of the file")]
    if config.kind == "bilm":
        return [
            Message(
                "  {kind}, {layers} layers in each direction, dim {dim}",
                kind=word(config.kind),
                layers=config.layers,
                dim=config.dim,
            )
        ]
    decoder = f" + {config.decoder_layers}" if config.decoder_layers else ""
    heads = Message("{heads} heads of {dim}", heads=config.attention.heads, dim=config.head_dim)
    if config.attention.key_value_heads != config.attention.heads:
        heads = Message("{heads} ({kv_heads} of keys)", heads=heads, kv_heads=config.attention.kv_heads)
    words = Message("{size:,} words", size=config.vocab_size)
    if config.target_vocab_size:
        words = Message("{words}, {target:,} target words", words=words, target=config.target_vocab_size)
    lines = [
        Message(
            "  {kind}, {layers}{decoder} layers, dim {dim}, {heads}, {words}",
            kind=word(config.kind),
            layers=config.layers,
            decoder=decoder,
            dim=config.dim,
            heads=heads,
            words=words,
        )
    ]
    rotary = config.positions.rotary
    if rotary.scaling != "none":
        lines.append(
            Message(
                "  rotary frequencies divided by {factor:g} ({scaling})",
                factor=rotary.factor,
                scaling=rotary.scaling,
            )
        )
    return lines


def _tie_line(tie: Tie) -> Message:
    if tie == Tie():
        return Message("none, or not known")
    shown = {True: Message("tied"), False: Message("not tied"), None: Message("no evidence")}
    verdict = Message("they agree") if tie.agree else Message("THEY DISAGREE")
    return Message(
        "config {config}, names {names}, content {content}; {verdict}",
        config=shown[tie.config],
        names=shown[tie.names],
        content=shown[tie.content],
        verdict=verdict,
    )
