"""Routes: the page of the explorer and what it alone asks for; everything else comes from /api/v1."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from inlaid.view.explorer.inside import attention_columns, tokens_of
from inlaid.view.explorer.page import HEADERS, TYPES, page_file
from inlaid.view.explorer.state import Explorer
from inlaid.view.problems import language_of

BINARY = "application/octet-stream"
LONGEST = 10_000
"""Characters of a word, or of words, that a client may send."""
Words = list[str]


class WhyRequest(BaseModel):
    """Two words of a space."""

    model_config = ConfigDict(extra="forbid")
    space: str = Field(max_length=LONGEST)
    first: str = Field(max_length=LONGEST)
    second: str = Field(max_length=LONGEST)


class TextRequest(BaseModel):
    """A text for a model."""

    model_config = ConfigDict(extra="forbid")
    space: str = Field(max_length=LONGEST)
    text: str = Field(max_length=100_000)
    target: str | None = Field(default=None, max_length=100_000)
    tokens: bool = False


def explorer_routes(explorer: Explorer) -> APIRouter:
    """The routes of one explorer, for the app."""
    routes = APIRouter(include_in_schema=False)

    def page(name: str) -> Response:
        found = page_file(name)
        return Response(found.content, media_type=found.type, headers=HEADERS)

    for name in TYPES:
        path = "/" if name == "index.html" else f"/{name}"
        routes.add_api_route(path, lambda name=name: page(name), methods=["GET"], response_class=Response)
    _add_maps(routes, explorer)
    _add_questions(routes, explorer)
    return routes


def _add_maps(routes: APIRouter, explorer: Explorer) -> None:
    @routes.get("/explorer/start")
    def start() -> dict[str, Any]:
        return explorer.beginning()

    @routes.get("/explorer/words")
    def words(space: str) -> Response:
        return Response(explorer.words(space), media_type=BINARY)

    @routes.get("/explorer/layouts")
    def layouts(space: str) -> dict[str, Any]:
        explorer.vectors(space)
        return {"layouts": explorer.layouts[space].statuses()}

    @routes.post("/explorer/layouts")
    def begin(space: str, method: Literal["pca", "tsne", "umap"]) -> dict[str, Any]:
        return explorer.layout(space, method).status()

    @routes.get("/explorer/places")
    def places(space: str, method: Literal["pca", "tsne", "umap"], onto: str | None = None) -> Response:
        return Response(explorer.places(space, method, onto), media_type=BINARY)

    @routes.get("/explorer/colors")
    def colors(
        space: str,
        by: str,
        start: Words = Query(default=[], alias="from"),  # noqa: B008
        end: Words = Query(default=[], alias="to"),  # noqa: B008
    ) -> Response:
        return Response(explorer.color(space, by, start, end), media_type=BINARY)


def _add_questions(routes: APIRouter, explorer: Explorer) -> None:
    @routes.get("/explorer/complete")
    def complete(space: str, typed: str = Query(max_length=LONGEST)) -> dict[str, Any]:
        return explorer.complete(space, typed)

    @routes.post("/explorer/why")
    def why(asked: WhyRequest, request: Request) -> dict[str, Any]:
        language = language_of(request.headers.get("accept-language", ""))
        return explorer.why(asked.space, asked.first, asked.second, language)

    @routes.post("/explorer/tokens")
    def tokens(asked: TextRequest) -> dict[str, Any]:
        return tokens_of(explorer.model(asked.space), asked.text)

    @routes.post("/explorer/attention")
    def attention(asked: TextRequest) -> Response:
        model = explorer.model(asked.space)
        found = attention_columns(model, asked.text, target=asked.target, tokens=asked.tokens)
        return Response(found, media_type=BINARY)
