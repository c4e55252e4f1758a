"""A browser for the pages, and the data that they contain."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inlaid.study.map.map import Map
from inlaid.study.map.page import page


@pytest.fixture
def content() -> Callable[[str], dict[str, Any]]:
    """What a browser takes for the data: all up to the first end of a script."""

    def read(text: str) -> dict[str, Any]:
        found = re.search(r'<script type="application/json" id="content">(.*?)</script', text, re.DOTALL)
        assert found
        return json.loads(found[1])

    return read


@pytest.fixture(scope="session")
def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium or Chrome is installed to open the page in")


@pytest.fixture
def opened(browser: str, tmp_path: Path) -> Callable[..., str]:
    """The page of a map after its scripts have run."""

    def run(made: Map, word: str = "", *, language: str = "en", wanted: str = "--dump-dom") -> str:
        (tmp_path / "map.html").write_text(page(made, title="A map"), "utf-8")
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1000,700",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=3000",
            f"--accept-lang={language}",
            wanted,
            f"{(tmp_path / 'map.html').as_uri()}#{urllib.parse.quote(word)}",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
        assert ended.returncode == 0, ended.stderr
        return re.sub(r"<script.*?</script>", "", ended.stdout, flags=re.DOTALL)

    return run
