"""The API of text-embeddings-inference: /embed and /info."""

from __future__ import annotations

import json
from typing import Any

from inlaid.version import VERSION
from inlaid.view.embedding import Embedder, shortened, unit
from inlaid.view.exchange import Reply, Request, Routes, json_reply
from inlaid.view.openai import flag_field, inputs, number_field, object_in, text_field
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Spaces

UNKNOWN = "x-out-of-vocabulary"
"""The header that lists unknown words."""
LONGEST = 4000
"""Characters of that header."""


def routes(spaces: Spaces, embedder: Embedder, settings: ServeSettings) -> Routes:
    """What clients of text-embeddings-inference ask. They name no model: it is the first one, or `model`."""

    async def embed(request: Request) -> Reply:
        body = object_in(request)
        space = spaces.find(text_field(body, "model"))
        truncate = flag_field(body, "truncate", default=False)
        normalize = flag_field(body, "normalize", default=True)
        dimensions = number_field(body, "dimensions")
        found = await embedder.embed(space, inputs(body, space, "inputs"), request, truncate=truncate)
        rows = shortened(found.rows, dimensions)
        rows = unit(rows) if normalize else rows
        reply = await embedder.written(rows, rows)
        if found.unknown:  # the body is a list of vectors, which has no place for them
            told = json.dumps(found.reported()["out_of_vocabulary"])
            short = json.dumps([{"index": each.index} for each in found.unknown])
            reply.headers = {UNKNOWN: told if len(told) <= LONGEST else short}
        return reply

    async def info(request: Request) -> Reply:
        space = spaces.find()
        return json_reply(
            {
                "model_id": space.name,
                "model_sha": None,
                "model_dtype": "float32",
                "model_type": {"embedding": {"pooling": "mean"}},
                "max_input_length": _longest(space.model),
                "max_client_batch_size": settings.max_texts,
                "max_concurrent_requests": settings.max_requests,
                "tokenization_workers": settings.threads,
                "version": VERSION,
            }
        )

    return {"/embed": {"POST": embed}, "/info": {"GET": info}}


def _longest(model: Any) -> int | None:
    """Tokens that a text may have; word vectors have no limit."""
    return None if model is None else model.config.max_length
