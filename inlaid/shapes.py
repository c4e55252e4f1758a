"""Shapes: the dtypes and shapes of the arrays that modules exchange, each named once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

# The tests import jaxtyping first, and so check every call; users do not pay for it.
if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Float, Float32, Float64, Int8, Int32, Int64, UInt8

    Ids = Int32[np.ndarray, "token"]
    Offsets = Int64[np.ndarray, "bound"]  # one more than sentences
    Counts = Int64[np.ndarray, "word"]
    Table = Float32[np.ndarray, "word dim"]
    Rows = Float32[np.ndarray, "row dim"]
    Buckets = Float32[np.ndarray, "bucket dim"]
    Places = Float32[np.ndarray, "row 2"]
    Vector = Float32[np.ndarray, "dim"]
    Lengths = Float32[np.ndarray, "word"]
    Scores = Float[np.ndarray, "word"]
    Doubles = Float64[np.ndarray, "_ _"]
    Int8Codes = Int8[np.ndarray, "word dim"]
    Blob = UInt8[np.ndarray, "byte"]
else:
    Ids = Offsets = Counts = Table = Rows = Buckets = Places = np.ndarray
    Vector = Lengths = Scores = Doubles = Int8Codes = Blob = np.ndarray


@runtime_checkable
class LazyTable(Protocol):
    """A table that is stored elsewhere, in a file or in another dtype; rows become float32 when they are
    read."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        """Some rows; if they are in a file, their bytes are verified first."""
        ...

    def whole(self) -> Table:
        """All rows, verified."""
        ...
