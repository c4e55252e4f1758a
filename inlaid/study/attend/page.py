"""Attention as one HTML page: choose part, layer and head, and point at words."""

from __future__ import annotations

import base64
from importlib.resources import files as resources
from typing import Any

import numpy as np

from inlaid.messages import Language
from inlaid.study.attend.attend import Attended
from inlaid.study.attend.captions import CAPTIONS, say
from inlaid.study.attend.weights import Weights
from inlaid.study.figures import language_of
from inlaid.study.pages import Block, Heading, Table, Text, Widget, page

STEPS = 65_535
"""Weights are stored as whole numbers of 16 bits."""


def attention_page(made: Attended) -> str:
    """The whole file, in the language of the text."""
    language = language_of([made.found.text])
    return page(f"{say(language, 'title')}: {made.found.text}", _blocks(made, language), language=language)


def _blocks(made: Attended, language: Language) -> list[Block]:
    found = made.found
    part = found.part(made.shown.part)
    blocks: list[Block] = []
    if found.target is not None:
        name = "generated" if found.generated else "target"
        blocks.append(Text(say(language, name, target=found.target)))
    tokens = len(part.keys.tokens)
    counts = {"tokens": tokens, "words": len(part.keys.words)}
    blocks.append(Text(say(language, "unmerged" if made.settings.tokens else "merged", **counts)))
    blocks.append(Text(say(language, "hover")))
    blocks.append(_widget(made, language))
    if part.part != "encoder":
        blocks.append(Text(say(language, "next")))
    blocks.append(Text(say(language, "rollout_text")))
    blocks.append(Text(say(language, "warning"), note=True))
    for each in found.parts.values():
        blocks.append(Heading(f"{say(language, 'heads')}: {say(language, each.part)}"))
        blocks.append(_heads_table(each, language))
    return blocks


def _widget(made: Attended, language: Language) -> Widget:
    source = resources("inlaid.study.attend")
    return Widget(
        markup=(source / "attend.html").read_text("utf-8"),
        script=(source / "attend.js").read_text("utf-8"),
        style=(source / "attend.css").read_text("utf-8"),
        data={
            "captions": CAPTIONS[language],
            "part": made.shown.part,
            "layer": made.shown.layer,
            "head": made.shown.head,
            "parts": {name: _data(part) for name, part in made.found.parts.items()},
        },
    )


def _data(part: Weights) -> dict[str, Any]:
    rolled = part.rollout()
    return {
        "queries": list(part.queries.words),
        "keys": list(part.keys.words),
        "layers": part.layers,
        "heads": part.heads,
        "weights": _packed(part.words()),
        "rollout": None if rolled is None else _packed(rolled),
    }


def _packed(weights: np.ndarray) -> str:
    """Numbers from 0 to 1 as base64 of little-endian 16-bit integers."""
    return base64.b64encode(np.rint(weights * STEPS).astype("<u2").tobytes()).decode()


def _heads_table(part: Weights, language: Language) -> Table:
    entropy = part.entropy()
    distance = part.distance()
    names = ["layer_name", "head_name", "entropy"] + ["distance"] * (distance is not None)
    rows = [[say(language, name) for name in names]]
    for layer, head in np.ndindex(entropy.shape):
        values = [each[layer, head] for each in (entropy, distance) if each is not None]
        rows.append([str(layer), str(head), *(f"{value:.2f}" for value in values)])
    uniform = [each for each in (part.uniform_entropy(), part.uniform_distance()) if each is not None]
    rows.append(["", say(language, "uniform"), *(f"{value:.2f}" for value in uniform)])
    return Table(rows)
