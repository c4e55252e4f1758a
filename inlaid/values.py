"""Values: what the numbers of an array in a file must be, checked before a kernel relies on them.

A checksum says that a file is as it was written, not that what was written makes sense. Kernels do not check
indices, so ids, offsets and counts are proven to be in bounds when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from inlaid.messages import Message

EXPONENTS = {
    "F64": ("<u8", 0x7FF0000000000000),
    "F32": ("<u4", 0x7F800000),
    "F16": ("<u2", 0x7C00),
    "BF16": ("<u2", 0x7F80),
}
"""The bits of the exponent of each float dtype: all are set in NaN and infinity, and in no other number."""


class Problem(NamedTuple):
    """The first number of an array that is not what it must be."""

    place: int
    """In the flat array."""
    found: Any
    expected: Message


@dataclass(frozen=True, kw_only=True)
class Values:
    """What an array of a file must be. A number is checked when its chunk is first read.

    >>> Values(dtypes=("I32",), shape=(3,), low=0, high=9).problem(np.array([1, 12, 3], np.int32), "I32")
    Problem(place=1, found=12, expected=Message('a number from 0 to 9'))
    """

    dtypes: tuple[str, ...]
    """As safetensors calls them."""
    shape: tuple[int | None, ...]
    """None: any length."""
    low: int | float | None = None
    high: int | float | None = None
    first: int | None = None
    last: int | None = None
    ascending: bool = False
    """No number is below the one before it."""
    distinct: bool = False
    """Together with `ascending`: every number is above the one before it."""
    finite: bool = False

    def fits(self, dtype: str, shape: tuple[int, ...]) -> bool:
        """Whether an array can be read as this one."""
        lengths = zip(self.shape, shape, strict=False)
        same = all(expected in (None, found) for expected, found in lengths)
        return dtype in self.dtypes and len(shape) == len(self.shape) and same

    def described(self) -> Message:
        """The dtype and shape, for messages."""
        shape = ", ".join("any" if length is None else f"{length:,}" for length in self.shape)
        return Message("{dtypes} of shape [{shape}]", dtypes=" / ".join(self.dtypes), shape=shape)

    def problem(
        self, flat: np.ndarray, dtype: str, start: int = 0, stop: int | None = None
    ) -> Problem | None:
        """What is wrong in flat[start:stop]; None if nothing is."""
        part = flat[start:stop]
        if not part.size:
            return None
        return (
            self._not_finite(part, dtype, start)
            or self._outside(part, start)
            or self._at_ends(flat, start, stop)
            or self._falling(part, start)
        )

    def _not_finite(self, part: np.ndarray, dtype: str, start: int) -> Problem | None:
        if not self.finite or dtype not in EXPONENTS:
            return None
        bits, mask = EXPONENTS[dtype]
        exponents = part.view(bits) & mask
        if exponents.max() != mask:
            return None
        return _first(part, exponents == mask, start, Message("a finite number"))

    def _outside(self, part: np.ndarray, start: int) -> Problem | None:
        # NaN, which compares as false with everything, is outside
        if self.low is not None and not part.min() >= self.low:
            return _first(part, ~(part >= self.low), start, self._range())
        if self.high is not None and not part.max() <= self.high:
            return _first(part, ~(part <= self.high), start, self._range())
        return None

    def _range(self) -> Message:
        if self.high is None:
            return Message("a number of at least {low}", low=self.low)
        return Message("a number from {low} to {high}", low=self.low, high=self.high)

    def _at_ends(self, flat: np.ndarray, start: int, stop: int | None) -> Problem | None:
        if start == 0 and self.first is not None and flat[0] != self.first:
            return Problem(0, flat[0].item(), Message("{number:,}", number=self.first))
        at_end = stop is None or stop >= len(flat)
        if at_end and self.last is not None and flat[-1] != self.last:
            return Problem(len(flat) - 1, flat[-1].item(), Message("{number:,}", number=self.last))
        return None

    def _falling(self, part: np.ndarray, start: int) -> Problem | None:
        if not self.ascending:
            return None
        falls = part[1:] <= part[:-1] if self.distinct else part[1:] < part[:-1]
        if not falls.any():
            return None
        place = int(falls.argmax()) + 1
        before = part[place - 1].item()
        expected = Message("at least the number before it, {before:,}", before=before)
        if self.distinct:
            expected = Message("more than the number before it, {before:,}", before=before)
        return Problem(start + place, part[place].item(), expected)


def _first(part: np.ndarray, wrong: np.ndarray, start: int, expected: Message) -> Problem:
    place = int(wrong.argmax())
    return Problem(start + place, part[place].item(), expected)
