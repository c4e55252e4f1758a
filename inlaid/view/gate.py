"""Gate: what every request passes before a handler sees it: names, origins, keys, sizes, time, number."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from inlaid.errors import (
    Forbidden,
    InlaidError,
    KeyNeeded,
    RequestError,
    TooBusy,
    TooLarge,
    TooSlow,
    WrongMethod,
)
from inlaid.messages import Language, Listed, speaking
from inlaid.view.exchange import Handler, Reply, Request, Routes, json_reply
from inlaid.view.problems import headers_of, language_of, problem
from inlaid.view.settings import ServeSettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""What this machine calls itself; any other name in a browser may be an attack (DNS rebinding)."""
EVERYWHERE = ("0.0.0.0", "::", "")
OPEN = ("/health", "/ready")
"""Paths that need no key."""
BUFFERED = 256 << 20
"""Bytes of bodies that are in memory at the same time, those of all requests together."""
FAILED = {"error": {"sentence": "", "message": "Internal error", "values": {}, "kind": "InternalError"}}
CORS = "GET, POST, OPTIONS"


class Gate:
    """The ASGI application: routes of our own, and an application for all other paths."""

    def __init__(self, routes: Routes, other: App, settings: ServeSettings, keys: Iterable[str] = ()) -> None:
        self.routes = routes
        self.prefixes = [path[:-1] for path in routes if path.endswith("/*")]
        self.other = other
        self.settings = settings
        self.hosts = {each.lower() for each in (*LOCAL, *settings.allow_host)}
        if settings.host not in EVERYWHERE:
            self.hosts.add(f"[{settings.host}]" if ":" in settings.host else settings.host.lower())
        self.origins = {each.lower().rstrip("/") for each in settings.allow_origin}
        self.keys = [hashlib.sha256(each.encode()).digest() for each in keys]
        self.working = 0
        self.buffered = 0
        self.watches = list[Callable[[Seen], None]]()
        """Called with every request that has been answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.other(scope, receive, send)
            return
        seen = Seen(scope)
        try:
            await self._answer(seen, receive, send)
        finally:
            for watch in self.watches:
                watch(seen)

    async def _answer(self, seen: Seen, receive: Receive, send: Send) -> None:
        try:
            self._admit(seen)
            reply = await self._reply(seen, receive, send)
        except InlaidError as error:
            status, told = problem(error, seen.language, seen.path)
            reply = json_reply(told, status, headers_of(error))
        except Exception:
            logging.getLogger("inlaid").exception("%s %s failed", seen.method, seen.path)
            reply = json_reply(FAILED, 500)
        if reply is not None:
            await self._send(reply, seen, receive, send)

    def _admit(self, seen: Seen) -> None:
        """Raise an error for a request that comes by another name, from a strange page or without a key."""
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
            return Reply(
                status=204,
                headers={"access-control-allow-methods": CORS, "access-control-allow-headers": "*"},
            )
        handler = self._handler(seen)
        body = await self._body(seen, receive)
        seen.body = body
        try:
            if self.working >= self.settings.max_requests:
                raise TooBusy("Too many requests at the same time. Ask again in a second.")
            self.working += 1
            try:
                if handler is None:
                    await self.other(seen.scope, _replayed(body, receive), seen.counting(send))
                    return None
                with speaking(seen.language):
                    return await handler(Request(seen.method, seen.path, body, seen.language))
            finally:
                self.working -= 1
        finally:
            self.buffered -= len(body)

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

    async def _body(self, seen: Seen, receive: Receive) -> bytes:
        """The body, if it arrives in time and is not too large; counted in `buffered`."""
        most = self.settings.max_body
        announced = seen.headers.get(b"content-length")
        if announced is not None and (not announced.isdigit() or int(announced) > most):
            seen.broken = True
            raise _too_large(most)
        parts = list[bytes]()
        size = 0
        try:
            async with asyncio.timeout(self.settings.timeout):
                while True:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        seen.broken = True
                        raise RequestError("The connection was closed before the body had arrived.")
                    part = event.get("body", b"")
                    size += len(part)
                    self.buffered += len(part)
                    parts.append(part)
                    if size > most:
                        raise _too_large(most)
                    if self.buffered > BUFFERED:
                        raise TooBusy("Too many requests at the same time. Ask again in a second.")
                    if not event.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            self.buffered -= size
            seen.broken = True
            raise TooSlow(
                "The body did not arrive within {seconds:g} s.", seconds=self.settings.timeout
            ) from None
        except RequestError:
            self.buffered -= size
            seen.broken = True
            raise

    async def _send(self, reply: Reply, seen: Seen, receive: Receive, send: Send) -> None:
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
            await send({"type": "http.response.body", "body": body})
            return
        gone = asyncio.ensure_future(receive())  # the client has nothing more to say than that it leaves
        try:
            async with contextlib.aclosing(reply.pieces) as pieces:
                async for piece in pieces:
                    seen.sent += len(piece)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if gone.done():
                        return
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


class Seen:
    """What is known of a request before its body is read, and of the reply."""

    __slots__ = ("body", "broken", "headers", "method", "origin", "path", "scope", "sent", "start", "status")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
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


def _too_large(most: int) -> TooLarge:
    return TooLarge("The body has more than {most:,} bytes. Send less at a time.", most=most)


def _without_port(host: str) -> str:
    """[::1]:8000 is [::1], localhost:8000 is localhost."""
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, for another application."""
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> MutableMapping[str, Any]:
        return next(events, None) or await receive()

    return replay
