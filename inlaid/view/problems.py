"""Problems: errors as JSON, with the sentences of the command line, in the language of the client."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from inlaid.errors import (
    Forbidden,
    InlaidError,
    KeyNeeded,
    NotFound,
    OutOfVocabulary,
    RequestError,
    TooBusy,
    TooLarge,
    TooSlow,
    UnknownName,
    WrongEncoding,
    WrongMethod,
)
from inlaid.messages import Language, Message, catalogue, render

LONGEST = 1000
"""Characters of a text in an error: what a client sent by mistake may be a whole book."""


STATUS: dict[type[InlaidError], int] = {
    NotFound: 404,
    WrongMethod: 405,
    Forbidden: 403,
    KeyNeeded: 401,
    WrongEncoding: 415,
    TooLarge: 413,
    TooSlow: 408,
    TooBusy: 429,
    RequestError: 400,
    OutOfVocabulary: 404,
    UnknownName: 404,
}
"""The status of HTTP for each kind of error; of any other, UNPROCESSABLE."""
UNPROCESSABLE = 422
OPENAI = "/v1/"
OLLAMA = ("/api/embed", "/api/tags", "/api/version")
TEI = ("/embed", "/info")
CODES: dict[type[InlaidError], str] = {
    UnknownName: "model_not_found",
    KeyNeeded: "invalid_api_key",
    TooBusy: "rate_limit_exceeded",
}
"""What OpenAI calls these errors."""
RETRY_AFTER = "1"
"""Seconds after which a busy server may be asked again."""


def status_of(error: InlaidError) -> int:
    """The status of HTTP for an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), UNPROCESSABLE)


def headers_of(error: InlaidError) -> dict[str, str]:
    """The headers that go with the status."""
    if isinstance(error, TooBusy):
        return {"retry-after": RETRY_AFTER}
    if isinstance(error, KeyNeeded):
        return {"www-authenticate": "Bearer"}
    return {}


def problem(error: InlaidError, language: Language, path: str = "") -> tuple[int, dict[str, Any]]:
    """The status, and {"error": {sentence, message, values, kind}}: the sentence has placeholders, for
    programs; the message is whole, for people. At the paths of other APIs, an error is as theirs."""
    status = status_of(error)
    told: dict[str, Any] = {**message_parts(error, language), "kind": type(error).__name__}
    if path.startswith(OLLAMA):
        return _as_bad_request(status), {"error": told["message"]}
    if path in TEI:
        kind = "Overloaded" if isinstance(error, TooBusy) else "Validation"
        return status, {"error": told["message"], "error_type": kind}
    if path.startswith(OPENAI):
        told |= {"type": "invalid_request_error", "param": None, "code": CODES.get(type(error))}
        return _as_bad_request(status), {"error": told}
    return status, {"error": told}


def _as_bad_request(status: int) -> int:
    """Other APIs say 400 where a field is not what it may be."""
    return 400 if status == UNPROCESSABLE else status


def message_parts(message: Message | InlaidError, language: Language) -> dict[str, Any]:
    """A message for programs and for people."""
    return {
        "sentence": message.sentence,
        "message": shortened(message.in_language(language)),
        "values": {name: _value(value, language) for name, value in message.values.items()},
    }


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _value(value: Any, language: Language) -> Any:
    """A value of a message as JSON can hold it."""
    sentence = getattr(value, "sentence", None)
    if isinstance(sentence, str):
        return render(sentence, value.values, catalogue(language))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _value(each, language) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(each, language) for each in value]
    return shortened(str(value))


def language_of(accepted: str) -> Language:
    """The language of an Accept-Language header: the one of ours with the highest weight; English otherwise.

    >>> language_of("zh-CN,zh;q=0.9,en;q=0.8")
    'zh'
    """
    best: Language = "en"
    weight = 0.0
    for code, given in re.findall(r"([A-Za-z*]+)[\w-]*\s*(?:;\s*q=([\d.]{1,5}))?", accepted[:200]):
        try:
            found = float(given) if given else 1.0
        except ValueError:
            continue
        if code.lower() in ("zh", "en") and found > weight:
            best = "zh" if code.lower() == "zh" else "en"
            weight = found
    return best
