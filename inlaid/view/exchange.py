"""Exchange: a request whose body has arrived, and the reply to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from inlaid.errors import RequestError, SettingError
from inlaid.messages import Language

JSON = "application/json"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY
DEEPEST = 16
"""Levels of lists and objects in a body; those that are asked for have three."""


@dataclass(slots=True)
class Request:
    """A request as a handler gets it: whole, checked and within all limits."""

    method: str
    path: str
    body: bytes
    language: Language
    reserve: Callable[[int], None]
    """Counts memory that the answer will need; TooBusy where too much is in use."""

    def json(self) -> Any:
        """The body; RequestError where it is not JSON (not UTF-8, half a character), or nested too deep."""
        try:
            value = orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise RequestError("The body is not JSON: {reason}.", reason=str(error)) from None
        if self.body.count(b"[") + self.body.count(b"{") > DEEPEST and is_deeper(value, DEEPEST):
            raise SettingError("The body is nested more than {most} levels deep.", most=DEEPEST)
        return value


@dataclass(slots=True)
class Reply:
    """What is sent back: a body, or pieces of one as they are made."""

    body: bytes = b""
    status: int = 200
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: AsyncGenerator[bytes] | None = None


Handler = Callable[[Request], Awaitable[Reply]]
Routes = dict[str, dict[str, Handler]]
"""Path -> method -> handler. A path that ends in /* takes all that begins like it."""


def is_deeper(value: Any, most: int) -> bool:
    """Whether lists and objects stand inside each other more often than this."""
    level = [value]
    for _ in range(most + 1):
        lists = [each for each in level if isinstance(each, list)]
        objects = [each.values() for each in level if isinstance(each, dict)]
        if not lists and not objects:
            return False
        level = [each for some in (*lists, *objects) for each in some if isinstance(each, (list, dict))]
    return True


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A value as JSON; arrays of NumPy are written as they are."""
    return Reply(orjson.dumps(value, option=OPTIONS), status, headers=headers or {})
