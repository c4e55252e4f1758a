"""What was compiled before holds only while no kernel file has changed."""

from __future__ import annotations

from typing import Any

from inlaid.kernels import sgns_cpu
from inlaid.kernels.compile import SOURCES


def test_a_kernel_is_compiled_anew_when_a_file_of_its_parts_changes():
    train: Any = sgns_cpu.train_kernel
    assert train._cache._cache_file._source_stamp == SOURCES
    assert {"sgns_cpu.py", "tile_cpu.py", "meetings.py", "lanes.py", "rows.py"} <= {
        name for name, _, _ in SOURCES
    }
