"""Requests made from the schemas of a running server: none may be answered by 5xx.

Right ones, wrong ones, and the example of each operation with one field of a right one: words that are drawn
are in no vocabulary, so that only these come past the first check.

    inlaid serve vectors.inlaid model &
    python tests/campaigns/serve_schemas.py http://127.0.0.1:8000 --examples 50

Prints a line of JSON: operations, requests, how often each status was the answer, and what failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import hypothesis
import hypothesis.errors
import schemathesis
from schemathesis import GenerationMode

MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--examples", type=int, default=50, help="requests of each kind for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", nargs="*", default=[], help="paths that are not asked")
    given = parser.parse_args()
    statuses = Counter[int]()
    failed = list[str]()
    operations = operations_of(given.url, given.skip)
    for operation in operations:
        for path, body, status in asked(operation, given.url, given.examples, given.seed):
            statuses[status] += 1
            if status >= 500:
                failed.append(f"{path} {body!r}"[:500])
    line = {
        "operations": len(operations),
        "requests": statuses.total(),
        "statuses": dict(sorted(statuses.items())),
        "failed": failed,
    }
    print(json.dumps(line, ensure_ascii=False))
    raise SystemExit(bool(failed))


def operations_of(url: str, skip: Sequence[str] = ()) -> list[Any]:
    """All operations of a server."""
    schema: Any = schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path=[*skip])
    return [each.ok() for each in schema.get_all_operations()]


def asked(operation: Any, url: str, examples: int, seed: int) -> list[tuple[str, Any, int]]:
    """The requests to one operation: path, body, and the status of the answer."""
    found = list[tuple[str, Any, int]]()
    sample = example_of(operation)

    def ask(case: Any) -> None:
        found.append((case.path, case.body, case.call(base_url=url, timeout=600).status_code))
        if isinstance(case.body, dict) and case.body and sample is not None:
            field = sorted(case.body)[len(found) % len(case.body)]
            case.body = {**sample, field: case.body[field]}
            found.append((case.path, case.body, case.call(base_url=url, timeout=600).status_code))

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list[Any](hypothesis.HealthCheck),
    )
    for mode in MODES:
        strategy = operation.as_strategy(generation_mode=mode)
        with contextlib.suppress(hypothesis.errors.Unsatisfiable, schemathesis.errors.SchemathesisError):
            settings(hypothesis.seed(seed)(hypothesis.given(case=strategy)(ask)))()
    return found


def example_of(operation: Any) -> dict[str, Any] | None:
    """The example of the body of an operation."""
    content = operation.definition.raw.get("requestBody", {}).get("content", {})
    return content.get("application/json", {}).get("schema", {}).get("examples", [None])[0]


if __name__ == "__main__":
    main()
