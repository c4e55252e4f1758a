"""The server: loads, warms up, opens the port, and ends when what is in flight is done."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import uvicorn

from inlaid.errors import SettingError, SourceError, advice
from inlaid.view.gate import Gate
from inlaid.view.settings import ServeSettings

BACKLOG = 2048
"""Connections that the system keeps while none is accepted."""


def read_keys(path: Path | None) -> tuple[str, ...]:
    """The API keys of a file, one a line; lines that begin with # are comments."""
    if path is None:
        return ()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error) from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not keys:
        raise SettingError("{path} has no API key. Write one on each line.", path=path)
    return keys


def listen(settings: ServeSettings) -> socket.socket:
    """The port, opened."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((settings.host, settings.port))
    except OSError as error:
        opened.close()
        raise SettingError(
            "Cannot listen on {host}:{port}: {reason}. Choose another with --port.",
            host=settings.host,
            port=settings.port,
            reason=error.strerror or advice(error),
        ) from None
    opened.listen(BACKLOG)
    return opened


def serve(app: Gate, opened: socket.socket, ready: Iterable[Callable[[], None]] = ()) -> None:
    """Answer until SIGTERM or Ctrl-C; then finish what is in flight."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, date_header=True, lifespan="on"
    )
    server = uvicorn.Server(config)
    for each in ready:
        each()
    server.run(sockets=[opened])
