"""State: the named tensors of a training, all that changes and that the next step depends on.

NumPy arrays, or torch tensors of any dtype (bfloat16 too) on any device. Checkpoint, guard, plan and early
stopping know a training only through its State; none of them imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.messages import Message

CHUNK = 1 << 16
"""Numbers checked at once when a whole array is checked; they stay in the cache."""


class State(Mapping[str, Any]):
    """Named tensors, updated in place.

    >>> state = State({"table": np.zeros((2, 3), np.float32)})
    >>> state["table"] += 1
    >>> state.nbytes, state.dtypes
    (24, {'table': 'float32'})
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = dict(tensors)
        self.in_numpy = all(isinstance(each, np.ndarray) for each in self._tensors.values())
        """Whether every tensor is a NumPy array."""

    def __getitem__(self, name: str) -> Any:
        return self._tensors[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Overwrite a tensor in place: others hold references to it."""
        if value is not self._tensors[name]:
            _copy_into(self._tensors[name], np.asarray(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    @property
    def nbytes(self) -> int:
        return sum(int(tensor.nbytes) for tensor in self.values())

    @property
    def dtypes(self) -> dict[str, str]:
        """The dtype of each tensor by its NumPy name; `bfloat16` where NumPy has none."""
        return {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in self.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(tensor.shape) for name, tensor in self.items()}

    @property
    def on_device(self) -> bool:
        """Whether reading a value has to wait for an accelerator."""
        return any(not isinstance(each, np.ndarray) and each.device.type != "cpu" for each in self.values())

    def arrays(self) -> dict[str, np.ndarray]:
        """Every tensor as an array in host memory, a view where possible; bfloat16 as its bits in uint16."""
        return {name: _to_array(tensor) for name, tensor in self.items()}

    def copy_from(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Overwrite every tensor, in place, with the array of its name, as `arrays` gives them."""
        for name, tensor in self.items():
            _copy_into(tensor, arrays[name])

    def problem(self, rows: int | None = None) -> Message | None:
        """The first NaN or infinity in the first `rows` rows of each tensor (None: all rows), or None."""
        if not self.in_numpy and rows is None and self._all_finite():
            return None
        for name, tensor in self.items():
            row = _first_bad_row(tensor, rows)
            if row is not None:
                return Message("'{name}' holds NaN or infinity in row {row:,}", name=name, row=row)
        return None

    def _all_finite(self) -> bool:
        """Whether no tensor holds NaN or infinity; a device is waited for once."""
        from inlaid.jobs import torch_tensors

        arrays = [each for each in self.values() if isinstance(each, np.ndarray)]
        tensors = [each for each in self.values() if not isinstance(each, np.ndarray)]
        return torch_tensors.all_finite(tensors) and all(bad_row(each) is None for each in arrays)


@dataclass
class Snapshot:
    """A copy of a state in host memory."""

    arrays: dict[str, np.ndarray]
    done: int = 0
    """Units that were done when it was taken."""

    @classmethod
    def of(cls, state: State, done: int) -> Snapshot:
        return cls({name: np.array(array) for name, array in state.arrays().items()}, done)

    def update(self, state: State, done: int) -> None:
        """Take a new copy into the same memory."""
        self.done = done
        for name, array in state.arrays().items():
            np.copyto(self.arrays[name], array)


def bad_row(array: np.ndarray) -> int | None:
    """The first row that holds NaN or infinity; None if there is none."""
    if array.dtype.kind != "f":
        return None
    array = np.atleast_1d(array)
    step = max(1, CHUNK // max(1, array[:1].size))
    for start in range(0, len(array), step):
        finite = np.isfinite(array[start : start + step])
        if not finite.all():
            rows = finite.reshape(len(finite), -1).all(axis=1)
            return start + int(np.flatnonzero(~rows)[0])
    return None


def _first_bad_row(tensor: Any, rows: int | None) -> int | None:
    if isinstance(tensor, np.ndarray):
        return bad_row(np.atleast_1d(tensor)[:rows])
    from inlaid.jobs import torch_tensors

    return torch_tensors.bad_row(tensor, rows)


def _to_array(tensor: Any) -> np.ndarray:
    if isinstance(tensor, np.ndarray):
        return tensor
    from inlaid.jobs import torch_tensors

    return torch_tensors.to_array(tensor)


def _copy_into(tensor: Any, array: np.ndarray) -> None:
    if isinstance(tensor, np.ndarray):
        np.copyto(tensor, array)
        return
    from inlaid.jobs import torch_tensors

    torch_tensors.copy_into(tensor, array)
