"""OpenAI's API: /v1/embeddings and /v1/models, for clients that were written for it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.version import VERSION
from inlaid.view.embedding import Embedder, Embeddings, shortened, unit
from inlaid.view.exchange import Reply, Request, Routes, json_reply
from inlaid.view.spaces import Space, Spaces

FORMATS = (None, "float", "base64")


def routes(spaces: Spaces, embedder: Embedder) -> Routes:
    """What /v1 answers."""

    async def embeddings(request: Request) -> Reply:
        body = object_in(request)
        space = spaces.find(text_field(body, "model"))
        texts = inputs(body, space)
        encoding = body.get("encoding_format")
        if encoding not in FORMATS:
            raise SettingError(
                "{name} is {value!r}; expected {expected}.",
                name="encoding_format",
                value=encoding,
                expected=Message("one of {known}", known="float, base64"),
            )
        dimensions = number_field(body, "dimensions")
        found = await embedder.embed(space, texts, request)
        rows = unit(shortened(found.rows, dimensions))
        return await embedder.written(_answer(rows, space, found, packed=encoding == "base64"), rows)

    async def models(request: Request) -> Reply:
        return json_reply({"object": "list", "data": [_model(each) for each in spaces]})

    async def model(request: Request) -> Reply:
        return json_reply(_model(spaces.find(request.path.removeprefix("/v1/models/"))))

    return {
        "/v1/embeddings": {"POST": embeddings},
        "/v1/models": {"GET": models},
        "/v1/models/*": {"GET": model},
    }


def _answer(rows: np.ndarray, space: Space, found: Embeddings, *, packed: bool) -> dict[str, Any]:
    listed: Any = [_packed(row) for row in rows] if packed else rows
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(listed)
        ],
        "model": space.name,
        "usage": {"prompt_tokens": found.tokens, "total_tokens": found.tokens},
        **found.reported(),
    }


def _packed(row: np.ndarray) -> str:
    """float32, little-endian, in base64."""
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _model(space: Space) -> dict[str, Any]:
    return {"id": space.name, "object": "model", "created": space.created, "owned_by": f"inlaid {VERSION}"}


def object_in(request: Request) -> dict[str, Any]:
    """The JSON object of a body."""
    body = request.json()
    if not isinstance(body, dict):
        raise SettingError("Expected a JSON object with the fields of this endpoint.")
    return body


def text_field(body: dict[str, Any], name: str) -> str | None:
    """A field that is text or left out."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(name, value, Message("text"))
    return value


def number_field(body: dict[str, Any], name: str) -> int | None:
    """A field that is a whole number or left out."""
    value = body.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _wrong(name, value, Message("a whole number"))
    return value


def flag_field(body: dict[str, Any], name: str, *, default: bool) -> bool:
    """A field that is true, false or left out."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _wrong(name, value, Message("true or false"))
    return value


def _wrong(name: str, value: Any, expected: Message) -> SettingError:
    return SettingError(
        "{name} is {value!r}; expected {expected}.", name=name, value=value, expected=expected
    )


def inputs(body: dict[str, Any], space: Space, name: str = "input") -> list[str]:
    """The texts of a request: a string, a list of strings, tokens, or a list of lists of tokens."""
    value = body.get(name)
    if value is None:
        raise SettingError("{name} is missing. Give it.", name=name)
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        if all(isinstance(each, str) for each in value):
            return value
        lists = [value] if all(_is_id(each) for each in value) else value
        if all(isinstance(each, list) and each and all(_is_id(id) for id in each) for each in lists):
            return [_text_of(each, space) for each in lists]
    raise _wrong(name, value, Message("text, or a list of texts"))


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text_of(ids: list[int], space: Space) -> str:
    """The text that the tokenizer of a model makes these ids of; a SettingError for ids it never makes, such
    as those of OpenAI's tokenizer."""
    tokenizer = None if space.model is None else space.model.tokenizer
    known = getattr(tokenizer, "get_vocab_size", None)
    if tokenizer is not None and known is not None and all(0 <= id < known() for id in ids):
        text = tokenizer.decode(ids)
        if tokenizer.encode(text).ids == ids:
            return text
    raise SettingError(
        "These token ids are not of the tokenizer of '{name}'. Send text: in langchain with "
        "OpenAIEmbeddings(check_embedding_ctx_length=False).",
        name=space.name,
    )
