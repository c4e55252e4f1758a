"""The token embedding layer: all of nn.Embedding, without its pitfalls.

Three operations are equal to the last bit: a one-hot vector times a table, the row of that table, and a
linear layer whose weight is the table transposed. The first is the definition, the second is how it runs. A
linear layer with the table itself as its weight is the output layer.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.vectors import Vectors

RENORM_EPS = 1e-7
"""Added to a norm before dividing by it, as torch does."""

Rows = Literal["mean"] | Tensor
"""Initial values of new rows: the mean of the old ones, or as given."""


class TokenEmbedding(nn.Embedding):
    """A drop-in replacement for `torch.nn.Embedding`: the same options and numbers, correct where torch is
    not.

    - `max_norm` gives torch's output and leaves the weights alone; the scale is a constant for backward.
      `renorm_` rewrites the rows when you call it.
    - An error names an id out of range, its position and the size of the table, on every device.
    - Gradients of many equal ids are summed in float32, also for bfloat16 tables, where a sum of ones stops
      at 256.
    - `sparse` works with `scale_grad_by_freq`, and with Adam, weight decay and clipping: see `optimizer.py`.

    >>> TokenEmbedding(6, 3)(torch.tensor([2, 0])).shape
    torch.Size([2, 3])
    """

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

        The padding row keeps its values, or becomes zeros with `zero_padding`. The parameters are those of
        torch, more than eight, so that it stays a drop-in replacement.
        """
        if isinstance(embeddings, Vectors):
            table = torch.tensor(embeddings.table)
        else:
            table = embeddings.detach().clone()
        if table.dim() != 2 or not table.is_floating_point():
            raise SettingError(
                "A table is a matrix of floats (word, dim); found {dtype} of shape {shape}.",
                dtype=table.dtype,
                shape=tuple(table.shape),
            )
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
        check_ids(input, self.num_embeddings)
        frequencies = _frequencies(input) if self.scale_grad_by_freq else None
        rows = lookup(self.weight, input, self.padding_idx, frequencies, sparse=self.sparse)
        return rows if self.max_norm is None else rows * self._norm_scale(rows.detach())

    @torch.no_grad()
    def renorm_(self, ids: Tensor | None = None) -> None:
        """Rescale the rows of `ids` (None: all rows) whose norm exceeds `max_norm`."""
        if self.max_norm is None:
            raise SettingError("renorm_() needs a maximum norm: make the layer with max_norm=...")
        ids = torch.arange(self.num_embeddings, device=self.weight.device) if ids is None else ids.unique()
        check_ids(ids, self.num_embeddings)
        self.weight[ids] *= self._norm_scale(self.weight[ids])

    @torch.no_grad()
    def grow(self, rows: int, start: Rows = "mean") -> None:
        """Add rows for new words, up to `rows` in total. Old rows keep every bit; a tied output layer grows
        too.

        The table becomes a new parameter: make optimizers after growing, not before.
        """
        old = self.weight
        self.weight = nn.Parameter(grown(old, rows, start, self.padding_idx), requires_grad=old.requires_grad)
        self.num_embeddings = rows

    def _norm_scale(self, rows: Tensor) -> Tensor:
        """The factor of each row: 1, or less where its norm exceeds `max_norm`."""
        assert self.max_norm is not None
        norms = torch.linalg.vector_norm(rows, self.norm_type, dim=-1, keepdim=True)
        return torch.where(norms > self.max_norm, self.max_norm / (norms + RENORM_EPS), 1.0).to(rows.dtype)

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
            nn.init.normal_(self.table, std=dim**-0.5)

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
        return functional.linear(hidden, self.used_weight(), self.bias)

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
        if self.bias is not None and rows > len(self.bias):
            self.bias = nn.Parameter(torch.cat([self.bias, self.bias.new_zeros(rows - len(self.bias))]))

    def _own(self) -> Tensor:
        assert self.table is not None
        return self.table


def lookup(
    table: Tensor,
    ids: Tensor,
    padding: int | None = None,
    frequencies: Tensor | None = None,
    *,
    sparse: bool = False,
) -> Tensor:
    """Rows of `table` by ids that are known to be in range; gradients are summed in float32 or better."""
    if (
        sparse and frequencies is None
    ):  # torch's own keeps each occurrence apart, as `_sparse` does, and is faster
        return torch.embedding(table, ids.long(), -1 if padding is None else padding, False, True)
    rows: Any = _Lookup.apply(table, ids, padding, frequencies, sparse)
    return rows


def check_ids(ids: Tensor, rows: int) -> None:
    """Raise SettingError unless `ids` are integers from 0 to `rows` - 1; the error names the first that is
    not."""
    if ids.dtype not in (torch.int64, torch.int32, torch.int16, torch.uint8):
        raise SettingError("Ids are integers; found {dtype}. Convert them with ids.long().", dtype=ids.dtype)
    if ids.numel() == 0 or torch.compiler.is_compiling():
        return  # a compiled graph cannot look at values; torch checks bounds there
    if ids.is_cuda and torch.cuda.is_current_stream_capturing():
        return  # nor can a captured one
    low, high = torch.stack(ids.aminmax()).tolist()  # both at once: each read synchronizes a GPU
    if low >= 0 and high < rows:
        return
    position = [int(each) for each in ((ids < 0) | (ids >= rows)).nonzero()[0]]
    raise SettingError(
        "Id {id} at position {position} is outside the table of {rows:,} rows (0 to {last:,}). "
        "Use the tokenizer the model was trained with, or grow the table.",
        id=int(ids[tuple(position)]) if position else int(ids),
        position=position,
        rows=rows,
        last=rows - 1,
    )


def grown(old: Tensor, rows: int, start: Rows, padding: int | None) -> Tensor:
    """`old` with new rows below it, `rows` in total."""
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
    kept = torch.ones(len(old), dtype=torch.bool, device=old.device)
    if padding is not None:
        kept[padding] = False  # padding is not a word: it would only move the mean towards zero
    mean = old.detach()[kept].to(torch.float64).mean(0).to(old.dtype)
    return torch.cat([old.detach(), mean.expand(new, -1)])


class _Lookup(torch.autograd.Function):
    """Rows of a table; the gradient of each row is the sum over its occurrences, in float32 or better."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, ids: Tensor, padding: int | None, frequencies: Tensor | None, sparse: bool
    ) -> Tensor:
        ctx.save_for_backward(ids, frequencies)
        ctx.table = (weight.shape, weight.dtype)
        ctx.padding = padding
        ctx.sparse = sparse
        return functional.embedding(ids.long(), weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ids, frequencies = ctx.saved_tensors
        rows = gradients[0] if frequencies is None else gradients[0] / frequencies[..., None]
        shape, dtype = ctx.table
        gradient = _sparse if ctx.sparse else _dense
        return gradient(rows, ids, shape, dtype, ctx.padding), None, None, None, None


def _dense(rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None) -> Tensor:
    """torch's own sum over occurrences, in at least float32: in bfloat16 a sum of ones stops at 256."""
    wide = rows.to(torch.promote_types(dtype, torch.float32))
    total = torch.ops.aten.embedding_dense_backward(
        wide, ids.long(), shape[0], -1 if padding is None else padding, False
    )
    return total.to(dtype)


def _sparse(rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None) -> Tensor:
    """Each occurrence by itself; the optimizer sums those of one row (see `optimizer.rows_of`)."""
    ids = ids.reshape(-1).long()
    rows = rows.reshape(-1, shape[1])
    if padding is not None:
        real = ids != padding
        ids = ids[real]
        rows = rows[real]
    return torch.sparse_coo_tensor(ids[None], rows.to(dtype), shape, check_invariants=False)


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


def _frequencies(ids: Tensor) -> Tensor:
    """How often each id occurs in the whole batch, for every occurrence."""
    _, places, counts = ids.unique(return_inverse=True, return_counts=True)
    return counts[places]


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
