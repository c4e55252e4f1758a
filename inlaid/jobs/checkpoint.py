"""Checkpoint: save and resume a run, to the bit.

One checksummed file, replaced whole or not at all: the state of the training, how far it had come, and which
run it belongs to. A checkpoint of another run is refused, and so is a damaged one. The format has a version
of its own, so that another release of the package can read it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inlaid import array_writer, locks
from inlaid import arrays as arrays_file
from inlaid.errors import FormatError, SettingError, WriteError
from inlaid.files import can_write, sweep
from inlaid.jobs.guard import Losses
from inlaid.jobs.state import Snapshot, State, bad_row
from inlaid.messages import Advice, Listed, Message
from inlaid.untrusted import parse_json
from inlaid.vectors import Mark
from inlaid.version import VERSION

KEY = "checkpoint"
"""Where the metadata of the file holds all but the tensors; a checkpoint is recognised by it."""
FORMAT = 1
"""Raised when the layout changes, or when a method's steps would no longer give the same bits."""
BEST = "best."
"""Prefix of the names of the best state so far, in a run that may stop early."""
FREE = ("workers", "gradient_checkpointing")
"""Settings that may differ when a run is resumed: they say how it is computed, not what."""


@dataclass
class RunProgress:
    """How far a run has come."""

    done: int = 0
    seconds: float = 0.0
    """Time it took so far, without the time between two parts."""
    losses: Losses = field(default_factory=Losses)
    marks: list[Mark] = field(default_factory=list[Mark])


@dataclass(frozen=True)
class Saved:
    """A checkpoint, open for reading."""

    opened: arrays_file.Arrays
    identity: dict[str, Any]
    progress: RunProgress
    dtypes: dict[str, str]
    best: int | None
    """Units done when the best state was taken, in a run that may stop early."""

    @property
    def share(self) -> float:
        return self.progress.done / max(self.identity["total"], 1)


def identity_of(method: str, settings: Mapping[str, Any], corpus: str) -> dict[str, Any]:
    """What makes two runs the same: method, settings (with the seed) and text; nothing about the machine."""
    fixed = {name: value for name, value in settings.items() if name not in FREE}
    return {"method": method, "corpus": corpus, "settings": fixed}


def save(
    path: Path, state: State, best: Snapshot | None, identity: Mapping[str, Any], progress: RunProgress
) -> None:
    """Write a checkpoint; an earlier one at `path` is replaced whole, or stays."""
    content = state.arrays()
    if best is not None:
        content |= {BEST + name: array for name, array in best.arrays.items()}
    about = {
        "format": FORMAT,
        "version": VERSION,
        "identity": identity,
        "progress": dataclasses.asdict(progress),
        "dtypes": state.dtypes,
        "best": best.done if best else None,
    }
    array_writer.write(path, content, {KEY: json.dumps(about, ensure_ascii=False, allow_nan=False)})


def open_saved(path: Path) -> Saved:
    """Read what a checkpoint says about itself; its tensors are read by `restore`."""
    opened = arrays_file.open_arrays(path)
    try:
        about = parse_json(opened.metadata[KEY])
        version = about["format"]
        if version == FORMAT:
            return _saved(opened, about)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FormatError(
            "{path}: expected a checkpoint, found another file of arrays. Name the checkpoint.", path=path
        ) from None
    raise FormatError(
        "{path} is a checkpoint of format {found}, written by version {version}; this version reads format "
        "{expected}. Resume it with the version that wrote it.",
        path=path,
        found=version,
        version=about.get("version"),
        expected=FORMAT,
    )


def restore(saved: Saved, state: State, identity: Mapping[str, Any]) -> Snapshot | None:
    """Fill `state`, in place, with what was saved; returns the best state so far, if the checkpoint has one.

    Everything is checked before the first tensor is overwritten.
    """
    _check_same_run(saved.opened.path, saved.identity, identity)
    best = {} if saved.best is None else {BEST + name: name for name in state}
    names = {name: name for name in state} | best
    for name, tensor in names.items():
        _expect(saved, name, state.dtypes[tensor], state.shapes[tensor])
    found = {name: saved.opened.whole(name) for name in names}
    for name, array in found.items():
        row = bad_row(_as_float(array, saved.dtypes[names[name]]))
        if row is not None:
            raise FormatError(
                "{path}: '{name}' holds NaN or infinity in row {row:,}. It cannot be resumed: remove it, "
                "halve `learning_rate` and start again.",
                path=saved.opened.path,
                name=name,
                row=row,
            )
    state.copy_from(found)
    if saved.best is None:
        return None
    return Snapshot({name: np.array(found[BEST + name]) for name in state}, saved.best)


def check_place(path: Path) -> None:
    """Raise WriteError if a checkpoint cannot be written at `path`, or would replace what is there."""
    can_write(path)
    if not path.exists():
        return
    try:
        share = open_saved(path).share
    except FormatError:
        raise WriteError(
            "{path} already exists and is not a checkpoint. Name another file for the checkpoint.", path=path
        ) from None
    raise WriteError(
        "{path} is the checkpoint of an earlier run ({share:.0%} done). Resume it with {option}, remove it, "
        "or name another file.",
        path=path,
        share=share,
        option=Advice(typed=Message("--resume"), called=Message("resume=True")),
    )


def remove(path: Path, identity: Mapping[str, Any]) -> None:
    """Remove the checkpoint of a run whose result is saved. Any other file stays, and so does a checkpoint
    of another run, or one that a run is using."""
    if not path.exists():
        return
    with locks.holding(path):
        saved = open_saved(path)
        there = {name: saved.identity.get(name) for name in identity}
        _check_same_run(path, there, identity)
        try:
            path.unlink()
        except OSError as error:
            raise WriteError(
                "Cannot remove {path}: {reason}. Remove it when nothing is left to resume.",
                path=path,
                reason=error.strerror or str(error),
            ) from error
    sweep(path)


def _saved(opened: arrays_file.Arrays, about: dict[str, Any]) -> Saved:
    """What a checkpoint says about itself. Numbers that no run can have are refused: the next step would
    start beyond the end of the text."""
    identity = {**about["identity"], "settings": dict(about["identity"]["settings"])}
    progress = _progress(about["progress"])
    saved = Saved(opened, identity, progress, dict(about["dtypes"]), about["best"])
    total = identity.get("total", progress.done)
    marks = [mark.done for mark in progress.marks]
    places = [progress.done, *marks, *([] if saved.best is None else [saved.best])]
    losses = [loss for mark in progress.marks for loss in (mark.loss, mark.held_out)]
    losses += vars(progress.losses).values()
    possible = (
        all(type(place) is int for place in (*places, total))
        and min(places) >= 0
        and max(places) <= progress.done <= total
        and all(math.isfinite(loss) for loss in losses if loss is not None)
        and math.isfinite(progress.seconds)
    )
    if not possible:
        raise FormatError(
            "{path}: says that {done} of {total} is done after {seconds} seconds, with marks at {marks}. "
            "No run was ever there: remove it, and start again.",
            path=opened.path,
            done=progress.done,
            total=total,
            seconds=progress.seconds,
            marks=marks,
        )
    return saved


def _progress(values: dict[str, Any]) -> RunProgress:
    return RunProgress(
        done=values["done"],
        seconds=values["seconds"],
        losses=Losses(**values["losses"]),
        marks=[Mark(**mark) for mark in values["marks"]],
    )


def _expect(saved: Saved, name: str, dtype: str, shape: tuple[int, ...]) -> None:
    """Raise FormatError unless the checkpoint has this tensor; bfloat16 is stored as its bits in uint16."""
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    array = saved.opened.arrays.get(name)
    declared = saved.dtypes.get(name.removeprefix(BEST))
    if array is None or (array.shape, array.dtype, declared) != (shape, stored, dtype):
        raise FormatError(
            "{path}: expected an array '{name}', {dtype} {shape}; found {found}.",
            path=saved.opened.path,
            name=name,
            dtype=dtype,
            shape=shape,
            found=_described(saved, array, name),
        )


def _described(saved: Saved, array: np.ndarray | None, name: str) -> Message | str:
    if array is None:
        return "none"
    return Message("{dtype} {shape}", dtype=saved.dtypes.get(name, array.dtype), shape=array.shape)


def _as_float(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of a tensor; bfloat16 is the upper half of float32."""
    if dtype != "bfloat16":
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)


def _check_same_run(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    there = _flat(there)
    here = _flat(parse_json(json.dumps(here)))
    missing = "not set"
    differences = [
        f"{name} is {there.get(name, missing)} there and {here.get(name, missing)} here"
        for name in {**there, **here}
        if there.get(name, missing) != here.get(name, missing)
    ]
    if differences:
        raise SettingError(
            "{path} is a checkpoint of another run: {differences}. Resume with the same text and settings, "
            "or start again with another checkpoint file.",
            path=path,
            differences=Listed(differences, "; "),
        )


def _flat(identity: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in identity.items() if name != "settings"}
    return rest | dict(identity.get("settings", {}))
