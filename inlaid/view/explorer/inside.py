"""Inside: what a model reads of a text, and its attention as columns: 200 tokens have millions of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from inlaid.neural.kinds import AnyModel
from inlaid.report import silent
from inlaid.study.attend.attend import AttendSettings, attend
from inlaid.study.attend.reading import read_text
from inlaid.view.explorer.columns import columns

SHOWN = 64
"""Components of a vector that are drawn."""


def tokens_of(model: Any, text: str) -> dict[str, Any]:
    """The tokens of a text with their ids, the words they belong to, and their input vectors."""
    reading = read_text(model, text, silent)
    table = model.network.tokens
    vectors = None
    if table is not None:
        rows = table.weight[reading.ids].detach().float().cpu().numpy()
        vectors = {
            "dim": rows.shape[1],
            "lengths": np.linalg.norm(rows, axis=1).round(4).tolist(),
            "components": rows[:, :SHOWN].round(4).tolist(),
        }
    return {
        "tokens": list(reading.tokens),
        "ids": [int(id) for id in reading.ids],
        "words": list(reading.words),
        "groups": reading.groups.tolist(),
        "special": [bool(each) for each in reading.special],
        "vectors": vectors,
    }


def attention_columns(model: AnyModel, text: str, *, target: str | None, tokens: bool) -> bytes:
    """The weights of every part, layer and head, between words or between tokens."""
    found = attend(model, text, AttendSettings(tokens=tokens), target=target).found
    arrays = dict[str, np.ndarray]()
    parts = dict[str, Any]()
    for name, part in found.parts.items():
        weights = part.words().astype(np.float32)
        arrays[name] = weights.reshape(-1)
        parts[name] = {
            "layers": weights.shape[0],
            "heads": weights.shape[1],
            "queries": list(part.queries.words),
            "keys": list(part.keys.words),
        }
    return columns(arrays, parts=parts, target=found.target, generated=found.generated)
