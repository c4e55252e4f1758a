"""Sizes: how many parameters each part of a network has, from its config alone; no torch needed."""

from __future__ import annotations

from collections.abc import Collection
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


def check_parameters(path: Path, config: Config, sizes: Collection[int]) -> None:
    """Raise FormatError, before a network is built, if the config asks for far more than the weights have,
    which are tensors of these sizes. How they differ in less than that is found name by name."""
    # A layer takes milliseconds and 80 KB to build, however few parameters it has; each has a tensor or more.
    layers = config.layers + config.decoder_layers
    layers += config.characters.highways + len(config.characters.filter_widths)
    if layers > len(sizes):
        raise FormatError(
            "{path}: the config asks for {layers:,} layers, and the weights are {tensors:,} tensors. Get "
            "both files again.",
            path=path,
            layers=layers,
            tensors=len(sizes),
        )
    asked = sum(parameters(config).values())
    stored = sum(sizes)
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
    if config.norm.placement == "sandwich":
        block_norms *= 2
    if config.norm.placement == "pre" and not config.norm.first:
        block_norms -= stacks
    stack_norms = block_norms + stacks * config.norm.final
    embedding_norm = norm(config, config.input_dim) if config.norm.embedding else 0
    project = _linear(config.input_dim, config.dim) if config.input_dim != config.dim else 0
    encoding = registry.find("position", config.positions.kind)
    return {
        "token table": config.vocab_size * config.input_dim,
        "target table": config.target_vocab_size * config.input_dim,
        "positions": stacks * encoding.parameters(config),
        "segment table": stacks * config.segment_types * config.input_dim,
        "task table": config.task_types * config.input_dim,
        "projection": stacks * project,
        "attention": blocks * attention(config),
        "cross-attention": config.decoder_layers * attention(config),
        "feed-forward": blocks * feed_forward(config),
        "norms": stack_norms * norm(config, config.dim) + stacks * embedding_norm,
        "pooler": _linear(config.dim, config.dim) if config.pooler else 0,
    }


def attention(config: Config) -> int:
    """One layer's query, key, value and output projections, and the norms of its heads."""
    settings = config.attention
    query_dim = settings.heads * config.head_dim
    key_dim = settings.key_value_heads * config.head_dim
    weights = 2 * config.dim * query_dim + 2 * config.dim * key_dim
    bias = query_dim + 2 * key_dim if settings.bias else 0
    output_bias = config.dim if settings.output_bias else 0
    norms = 2 * norm(config, config.head_dim) if settings.qk_norm else 0
    return weights + bias + output_bias + norms


def feed_forward(config: Config) -> int:
    """One layer's up and down projections, and the gate where there is one."""
    ups = 2 if config.feed_forward.gated else 1
    inner = config.feed_forward_dim
    bias = ups * inner + config.dim if config.feed_forward.bias else 0
    return (ups + 1) * config.dim * inner + bias


def norm(config: Config, dim: int) -> int:
    """A norm of this many components."""
    return dim * (2 if config.norm.kind == "layer" and config.norm.bias else 1)


def _head(config: Config) -> dict[str, int]:
    if config.head.kind == "none":
        return {}
    if config.head.kind == "detector":
        return {"head": _linear(config.dim, config.dim) + _linear(config.dim, 1)}
    dim = config.input_dim
    tied = config.head.tied and config.kind != "bilm"
    dense = config.dim * dim + (dim if config.head.dense_bias else 0)
    return {
        "head": dense + norm(config, dim) if config.head.kind == "masked" else 0,
        "output table": 0 if tied else config.output_vocab_size * dim,
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
