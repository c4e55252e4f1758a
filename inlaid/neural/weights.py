"""Weights: their tensors <-> ours, every name accounted for; nothing missing, left over or in conflict goes
unsaid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from inlaid.errors import FormatError
from inlaid.neural.names import Names, Place
from inlaid.neural.tables import Source

SHOWN = 8


def read_tensors(
    source: Source, names: Names, wanted: Mapping[str, torch.Size], *, tied: bool
) -> dict[str, Tensor]:
    """Our tensors, by our names. Every one of theirs is used, known to repeat another, or known and not
    needed."""
    places = {ours: _placed(names, ours, source) for ours in wanted}
    _check_names(source, names, places.values(), tied=tied)
    tensors: dict[str, Tensor] = {}
    for ours, place in places.items():
        tensors[ours] = _shaped(source.read(place.name), place)
        if tensors[ours].shape != wanted[ours]:
            raise FormatError(
                f"{source.folder.path}: {place.name} has shape {tuple(source.stored(place.name).shape)}, "
                f"which gives {tuple(tensors[ours].shape)}; config.json asks for {tuple(wanted[ours])}."
            )
        check_finite(source.folder.path, place.name, tensors[ours])
    return tensors


def unused(source: Source, names: Names, wanted: Iterable[str]) -> list[str]:
    """Their tensors that are known and that this network has no use for."""
    used = {source.name(place.name) for ours in wanted if (place := names.place(ours))}
    return sorted(name for name in source.files if name not in used and re.fullmatch(names.unused, name))


def write_tensors(
    names: Names, tensors: Mapping[str, Tensor], *, bare: bool, tied: bool
) -> dict[str, Tensor]:
    """Our tensors by their names and in their layout; `bare` leaves the prefix out."""
    pieces: dict[str, dict[int, Tensor]] = {}
    for ours, tensor in tensors.items():
        place = names.place(ours)
        if place is None:
            raise FormatError(f"{ours} has no name in this family, so no other tool could read it.")
        theirs = tensor.T if place.turned else tensor[None] if place.row else tensor
        pieces.setdefault(place.name, {})[place.part or 0] = theirs
    if names.shared:
        pieces[names.shared] = pieces.pop(names.target)  # a tied head goes back to it
    if not tied and not names.silent:  # they tie nothing then, copies included
        pieces |= {copy: pieces[original] for copy, original in names.copies.items() if original in pieces}
    whole = {
        name: torch.cat([parts[part] for part in sorted(parts)], -1).contiguous()
        for name, parts in pieces.items()
    }
    return {name.removeprefix(names.prefix): tensor for name, tensor in whole.items()} if bare else whole


def check_finite(path: Path, name: str, tensor: Tensor) -> None:
    if not tensor.is_floating_point():
        raise FormatError(
            f"{path}: {name} holds {tensor.dtype}; weights are floating-point numbers. Quantised files are not read."
        )
    if not bool(tensor.isfinite().all()):
        place = [int(each) for each in (~tensor.isfinite()).nonzero()[0]]
        raise FormatError(
            f"{path}: {name} holds NaN or infinity, first at {place}. The file is damaged, or the training diverged."
        )


def _placed(names: Names, ours: str, source: Source) -> Place:
    place = names.place(ours)
    if place is None:
        raise FormatError(f"{source.folder.path}: this kind of model has no tensor for our {ours}.")
    return place


def _shaped(tensor: Tensor, place: Place) -> Tensor:
    if place.row:
        return tensor.squeeze(0)
    if place.part is not None:
        width = tensor.shape[-1] // 3
        tensor = tensor[..., place.part * width : (place.part + 1) * width]
    return tensor.T.contiguous() if place.turned and tensor.dim() == 2 else tensor


def _check_names(source: Source, names: Names, places: Iterable[Place], *, tied: bool) -> None:
    used = {source.name(place.name) for place in places}
    missing = used - source.files.keys()
    if missing:
        raise FormatError(
            f"{source.folder.path}: {_listed(missing)} missing from the weights, which config.json asks for."
        )
    for copy, original in names.copies.items():
        if (
            copy in source.files
            and copy not in used
            and original in source.files
            and not source.same(copy, original)
        ):
            raise FormatError(
                f"{source.folder.path}: {copy} should repeat {original}, and differs from it. The file contradicts itself."
            )
    known = used | names.copies.keys() | ({names.head} if tied else set())
    extra = {name for name in source.files if name not in known and not re.fullmatch(names.unused, name)}
    if extra:
        raise FormatError(
            f"{source.folder.path}: {_listed(extra)} in the weights, which this architecture has no place for."
        )


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    shown = ", ".join(ordered[:SHOWN]) + (f" and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else "")
    return f"{shown} {'is' if len(ordered) == 1 else 'are'}"
