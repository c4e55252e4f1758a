"""Commands typed beside the folders of tiny models, with one thread of torch: many wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    torch.set_num_threads(1)


@pytest.fixture
def typed(
    typed: Callable[..., str], tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Commands are typed where the folders of tiny models are."""
    monkeypatch.chdir(tiny_models)
    return typed
