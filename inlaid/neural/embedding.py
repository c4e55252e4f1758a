"""The token embedding layer: all of nn.Embedding, without its pitfalls.

Three operations are equal to the last bit: a one-hot vector times a table, the row of that table, and a
linear layer whose weight is the table transposed. The first is the definition, the second is how it runs. A
linear layer with the table itself as its weight is the output layer.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.lookup import NormLimit, check_ids, id_frequencies, lookup, norm_scale
from inlaid.neural.products import linear
from inlaid.vectors import Vectors

Rows = Literal["mean"] | Tensor
"""Initial values of new rows: the mean of the old ones, or as given."""


class Table(nn.Module):
    """What the layers with a table of words have in common."""

    weight: Tensor
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    @torch.no_grad()
    def renorm_(self, ids: Tensor | None = None) -> None:
        """Rescale the rows of `ids` (None: all rows) whose norm exceeds `max_norm`."""
        limit = self._limit()
        if limit is None:
            raise SettingError("renorm_() needs a maximum norm: make the layer with max_norm=...")
        ids = torch.arange(self.num_embeddings, device=self.weight.device) if ids is None else ids
        check_ids(ids, self.weight)
        ids = ids.unique()
        self.weight[ids] *= norm_scale(self.weight[ids], limit)

    @torch.no_grad()
    def grow(self, rows: int, start: Rows = "mean") -> None:
        """Add rows for new words, up to `rows` in total. Old rows keep every bit; a tied output layer grows
        too.

        The table becomes a new parameter: make optimizers after growing, not before.
        """
        old = self.weight
        self.weight = nn.Parameter(grown(old, rows, start, self.padding_idx), requires_grad=old.requires_grad)
        self.num_embeddings = rows

    def _rows(self, ids: Tensor) -> Tensor:
        """The rows of ids in range, with this layer's gradients."""
        frequencies = id_frequencies(ids, self.num_embeddings) if self.scale_grad_by_freq else None
        return lookup(
            self.weight, ids, self.padding_idx, frequencies, sparse=self.sparse, limit=self._limit()
        )

    def _limit(self) -> NormLimit | None:
        return None if self.max_norm is None else NormLimit(self.max_norm, self.norm_type)


class TokenEmbedding(Table, nn.Embedding):
    """A drop-in replacement for `torch.nn.Embedding`: the same options and numbers, correct where torch is
    not.

    - `max_norm` gives torch's output and torch's gradient, and leaves the weights alone. `renorm_` rewrites
      the rows when you call it; call it before each forward pass to train as torch does.
    - An error names an id out of range, its position and the size of the table, on every device.
    - Gradients of many equal ids are summed in float32, also for bfloat16 tables, where a sum of ones stops
      at 256.
    - `sparse` works with `scale_grad_by_freq`, and with Adam, weight decay and clipping: see `optimizer.py`.

    >>> TokenEmbedding(6, 3)(torch.tensor([2, 0])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """The parameters are those of torch, more than eight, so that it stays a drop-in replacement."""
        check_table(num_embeddings, embedding_dim, padding_idx, max_norm, _weight)
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor | Vectors,
        freeze: bool = False,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        *,
        zero_padding: bool = False,
    ) -> TokenEmbedding:
        """A layer initialized with a copy of `embeddings`; it is trained unless you `freeze` it.

        The padding row keeps its values, or becomes zeros with `zero_padding`.
        """
        table = table_of(embeddings)
        made = cls(
            len(table),
            table.shape[1],
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            table,
            freeze,
        )
        if zero_padding:
            made._zero_padding()
        return made

    def forward(self, input: Tensor) -> Tensor:
        """ids (...) of any integer type -> rows (..., dim)."""
        check_ids(input, self.weight)
        return self._rows(input)

    def _zero_padding(self) -> None:
        if self.padding_idx is None:
            raise SettingError("zero_padding needs padding_idx: give both.")
        self._fill_padding_idx_with_zero()


class OutputEmbedding(nn.Module):
    """Hidden states to one logit for each word, by a table of its own or by the input table (`tied_to`).

    A tied layer has no table: it takes that of the input layer each time. So nothing can untie them: not
    `to`, `to_empty`, `load_state_dict(assign=True)`, saving or growing. The padding row gets no gradient
    through it either.
    """

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        *,
        tied_to: TokenEmbedding | None = None,
        bias: bool = False,
        scale: float = 1.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_table(vocab_size, dim, None, None)
        if tied_to is not None:
            _check_tie(tied_to, vocab_size, dim)
        # in a tuple, so that torch does not list it as a part of this layer and save it twice
        self._tied = (tied_to,)
        self.scale = scale  # hidden states are multiplied by it first
        self.table = None
        if tied_to is None:
            self.table = nn.Parameter(torch.empty(vocab_size, dim, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(vocab_size, device=device, dtype=dtype)) if bias else None
        if self.table is not None:
            nn.init.normal_(self.table, std=max(dim, 1) ** -0.5)

    @property
    def weight(self) -> Tensor:
        """The table (word, dim) in use now."""
        tied = self._tied[0]
        return tied.weight if tied is not None else self._own()

    @property
    def tied(self) -> bool:
        return self._tied[0] is not None

    def forward(self, hidden: Tensor) -> Tensor:
        if self.scale != 1.0:
            hidden = hidden * self.scale
        return linear(hidden, self.used_weight(), self.bias)

    def used_weight(self) -> Tensor:
        """The table for the product: the padding row of a tied table gets no gradient through it."""
        tied = self._tied[0]
        return self._own() if tied is None else _without_row_gradient(tied.weight, tied.padding_idx)

    @torch.no_grad()
    def grow(self, rows: int, start: Rows = "mean") -> None:
        """Add rows for new words, as `TokenEmbedding.grow` does; a tied table grows there. New biases are
        0."""
        if self.table is not None:
            self.table = nn.Parameter(
                grown(self.table, rows, start, None), requires_grad=self.table.requires_grad
            )
        if self.bias is not None:
            bias = grown(self.bias[:, None], rows, self.bias.new_zeros(1), None).squeeze(1)
            self.bias = nn.Parameter(bias, requires_grad=self.bias.requires_grad)

    def _own(self) -> Tensor:
        assert self.table is not None
        return self.table


def table_of(embeddings: Any) -> Tensor:
    """A copy of vectors, or of a matrix of floats, as a tensor."""
    if isinstance(embeddings, Vectors):
        return torch.tensor(embeddings.table)
    if not isinstance(embeddings, Tensor):
        raise SettingError(
            "A table is a tensor (word, dim) or Vectors; found {kind}.", kind=type(embeddings).__name__
        )
    table = embeddings.detach().clone()
    if table.dim() != 2 or not table.is_floating_point():
        raise SettingError(
            "A table is a matrix of floats (word, dim); found {dtype} of shape {shape}.",
            dtype=table.dtype,
            shape=tuple(table.shape),
        )
    return table


def check_table(
    rows: int, dim: int, padding: int | None, max_norm: float | None, weight: Tensor | None = None
) -> None:
    """Raise SettingError for settings that no table can have."""
    for name, value in (("num_embeddings", rows), ("embedding_dim", dim)):
        if value < 0:
            raise SettingError("{name} is {value}; expected 0 or more.", name=name, value=value)
    if padding is not None and not -rows <= padding < rows:
        raise SettingError(
            "padding_idx is {padding}, outside the table of {rows:,} rows.", padding=padding, rows=rows
        )
    if weight is not None and weight.shape != (rows, dim):
        raise SettingError(
            "The table given has shape {found}; expected ({rows}, {dim}).",
            found=tuple(weight.shape),
            rows=rows,
            dim=dim,
        )
    if max_norm is not None and not max_norm >= 0:
        raise SettingError("max_norm is {found}; expected 0 or more.", found=max_norm)


def grown(old: Tensor, rows: int, start: Rows, padding: int | None) -> Tensor:
    """`old` with new rows below it, `rows` in total."""
    if not isinstance(rows, int):
        raise SettingError("A table has a whole number of rows; found {rows!r}.", rows=rows)
    new = rows - len(old)
    if new < 0:
        raise SettingError(
            "The table has {found:,} rows, more than {rows:,}: growing never drops a row.",
            found=len(old),
            rows=rows,
        )
    if isinstance(start, Tensor):
        if start.shape not in ((new, old.shape[1]), (old.shape[1],)):
            raise SettingError(
                "{new} new rows of dimension {dim} need numbers of shape ({new}, {dim}); found {found}.",
                new=new,
                dim=old.shape[1],
                found=tuple(start.shape),
            )
        return torch.cat([old.detach(), start.to(old).expand(new, -1)])
    if start != "mean":
        raise SettingError("New rows start as 'mean' or as given in a tensor; found {start!r}.", start=start)
    kept = torch.ones(len(old), dtype=torch.bool, device=old.device)
    if padding is not None:
        kept[padding] = False  # padding is not a word: it would only move the mean towards zero
    mean = old.detach()[kept].to(torch.float64).mean(0).to(old.dtype)
    return torch.cat([old.detach(), mean.expand(new, -1)])


class _KeepRow(torch.autograd.Function):
    """A table as it is; one row of its gradient is zero."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, row: int) -> Tensor:
        ctx.row = row
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        kept = torch.ones(len(gradients[0]), 1, dtype=gradients[0].dtype, device=gradients[0].device)
        kept[ctx.row] = 0
        return gradients[0] * kept, None


def _without_row_gradient(weight: Tensor, row: int | None) -> Tensor:
    if row is None:
        return weight
    kept: Tensor = _KeepRow.apply(weight, row)  # pyright: ignore[reportAssignmentType]
    return kept


def _check_tie(table: TokenEmbedding, vocab_size: int, dim: int) -> None:
    if (table.num_embeddings, table.embedding_dim) != (vocab_size, dim):
        raise SettingError(
            "A tied output layer of {vocab_size:,} x {dim} needs an input table of that size; "
            "found {rows:,} x {columns}. Untie them, or give them the same size.",
            vocab_size=vocab_size,
            dim=dim,
            rows=table.num_embeddings,
            columns=table.embedding_dim,
        )
    if table.sparse:
        raise SettingError(
            "A tied output layer sends gradients to every row, so the input table cannot be sparse. "
            "Untie them, or use sparse=False."
        )
