"""Which server should carry `inlaid serve`: granian or uvicorn? The same application under both.

    python benchmarks/http_servers.py [--slow 1000]

A line of JSON for each: requests a second and CPU milliseconds a request for one word's vector, with 1 and 64
clients (Debian's wrk; the servers in turns); then, with many clients that have sent half a header: how long
they are kept (up to 30 s), and the slowest of 200 answers that a fast client gets beside them. The limit of
granian is set to 5 s; uvicorn has none to set.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve_speed import SCRIPT, Running, asked, cores, free_port, wait_for

APP = """
import os, sys
import numpy as np, uvloop
from inlaid.vectors import Vectors
from inlaid.view import server
from inlaid.view.app import make_app
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Spaces
table = np.random.default_rng(1).normal(size=(1000, 50)).astype("f4")
spaces = Spaces.of({"m": Vectors.of([f"w{n}" for n in range(1000)], table)})
settings = ServeSettings(port=int(sys.argv[2]), access_log=False, reload=0, timeout=5)
app = make_app(spaces, settings)
if sys.argv[1] == "granian":
    server.serve(app, spaces, settings, lambda: None)
else:
    import uvicorn
    given = {"log_level": "critical", "access_log": False, "loop": "uvloop", "lifespan": "off"}
    uvicorn.run(app, port=settings.port, **given)
"""
KEPT = 30
"""Seconds after which a slow client is no longer waited for."""
HALF = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        bodies = [json.dumps({"input": f"w{n}"}) for n in range(1000)]
        (folder / "bodies").write_text("\n".join(bodies))
        (folder / "app.py").write_text(APP)
        (folder / "ask.lua").write_text(SCRIPT % (folder / "bodies", 0, "true", "/v1/embeddings"))
        servers = {each: stack.enter_context(running(each, folder)) for each in ("granian", "uvicorn")}
        for clients in (1, 64):
            found = {each: [] for each in servers}
            for _ in range(given.rounds):
                for each, server in servers.items():
                    found[each].append(asked(server, clients, folder, 2))
            for each, rounds in found.items():
                speed = round(statistics.median(one.speed for one in rounds))
                cpu = round(statistics.median(one.cpu for one in rounds), 3)
                print(json.dumps({"server": each, "clients": clients, "requests/s": speed, "CPU ms": cpu}))
        for each, server in servers.items():
            print(json.dumps({"server": each, "slow clients": given.slow, **slowed(server.port, given.slow)}))


@contextlib.contextmanager
def running(name: str, folder: Path):
    port = free_port()
    command = ["taskset", "-c", str(cores()[-1]), sys.executable, str(folder / "app.py"), name, str(port)]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        wait_for(port)
        yield Running(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def slowed(port: int, count: int) -> dict[str, object]:
    """What clients do to a server that never end their header."""
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    began = time.monotonic()
    for each in slow:
        each.sendall(HALF)
    times = list[float]()
    for number in range(200):
        asked_at = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/v1/embeddings", json.dumps({"input": f"w{number}"}))
        assert connection.getresponse().status == 200
        connection.close()
        times.append(time.perf_counter() - asked_at)
    ended = 0
    for each in slow:
        each.settimeout(max(0.01, began + KEPT - time.monotonic()))
        with contextlib.suppress(TimeoutError, ConnectionError):
            each.recv(1000)
            ended += 1
    seconds = round(time.monotonic() - began, 1)
    for each in slow:
        each.close()
    slowest = round(max(times) * 1000, 1)
    return {"cut off": ended, "after s": seconds, "slowest fast answer ms": slowest}


if __name__ == "__main__":
    main()
