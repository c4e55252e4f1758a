"""Columns: arrays for a browser, little-endian after a JSON header; 300,000 places are 2.4 MB."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

TYPES = {"f4": "<f4", "u4": "<u4", "i4": "<i4", "u1": "u1"}
ALIGNED = 4


def columns(arrays: Mapping[str, np.ndarray], **header: Any) -> bytes:
    """The length of the header (u32), the header, and the arrays, each at a multiple of four bytes.

    >>> columns({"x": np.zeros(2, np.float32)}, k=10)[4:12]
    b'{"k":10,'
    """
    described = list[dict[str, Any]]()
    parts = list[bytes]()
    at = 0
    for name, array in arrays.items():
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        data = np.ascontiguousarray(array, TYPES[kind]).tobytes()
        described.append({"name": name, "type": kind, "at": at, "length": array.size})
        parts.append(_padded(data))
        at += len(parts[-1])
    head = json.dumps({**header, "columns": described}, ensure_ascii=False, separators=(",", ":")).encode()
    start = len(head).to_bytes(4, "little") + head
    return _padded(start) + b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNED)
