"""Sizes: how many parameters each part of an architecture has, from the architecture alone; no torch
needed."""

from __future__ import annotations

from inlaid.neural.architecture import Architecture


def parameters(shape: Architecture) -> dict[str, int]:
    """Part -> parameters, parts without any left out; exact.

    >>> sum(parameters(read_config({"model_type": "gpt2"})).values())
    124439808
    """
    parts = _bilm(shape) if shape.kind == "bilm" else _transformer(shape)
    return {part: count for part, count in (parts | _head(shape)).items() if count}


def _transformer(shape: Architecture) -> dict[str, int]:
    blocks = shape.layers + shape.decoder_layers
    crosses = shape.decoder_layers
    stacks = 2 if shape.kind == "seq2seq" else 1
    norms = 2 * blocks + crosses + stacks * (shape.embedding_norm + shape.final_norm)
    return {
        "token table": shape.words * shape.dim,
        "target table": shape.target_words * shape.dim,
        "positions": stacks * _positions(shape),
        "segment table": stacks * shape.segments * shape.dim,
        "attention": blocks * attention(shape),
        "attention to memory": crosses * attention(shape),
        "feed-forward": blocks * feed_forward(shape),
        "norms": norms * norm(shape),
        "pooler": _linear(shape.dim, shape.dim) if shape.pooler else 0,
    }


def attention(shape: Architecture) -> int:
    """One layer's: queries and output, keys and values."""
    inside = shape.heads * shape.head_width
    shared = shape.key_heads * shape.head_width
    bias = inside + 2 * shared + shape.dim if shape.linear_bias else 0
    return 2 * shape.dim * inside + 2 * shape.dim * shared + bias


def feed_forward(shape: Architecture) -> int:
    """One layer's: up, down, and the gate where there is one."""
    ups = 2 if shape.gated else 1
    bias = ups * shape.inner_width + shape.dim if shape.linear_bias else 0
    return (ups + 1) * shape.dim * shape.inner_width + bias


def norm(shape: Architecture) -> int:
    return shape.dim * (2 if shape.norm == "layer" else 1)


def _positions(shape: Architecture) -> int:
    width = shape.heads * shape.head_width
    return {
        "learned": shape.length * shape.dim,
        "shaw": (2 * shape.reach + 1) * shape.head_width,
        "t5": shape.buckets * shape.heads,
        "xl": shape.dim * width + 2 * width,
    }.get(shape.positions, 0)


def _head(shape: Architecture) -> dict[str, int]:
    if shape.head == "none":
        return {}
    return {
        "head": _linear(shape.dim, shape.dim) + norm(shape) if shape.head == "masked" else 0,
        "output table": 0 if shape.tied and shape.kind != "bilm" else shape.written_words * shape.dim,
        "output bias": shape.written_words if shape.head_bias else 0,
    }


def _bilm(shape: Architecture) -> dict[str, int]:
    cells = 2 * shape.dim * 4 * shape.inner_width + 4 * shape.inner_width + shape.inner_width * shape.dim
    lstms = {"LSTMs": 2 * shape.layers * cells}
    return lstms | (_spelling(shape) if shape.characters else {"token table": shape.words * shape.dim})


def _spelling(shape: Architecture) -> dict[str, int]:
    total = sum(shape.filter_counts)
    groups = zip(shape.filter_widths, shape.filter_counts, strict=True)
    return {
        "character table": shape.characters * shape.character_dim,
        "convolutions": sum(_linear(width * shape.character_dim, count) for width, count in groups),
        "highways": shape.highways * 2 * _linear(total, total),
        "projection": _linear(total, shape.dim),
    }


def _linear(dim: int, out: int) -> int:
    return dim * out + out
