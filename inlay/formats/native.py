"""Inlay's own format: one safetensors file, mapped and checksummed (.inlay)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from inlay import arrays
from inlay.config import settings_of
from inlay.encode.vocabulary import pack_words, unpack_words
from inlay.errors import FormatError
from inlay.vectors import Card, Vectors

SUFFIX = ".inlay"


def recognizes(path: Path) -> bool:
    """A safetensors header starts with its length and a brace; the rest is checked on reading."""
    with path.open("rb") as file:
        start = file.read(9)
    return path.suffix == SUFFIX or (len(start) == 9 and start[8:] == b"{" and start[4:8] == bytes(4))


def read(path: Path) -> Vectors:
    opened = arrays.open_arrays(path)
    try:
        card = settings_of(Card, json.loads(opened.metadata["card"]))
    except (KeyError, ValueError) as error:
        raise FormatError(f"{path}: the card that says how the vectors came to be is missing or unreadable ({error}).") from None
    counts = opened.whole("counts") if "counts" in opened else None
    return Vectors(unpack_words(opened), opened.whole("table"), counts, card)


def write(vectors: Vectors, path: Path) -> None:
    content = {"table": vectors.table, **pack_words(vectors.words)}
    if vectors.counts is not None:
        content["counts"] = vectors.counts
    arrays.write(path, content, {"card": json.dumps(asdict(vectors.card), ensure_ascii=False)})
