"""Cache: keys and values of the tokens so far, so that each new token costs one token's work."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from inlaid.errors import SettingError


@dataclass
class KeyValueCache:
    """Keys and values of one attention from earlier steps: (batch, head, token, head_dim)."""

    keys: Tensor | None = None
    values: Tensor | None = None
    rows: Tensor | None = None
    """Which rows of the batch are still wanted, in this order; None: all."""

    @property
    def length(self) -> int:
        """Tokens cached so far."""
        return 0 if self.keys is None else self.keys.shape[2]

    @property
    def texts(self) -> int:
        """Rows of the batch."""
        kept = self.keys if self.rows is None else self.rows
        return 0 if kept is None else kept.shape[0]

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append, and return all."""
        if self.keys is not None and self.values is not None:
            keys = _joined(self.keys, self.rows, keys)
            values = _joined(self.values, self.rows, values)
        self.keys = keys
        self.values = values
        self.rows = None
        return keys, values

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; beam search does it after every step.

        They are copied when the next token is added, which copies them anyway.
        """
        self.rows = rows if self.rows is None else self.rows[rows]

    def select_now(self, rows: Tensor) -> None:
        """The same for keys and values that no step adds to: those of a memory."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)


def _joined(earlier: Tensor, rows: Tensor | None, new: Tensor) -> Tensor:
    """Rows of the earlier tokens, and the new ones after them."""
    if rows is None or earlier.requires_grad or new.requires_grad:
        earlier = earlier if rows is None else earlier.index_select(0, rows)
        return torch.cat([earlier, new], 2)
    length = earlier.shape[2]
    joined = new.new_empty(*new.shape[:2], length + new.shape[2], new.shape[3])
    torch.index_select(earlier, 0, rows, out=joined[:, :, :length])
    joined[:, :, length:] = new
    return joined


@dataclass
class BlockCache:
    """Keys and values of one block: of the decoded tokens, and of the memory."""

    self_attention: KeyValueCache = field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = field(default_factory=KeyValueCache)


class Cache:
    """Keys and values of all blocks."""

    def __init__(self, layers: int) -> None:
        self.layers = [BlockCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        """Tokens cached so far."""
        return self.layers[0].self_attention.length

    def check(self, layers: int, rows: int) -> None:
        """Raise SettingError unless it is the cache of a network of this many layers, for this many rows."""
        if len(self.layers) != layers:
            raise SettingError(
                "The cache has {found} layers and the network {layers}. Use network.new_cache().",
                found=len(self.layers),
                layers=layers,
            )
        texts = self.layers[0].self_attention.texts
        if texts not in (0, rows):
            raise SettingError(
                "The cache holds {found} texts; found {rows}. Use a new cache for other texts.",
                found=texts,
                rows=rows,
            )

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. The memory stays: all beams of a text share it."""
        for cache in self.layers:
            cache.self_attention.select(rows)

    def select_memory(self, texts: Tensor) -> None:
        """Keep the memory of these texts."""
        for cache in self.layers:
            cache.cross_attention.select_now(texts)
