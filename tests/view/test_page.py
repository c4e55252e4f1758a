"""docs/serve.md: its commands and programs run, beside the server that the page starts."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inlaid.cli import main
from inlaid.collect import world

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'inlaid[serve]'")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "serve.md", "zh": DOCS / "zh" / "serve.md"}
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"(?:localhost|127\.0\.0\.1):8000")


@pytest.mark.parametrize("language", PAGES)
def test_the_page_runs(language: Any, serve: Any, tmp_path: Path):
    (tmp_path / "text.txt").write_text("\n".join(world.sentences(language, words=20_000)), "utf-8")
    blocks = BLOCK.findall(PAGES[language].read_text("utf-8"))
    commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    first, second, *asked = commands
    with contextlib.chdir(tmp_path):
        assert main(shlex.split(first)[1:]) == 0
        server = serve(*shlex.split(second)[2:])

    def here(text: str) -> str:
        return ADDRESS.sub(f"127.0.0.1:{server.port}", text)

    replies = list[Any]()
    for line in asked:
        words = shlex.split(here(line))
        assert words[0] == "curl"
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        replies.append(json.loads(shown))
    assert [line for line, reply in zip(asked, replies, strict=True) if "error" in reply] == asked[-1:]
    program = "\n".join(text for kind, text in blocks if kind == "python")
    ended = subprocess.run([sys.executable, "-c", here(program)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[1:] != []


def test_the_unit_of_systemd_is_valid():
    command = ["systemd-analyze", "verify", str(DOCS / "deploy" / "inlaid.service")]
    try:
        ended = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not installed")
    assert ended.returncode == 0, ended.stderr
    assert "inlaid.service" not in ended.stderr
