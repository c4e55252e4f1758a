"""The array shapes that flow through the package, each named once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if (
    TYPE_CHECKING or "jaxtyping" in sys.modules
):  # the tests load jaxtyping first and check every call; users never pay for it
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
    Bytes = Int8[np.ndarray, "word dim"]
    Blob = UInt8[np.ndarray, "byte"]
else:
    Ids = Offsets = Counts = Table = Rows = Buckets = Places = Vector = Lengths = Scores = Doubles = Bytes = (
        Blob
    ) = np.ndarray


@runtime_checkable
class LazyTable(Protocol):
    """A table that lies elsewhere, in a file or in another form: rows become float32 as they are asked
    for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        """Some rows; where they lie in a file, those bytes are verified first."""
        ...

    def whole(self) -> Table:
        """All rows, verified."""
        ...
