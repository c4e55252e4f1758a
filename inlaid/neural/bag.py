"""The embedding bag: the sum, mean or maximum of the rows of several ids, as nn.EmbeddingBag computes it.

A bag is a text without order: `ids` holds all bags one after another, `offsets` where each begins. A matrix
of ids is one bag in each row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.messages import Listed, Message
from inlaid.neural.embedding import Table, check_table, table_of
from inlaid.neural.lookup import check_ids, check_integers, has_values
from inlaid.vectors import Vectors

MODES = {"sum": 0, "mean": 1, "max": 2}
"""Their numbers in torch."""


class TokenEmbeddingBag(Table, nn.EmbeddingBag):
    """A drop-in replacement for `torch.nn.EmbeddingBag`, with the corrections of `TokenEmbedding`.

    `max_norm` leaves the weights alone, gradients are summed in float32, `sparse` works with every mode and
    with `scale_grad_by_freq`, and ids, offsets and weights that do not fit are named.

    >>> TokenEmbeddingBag(6, 3, mode="sum")(torch.tensor([2, 0, 5]), torch.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """The parameters are those of torch, more than eight, so that it stays a drop-in replacement."""
        check_table(num_embeddings, embedding_dim, padding_idx, max_norm, _weight)
        if mode not in MODES:
            raise SettingError("mode is {found!r}; expected {known}.", found=mode, known=Listed(MODES))
        super().__init__(
            num_embeddings,
            embedding_dim,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight,
            include_last_offset,
            padding_idx,
            device,
            dtype,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor | Vectors,
        freeze: bool = False,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> TokenEmbeddingBag:
        """A layer initialized with a copy of `embeddings`; it is trained unless you `freeze` it."""
        table = table_of(embeddings)
        made = cls(
            len(table),
            table.shape[1],
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            table,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """ids (bag, token), or (token,) with `offsets` (bag,) -> one row for each bag (bag, dim).

        `per_sample_weights` of the shape of the ids multiply the rows of a sum. Padding does not count; an
        empty bag gives zeros.
        """
        check_ids(input, self.weight)
        starts = self._starts(input, offsets)
        weights = self._weights(input, per_sample_weights)
        ids = input.flatten().long()
        if self._is_plain():
            return self._bags(self.weight, ids, starts, weights, self.padding_idx, sparse=self.sparse)
        places = torch.arange(len(ids), device=ids.device)
        if self.padding_idx is None:
            return self._bags(self._rows(ids), places, starts, weights, None)
        places = places.where(ids != self.padding_idx, len(ids))
        rows = self._rows(functional.pad(ids, (0, 1), value=self.padding_idx))  # the last one is padding
        return self._bags(rows, places, starts, weights, len(ids))

    def _bags(
        self,
        table: Tensor,
        ids: Tensor,
        starts: Tensor,
        weights: Tensor | None,
        padding: int | None,
        *,
        sparse: bool = False,
    ) -> Tensor:
        """Rows of `table` by ids, each bag reduced to one; those of `padding` do not count."""
        reduced = torch.embedding_bag(
            table,
            ids,
            starts,
            False,
            MODES[self.mode],
            sparse,
            weights,
            self.include_last_offset,
            padding,
        )
        return reduced[0]

    def _is_plain(self) -> bool:
        """Whether torch computes the gradients as `lookup` does, without storing the row of every id."""
        if self.max_norm is not None or self.scale_grad_by_freq:
            return False
        if self.sparse:
            return self.mode != "max"
        return self.weight.dtype in (torch.float32, torch.float64)

    def _starts(self, ids: Tensor, offsets: Tensor | None) -> Tensor:
        """Where each bag begins, and with `include_last_offset` where the last one ends."""
        if ids.dim() == 2:
            if offsets is not None:
                raise SettingError("A matrix of ids is one bag in each row: leave offsets out.")
            bags = ids.shape[0] + (1 if self.include_last_offset else 0)
            return torch.arange(bags, device=ids.device) * ids.shape[1]
        if ids.dim() != 1 or offsets is None:
            raise SettingError(
                "Expected a matrix of ids (bag, token), or ids (token,) with offsets; found shape {shape} "
                "{offsets} offsets.",
                shape=tuple(ids.shape),
                offsets=Message("without") if offsets is None else Message("with"),
            )
        check_offsets(offsets, len(ids), include_last=self.include_last_offset)
        return offsets.long()

    def _weights(self, ids: Tensor, weights: Tensor | None) -> Tensor | None:
        if weights is None:
            return None
        if self.mode != "sum":
            raise SettingError(
                "per_sample_weights need mode='sum'; this layer has mode={mode!r}.", mode=self.mode
            )
        if weights.shape != ids.shape:
            raise SettingError(
                "per_sample_weights have shape {found}; expected that of the ids, {expected}.",
                found=tuple(weights.shape),
                expected=tuple(ids.shape),
            )
        if weights.dtype != self.weight.dtype:
            raise SettingError(
                "per_sample_weights are {found}; expected the dtype of the table, {expected}.",
                found=weights.dtype,
                expected=self.weight.dtype,
            )
        return weights.flatten()


def check_offsets(offsets: Tensor, tokens: int, *, include_last: bool) -> None:
    """Raise SettingError unless `offsets` begin at 0 and never decrease, up to the number of ids."""
    check_integers(offsets, "offsets")
    if offsets.dim() != 1 or (include_last and not len(offsets)):
        raise SettingError(
            "Offsets are a vector with a start for each bag; found shape {shape}.",
            shape=tuple(offsets.shape),
        )
    if not len(offsets) or not has_values(offsets):
        return
    first = int(offsets[0])
    last = int(offsets[-1])
    if first != 0:
        raise SettingError("The first offset is {found}; the first bag begins at 0.", found=first)
    backward = (offsets.diff() < 0).nonzero()
    if len(backward):
        bag = int(backward[0])
        raise SettingError(
            "Bag {bag} begins at {start} and ends at {end}; offsets never decrease.",
            bag=bag,
            start=int(offsets[bag]),
            end=int(offsets[bag + 1]),
        )
    if last > tokens or (include_last and last != tokens):
        raise SettingError(
            "The last offset is {found}, and there are {tokens} ids; expected {expected} {tokens}.",
            found=last,
            tokens=tokens,
            expected=Message("exactly") if include_last else Message("at most"),
        )
