"""The line of a result that says what it was measured on: a model or vectors, their origin and their size."""

from __future__ import annotations

from typing import Any

from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.vectors import Vectors


def model_line(model: Vectors | AnyModel) -> Message:
    """Which model or which vectors; of those trained here also the seed.

    >>> print(model_line(inlaid.load_model("bert-base-uncased")))
    model: bert-base-uncased (bert); encoder of 12 layers, 12 heads each, 768 components
    """
    if isinstance(model, Vectors):
        return Message(
            "vectors: {origin}; {words:,} words, {dim} components",
            origin=_origin(model.card),
            words=len(model),
            dim=model.dim,
        )
    loaded: Any = model
    config = loaded.config
    origin = _origin(loaded.card)
    if config.kind == "bilm":
        return Message(
            "model: {origin}; {layers} layers of LSTMs in each direction", origin=origin, layers=config.layers
        )
    if config.kind == "seq2seq":
        return Message(
            "model: {origin}; encoder of {layers} layers and decoder of {decoder_layers}, {heads} heads "
            "each, {dim} components",
            origin=origin,
            decoder_layers=config.decoder_layers,
            layers=config.layers,
            heads=config.attention.heads,
            dim=config.dim,
        )
    if config.kind == "decoder":
        return Message(
            "model: {origin}; decoder of {layers} layers, {heads} heads each, {dim} components",
            origin=origin,
            layers=config.layers,
            heads=config.attention.heads,
            dim=config.dim,
        )
    return Message(
        "model: {origin}; encoder of {layers} layers, {heads} heads each, {dim} components",
        origin=origin,
        layers=config.layers,
        heads=config.attention.heads,
        dim=config.dim,
    )


def _origin(card: Any) -> Message | str:
    """The method and the seed of what was trained here, the folder and the family of anything else."""
    settings = card.settings
    if "folder" in settings:
        return f"{settings['folder']} ({settings.get('model_type', card.method)})"
    if "seed" in settings:
        return Message("{method}, seed {seed}", method=card.method, seed=settings["seed"])
    return card.method or Message("not saved")
