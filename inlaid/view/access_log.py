"""Access log: a line of JSON for every request; what clients wrote is in it only where that is asked for."""

from __future__ import annotations

import contextlib
import time
from typing import TextIO

import orjson

from inlaid.view.gate import Seen

SHOWN = 200
"""Bytes of a body that are logged, where texts are."""


class AccessLog:
    """Writes to a stream, usually standard error; a stream that is closed ends nothing."""

    def __init__(self, stream: TextIO, *, with_texts: bool = False) -> None:
        self.stream = stream
        self.with_texts = with_texts

    def write(self, seen: Seen) -> None:
        client = seen.scope.get("client") or ("",)
        line = {
            "time": round(time.time(), 3),
            "client": client[0],
            "method": seen.method,
            "path": seen.path[:SHOWN],
            "status": seen.status,
            "ms": round(seen.seconds * 1000, 2),
            "received": len(seen.body),
            "sent": seen.sent,
        }
        if self.with_texts:
            line["text"] = seen.body[:SHOWN].decode("utf-8", "replace")
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(orjson.dumps(line).decode() + "\n")
            self.stream.flush()
