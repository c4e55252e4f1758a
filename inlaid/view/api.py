"""Our own API: /api/v1/spaces, /api/v1/analyses, and an endpoint for each analysis of the registry."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import orjson

from inlaid.errors import InlaidError
from inlaid.messages import translated
from inlaid.view.answers import Answers
from inlaid.view.endpoints import Answer, Endpoint, endpoints
from inlaid.view.exchange import OPTIONS, Handler, Reply, Request, Routes, json_reply
from inlaid.view.limits import refuse_long_fields
from inlaid.view.problems import message_parts, problem
from inlaid.view.searches import NAME, Searches
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Spaces
from inlaid.view.threads import Threads
from inlaid.view.tokens import tokenized

ROOT = "/api/v1"
STREAM = "stream"
"""The field that asks for the text piece by piece, as server-sent events."""
EVENTS = "text/event-stream"


def routes(spaces: Spaces, settings: ServeSettings, *, threads: Threads, quick: Threads) -> Routes:
    """What /api/v1 answers. Searches and tokens have the quick threads, all other analyses the others."""

    async def listed(request: Request) -> Reply:
        return json_reply({"spaces": [each.summary() for each in spaces]})

    async def analyses(request: Request) -> Reply:
        return json_reply({"analyses": [_described(each, spaces) for each in endpoints().values()]})

    async def tokens(request: Request) -> Reply:
        body = request.json()
        refuse_long_fields(body, settings)
        return json_reply(await quick.run(tokenized, body, spaces))

    found: Routes = {
        f"{ROOT}/spaces": {"GET": listed},
        f"{ROOT}/analyses": {"GET": analyses},
        f"{ROOT}/tokenize": {"POST": tokens},
    }
    answers = Answers(spaces)
    for endpoint in endpoints().values():
        handler = _handler(endpoint, spaces, settings, quick if endpoint.is_lookup else threads)
        if endpoint.is_lookup:
            searches = Searches(quick) if endpoint.name == NAME else None
            handler = _kept(endpoint, spaces, settings, handler, answers, searches)
        found[f"{ROOT}/{endpoint.name}"] = {"POST": handler}
    return found


def _described(endpoint: Endpoint, spaces: Spaces) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "summary": translated(endpoint.summary),
        "streams": endpoint.study.streams,
        "spaces": {
            name: [kind.__name__ for kind in each.accepts or (each.type,)]
            for name, each in endpoint.spaces.items()
        },
        "request": endpoint.schema(spaces),
    }


def _kept(
    endpoint: Endpoint,
    spaces: Spaces,
    settings: ServeSettings,
    handler: Handler,
    answers: Answers,
    searches: Searches | None,
) -> Handler:
    """Answers searches; one that was asked a moment ago is not searched again."""

    async def found(request: Request) -> Reply:
        if searches is not None:
            body = request.json()
            refuse_long_fields(body, settings)
            quick = await searches.answer(endpoint.arguments(body, spaces))
            if quick is not None:
                return json_reply(_told(quick, request))
        return await handler(request)

    async def answer(request: Request) -> Reply:
        asked = (endpoint.name, request.language)
        kept = answers.find(asked, request.body)
        if kept is not None:
            return Reply(kept)
        version = spaces.version
        reply = await found(request)
        answers.keep(asked, request.body, reply.body, version)
        return reply

    return answer


def _handler(endpoint: Endpoint, spaces: Spaces, settings: ServeSettings, threads: Threads) -> Handler:
    async def answer(request: Request) -> Reply:
        body = request.json()
        refuse_long_fields(body, settings)
        if endpoint.study.streams and isinstance(body, dict) and body.pop(STREAM, False) is True:
            endpoint.arguments(body, spaces)  # what is wrong is said before the stream begins
            events = _Stream(endpoint, body, spaces, threads, request).events()
            return Reply(type=EVENTS, pieces=events, headers={"cache-control": "no-store"})
        found = await threads.run(endpoint.call, body, spaces)
        return json_reply(_told(found, request))

    return answer


def _told(found: Answer, request: Request) -> dict[str, Any]:
    notes = [message_parts(each, request.language) for each in found.notes]
    return {"result": found.result, "notes": notes}


class _Left(Exception):  # it ends the work of a thread, and is no error
    """The client has closed the connection."""


class _Stream:
    """An analysis whose text is sent while it is made: events {"text"}, then {"result", "notes"} or
    {"error"}."""

    def __init__(
        self, endpoint: Endpoint, body: Any, spaces: Spaces, threads: Threads, request: Request
    ) -> None:
        self.endpoint = endpoint
        self.body = body
        self.spaces = spaces
        self.threads = threads
        self.request = request
        self.loop = asyncio.get_running_loop()
        self.pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.left = threading.Event()

    async def events(self) -> AsyncGenerator[bytes]:
        work = asyncio.ensure_future(self.threads.run(self._work))
        try:
            while (piece := await self.pieces.get()) is not None:
                yield _event({"text": piece})
            yield _event(await work)
        finally:
            self.left.set()
            work.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _work(self) -> dict[str, Any]:
        """In a thread: the last event."""
        try:
            found = self.endpoint.call(self.body, self.spaces, stream=self._take)
            return _told(found, self.request)
        except InlaidError as error:
            return problem(error, self.request.language)[1]
        except _Left:
            return {}
        finally:
            self.loop.call_soon_threadsafe(self.pieces.put_nowait, None)

    def _take(self, piece: str) -> None:
        if self.left.is_set():
            raise _Left
        self.loop.call_soon_threadsafe(self.pieces.put_nowait, piece)


def _event(value: Any) -> bytes:
    return b"data: " + orjson.dumps(value, option=OPTIONS) + b"\n\n"
