"""The server: loads, warms up, opens the port, and ends when what is in flight is done."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from inlaid.errors import SettingError, SourceError, advice
from inlaid.view.gate import Gate
from inlaid.view.reload import Watcher
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Spaces

BACKLOG = 4096
"""Connections that the system keeps while none is accepted."""
CONNECTIONS = 60_000
"""Open connections, slow ones included; the gate limits the requests that are worked on."""
FILES = 65_536
"""Open files that are asked of the system: every connection is one."""
ENDING = 30
"""Seconds that what is in flight has when the server ends."""


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


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def free_port(settings: ServeSettings) -> int:
    """The port to listen on; a SettingError where another program has it."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
            return probe.getsockname()[1]
        except OSError as error:
            raise SettingError(
                "Cannot listen on {host}:{port}: {reason}. Choose another with --port.",
                host=settings.host,
                port=settings.port,
                reason=error.strerror or advice(error),
            ) from None


def serve(app: Gate, spaces: Spaces, settings: ServeSettings, opened: Callable[[], None]) -> None:
    """Answer until SIGTERM or Ctrl-C; then finish what is in flight. SIGHUP looks for changed files now.

    `opened` is called when the port is open.
    """
    _allow_files()
    logging.getLogger("granian").disabled = True
    logging.getLogger("_granian").disabled = True
    uvloop.run(_serve(app, spaces, settings, opened))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not turn a good end into a bad one


async def _serve(app: Gate, spaces: Spaces, settings: ServeSettings, opened: Callable[[], None]) -> None:
    server = Server(
        app,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=BACKLOG,
        backpressure=CONNECTIONS,
        log_enabled=False,
        http1_settings=HTTP1Settings(header_read_timeout=round(settings.timeout * 1000)),
    )
    loop = asyncio.get_running_loop()
    watcher = Watcher(spaces, settings, app.embedder)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, watcher.wake)
    beside = [asyncio.create_task(watcher.run()), asyncio.create_task(_announce(settings, opened))]
    try:
        await server.serve()
        async with asyncio.timeout(ENDING):
            while app.open:
                await asyncio.sleep(0.01)
    except TimeoutError:
        pass
    finally:
        for task in beside:
            task.cancel()


async def _announce(settings: ServeSettings, opened: Callable[[], None]) -> None:
    """Say that the port is open, once it is."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(host, settings.port)
            writer.close()
            opened()
            return
        await asyncio.sleep(0.01)


def _allow_files() -> None:
    """Raise the number of open files, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
