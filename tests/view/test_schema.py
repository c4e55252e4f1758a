"""Requests made from the schemas: none of them is answered by an error of the server."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest

schemathesis = pytest.importorskip("schemathesis")
EXAMPLES = 6
SLOW = ("/api/v1/evaluate", "/api/v1/dimensions", "/api/v1/probe", "/api/v1/map", "/api/v1/map_texts")
"""Analyses that take seconds for every request; `benchmarks/serve_schemas.py` asks them too."""


def test_no_request_is_answered_by_an_error_of_the_server(server: Any):
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json").exclude(path=list(SLOW))
    asked = 0
    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        @hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            suppress_health_check=[*hypothesis.HealthCheck],
        )
        @hypothesis.seed(1)
        @hypothesis.given(case=strategy)
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            reply = case.call(base_url=server.url)
            assert reply.status_code < 500, (case.path, case.body, reply.text)

        ask()
    assert asked > 50
