"""What was compiled before holds only while no kernel file has changed."""

from __future__ import annotations

from typing import Any

from inlaid.kernels.compile import SOURCES, VERSION
from inlaid.kernels.sgns import cpu


def test_a_kernel_is_compiled_anew_when_a_file_of_its_parts_changes():
    train: Any = cpu.train_kernel
    assert train._cache._cache_file._version == VERSION
    assert {
        "random.py",
        "sgns/cpu.py",
        "sgns/stream.py",
        "sgns/pairs.py",
        "simd/tiles.py",
        "simd/rows.py",
    } <= {name for name, _, _ in SOURCES}
