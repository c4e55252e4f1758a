"""What a server must withstand: strange names and pages, large and slow requests, many at once, no key."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from inlaid.view.endpoints import endpoints

HEAD = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "


def test_a_key_is_needed_where_there_are_keys(serve: Any, files: Path, tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text("# for tests\nfirst\nsecond\n")
    server = serve(files / "small.inlaid", "--keys", keys)
    assert server.ask("/health")[0] == 200
    for headers in ({}, {"Authorization": "Bearer third"}, {"Authorization": "first"}, {"X-API-Key": ""}):
        status, body = server.ask("/v1/models", headers=headers)
        assert status == 401, headers
        assert json.loads(body)["error"]["code"] == "invalid_api_key"
    for headers in (
        {"Authorization": "Bearer first"},
        {"authorization": "bearer second"},
        {"X-API-Key": "first"},
    ):
        assert server.ask("/v1/models", headers=headers)[0] == 200, headers


def test_other_names_and_pages_are_refused_by_every_method(server: Any):
    for method in ("GET", "POST", "OPTIONS", "HEAD", "PUT", "DELETE"):
        for header in ("Host: evil.example", "Host: 127.0.0.1\r\nOrigin: https://evil.example"):
            sent = (
                f"{method} /v1/models HTTP/1.1\r\n{header}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            assert b" 403 " in _raw(server.port, sent.encode()).splitlines()[0], (method, header)


def test_bodies_are_limited_by_their_real_size(serve: Any, files: Path):
    server = serve(files / "small.inlaid", "--max-body", "1000", "--max-texts", "3")
    assert server.ask("/v1/embeddings", b" " * 1001)[0] == 413
    chunked = HEAD.replace(b"Content-Length: ", b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    assert b" 413 " in _raw(
        server.port, chunked + b"200\r\n" + b" " * 512 + b"\r\n" + b"200\r\n" + b" " * 512
    )
    announced = _raw(server.port, HEAD + b"99999999999\r\nConnection: close\r\n\r\n")
    assert b" 413 " in announced
    body = {"input": ["king"] * 4, "model": "small"}
    assert server.ask("/v1/embeddings", body)[0] == 413
    assert server.ask("/v1/embeddings", {**body, "input": ["king"] * 3})[0] == 200


def test_what_is_not_json_or_too_deep_is_said(server: Any):
    for body in (b"", b"{", b"[" * 100_000, b'"\\ud800"', b"\xff", b'{"input": NaN}', b'{"input":' * 3000):
        status, reply = server.ask("/v1/embeddings", body)
        assert status == 400, body[:20]
        assert json.loads(reply)["error"]["message"]


def test_slow_clients_are_cut_off_and_hinder_nobody(serve: Any, files: Path):
    server = serve(files / "small.inlaid", "--timeout", "2", "--no-access-log")
    half_header = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    half_body = HEAD + b'30\r\n\r\n{"input": '
    slow = [_connected(server.port) for _ in range(400)]
    began = time.monotonic()
    for number, each in enumerate(slow):
        each.sendall(half_header if number % 2 else half_body)
    asked = time.monotonic()
    assert server.ask("/v1/embeddings", {"input": "king"})[0] == 200
    assert time.monotonic() - asked < 2
    for number, each in enumerate(slow):
        each.settimeout(10)
        ending = each.recv(100)
        assert number % 2 or b" 408 " in ending, ending
        each.close()
    assert time.monotonic() - began < 10


def test_too_many_at_once_are_refused_and_told_when_to_ask_again(serve: Any, files: Path):
    server = serve(files / "small.inlaid", "--max-requests", "2", "--threads", "2", "--no-access-log")
    body = {"draws": 10_000, "from": ["king", "man"], "to": ["queen", "woman"], "words": ["国王"]}

    def ask(_: int) -> tuple[int, str | None]:
        import http.client

        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/api/v1/axis", json.dumps(body))
        reply = connection.getresponse()
        reply.read()
        connection.close()
        return reply.status, reply.headers.get("retry-after")

    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(ask, range(64)))
    assert found == {(200, None), (429, "1")}


def test_sigterm_finishes_what_is_in_flight(serve: Any, files: Path):
    server = serve(files / "small.inlaid", "--no-access-log")
    waiting = _connected(server.port)
    body = b'{"input": "king"}'
    waiting.sendall(HEAD + str(len(body)).encode() + b"\r\n\r\n" + body[:5])
    time.sleep(0.3)
    server.process.terminate()
    time.sleep(0.3)
    waiting.sendall(body[5:])
    waiting.settimeout(10)
    assert b" 200 " in waiting.recv(1000)
    waiting.close()
    assert server.end() == 0


def test_the_log_has_no_texts_unless_asked(serve: Any, files: Path):
    for flags, is_there in (((), False), (("--log-texts",), True)):
        server = serve(files / "small.inlaid", *flags)
        assert server.ask("/v1/embeddings?secret=1", {"input": "queen king"})[0] == 200
        assert server.end() == 0
        line = json.loads(server.errors[-1])
        assert (line["method"], line["path"], line["status"]) == ("POST", "/v1/embeddings", 200)
        assert ("queen" in server.errors[-1]) is is_there
        assert "secret" not in server.errors[-1]


HEARD = """
import os, sys
def hear(event, given):
    watched = event in ("open", "os.listdir", "os.scandir")
    if watched and given and isinstance(given[0], (str, bytes)) and "hidden-words" in os.fsdecode(given[0]):
        print("opened", given[0], file=sys.stderr, flush=True)
sys.addaudithook(hear)
"""
"""The server writes the paths that it opens to its standard error."""


def test_no_path_of_a_client_reaches_the_file_system(
    serve: Any, files: Path, tmp_path: Path, tiny_models: Path
):
    """Every field of every endpoint is given the path of a file; none is opened."""
    secret = tmp_path / "hidden-words.txt"
    secret.write_text("king queen\n")
    spaces = (files / "small.inlaid", f"m={tiny_models / 'masked'}", f"d={tiny_models / 'decoder'}")
    server = serve(*spaces, "--no-access-log", before=HEARD)
    for endpoint in endpoints().values():
        known = endpoint.example()
        for field in endpoint.fields():
            for space in {} if endpoint.spaces.keys() != {"space"} else ("small", "m", "d"):
                for value in (str(secret), [str(secret)]):
                    body = {"space": space, **known, field: value}
                    assert server.ask(f"/api/v1/{endpoint.name}", body)[0] < 500, body
    for path in ("/v1/embeddings", "/api/embed", "/embed", "/api/v1/tokenize"):
        for field in ("input", "model", "inputs", "prompt", "text", "space", "tokenizer"):
            server.ask(path, {"input": "king", "inputs": "king", "text": "king", field: str(secret)})
    server.ask(f"/v1/models/{secret}")
    server.ask(f"/../../../..{secret}")
    assert server.end() == 0
    assert [line for line in server.errors if line.startswith("opened")] == []


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def _raw(port: int, sent: bytes) -> bytes:
    with _connected(port) as connection:
        connection.sendall(sent)
        found = b""
        while part := connection.recv(10_000):
            found += part
            if b"\r\n\r\n" in found:
                return found
        return found
