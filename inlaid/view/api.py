"""Our own API: /api/v1/spaces, /api/v1/analyses, and an endpoint for each analysis of the registry."""

from __future__ import annotations

from typing import Any

from inlaid.messages import translated
from inlaid.view.endpoints import Endpoint, endpoints
from inlaid.view.exchange import Handler, Reply, Request, Routes, json_reply
from inlaid.view.problems import message_parts
from inlaid.view.spaces import Spaces
from inlaid.view.threads import Threads

ROOT = "/api/v1"


def routes(spaces: Spaces, threads: Threads) -> Routes:
    """What /api/v1 answers."""

    async def listed(request: Request) -> Reply:
        return json_reply({"spaces": [each.summary() for each in spaces]})

    async def analyses(request: Request) -> Reply:
        return json_reply({"analyses": [_described(each) for each in endpoints().values()]})

    found: Routes = {f"{ROOT}/spaces": {"GET": listed}, f"{ROOT}/analyses": {"GET": analyses}}
    for endpoint in endpoints().values():
        found[f"{ROOT}/{endpoint.name}"] = {"POST": _handler(endpoint, spaces, threads)}
    return found


def _described(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "summary": translated(endpoint.summary),
        "spaces": {
            name: [kind.__name__ for kind in each.accepts or (each.type,)]
            for name, each in endpoint.spaces.items()
        },
        "request": endpoint.request.model_json_schema(),
    }


def _handler(endpoint: Endpoint, spaces: Spaces, threads: Threads) -> Handler:
    async def answer(request: Request) -> Reply:
        body = request.json()
        found = await threads.run(endpoint.call, body, spaces)
        notes = [message_parts(each, request.language) for each in found.notes]
        return json_reply({"result": found.result, "notes": notes})

    return answer
