"""Operation: what those who run the server ask: /health, /ready, /metrics."""

from __future__ import annotations

from inlaid.view.embedding import Embedder
from inlaid.view.exchange import Reply, Request, Routes, json_reply
from inlaid.view.gate import Gate
from inlaid.view.metrics import Metrics
from inlaid.view.spaces import Spaces

TEXT = "text/plain; version=0.0.4; charset=utf-8"


def routes(gate: Gate, spaces: Spaces, embedder: Embedder) -> Routes:
    """The process answers (/health), what is served is loaded (/ready), and how much was done (/metrics)."""
    metrics = Metrics([*gate.routes, "/health", "/ready", "/metrics"])
    gate.watches.append(metrics.count)

    async def health(request: Request) -> Reply:
        return json_reply({"status": "ok"})

    async def ready(request: Request) -> Reply:
        return json_reply({"status": "ready", "spaces": [each.name for each in spaces]})

    async def measured(request: Request) -> Reply:
        batches, items = embedder.batcher.sizes
        lines = [
            *metrics.lines(),
            "# TYPE inlaid_in_flight gauge",
            f"inlaid_in_flight {gate.working}",
            "# TYPE inlaid_buffered_bytes gauge",
            f"inlaid_buffered_bytes {gate.bodies.buffered}",
            "# TYPE inlaid_batches_total counter",
            f"inlaid_batches_total {batches}",
            "# TYPE inlaid_batched_texts_total counter",
            f"inlaid_batched_texts_total {items}",
        ]
        return Reply(("\n".join(lines) + "\n").encode(), type=TEXT)

    return {"/health": {"GET": health}, "/ready": {"GET": ready}, "/metrics": {"GET": measured}}
