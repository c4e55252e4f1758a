"""Tokens: how a text is cut, by the tokenizer of a space or by one of ours."""

from __future__ import annotations

from typing import Any

from inlaid import registry
from inlaid.encode.tokenize import tokenize
from inlaid.errors import RequestError, SettingError
from inlaid.view.spaces import Spaces


def tokenized(body: Any, spaces: Spaces) -> dict[str, Any]:
    """Tokens with their ids and their places in the text: {"text", "space"} or {"text", "tokenizer"}."""
    if not isinstance(body, dict) or not isinstance(body.get("text"), str):
        raise RequestError("Expected a JSON object with the fields of this endpoint.")
    text: str = body["text"]
    name = body.get("tokenizer")
    space = spaces.find(body.get("space")) if isinstance(body.get("space"), str | None) else None
    if space is None or not isinstance(name, str | None):
        raise SettingError("Give the text, and the name of a space or of a tokenizer.")
    model = space.model
    if name is None and model is not None and model.tokenizer is not None:
        encoded = model.tokenizer.encode(text)
        spans = getattr(encoded, "offsets", None) or []
        pairs = zip(encoded.tokens, encoded.ids, strict=True)
        tokens = [{"token": token, "id": id} for token, id in pairs]
        for token, span in zip(tokens, spans, strict=False):
            token["start"], token["end"] = span
        return {"tokenizer": space.name, "tokens": tokens}
    kind = name or "word"
    if kind not in [each.name for each in registry.entries("tokenizer")]:
        registry.entry("tokenizer", kind[:100])
    return {"tokenizer": kind, "tokens": _by_ours(text, kind, space.vectors)}


def _by_ours(text: str, kind: str, vectors: Any) -> list[dict[str, Any]]:
    made = tokenize(text, tokenizer=kind)
    places = made.original or [(each.start, each.end) for each in made.tokens]
    return [
        {
            "token": each.text,
            "id": None if vectors is None else vectors.find(each.text),
            "start": start,
            "end": end,
        }
        for each, (start, end) in zip(made.tokens, places, strict=True)
    ]
