"""/api/v1: what the command line answers, as JSON over HTTP."""

from __future__ import annotations

from typing import Any

import inlaid
from inlaid.vectors import Vectors


def test_neighbors_are_those_of_the_library(client: Any, small: Vectors):
    reply = client.post("/api/v1/neighbors", json={"words": ["king", "苹果"], "n": 2})
    assert reply.status_code == 200
    assert reply.json() == {"result": inlaid.neighbors(small, ["king", "苹果"], n=2).to_dict(), "notes": []}


def test_a_space_is_chosen_by_its_name(client: Any):
    found = client.post("/api/v1/compare", json={"first": "small", "second": "other", "n": 2})
    assert found.status_code == 200, found.text
    assert found.json()["result"]
    reply = client.post("/api/v1/vector", json={"space": "other", "formula": "king"})
    assert reply.json()["result"]["vector"] == [0, 0, 1, 1]


def test_spaces_say_what_they_are(client: Any):
    spaces = client.get("/api/v1/spaces").json()["spaces"]
    assert [(each["name"], each["kind"], each["words"], each["dim"]) for each in spaces] == [
        ("small", "vectors", 8, 4),
        ("other", "vectors", 8, 4),
    ]


def test_errors_are_sentences_in_the_language_of_the_client(client: Any):
    body = {"words": ["kign"]}
    english = client.post("/api/v1/neighbors", json=body)
    chinese = client.post(
        "/api/v1/neighbors", json=body, headers={"accept-language": "zh-CN,zh;q=0.9,en;q=0.5"}
    )
    assert english.status_code == chinese.status_code == 404
    assert english.json()["error"]["kind"] == "OutOfVocabulary"
    assert "kign" in english.json()["error"]["message"]
    assert english.json()["error"]["sentence"] == chinese.json()["error"]["sentence"]
    assert "词" in chinese.json()["error"]["message"]


def test_what_is_wrong_with_a_field_is_said(client: Any):
    def problem(path: str, body: Any) -> tuple[int, str]:
        reply = client.post(f"/api/v1/{path}", json=body)
        return reply.status_code, reply.json()["error"]["message"]

    assert problem("neighbors", {"words": ["king"], "n": 0}) == (422, "n is 0; expected at least 1.")
    assert problem("neighbors", {"words": ["king"], "topn": 3})[0] == 404
    assert problem("neighbors", {}) == (422, "words is missing. Give it.")
    assert problem("neighbors", {"words": ["king"], "n": 10**9})[0] == 422
    assert problem("neighbors", {"words": ["king"], "space": "smal"})[1].startswith(
        "No space is called 'smal'. Did you mean 'small'?"
    )
    assert problem("attend", {"text": "king"})[1].startswith("'small' has vectors; this needs a model.")


def test_requests_by_another_name_or_from_another_page_are_refused(client: Any):
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}, {"origin": "null"}):
        assert client.get("/api/v1/spaces", headers=headers).status_code == 403
        assert client.post("/api/v1/neighbors", json={"words": ["king"]}, headers=headers).status_code == 403
        assert client.options("/nowhere", headers=headers).status_code == 403
    own = {"origin": "http://127.0.0.1:8000"}
    assert client.get("/api/v1/spaces", headers=own).status_code == 200


def test_a_search_may_be_narrowed_to_any_number_of_words(client: Any):
    """A map of a million words asks for the neighbors among them; other numbers keep their limit."""
    body = {"words": ["king"], "n": 2}
    whole = client.post("/api/v1/neighbors", json=body)
    assert client.post("/api/v1/neighbors", json={**body, "top": 1_000_000}).json() == whole.json()
    assert client.post("/api/v1/neighbors", json={**body, "n": 1_000_000}).status_code == 422
