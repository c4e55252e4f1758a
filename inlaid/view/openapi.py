"""OpenAPI: the description of the API, made from the endpoints."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import FastAPI

from inlaid.view.endpoints import Endpoint, endpoints
from inlaid.view.exchange import Reply, Request, Routes, json_reply

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
STATUSES = {
    "400": "not JSON",
    "404": "no such space, or a word out of the vocabulary",
    "413": "too large",
    "422": "a field is not what it may be",
    "429": "too many requests; see Retry-After",
}


def routes(other: FastAPI) -> Routes:
    """The description of everything, the routes of FastAPI included."""

    @functools.cache
    def described() -> dict[str, Any]:
        found = other.openapi()
        found["paths"] = {**paths(), **found.get("paths", {})}
        return found

    async def description(request: Request) -> Reply:
        return json_reply(described())

    return {"/openapi.json": {"GET": description}}


def paths() -> dict[str, Any]:
    """Path -> method -> what it takes and gives."""
    spaces = {"type": "object", "required": ["spaces"], "properties": {"spaces": {"type": "array"}}}
    analyses = {"type": "object", "required": ["analyses"], "properties": {"analyses": {"type": "array"}}}
    found: dict[str, Any] = {
        "/api/v1/spaces": {"get": operation("spaces", "The vectors and models that are served.", spaces)},
        "/api/v1/analyses": {"get": operation("analyses", "What can be asked, with schemas.", analyses)},
    }
    for each in endpoints().values():
        found[f"/api/v1/{each.name}"] = {"post": _posted(each)}
    return found


def operation(name: str, summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": _response("the answer", schema)},
    }


def _posted(endpoint: Endpoint) -> dict[str, Any]:
    answer = {
        "type": "object",
        "required": ["result", "notes"],
        "properties": {"result": {"type": "object"}, "notes": {"type": "array", "items": MESSAGE}},
    }
    schema = endpoint.request.model_json_schema()
    described = operation(endpoint.name, endpoint.summary, answer)
    described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    described["responses"] |= {status: _response(text, ERROR) for status, text in STATUSES.items()}
    return described


def _response(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
