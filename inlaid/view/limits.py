"""Limits: how much one request may name, and how large an answer it may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inlaid.errors import TooLarge
from inlaid.view.settings import ServeSettings

ROWS = 200_000
"""Rows of an answer, such as 20 words with 10,000 neighbors each."""
NUMBERS = 2_000_000
"""Attention weights of an answer."""
COMPARED = 20_000
"""Characters of all texts that are compared word by word: time and memory grow with the square."""
PAIRWISE = ("similarity", "text_similarity")
"""Analyses that answer for each pair of what is named."""
BY_TOKEN = ("lens",)
"""Analyses that answer for each token of a text."""


def refuse_long(texts: Sequence[Any], settings: ServeSettings) -> None:
    """Raise TooLarge for too many texts, or one that is too long."""
    if len(texts) > settings.max_texts:
        raise TooLarge(
            "The request has {count:,} texts; at most {most:,} are taken. Send fewer at a time.",
            count=len(texts),
            most=settings.max_texts,
        )
    longest = max((len(each) for each in texts if isinstance(each, str)), default=0)
    if longest > settings.max_text:
        raise TooLarge(
            "A text has {count:,} characters; at most {most:,} are taken. Cut it into parts.",
            count=longest,
            most=settings.max_text,
        )


def refuse_long_fields(body: Any, settings: ServeSettings) -> None:
    """Raise TooLarge for a field with too many or too long texts."""
    if isinstance(body, dict):
        for value in body.values():
            refuse_long(value if isinstance(value, list) else [value], settings)


def refuse_large_answer(name: str, found: Mapping[str, Any]) -> None:
    """Raise TooLarge where the answer of an analysis, called with these arguments, would not fit."""
    named = max((len(each) for each in found.values() if isinstance(each, tuple)), default=1)
    if name in BY_TOKEN:
        named = len(found["text"])
    settings = found.get("settings")
    each = max(getattr(settings, "n", 1) or 1, getattr(settings, "max_new_tokens", 1) or 1)
    rows = named * (named if name in PAIRWISE else each)
    if rows > ROWS:
        raise TooLarge(
            "The answer would have {count:,} rows; at most {most:,} are given. Ask for fewer at a time.",
            count=rows,
            most=ROWS,
        )
    compared = sum(map(len, found["texts"])) if name == "text_similarity" else 0
    if compared > COMPARED:
        raise TooLarge(
            "The texts have {count:,} characters; at most {most:,} are compared at a time.",
            count=compared,
            most=COMPARED,
        )
    if name == "attend":
        _refuse_many_weights(found)


def _refuse_many_weights(found: Mapping[str, Any]) -> None:
    config = found["model"].config
    tokenizer = found["model"].tokenizer
    settings = found["settings"]
    if tokenizer is None or not hasattr(config, "attention"):
        return
    texts = [found["text"], found.get("target") or ""]
    tokens = max(len(tokenizer.encode(text).ids) for text in texts)
    layers = 1 if settings.layer is not None else max(config.layers, config.decoder_layers)
    heads = 1 if settings.head is not None else config.attention.heads
    count = layers * heads * tokens**2
    if count > NUMBERS:
        raise TooLarge(
            "The answer would have {count:,} weights; at most {most:,} are given. Name a layer and a head.",
            count=count,
            most=NUMBERS,
        )
