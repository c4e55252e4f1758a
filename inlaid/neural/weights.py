"""Weights: their tensors <-> ours, every name accounted for; missing and extra ones are errors."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inlaid.errors import FormatError
from inlaid.formats.huggingface import Folder
from inlaid.messages import Listed, Message
from inlaid.neural.config import Config
from inlaid.neural.families.family import Loaded
from inlaid.neural.families.names import Names, Place
from inlaid.neural.network import Network, empty_network, parameter_shapes
from inlaid.neural.sizes import check_parameters
from inlaid.neural.tables import Source, decide_tie, source_of

if TYPE_CHECKING:
    from inlaid.neural.families.family import Family

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SHOWN = 8
"""Most names listed in an error."""


def load_folder(family: Family, folder: Folder, *, tied: bool | None) -> Loaded:
    """The checkpoint of a folder in the family's layout."""
    read = family.read(folder.config)
    config = family.config_by_tensors(read, folder)
    check_parameters(folder.path, config, [stored.size for stored in folder.tensors.values()])
    names = family.names(config)
    source = source_of(folder, names)
    config = config.replace({"head.tied": decide_tie(config, names, source, tied)})
    names = family.names(config)
    source = source_of(folder, names)
    expected = parameter_shapes(config)
    tensors = read_tensors(source, names, expected, tied=config.head.tied)
    family.check_tensors(folder, config)
    notes = [Message("not used: {name}", name=name) for name in unused(source, names, expected)]
    unknown = family.unknown_keys(folder.config)
    notes += [Message("not used: {key} of config.json", key=key) for key in unknown]
    places = [_place(names, ours, source) for ours in expected]
    absent = sorted(place.name for place in places if _is_zero(place, source, names))
    notes += [Message("not stored, so zero: {name}", name=name) for name in absent]
    if config.head.kind != read.head.kind:
        found = family.class_name(folder.config)
        notes.append(Message("the weights have no head, though config.json says {found}", found=found))
    return Loaded(config, tensors, tuple(map(str, notes)))


def fill_network(config: Config, tensors: Mapping[str, Tensor], path: Path) -> Network:
    """The network with these weights, without initializing it first."""
    check_parameters(path, config, [tensor.numel() for tensor in tensors.values()])
    network = empty_network(config)
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise FormatError(
                "{path}: the shape of {name} is {found}; the config asks for {expected}.",
                path=path,
                name=name,
                found=found.get(name, Message("missing")),
                expected=expected.get(name, Message("none")),
            )
    for name, tensor in tensors.items():
        check_finite(path, name, tensor)
    network.load_state_dict(dict(tensors), assign=True)
    dtypes = {tensor.dtype for tensor in tensors.values()}
    if len(dtypes) > 1:  # layers of different dtypes do not work together
        network.to(functools.reduce(torch.promote_types, dtypes))
    return network


def read_tensors(
    source: Source, names: Names, expected: Mapping[str, torch.Size], *, tied: bool
) -> dict[str, Tensor]:
    """Our tensors, by our names. Each of theirs is used, known to repeat another, or known and not needed."""
    places = {ours: _place(names, ours, source) for ours in expected}
    _check_names(source, names, places.values(), tied=tied)
    tensors: dict[str, Tensor] = {}
    for ours, place in places.items():
        if _is_zero(place, source, names):
            tensors[ours] = torch.zeros(expected[ours], dtype=next(iter(tensors.values())).dtype)
            continue
        tensor = _in_our_layout(source.read(place.name, once=place.transposed), place)
        if tensor.shape != expected[ours]:
            raise FormatError(
                "{path}: {name} has shape {stored}, which gives {found}; config.json asks for {expected}.",
                path=source.folder.path,
                name=place.name,
                stored=tuple(source.stored(place.name).shape),
                found=tuple(tensor.shape),
                expected=tuple(expected[ours]),
            )
        check_finite(source.folder.path, place.name, tensor)
        tensors[ours] = tensor
    return tensors


def unused(source: Source, names: Names, expected: Iterable[str]) -> list[str]:
    """Their tensors that are known and that this network does not need."""
    used = {source.name(place.name) for ours in expected if (place := names.place(ours))}
    known = {name for name in source.files if re.fullmatch(names.unused, name)}
    known |= {spare for spare, other in names.spare.items() if spare in source.files and other in used}
    return sorted(
        name for name in known - used if name not in names.spare or not source.same(name, names.spare[name])
    )


def write_tensors(
    names: Names, tensors: Mapping[str, Tensor], *, without_prefix: bool, tied: bool
) -> dict[str, Tensor]:
    """Our tensors by their names and in their layout."""
    parts: dict[str, dict[int, Tensor]] = {}
    axes: dict[str, int] = defaultdict(int)
    for ours, tensor in tensors.items():
        place = names.place(ours)
        if place is None:
            raise FormatError(
                "{tensor} has no name in this family, so no other tool could read it.", tensor=ours
            )
        parts.setdefault(place.name, {})[place.part or 0] = _in_their_layout(tensor, place)
        axes[place.name] = _axis(place)
    if names.fallback and names.target_table:
        parts[names.fallback] = parts.pop(names.target_table)  # a tied head falls back to it
    if not tied and not names.tied_by_tensors:  # they tie nothing then, copies included
        parts |= {copy: parts[original] for copy, original in names.copies.items() if original in parts}
    parts |= {spare: parts[used] for spare, used in names.spare.items() if used in parts}
    whole = {
        name: torch.cat([some[part] for part in sorted(some)], axes[name]).contiguous()
        for name, some in parts.items()
    }
    if without_prefix:
        return {name.removeprefix(names.prefix): tensor for name, tensor in whole.items()}
    return whole


def check_finite(path: Path, name: str, tensor: Tensor) -> None:
    """Raise FormatError for a tensor that holds NaN, infinity, integers or floats of 8 bits."""
    if tensor.dtype not in FLOATS:
        raise FormatError(
            "{path}: {name} holds {dtype}; weights are floating-point numbers. Quantized files are not "
            "supported.",
            path=path,
            name=name,
            dtype=tensor.dtype,
        )
    if tensor.numel() and not all(extreme.isfinite() for extreme in tensor.aminmax()):  # no temporary tensor
        raise FormatError(
            "{path}: {name} holds NaN or infinity, first at {position}. The file is damaged, or the training "
            "diverged.",
            path=path,
            name=name,
            position=[int(each) for each in (~tensor.isfinite()).nonzero()[0]],
        )


def _place(names: Names, ours: str, source: Source) -> Place:
    place = names.place(ours)
    if place is None:
        raise FormatError(
            "{path}: this family has no tensor for our {tensor}.", path=source.folder.path, tensor=ours
        )
    return place


def _is_zero(place: Place, source: Source, names: Names) -> bool:
    """A bias that is not stored, and that means zero then."""
    return place.name not in source.files and bool(re.fullmatch(names.zero, place.name))


def _in_our_layout(tensor: Tensor, place: Place) -> Tensor:
    if place.row:
        return tensor.squeeze(0)
    if place.part is not None:
        size, rest = divmod(tensor.shape[_axis(place)], place.parts)
        if rest:
            return tensor  # its shape is wrong whatever is expected
        tensor = tensor.narrow(_axis(place), place.part * size, size).clone()
    return tensor.T.contiguous() if place.transposed and tensor.dim() == 2 else tensor


def _axis(place: Place) -> int:
    """Along which several of our tensors lie side by side: that of their outputs."""
    return -1 if place.transposed else 0


def _in_their_layout(tensor: Tensor, place: Place) -> Tensor:
    if place.row:
        return tensor[None]
    return tensor.T if place.transposed else tensor


def _check_names(source: Source, names: Names, places: Iterable[Place], *, tied: bool) -> None:
    path = source.folder.path
    used = {source.name(place.name) for place in places if not _is_zero(place, source, names)}
    missing = used - source.files.keys()
    if missing:
        raise FormatError(
            "{path}: the weights lack {names}, which config.json asks for.", path=path, names=_listed(missing)
        )
    for copy, original in names.copies.items():
        both = copy in source.files and original in source.files
        if both and copy not in used and not source.same(copy, original):
            raise FormatError(
                "{path}: {copy} should repeat {original}, and differs from it. The file contradicts itself.",
                path=path,
                copy=copy,
                original=original,
            )
    known = used | names.copies.keys() | names.spare.keys()
    if tied:
        known |= {names.output_table}
    extra = {name for name in source.files if name not in known and not re.fullmatch(names.unused, name)}
    if extra:
        raise FormatError(
            "{path}: the weights have {names}, which this model has no place for.",
            path=path,
            names=_listed(extra),
        )


def _listed(names: Iterable[str]) -> Message:
    ordered = sorted(names)
    shown = Listed(ordered[:SHOWN])
    if len(ordered) <= SHOWN:
        return Message("{names}", names=shown)
    return Message("{names} and {more} more", names=shown, more=len(ordered) - SHOWN)
