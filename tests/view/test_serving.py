"""Under load every answer is the one that is given alone; a file that changes is served without a failed or
a mixed answer; text is streamed while it is made."""

from __future__ import annotations

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.vectors import Vectors

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'inlaid[serve]'")

CLIENTS = 24
MODEL_TEXTS = ["我吃苹果", "我喜欢鱼", "米饭", "我吃米饭，喜欢苹果", "鱼，鱼，鱼"]
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    *[
        ("/v1/embeddings", {"model": "small", "input": each})
        for each in ("king", "queen man", "苹果 香蕉 apple")
    ],
    *[("/v1/embeddings", {"model": "sentence", "input": each}) for each in MODEL_TEXTS],
    *[("/v1/embeddings", {"model": "sentence", "input": MODEL_TEXTS[:n]}) for n in (2, 3)],
    *[
        ("/api/v1/neighbors", {"words": [each], "n": 3, "by": by})
        for each in ("king", "apple")
        for by in ("cosine", "csls")
    ],
    ("/api/v1/analogy", {"formula": "king - man + woman", "n": 2}),
    ("/api/v1/similarity", {"words": ["king", "queen", "国王"]}),
    ("/api/v1/generate", {"space": "decoder", "texts": ["I"], "seed": 1, "temperature": 0.9}),
]


def test_answers_under_load_are_those_given_alone(server: Any):
    alone = [server.ask(path, body) for path, body in QUESTIONS]
    assert {status for status, _ in alone} == {200}

    def ask(seed: int) -> None:
        numbers = [*range(len(QUESTIONS))]
        random.Random(seed).shuffle(numbers)
        for number in numbers * 2:
            status, body = server.ask(*QUESTIONS[number])
            assert status == 200
            _same(json.loads(body), json.loads(alone[number][1]))

    with ThreadPoolExecutor(CLIENTS) as pool:
        for done in [pool.submit(ask, seed) for seed in range(CLIENTS)]:
            done.result()


def _same(found: Any, expected: Any) -> None:
    """Equal; vectors but for the rounding of sums that are made in another order."""
    if "data" in expected:
        for one, other in zip(found.pop("data"), expected["data"], strict=True):
            np.testing.assert_allclose(one["embedding"], other["embedding"], rtol=1e-4, atol=1e-6)
        expected = {name: value for name, value in expected.items() if name != "data"}
    assert found == expected


def test_a_file_that_changes_is_loaded_again_without_a_failed_or_mixed_answer(serve: Any, tmp_path: Path):
    path = tmp_path / "words.inlaid"
    tables = [np.full((2, 3), number + 1.0) * [[1, 0, 0], [0, 1, 0]] for number in range(4)]
    inlaid.save(Vectors.of(["a", "b"], tables[0]), path)
    server = serve(path, "--reload", "0.1", "--no-access-log")
    found = list[tuple[int, float, float]]()
    for number, table in enumerate(tables):
        inlaid.save(Vectors.of(["a", "b"], table), path)
        deadline = time.monotonic() + 20
        while not found or found[-1][1] != number + 1:
            assert time.monotonic() < deadline
            status, body = server.ask("/embed", {"inputs": ["a", "b"], "normalize": False})
            rows = json.loads(body)
            found.append((status, rows[0][0], rows[1][1]))
    assert {status for status, _, _ in found} == {200}
    assert all(first == second for _, first, second in found)
    path.write_bytes(b"broken")
    time.sleep(1)
    assert server.ask("/embed", {"inputs": "a"})[0] == 200


def test_generated_text_is_streamed_and_ends_with_the_result(server: Any):
    body = {"space": "decoder", "texts": ["I"], "max_new_tokens": 4}
    whole = json.loads(server.ask("/api/v1/generate", body)[1])["result"]["texts"][0]
    status, sent = server.ask("/api/v1/generate", {**body, "stream": True})
    events = [json.loads(each.removeprefix("data: ")) for each in sent.decode().strip().split("\n\n")]
    assert status == 200
    assert len(events) > 3
    assert "".join(each["text"] for each in events[:-1]) == whole["prompt"] + whole["text"]
    assert events[-1]["result"]["texts"][0] == whole
    status, sent = server.ask("/api/v1/generate", {**body, "beams": 0, "stream": True})
    assert (status, json.loads(sent)["error"]["kind"]) == (422, "SettingError")


def test_several_processes_share_a_port(serve: Any, files: Path):
    server = serve(files / "small.inlaid", "--workers", "2", "--no-access-log")
    deadline = time.monotonic() + 30
    with ThreadPoolExecutor(8) as pool:
        statuses = [*pool.map(lambda _: server.ask("/v1/embeddings", {"input": "king"})[0], range(64))]
    assert set(statuses) == {200}
    assert server.end() == 0
    assert time.monotonic() < deadline


def test_operation(server: Any):
    assert json.loads(server.ask("/ready")[1])["spaces"] == ["small", "sentence", "decoder"]
    text = server.ask("/metrics")[1].decode()
    assert 'inlaid_requests_total{path="/ready",method="GET",status="200"}' in text
    assert server.ask("/nowhere")[0] == 404
    assert server.ask("/v1/embeddings")[0] == 405


@pytest.mark.parametrize("path", ["/v1/embeddings", "/api/v1/neighbors"])
def test_a_taken_port_is_said(typed: Any, files: Path, server: Any, path: str):
    assert "Choose another with --port" in typed(
        "serve", files / "small.inlaid", "--port", str(server.port), code=2
    )
