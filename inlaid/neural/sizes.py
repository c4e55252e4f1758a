"""Sizes: how many parameters each part of a network has, from its config alone; no torch needed."""

from __future__ import annotations

from pathlib import Path

from inlaid import registry
from inlaid.errors import FormatError
from inlaid.neural.config import Config

TOLERANCE = 4
ALWAYS_BUILT = 1 << 20
"""Parameters of a network that is built to name what its weights lack, however few they are."""


def parameters(config: Config) -> dict[str, int]:
    """Part -> number of parameters, exact; parts without any are left out.

    >>> sum(parameters(read_config({"model_type": "gpt2"})).values())
    124439808
    """
    parts = _bilm(config) if config.kind == "bilm" else _transformer(config)
    return {part: count for part, count in (parts | _head(config)).items() if count}


def check_parameters(path: Path, config: Config, stored: int) -> None:
    """Raise FormatError, before a network is built, if the config asks for far more than the weights have.

    How they differ in less than that is found name by name.
    """
    asked = sum(parameters(config).values())
    if asked > TOLERANCE * stored + ALWAYS_BUILT:
        raise FormatError(
            "{path}: the config asks for {asked:,} parameters, and the weights have {stored:,}. Get both "
            "files again.",
            path=path,
            asked=asked,
            stored=stored,
        )


def _transformer(config: Config) -> dict[str, int]:
    blocks = config.layers + config.decoder_layers
    stacks = 2 if config.kind == "seq2seq" else 1
    block_norms = 2 * blocks + config.decoder_layers
    stack_norms = stacks * (config.norm.embedding + config.norm.final)
    encoding = registry.find("position", config.positions.kind)
    return {
        "token table": config.vocab_size * config.dim,
        "target table": config.target_vocab_size * config.dim,
        "positions": stacks * encoding.parameters(config),
        "segment table": stacks * config.segment_types * config.dim,
        "attention": blocks * attention(config),
        "cross-attention": config.decoder_layers * attention(config),
        "feed-forward": blocks * feed_forward(config),
        "norms": (block_norms + stack_norms) * norm(config),
        "pooler": _linear(config.dim, config.dim) if config.pooler else 0,
    }


def attention(config: Config) -> int:
    """One layer's query, key, value and output projections."""
    settings = config.attention
    query_dim = settings.heads * config.head_dim
    key_dim = settings.key_value_heads * config.head_dim
    weights = 2 * config.dim * query_dim + 2 * config.dim * key_dim
    bias = query_dim + 2 * key_dim if settings.bias else 0
    output_bias = config.dim if settings.output_bias else 0
    return weights + bias + output_bias


def feed_forward(config: Config) -> int:
    """One layer's up and down projections, and the gate where there is one."""
    ups = 2 if config.feed_forward.gated else 1
    inner = config.feed_forward_dim
    bias = ups * inner + config.dim if config.feed_forward.bias else 0
    return (ups + 1) * config.dim * inner + bias


def norm(config: Config) -> int:
    return config.dim * (2 if config.norm.kind == "layer" else 1)


def _head(config: Config) -> dict[str, int]:
    if config.head.kind == "none":
        return {}
    tied = config.head.tied and config.kind != "bilm"
    masked = config.head.kind == "masked"
    return {
        "head": _linear(config.dim, config.dim) + norm(config) if masked else 0,
        "output table": 0 if tied else config.output_vocab_size * config.dim,
        "output bias": config.output_vocab_size if config.head.bias else 0,
    }


def _bilm(config: Config) -> dict[str, int]:
    gates = 4 * config.cell_dim
    lstm = 2 * config.dim * gates + gates + config.cell_dim * config.dim
    parts = {"LSTMs": 2 * config.layers * lstm}
    if config.characters.vocab_size:
        return parts | _characters(config)
    return parts | {"token table": config.vocab_size * config.dim}


def _characters(config: Config) -> dict[str, int]:
    settings = config.characters
    filters = sum(settings.filter_counts)
    groups = zip(settings.filter_widths, settings.filter_counts, strict=True)
    return {
        "character table": settings.vocab_size * settings.dim,
        "convolutions": sum(_linear(width * settings.dim, count) for width, count in groups),
        "highways": settings.highways * 2 * _linear(filters, filters),
        "projection": _linear(filters, config.dim),
    }


def _linear(dim: int, out: int) -> int:
    return dim * out + out
