"""Bodies: how those of requests arrive and those of replies leave, within limits of size, time and memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any

from inlaid.errors import RequestError, TooBusy, TooLarge, TooSlow
from inlaid.view.settings import ServeSettings

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

BUFFERED = 256 << 20
"""Bytes of bodies, of requests and of large replies, that are in memory at the same time."""
PIECE = 256 << 10
"""Bytes of a reply that are handed over at once: the next piece waits until the client has taken some."""
DRAINED = 64 << 20
"""Bytes of a body that is too large that are read and forgotten: who still writes reads no reply."""
PAUSE = 1.0
"""Seconds without a byte after which the rest of such a body is not waited for."""


class Bodies:
    """The bodies that are in memory."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.buffered = 0

    async def arrived(self, receive: Receive, announced: bytes | None) -> bytes:
        """The body of a request, if it arrives in time and is not too large; it counts until `forget`."""
        parts = list[bytes]()
        size = 0
        try:
            async with asyncio.timeout(self.settings.timeout):
                if announced is not None and (not announced.isdigit() or int(announced) > DRAINED):
                    raise self._too_large()
                while True:
                    part, more = await _part(receive)
                    size += len(part)
                    self.buffered += len(part)
                    parts.append(part)
                    if size > self.settings.max_body:
                        await _drain(receive, size, more=more)
                        raise self._too_large()
                    if self.buffered > BUFFERED:
                        raise too_busy()
                    if not more:
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            self.buffered -= size
            if size > self.settings.max_body:
                raise self._too_large() from None
            raise TooSlow(
                "The body did not arrive within {seconds:g} s.", seconds=self.settings.timeout
            ) from None
        except BaseException:
            self.buffered -= size
            raise

    def forget(self, body: bytes) -> None:
        """A body has been worked on."""
        self.buffered -= len(body)

    def reserve(self, count: int) -> None:
        """Count memory that an answer will need, before it is made; whoever reserves it gives it back."""
        if self.buffered + count > BUFFERED:
            raise too_busy()
        self.buffered += count

    async def leave(self, body: bytes, send: Send) -> None:
        """Send a long body. A client that takes nothing of it for too long is cut off."""
        for start in range(0, len(body), PIECE):
            end = start + PIECE
            event = {"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)}
            try:
                async with asyncio.timeout(self.settings.timeout):
                    await send(event)
            except TimeoutError:
                return

    def _too_large(self) -> TooLarge:
        most = self.settings.max_body
        return TooLarge("The body has more than {most:,} bytes. Send less at a time.", most=most)


def too_busy() -> TooBusy:
    return TooBusy("Too many requests at the same time. Ask again in a second.")


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """The next part of a body, and whether more follows."""
    event = await receive()
    if event["type"] == "http.disconnect":
        raise RequestError("The connection was closed before the body had arrived.")
    return event.get("body", b""), event.get("more_body", False)


async def _drain(receive: Receive, size: int, *, more: bool) -> None:
    """Read the rest of a body, and forget it."""
    with contextlib.suppress(TimeoutError, RequestError):
        while more and size < DRAINED:
            async with asyncio.timeout(PAUSE):
                part, more = await _part(receive)
            size += len(part)


async def stream(
    pieces: AsyncGenerator[bytes], receive: Receive, send: Send, seconds: float
) -> AsyncGenerator[int]:
    """Send pieces as they are made, until the client leaves or takes none for too long; the size of each."""
    gone = asyncio.ensure_future(receive())  # the client has nothing more to say than that it leaves
    try:
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                async with asyncio.timeout(seconds):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                yield len(piece)
                if gone.done():
                    return
    except TimeoutError:
        return
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})
