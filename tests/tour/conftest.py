"""The models of the tour at the size "tiny", trained once and shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid.report import silent
from inlaid.tour.models import Models, models


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own cache is not touched."""
    cache.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("INLAID_TOUR_SIZE", "tiny")
    monkeypatch.delenv("INLAID_DATA", raising=False)


@pytest.fixture(params=["zh", "en"])
def tiny(request: pytest.FixtureRequest) -> Models:
    return models(request.param, report=silent)
