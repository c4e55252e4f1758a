"""Sliding windows for language models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inlaid.errors import SettingError, SourceError


@dataclass(frozen=True, eq=False)
class Windows:
    """Row n of `targets` is row n of `inputs` one token on; both are views of the ids, not copies."""

    inputs: np.ndarray
    targets: np.ndarray
    left_over: int
    """Tokens in no window: the end that is too short for another, and gaps between windows where the stride
    is larger."""

    def __len__(self) -> int:
        return len(self.inputs)


Batch = tuple[np.ndarray, np.ndarray]
"""Inputs and targets, each (size, max_length)."""


def windows(ids: np.ndarray, *, max_length: int, stride: int) -> Windows:
    """Windows of `max_length` tokens that start every `stride` tokens of a flat int32 array, such as a
    corpus's ids.

    >>> found = windows(np.arange(6, dtype=np.int32), max_length=2, stride=2)
    >>> found.inputs.tolist(), found.targets.tolist(), found.left_over
    ([[0, 1], [2, 3]], [[1, 2], [3, 4]], 1)
    """
    _need_positive(max_length=max_length, stride=stride)
    if ids.ndim != 1 or ids.dtype != np.int32:
        raise SourceError(
            "ids are {dtype} of shape {shape}; expected a flat int32 array, such as corpus.ids.",
            dtype=ids.dtype,
            shape=ids.shape,
        )
    if len(ids) <= max_length:
        raise SourceError(
            "{tokens:,} tokens make no window: max_length {max_length} needs {needed:,}, the last as target"
            " only. Add more text, or lower max_length.",
            tokens=len(ids),
            max_length=max_length,
            needed=max_length + 1,
        )
    inputs, targets = (
        np.lib.stride_tricks.sliding_window_view(part, max_length)[::stride] for part in (ids[:-1], ids[1:])
    )
    seen = (len(inputs) - 1) * min(stride, max_length + 1) + max_length + 1
    return Windows(inputs, targets, len(ids) - seen)


def batches(
    windows: Windows, size: int, *, seed: int | None = None, drop_last: bool = False
) -> Iterator[Batch]:
    """Batches of `size` windows: in the order of the text (and still views), or shuffled where a seed is
    given.

    The last batch may be smaller; `drop_last` leaves it out.
    """
    _need_positive(size=size)
    order = None if seed is None else np.random.default_rng(seed).permutation(len(windows))
    stop = len(windows) - len(windows) % size if drop_last else len(windows)
    rows = (slice(first, first + size) for first in range(0, stop, size))
    chosen = rows if order is None else (order[each] for each in rows)
    return ((windows.inputs[each], windows.targets[each]) for each in chosen)


def one_hot(ids: np.ndarray, size: int) -> np.ndarray:
    """One row an id, float32: 1 at the id and 0 elsewhere, so that `one_hot(ids, len(table)) @ table` is
    `table[ids]`.

    >>> one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    _need_positive(size=size)
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        raise SourceError(
            "ids are {dtype} of shape {shape}; expected a flat array of whole numbers.",
            dtype=ids.dtype,
            shape=ids.shape,
        )
    if len(ids) and not 0 <= ids.min() <= ids.max() < size:
        raise SourceError(
            "ids run from {low} to {high}; expected 0 to {last}. Raise size to the number of words.",
            low=ids.min(),
            high=ids.max(),
            last=size - 1,
        )
    rows = np.zeros((len(ids), size), np.float32)
    rows[np.arange(len(ids)), ids] = 1
    return rows


def _need_positive(**settings: int) -> None:
    for name, value in settings.items():
        if value < 1:
            raise SettingError("{name} is {value}; expected at least 1.", name=name, value=value)
