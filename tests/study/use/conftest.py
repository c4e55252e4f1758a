"""Commands typed beside the folders of tiny models, with one thread of torch: many wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inlaid.cli import main


@pytest.fixture(autouse=True)
def one_thread():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    torch.set_num_threads(1)


@pytest.fixture
def typed(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Type a command; what it printed, or its error where one is expected."""
    monkeypatch.chdir(tiny_models)

    def run(*words: str | Path, code: int = 0) -> str:
        capsys.readouterr()
        ended = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert ended == code, err
        return err if code else out

    return run
