"""Gate: what every request passes before a handler sees it: names, origins, keys, sizes, time, number."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from inlaid.errors import (
    Forbidden,
    InlaidError,
    KeyNeeded,
    RequestError,
    TooBusy,
    WrongEncoding,
    WrongMethod,
)
from inlaid.messages import Language, Listed, speaking
from inlaid.view.bodies import PIECE, Bodies, Receive, Send, stream, too_busy
from inlaid.view.embedding import Embedder
from inlaid.view.exchange import Handler, Reply, Request, Routes, json_reply
from inlaid.view.problems import headers_of, language_of, problem
from inlaid.view.settings import ServeSettings

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""What this machine calls itself; any other name in a browser may be an attack (DNS rebinding)."""
EVERYWHERE = ("0.0.0.0", "::", "")
OPEN = ("/health", "/ready")
"""Paths that need no key."""
ONCE = (b"host", b"origin", b"authorization", b"x-api-key", b"content-length", b"content-encoding")
"""Headers of which a second one is refused: the gate would read one of them, and a proxy the other."""
FAILED = {"error": {"sentence": "", "message": "Internal error", "values": {}, "kind": "InternalError"}}
CORS = {
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "*, authorization",  # the star does not include it
}
PORT = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::\d{1,5})?")


class Gate:
    """The ASGI application: routes of our own, and an application for all other paths."""

    def __init__(
        self,
        routes: Routes,
        other: App,
        settings: ServeSettings,
        embedder: Embedder,
        keys: Iterable[str] = (),
    ) -> None:
        self.routes = routes
        self.embedder = embedder
        self.prefixes = [path[:-1] for path in routes if path.endswith("/*")]
        self.other = other
        self.settings = settings
        self.hosts = {each.lower() for each in (*LOCAL, *settings.allow_host)}
        if settings.host not in EVERYWHERE:
            self.hosts.add(f"[{settings.host}]" if ":" in settings.host else settings.host.lower())
        self.origins = {each.lower().rstrip("/") for each in settings.allow_origin}
        self.keys = [hashlib.sha256(each.encode()).digest() for each in keys]
        self.open = 0
        """Requests that have begun and whose answer has not been sent."""
        self.working = 0
        """Those of them that are worked on."""
        self.bodies = Bodies(settings)
        self.watches = list[Callable[[Seen], None]]()
        """Called with every request that has been answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.other(scope, receive, send)
            return
        seen = Seen(scope, self.bodies)
        self.open += 1
        try:
            await self._answer(seen, receive, send)
        finally:
            self.open -= 1
            self.bodies.buffered -= seen.reserved
            for watch in self.watches:
                watch(seen)

    async def _answer(self, seen: Seen, receive: Receive, send: Send) -> None:
        try:
            reply = await self._answer_or_refusal(seen, receive, send)
        except Exception:
            logging.getLogger("inlaid").exception("%s %s failed", seen.method, seen.path)
            reply = json_reply(FAILED, 500)
        if reply is not None:
            await self._send(reply, seen, receive, send)

    async def _answer_or_refusal(self, seen: Seen, receive: Receive, send: Send) -> Reply | None:
        try:
            self._admit(seen)
            return await self._reply(seen, receive, send)
        except InlaidError as error:
            return _refusal(error, seen)

    def _admit(self, seen: Seen) -> None:
        """Raise an error for a request that comes by another name, from a strange page or without a key."""
        if len(seen.headers) != len(seen.scope["headers"]):
            _refuse_repeated(seen.scope["headers"])
        name = seen.headers.get(b"host", b"").decode("latin-1").lower()
        if _without_port(name) not in self.hosts:
            raise Forbidden(
                "This server does not answer to the name {host!r}. Start it with --allow-host.",
                host=name,
            )
        origin = seen.headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin not in self.origins and origin.partition("://")[2] != name:
            raise Forbidden(
                "Pages of {origin} may not ask this server. Start it with --allow-origin.", origin=origin
            )
        seen.origin = origin
        if self.keys and seen.path not in OPEN and seen.method != "OPTIONS" and not self._has_key(seen):
            raise KeyNeeded("An API key is needed: Authorization: Bearer KEY.")

    def _has_key(self, seen: Seen) -> bool:
        """Compared in constant time, with all keys."""
        given = seen.headers.get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        if scheme.lower() != b"bearer":
            key = seen.headers.get(b"x-api-key", b"")
        digest = hashlib.sha256(key.strip()).digest()
        same = [hmac.compare_digest(digest, known) for known in self.keys]
        return any(same)

    async def _reply(self, seen: Seen, receive: Receive, send: Send) -> Reply | None:
        """The reply of a route; None where the other application has sent its own."""
        if seen.method == "OPTIONS" and seen.origin:
            return Reply(status=204, headers=CORS)
        handler = self._handler(seen)
        coding = seen.headers.get(b"content-encoding", b"identity").decode("latin-1")
        if coding.lower() != "identity":
            raise WrongEncoding(
                "The body is encoded as {coding!r}; expected a body that is not compressed.", coding=coding
            )
        try:
            body = await self.bodies.arrived(receive, seen.headers.get(b"content-length"))
        except RequestError:
            seen.broken = True
            raise
        seen.body = body
        try:
            if self.working >= self.settings.max_requests:
                raise too_busy()
            self.working += 1
            try:
                if handler is None:
                    await self.other(seen.scope, _replayed(body, receive), seen.counting(send))
                    return None
                with speaking(seen.language):
                    return await handler(Request(seen.method, seen.path, body, seen.language, seen.reserve))
            finally:
                self.working -= 1
        finally:
            self.bodies.forget(body)

    def _handler(self, seen: Seen) -> Handler | None:
        """The handler of a path and method; None where the path is not ours."""
        methods = self.routes.get(seen.path)
        if methods is None:
            prefix = next((each for each in self.prefixes if seen.path.startswith(each)), None)
            if prefix is None:
                return None
            methods = self.routes[f"{prefix}*"]
        handler = methods.get("GET" if seen.method == "HEAD" else seen.method)
        if handler is None:
            raise WrongMethod(
                "{path} takes {methods}, not {method}.",
                path=seen.path,
                methods=Listed(methods),
                method=seen.method,
            )
        return handler

    async def _send(self, reply: Reply, seen: Seen, receive: Receive, send: Send) -> None:
        try:
            if len(reply.body) > PIECE:
                seen.reserve(len(reply.body) - seen.reserved)
        except TooBusy as error:
            reply = _refusal(error, seen)
        seen.status = reply.status
        headers = [(b"content-type", reply.type.encode())]
        headers += [(name.encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
        if reply.pieces is None:
            headers.append((b"content-length", str(len(reply.body)).encode()))
        if seen.origin in self.origins:
            headers += [(b"access-control-allow-origin", seen.origin.encode()), (b"vary", b"origin")]
        if seen.broken:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        if reply.pieces is None:
            seen.sent = len(reply.body)
            body = b"" if seen.method == "HEAD" else reply.body
            if len(body) <= PIECE:
                await send({"type": "http.response.body", "body": body})
            else:
                await self.bodies.leave(body, send)
            return
        sizes = stream(reply.pieces, receive, send, self.settings.timeout)
        async with contextlib.aclosing(sizes):
            async for size in sizes:
                seen.sent += size


class Seen:
    """What is known of a request before its body is read, and of the reply."""

    __slots__ = (
        "bodies",
        "body",
        "broken",
        "headers",
        "method",
        "origin",
        "path",
        "reserved",
        "scope",
        "sent",
        "start",
        "status",
    )

    def __init__(self, scope: Scope, bodies: Bodies) -> None:
        self.scope = scope
        self.bodies = bodies
        self.reserved = 0
        """Bytes of memory that are counted for the answer until it has been sent."""
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.body = b""
        self.origin = ""
        self.status = 0
        self.sent = 0
        self.broken = False
        """Whether the rest of the request was not read, so that the connection cannot go on."""
        self.start = time.perf_counter()

    def reserve(self, count: int) -> None:
        """Count memory for the answer; TooBusy where there is none left."""
        if count > 0:
            self.bodies.reserve(count)
            self.reserved += count

    @property
    def language(self) -> Language:
        accepted = self.headers.get(b"accept-language")
        return "en" if accepted is None else language_of(accepted.decode("latin-1"))

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def counting(self, send: Send) -> Send:
        """The same, noting what is sent."""

        async def counted(event: MutableMapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                self.status = event["status"]
            else:
                self.sent += len(event.get("body", b""))
            await send(event)

        return counted


def _refusal(error: InlaidError, seen: Seen) -> Reply:
    """What is sent instead of an answer."""
    status, told = problem(error, seen.language, seen.path)
    return json_reply(told, status, headers_of(error))


def _refuse_repeated(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise RequestError where a header that decides something is given twice."""
    names = [name for name, _ in headers]
    for name in ONCE:
        if names.count(name) > 1:
            raise RequestError("The header {name} is given more than once.", name=name.decode())


def _without_port(host: str) -> str | None:
    """[::1]:8000 is [::1], localhost:8000 is localhost; None where it is neither a name nor an address."""
    found = PORT.fullmatch(host)
    return None if found is None else found[1]


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, for another application."""
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> MutableMapping[str, Any]:
        return next(events, None) or await receive()

    return replay
