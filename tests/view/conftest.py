"""What the tests of the server share: small spaces with known answers, and a client that needs no port."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.vectors import Vectors

WORDS = ["king", "queen", "man", "woman", "apple", "香蕉", "苹果", "国王"]
ROWS = [
    [1.0, 1.0, 0.0, 0.0],
    [1.0, -1.0, 0.0, 0.0],
    [0.1, 1.0, 0.0, 0.0],
    [0.1, -1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.9, 0.5],
    [0.0, 0.1, 1.0, 0.1],
    [1.0, 0.9, 0.0, 0.1],
]


@pytest.fixture
def small() -> Vectors:
    """Eight words; queen is king - man + woman."""
    table = np.array(ROWS, np.float32)
    return dataclasses.replace(Vectors.of(WORDS, table), contexts=table)


@pytest.fixture
def client(small: Vectors) -> Iterator[Any]:
    """A client of a server of `small` and of the same words in another space."""
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from inlaid.view.app import make_app
    from inlaid.view.settings import ServeSettings
    from inlaid.view.spaces import Spaces

    other = Vectors.of(WORDS, np.array(ROWS)[:, ::-1].copy())
    settings = ServeSettings(access_log=False)
    app = make_app(Spaces.of({"small": small, "other": other}), settings)
    with TestClient(app, base_url="http://127.0.0.1:8000") as opened:
        yield opened


class Server:
    """A real process of `inlaid serve`, and where it answers; `before` is code that it runs first."""

    def __init__(self, *words: str | Path, before: str = "") -> None:
        code = f"{before}\nimport sys\nfrom inlaid.cli import main\nsys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "serve", *map(str, words), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if " at " not in line:
            _, problem = self.process.communicate()
            raise AssertionError(problem)
        self.url = line.split(" at ")[1].strip()
        self.port = int(self.url.rpartition(":")[2])
        self.errors = list[str]()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        """Lines of the log, which would otherwise fill the pipe."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def ask(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """The status and the body of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("GET" if data is None else "POST", path, data, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()

    def end(self) -> int:
        """End it as a system does, and wait."""
        self.process.terminate()
        code = self.process.wait(60)
        self.reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start a server; all are ended after the test."""
    started = list[Server]()

    def start(*words: str | Path, before: str = "") -> Server:
        started.append(Server(*words, before=before))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """small.inlaid in a folder."""
    folder = tmp_path_factory.mktemp("served")
    inlaid.save(Vectors.of(WORDS, np.array(ROWS)), folder / "small.inlaid")
    return folder


@pytest.fixture(scope="session")
def server(files: Path, tiny_models: Path) -> Iterator[Server]:
    """One server for tests that change nothing: words, a model of sentences, and one that generates."""
    started = Server(
        files / "small.inlaid",
        f"sentence={tiny_models / 'sentence'}",
        f"decoder={tiny_models / 'decoder'}",
        "--no-access-log",
    )
    yield started
    started.end()
