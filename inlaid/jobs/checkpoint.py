"""Checkpoint: save and resume, exactly.

One checksummed file of arrays, replaced whole or not at all: what the next step depends on, how far it had
come, and which run it belongs to. A checkpoint of another run is refused, and so is one that is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from inlaid import arrays as arrays_file
from inlaid.errors import FormatError, SettingError, WriteError
from inlaid.files import can_write
from inlaid.jobs.guard import Losses, Mark, bad_number

KEY = "checkpoint"
"""Where the metadata of the file holds identity and state; by this a checkpoint is known."""
BEST = "best."
"""What the names of the best tables so far start with, in a run that stops early."""
FREE = ("workers",)
"""Settings that may differ between the run that was put aside and the one that takes it up: they say how, not
what."""


@dataclass
class State:
    """How far a run has come, with all that it will ask about the way."""

    done: int = 0
    seconds: float = 0.0
    """Time it took so far, without the time it lay aside."""
    losses: Losses = field(default_factory=Losses)
    marks: list[Mark] = field(default_factory=list[Mark])


@dataclass
class Kept:
    """A copy of the tables in memory, to go back to."""

    arrays: dict[str, np.ndarray]
    done: int = 0

    @classmethod
    def room_for(cls, arrays: Mapping[str, np.ndarray]) -> Kept:
        return cls({name: np.empty_like(array) for name, array in arrays.items()})

    def take(self, arrays: Mapping[str, np.ndarray], done: int) -> None:
        self.done = done
        for name, array in arrays.items():
            np.copyto(self.arrays[name], array)

    def give_back(self, arrays: Mapping[str, np.ndarray]) -> int:
        """Fill `arrays` with the copy; how many units were done when it was taken."""
        for name, array in arrays.items():
            np.copyto(array, self.arrays[name])
        return self.done


@dataclass(frozen=True)
class Saved:
    """A checkpoint, open for reading."""

    opened: arrays_file.Arrays
    identity: dict[str, Any]
    state: State
    best: int | None
    """Where the best tables come from, in a run that stops early."""

    @property
    def share(self) -> str:
        return f"{self.state.done / max(self.identity['total'], 1):.0%} done"


def identity_of(method: str, settings: Mapping[str, Any], corpus: str) -> dict[str, Any]:
    """What makes two runs the same: method, settings (the seed among them), text and version; no word about
    the machine."""
    fixed = {name: value for name, value in settings.items() if name not in FREE}
    return {"method": method, "corpus": corpus, "version": metadata.version("inlaid"), "settings": fixed}


def save(
    path: Path, arrays: Mapping[str, np.ndarray], best: Kept | None, identity: Mapping[str, Any], state: State
) -> None:
    """Write a checkpoint; the one that stood there is replaced whole, or stays."""
    content = {**arrays, **{BEST + name: array for name, array in (best.arrays if best else {}).items()}}
    said = {"identity": identity, "state": asdict(state), "best": best.done if best else None}
    arrays_file.write(path, content, {KEY: json.dumps(said, ensure_ascii=False, allow_nan=False)})


def open_saved(path: Path) -> Saved:
    """Read what a checkpoint says about itself; its arrays are read by `restore`."""
    opened = arrays_file.open_arrays(path)
    try:
        said = json.loads(opened.metadata[KEY])
        state = said["state"]
        losses = Losses(**state["losses"])
        marks = [Mark(**mark) for mark in state["marks"]]
        return Saved(
            opened, said["identity"], State(state["done"], state["seconds"], losses, marks), said["best"]
        )
    except (KeyError, TypeError, ValueError):
        raise FormatError(
            f"{path}: expected a checkpoint, found another file of arrays. Name the checkpoint."
        ) from None


def restore(saved: Saved, arrays: Mapping[str, np.ndarray], identity: Mapping[str, Any]) -> Kept | None:
    """Fill `arrays`, in place, with what was saved; the best tables so far, if the checkpoint has any.

    Everything is checked before the first number is copied.
    """
    _same_run(saved, identity)
    path = saved.opened.path
    found = {name: saved.opened.whole(name) for name in saved.opened.arrays}
    for name, array in arrays.items():
        if name not in found or (found[name].shape, found[name].dtype) != (array.shape, array.dtype):
            there = f"{found[name].dtype} {found[name].shape}" if name in found else "none"
            raise FormatError(
                f"{path}: expected an array '{name}', {array.dtype} {array.shape}; found {there}."
            )
    problem = bad_number(found)
    if problem:
        raise FormatError(
            f"{path}: {problem}. It cannot be resumed: remove it, halve `learning_rate` and start again."
        )
    for name, array in arrays.items():
        np.copyto(array, found[name])
    return (
        None
        if saved.best is None
        else Kept({name: np.array(found[BEST + name]) for name in arrays}, saved.best)
    )


def check_place(path: Path) -> None:
    """Raise WriteError if a checkpoint could not be written at `path`, or would replace anything that stands
    there."""
    can_write(path)
    if not path.exists():
        return
    try:
        share = open_saved(path).share
    except FormatError:
        raise WriteError(
            f"{path} stands already and is not a checkpoint. Name another file for the checkpoint."
        ) from None
    raise WriteError(
        f"{path} is the checkpoint of an earlier run ({share}). Resume it, remove it, or name another file."
    )


def remove(path: Path) -> None:
    """Remove the checkpoint of a run whose result is saved; any other file stays."""
    if path.exists():
        open_saved(path)
        path.unlink()


def _same_run(saved: Saved, identity: Mapping[str, Any]) -> None:
    there = _flat(saved.identity)
    here = _flat(json.loads(json.dumps(identity)))
    missing = "not set"
    differences = [
        f"{name} is {there.get(name, missing)} there and {here.get(name, missing)} here"
        for name in {**there, **here}
        if there.get(name, missing) != here.get(name, missing)
    ]
    if differences:
        raise SettingError(
            f"{saved.opened.path} is a checkpoint of another run: {'; '.join(differences)}. "
            "Resume with the same text and settings, or start anew with another checkpoint file."
        )


def _flat(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: value for name, value in identity.items() if name != "settings"},
        **identity.get("settings", {}),
    }
