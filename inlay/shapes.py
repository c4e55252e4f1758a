"""The array shapes that flow through the package, each named once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING or "jaxtyping" in sys.modules:  # the tests load jaxtyping first and check every call; users never pay for it
    from jaxtyping import Float, Float32, Float64, Int8, Int32, Int64, UInt8

    Ids = Int32[np.ndarray, "token"]
    Offsets = Int64[np.ndarray, "bound"]  # one more than sentences
    Counts = Int64[np.ndarray, "word"]
    Table = Float32[np.ndarray, "word dim"]
    Rows = Float32[np.ndarray, "row dim"]
    Vector = Float32[np.ndarray, "dim"]
    Lengths = Float32[np.ndarray, "word"]
    Scores = Float[np.ndarray, "word"]
    Doubles = Float64[np.ndarray, "_ _"]
    Bytes = Int8[np.ndarray, "word dim"]
    Blob = UInt8[np.ndarray, "byte"]
else:
    Ids = Offsets = Counts = Table = Rows = Vector = Lengths = Scores = Doubles = Bytes = Blob = np.ndarray
