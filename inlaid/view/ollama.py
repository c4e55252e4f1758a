"""Ollama's API: /api/embed, /api/embeddings, and what its clients ask before: /api/tags, /api/version."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from inlaid.view.embedding import Embedder, shortened, unit
from inlaid.view.exchange import Reply, Request, Routes, json_reply
from inlaid.view.openai import flag_field, inputs, number_field, object_in, text_field
from inlaid.view.spaces import Space, Spaces

VERSION = "0.6.0"
"""The version of Ollama whose API this is; its clients compare it."""
LATEST = ":latest"


def routes(spaces: Spaces, embedder: Embedder) -> Routes:
    """What /api answers."""

    def space_of(body: dict[str, Any]) -> Space:
        name = text_field(body, "model")
        return spaces.find(None if name is None else name.removesuffix(LATEST))

    async def embed(request: Request) -> Reply:
        started = time.perf_counter_ns()
        body = object_in(request)
        space = space_of(body)
        truncate = flag_field(body, "truncate", default=True)
        dimensions = number_field(body, "dimensions")
        found = await embedder.embed(space, inputs(body, space), request, truncate=truncate)
        rows = unit(shortened(found.rows, dimensions))
        answer = {
            "model": body.get("model") or space.name,
            "embeddings": rows,
            "total_duration": time.perf_counter_ns() - started,
            "load_duration": 0,
            "prompt_eval_count": found.tokens,
            **found.reported(),
        }
        return await embedder.written(answer, rows)

    async def embeddings(request: Request) -> Reply:
        body = object_in(request)
        space = space_of(body)
        prompt = inputs(body, space, "prompt")[:1]
        found = await embedder.embed(space, prompt, request, truncate=True)
        return json_reply({"embedding": found.rows[0], **found.reported()})

    async def tags(request: Request) -> Reply:
        return json_reply({"models": [_tag(each) for each in spaces]})

    async def version(request: Request) -> Reply:
        return json_reply({"version": VERSION})

    return {
        "/api/embed": {"POST": embed},
        "/api/embeddings": {"POST": embeddings},
        "/api/tags": {"GET": tags},
        "/api/version": {"GET": version},
    }


def _tag(space: Space) -> dict[str, Any]:
    modified = datetime.fromtimestamp(space.created, UTC).isoformat()
    return {
        "name": space.name,
        "model": space.name,
        "modified_at": modified,
        "size": 0,
        "digest": "",
        "details": {},
    }
