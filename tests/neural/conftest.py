"""Neural tests need torch, and one thread of it: results must not depend on how busy the machine is."""

from __future__ import annotations

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None:
    if os.environ.get("CI", "").lower() == "true":
        raise RuntimeError("torch is missing, and CI may leave nothing out: install the extra `neural`")
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def one_thread_one_seed():
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
