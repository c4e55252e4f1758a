"""Neural tests need torch, and one thread of it: results must not depend on how busy the machine is."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


class Omitted(pytest.Module):
    """A file of tests that cannot be imported here: it is left out as a whole, and counted."""

    reason = ""

    def collect(self):
        pytest.skip(self.reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    reason = _missing(module_path.name)
    if not reason:
        return None
    module = Omitted.from_parent(parent, path=module_path)
    module.reason = reason
    return module


def _missing(file: str) -> str:
    """Why the tests of a file cannot run here; empty if they can."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: pip install 'inlaid[neural]'"
    import torch

    if file == "test_gpu.py" and not torch.cuda.is_available():
        return "needs a GPU"
    return ""


@pytest.fixture(autouse=True)
def one_thread_one_seed():
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
