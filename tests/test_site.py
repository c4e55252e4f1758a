"""The site of the docs: it builds without a warning, needs no network, and its search finds pages."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

import inlaid

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make site` builds it, where warnings are errors."""
    for module, extra in {"sphinx": "docs", "torch": "neural"}.items():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'inlaid[{extra}]'")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def test_every_page_is_there_and_in_the_menu(site: Path):
    for language, folder in {".": ROOT / "docs", "zh": ROOT / "docs" / "zh"}.items():
        index = text_of(site / language / "index.html")
        for page in folder.glob("*.md"):
            name = page.stem.replace("search", "nearest-words")
            title = text_of(page).partition("\n")[0].removeprefix("# ")
            assert title.replace("'", "’") in text_of(site / language / f"{name}.html").replace("'", "’")
            assert f'href="{name}.html"' in index or name == "index"
    assert len(list((site / "decisions").glob("*.html"))) == len(list((ROOT / "docs/decisions").glob("*.md")))


def test_links_stay_on_the_site_and_nothing_is_loaded_from_a_network(site: Path):
    pages = list(site.rglob("*.html"))
    for page in pages:
        text = text_of(page)
        assert not re.search(r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//', text), page
        assert not re.search(r'<link[^>]*\shref="(?:https?:)?//', text), page
        for target in re.findall(r'<a[^>]*\shref="(?!https?:)([^"#?]+)', text):
            assert (page.parent / target).resolve().exists(), f"{page}: {target}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", text_of(style)), style


def test_the_reference_has_every_public_name(site: Path):
    for folder in (site, site / "zh"):
        reference = text_of(folder / "api.html")
        for name in inlaid.__all__:
            assert f'id="inlaid.{name}"' in reference or f'id="inlaid.{name}.sentences"' in reference, name
        for method in ("Vectors.select", "Classifier.predict", "neural.model.Model.embed"):
            assert f'id="inlaid.{method}"' in reference


# --- in a browser
# -------------------------------------------------------------------------------------------------------


class Browser:
    """Chromium without a window, driven through pipes by its DevTools protocol."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser = os.pipe()
        from_browser = os.pipe()
        self.messages = os.fdopen(from_browser[0], "rb")
        self.commands = os.fdopen(to_browser[1], "wb")
        flags = "--headless=new --no-sandbox --disable-gpu --remote-debugging-pipe"
        shell = f'exec "$0" {flags} "--user-data-dir=$1" 3<&{to_browser[0]} 4>&{from_browser[1]}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, program, str(profile)],
            pass_fds=(to_browser[0], from_browser[1]),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.session = ""
        self.sent = 0

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *error: object) -> None:
        self.session = ""
        self.call("Browser.close")
        self.process.wait(30)
        self.messages.close()
        self.commands.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self.sent += 1
        command: dict[str, Any] = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        self.commands.write(json.dumps(command).encode() + b"\0")
        self.commands.flush()
        for message in self._received():
            if message.get("id") == self.sent:
                assert "error" not in message, message
                return message["result"]
        raise AssertionError("the browser has ended")

    def _received(self) -> Iterator[dict[str, Any]]:
        text = bytearray()
        while byte := self.messages.read(1):
            if byte == b"\0":
                yield json.loads(text)
                text.clear()
            else:
                text += byte

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The value of an expression once it is true."""
        end = time.monotonic() + 60
        while not (value := self.value(expression)):
            assert time.monotonic() < end, f"{expression} is not true after a minute"
            time.sleep(0.05)
        return value


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium or Chrome is installed to open the site in")
    with Browser(program, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize(
    ("start", "query", "page"),
    [
        ("zh/index.html", "负采样", "zh/sgns.html"),
        ("zh/index.html", "文本怎么分类", "zh/classify.html"),  # a question, not a word of the page
        ("zh/tour.html", "未登录词", "zh/evaluate.html"),
        ("zh/index.html", "load_model", "zh/api.html"),
        ("index.html", "negative sampling", "sgns.html"),
        ("decisions/0001-the-listing-is-the-architecture.html", "hubness", "nearest-words.html"),
    ],
)
def test_a_typed_query_finds_a_page(start: str, query: str, page: str, site: Path, browser: Browser):
    browser.call("Page.navigate", url=(site / start).as_uri())
    browser.wait_for("document.readyState === 'complete' && !!document.querySelector('.sidebar-search')")
    browser.value("document.querySelector('.sidebar-search').focus()")
    browser.call("Input.insertText", text=query)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13)
    found = "[...document.querySelectorAll('#results a')].slice(0, 10).map((link) => link.pathname)"
    browser.wait_for(f"location.pathname.endsWith('search.html') && {found}.length > 0")
    assert str(site / page) in browser.value(found)
    assert browser.value("document.querySelectorAll('#results mark').length") > 0


def test_a_query_that_fits_nothing_says_so(site: Path, browser: Browser):
    browser.call("Page.navigate", url=(site / "zh" / "search.html").as_uri() + "?q=zzzz")
    assert browser.wait_for("document.getElementById('count')?.textContent") == "没有找到。"
    assert browser.value("document.querySelectorAll('#results a').length") == 0
