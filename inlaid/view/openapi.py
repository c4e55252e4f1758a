"""OpenAPI: the description of the API, made from the endpoints."""

from __future__ import annotations

from importlib.resources import files as resources
from typing import Any

from fastapi import FastAPI

from inlaid.view.endpoints import Endpoint, endpoints
from inlaid.view.exchange import Reply, Request, Routes, json_reply
from inlaid.view.spaces import Spaces

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["sentence", "message", "values", "kind"],
            "properties": {
                "sentence": {"type": "string", "description": "English, with placeholders: for programs"},
                "message": {
                    "type": "string",
                    "description": "in the language of Accept-Language: for people",
                },
                "values": {"type": "object", "description": "what fills the placeholders"},
                "kind": {"type": "string", "description": "such as OutOfVocabulary"},
            },
        }
    },
}
MESSAGE = {
    "type": "object",
    "required": ["sentence", "message", "values"],
    "properties": {
        "sentence": {"type": "string"},
        "message": {"type": "string"},
        "values": {"type": "object"},
    },
}
PAGE_HEADERS = {
    "content-security-policy": "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
NAME = {"type": "string", "description": "the name of a space; the first one where it is left out"}
NUMBER = {"type": "integer", "minimum": 1}


def _fields(required: str, **properties: Any) -> dict[str, Any]:
    example = {required: "king"}
    return {"type": "object", "required": [required], "properties": properties, "examples": [example]}


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "/v1/embeddings": (
        "Texts to vectors, as OpenAI's API.",
        _fields(
            "input",
            input=TEXTS,
            model=NAME,
            encoding_format={"enum": ["float", "base64"]},
            dimensions=NUMBER,
        ),
    ),
    "/api/embed": (
        "Texts to vectors, as Ollama's API.",
        _fields("input", input=TEXTS, model=NAME, truncate={"type": "boolean"}, dimensions=NUMBER),
    ),
    "/api/embeddings": (
        "A text to its vector, as Ollama's API.",
        _fields("prompt", prompt={"type": "string"}, model=NAME),
    ),
    "/embed": (
        "Texts to vectors, as text-embeddings-inference.",
        _fields("inputs", inputs=TEXTS, normalize={"type": "boolean"}, truncate={"type": "boolean"}),
    ),
    "/api/v1/tokenize": (
        "How a text is cut, by a space or by a tokenizer.",
        _fields(
            "text", text={"type": "string"}, space=NAME, tokenizer={"enum": ["whitespace", "word", "char"]}
        ),
    ),
}
"""Endpoints that are no analyses, and what they take."""
STATUSES = {
    "400": "not JSON",
    "404": "no such space, or a word out of the vocabulary",
    "413": "too large",
    "422": "a field is not what it may be",
    "429": "too many requests; see Retry-After",
}


def routes(other: FastAPI, spaces: Spaces) -> Routes:
    """The description of everything, the routes of FastAPI included."""

    def described() -> dict[str, Any]:
        found = other.openapi()
        return {**found, "paths": {**paths(spaces), **found.get("paths", {})}}

    async def description(request: Request) -> Reply:
        return json_reply(described())

    page = (resources("inlaid.view") / "docs.html").read_bytes()

    async def docs(request: Request) -> Reply:
        return Reply(page, type="text/html; charset=utf-8", headers=PAGE_HEADERS)

    return {"/openapi.json": {"GET": description}, "/docs": {"GET": docs}}


def paths(spaces: Spaces | None = None) -> dict[str, Any]:
    """Path -> method -> what it takes and gives."""
    listed = {"type": "object", "required": ["spaces"], "properties": {"spaces": {"type": "array"}}}
    analyses = {"type": "object", "required": ["analyses"], "properties": {"analyses": {"type": "array"}}}
    found: dict[str, Any] = {
        "/api/v1/spaces": {"get": operation("spaces", "The vectors and models that are served.", listed)},
        "/api/v1/analyses": {"get": operation("analyses", "What can be asked, with schemas.", analyses)},
    }
    for each in endpoints().values():
        found[f"/api/v1/{each.name}"] = {"post": _posted(each, spaces)}
    for path, (summary, schema) in OTHERS.items():
        found[path] = {"post": _with_body(operation(path.strip("/").replace("/", "_"), summary, {}), schema)}
    return found


def operation(name: str, summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": _response("the answer", schema)},
    }


def _posted(endpoint: Endpoint, spaces: Spaces | None) -> dict[str, Any]:
    answer = {
        "type": "object",
        "required": ["result", "notes"],
        "properties": {"result": {"type": "object"}, "notes": {"type": "array", "items": MESSAGE}},
    }
    return _with_body(operation(endpoint.name, endpoint.summary, answer), endpoint.schema(spaces))


def _with_body(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The same operation with what it takes, and the errors that may be the answer."""
    described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    described["responses"] |= {status: _response(text, ERROR) for status, text in STATUSES.items()}
    return described


def _response(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
