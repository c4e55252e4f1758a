"""The application: everything that is served, behind the gate."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import JSONResponse

from inlaid.errors import InlaidError, NotFound, RequestError
from inlaid.version import VERSION
from inlaid.view import api, ollama, openai, openapi, operation, tei
from inlaid.view.access_log import AccessLog
from inlaid.view.embedding import Embedder
from inlaid.view.gate import Gate
from inlaid.view.problems import headers_of, language_of, problem
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Spaces
from inlaid.view.threads import Threads


def make_app(
    spaces: Spaces,
    settings: ServeSettings | None = None,
    *,
    routers: Iterable[APIRouter] = (),
    keys: Iterable[str] = (),
) -> Gate:
    """The ASGI application that serves these spaces.

    `routers` are further endpoints of FastAPI, such as those of a page; they find the spaces as
    `request.app.state.spaces` and threads for their work as `request.app.state.threads`.
    """
    settings = settings or ServeSettings()
    threads = Threads(settings.threads)
    other = FastAPI(title="Inlaid", version=VERSION, docs_url=None, redoc_url=None, openapi_url=None)
    other.state.spaces = spaces
    other.state.threads = threads
    other.state.settings = settings
    for router in routers:
        other.include_router(router)
    other.add_exception_handler(InlaidError, _problem)
    other.add_exception_handler(HTTPException, _http_problem)
    quick = Threads(settings.threads)  # a search does not wait for analyses that take minutes
    embedder = Embedder(settings, quick)
    other.state.embedder = embedder
    routes = {
        **api.routes(spaces, settings, threads=threads, quick=quick),
        **openai.routes(spaces, embedder),
        **ollama.routes(spaces, embedder),
        **tei.routes(spaces, embedder, settings),
        **openapi.routes(other, spaces),
    }
    gate = Gate(routes, other, settings, embedder, keys)
    gate.routes |= operation.routes(gate, spaces, embedder)
    if settings.access_log:
        gate.watches.append(AccessLog(sys.stderr, with_texts=settings.log_texts).write)
    return gate


async def _problem(request: StarletteRequest, error: Any) -> JSONResponse:
    language = language_of(request.headers.get("accept-language", ""))
    status, told = problem(error, language, request.url.path)
    return JSONResponse(told, status, headers_of(error))


async def _http_problem(request: StarletteRequest, error: Any) -> JSONResponse:
    if error.status_code != 404:
        return await _problem(request, RequestError("{problem}", problem=error.detail))
    refused = NotFound("There is nothing at {path}. /docs lists what there is.", path=request.url.path)
    return await _problem(request, refused)
