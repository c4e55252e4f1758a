"""Attention as one HTML page: choose part, layer and head, and point at words."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files as resources
from typing import Any

import numpy as np

from inlaid.messages import Language, Message, said
from inlaid.study.attend.attend import Attended
from inlaid.study.attend.pictures import FEW
from inlaid.study.attend.weights import PART_NAMES, Weights
from inlaid.study.figures import language_of
from inlaid.study.pages import Block, Heading, Table, Text, Widget, page
from inlaid.study.use.texts import shortened

TITLE = 60
"""Characters of the text in the title; the lines show all of it."""
STEPS = 65_535
"""Weights are stored as whole numbers of 16 bits."""


def attention_page(made: Attended) -> str:
    """The whole file, in the language of the text."""
    language = language_of([made.found.text])
    title = Message("Attention: {text}", text=shortened(made.found.text, TITLE))
    return page(title, _blocks(made, language), language=language)


def _blocks(made: Attended, language: Language) -> list[Block]:
    found = made.found
    part = found.part(made.shown.part)
    blocks: list[Block] = [Text(made.model), *map(Text, _read(made)), _widget(made, language)]
    if part.part != "encoder":
        blocks.append(
            Text(
                Message(
                    "A row of the decoder is the state after the token named there was read; it predicts the "
                    "next one."
                )
            )
        )
    if len(part.keys.words) > FEW:
        blocks.append(
            Text(
                Message(
                    "In a text of so many words most weights are small: colors grow with the square root of "
                    "the weight, up to the largest, and each word has its three strongest lines alone until "
                    "one is pointed at."
                )
            )
        )
    rollout = Message(
        "Rollout multiplies the weights of all layers, half of each mixed with the token's own state (Abnar "
        "and Zuidema 2020). It ignores values, norms and feed-forward networks."
    )
    warning = Message(
        "Attention weights alone are not an explanation. They say how values are mixed, not how large these "
        "values are nor what later layers make of them. Quite different weights can give the same prediction "
        "(Jain and Wallace 2019). `inlaid attribute` and `inlaid ablate` measure effects."
    )
    blocks += [Text(rollout), Text(warning, note=True)]
    for each in found.parts.values():
        blocks.append(Heading(Message("Heads: {part}", part=PART_NAMES[each.part])))
        blocks.append(_heads_table(each))
    return blocks


def _read(made: Attended) -> list[Message]:
    """What was read, and how to read the page."""
    found = made.found
    lines: list[Message] = []
    if found.generated:
        lines.append(Message("The decoder has read the model's own answer: {target}", target=found.target))
    elif found.target is not None:
        lines.append(Message("The decoder has read: {target}", target=found.target))
    keys = found.part(made.shown.part).keys
    if made.settings.tokens:
        lines.append(Message("{tokens} tokens.", tokens=len(keys.tokens)))
    else:
        merged = Message(
            "{tokens} tokens, merged into {words} words: summed over the tokens attended to, averaged over "
            "those that attend.",
            tokens=len(keys.tokens),
            words=len(keys.words),
        )
        lines.append(merged)
    lines.append(
        Message(
            "Point at a word to see what it attends to (from the left) or what attends to it (from the "
            "right). Click on a small matrix to choose its head."
        )
    )
    return lines


def _widget(made: Attended, language: Language) -> Widget:
    source = resources("inlaid.study.attend")
    return Widget(
        markup=(source / "attend.html").read_text("utf-8"),
        script=(source / "attend.js").read_text("utf-8"),
        style=(source / "attend.css").read_text("utf-8"),
        data={
            "captions": _captions(language),
            "part": made.shown.part,
            "layer": made.shown.layer,
            "head": made.shown.head,
            "parts": {name: _data(part) for name, part in made.found.parts.items()},
        },
    )


def _captions(language: Language) -> dict[str, str]:
    """What the script names."""
    return {
        "part": said(language, "part"),
        "layer_name": said(language, "layer"),
        "head_name": said(language, "head"),
        "mean": said(language, "mean"),
        "lines": said(language, "Lines"),
        "matrix": said(language, "Matrix"),
        "heads": said(language, "Heads"),
        **{part: name.in_language(language) for part, name in PART_NAMES.items()},
    }


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


def _heads_table(part: Weights) -> Table:
    entropy = part.entropy()
    distance = part.distance()
    measures = [each for each in (entropy, distance) if each is not None]
    names = [Message("entropy in bits"), Message("mean distance in tokens")][: len(measures)]
    rows: list[Sequence[Message | str]] = [(Message("layer"), Message("head"), *names)]
    for layer, head in np.ndindex(entropy.shape):
        rows.append((str(layer), str(head), *(f"{each[layer, head]:.2f}" for each in measures)))
    uniform = [each for each in (part.uniform_entropy(), part.uniform_distance()) if each is not None]
    rows.append(("", Message("uniform"), *(f"{value:.2f}" for value in uniform)))
    return Table(rows)
