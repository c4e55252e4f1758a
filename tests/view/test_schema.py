"""Requests made from the schemas: none of them is answered by an error of the server."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("schemathesis")
CAMPAIGN = Path(__file__).parents[1] / "campaigns" / "serve_schemas.py"
EXAMPLES = 3
SLOW = ("/api/v1/evaluate", "/api/v1/dimensions", "/api/v1/probe", "/api/v1/map", "/api/v1/map_texts")
"""Analyses that take seconds for every request; the campaign asks them too."""


@pytest.fixture(scope="module")
def campaign() -> Any:
    spec = importlib.util.spec_from_file_location("serve_schemas", CAMPAIGN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_request_is_answered_by_an_error_of_the_server(server: Any, campaign: Any):
    statuses = Counter[int]()
    for operation in campaign.operations_of(server.url, SLOW):
        for path, body, status in campaign.asked(operation, server.url, EXAMPLES, seed=1):
            assert status < 500, (path, body)
            statuses[status] += 1
    assert statuses[200] > 40
    assert statuses.total() - statuses[200] > 100
