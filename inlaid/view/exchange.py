"""Exchange: a request whose body has arrived, and the reply to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from inlaid.errors import RequestError
from inlaid.messages import Language

JSON = "application/json"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY


@dataclass(slots=True)
class Request:
    """A request as a handler gets it: whole, checked and within all limits."""

    method: str
    path: str
    body: bytes
    language: Language

    def json(self) -> Any:
        """The body; RequestError where it is not JSON: nested too deep, not UTF-8, half a character."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise RequestError("The body is not JSON: {reason}.", reason=str(error)) from None


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


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A value as JSON; arrays of NumPy are written as they are."""
    return Reply(orjson.dumps(value, option=OPTIONS), status, headers=headers or {})
