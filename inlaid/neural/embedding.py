"""The token embedding layer: all of nn.Embedding, without its traps.

Three ways to say the same thing, equal to the last bit: a one-hot vector times a table, the row of that
table, and a linear layer whose weight is the table transposed. The first is the idea, the second is how it
runs; the third, with the table as it is, is the output layer.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.vectors import Vectors

RENORM_GUARD = 1e-7
"""What torch adds to a norm before it divides by it."""

Rows = Literal["mean"] | Tensor
"""How new rows start: as the mean of the old ones, or as given."""


class TokenEmbedding(nn.Embedding):
    """A drop-in for `torch.nn.Embedding`: the same options, the same numbers, and right where torch is wrong.

    - `max_norm` gives torch's output and leaves the weights alone; the scale is a constant for backward. `renorm_`
      rewrites the rows, when you ask for it.
    - An id out of range is named, with its place and the size of the table, on every device.
    - Gradients of many equal ids are summed in float32, also for bfloat16 tables, whose own sums stall at 256.
    - `sparse` goes together with `scale_grad_by_freq`, and with Adam, weight decay and clipping: see `optimizer.py`.

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
        """A layer that starts as a copy of `embeddings`; it learns unless you `freeze` it.

        The padding row is kept as it came, or with `zero_padding` becomes zeros.
        """
        table = (
            torch.tensor(embeddings.table) if isinstance(embeddings, Vectors) else embeddings.detach().clone()
        )
        if table.dim() != 2 or not table.is_floating_point():
            raise SettingError(
                f"A table is a matrix of floats (word, dim); found {table.dtype} of shape {tuple(table.shape)}."
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
        return rows if self.max_norm is None else rows * self._shrink(rows.detach())

    @torch.no_grad()
    def renorm_(self, ids: Tensor | None = None) -> None:
        """Rewrite the rows of `ids` (all rows when none are given) so that none is longer than `max_norm`."""
        if self.max_norm is None:
            raise SettingError("renorm_() needs a length to keep to: make the layer with max_norm=...")
        ids = torch.arange(self.num_embeddings, device=self.weight.device) if ids is None else ids.unique()
        check_ids(ids, self.num_embeddings)
        self.weight[ids] *= self._shrink(self.weight[ids])

    @torch.no_grad()
    def grow(self, rows: int, start: Rows = "mean") -> None:
        """Make room for new words: `rows` in all. Old rows keep every bit; an output layer tied to this one
        grows along.

        The table becomes a new parameter: make optimizers after growing, not before.
        """
        old = self.weight
        self.weight = nn.Parameter(grown(old, rows, start, self.padding_idx), requires_grad=old.requires_grad)
        self.num_embeddings = rows

    def _shrink(self, rows: Tensor) -> Tensor:
        """What to multiply each row by: 1, or less where it is longer than `max_norm`."""
        assert self.max_norm is not None
        norms = torch.linalg.vector_norm(rows, self.norm_type, dim=-1, keepdim=True)
        return torch.where(norms > self.max_norm, self.max_norm / (norms + RENORM_GUARD), 1.0).to(rows.dtype)

    def _zero_padding(self) -> None:
        if self.padding_idx is None:
            raise SettingError("zero_padding needs to know the row: give padding_idx as well.")
        self._fill_padding_idx_with_zero()


class OutputEmbedding(nn.Module):
    """Hidden states to one logit a word, by a table of its own or by the input table itself (`tied_to`).

    A tied layer owns no table: it asks the input layer for it each time. So nothing can part them: not `to`,
    `to_empty`, `load_state_dict(assign=True)`, saving or growing. The padding row gets no gradient through it
    either.
    """

    def __init__(
        self,
        words: int,
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
            _check_tie(tied_to, words, dim)
        self._tied = (
            tied_to,
        )  # in a tuple, so that torch does not list it as a part of this layer, and save it twice
        self.scale = scale  # T5 scales what it sends to a tied table
        self.table = (
            None if tied_to is not None else nn.Parameter(torch.empty(words, dim, device=device, dtype=dtype))
        )
        self.bias = nn.Parameter(torch.zeros(words, device=device, dtype=dtype)) if bias else None
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
        return functional.linear(
            hidden if self.scale == 1.0 else hidden * self.scale, self.used_weight(), self.bias
        )

    def used_weight(self) -> Tensor:
        """The table as the product takes it: through it, the padding row of a tied table gets no gradient."""
        tied = self._tied[0]
        return self._own() if tied is None else _without_row_gradient(tied.weight, tied.padding_idx)

    @torch.no_grad()
    def grow(self, rows: int, start: Rows = "mean") -> None:
        """Room for new words, as in `TokenEmbedding.grow`; a tied table grows with its owner. New biases are
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
    ):  # torch's own leaves each place by itself, as `_sparse` does, with less ado
        return torch.embedding(table, ids.long(), -1 if padding is None else padding, False, True)
    rows: Tensor = _Lookup.apply(table, ids, padding, frequencies, sparse)  # pyright: ignore[reportAssignmentType]
    return rows


def check_ids(ids: Tensor, rows: int) -> None:
    """Raise SettingError unless `ids` are whole numbers from 0 to `rows` - 1; names the first that is not."""
    if ids.dtype not in (torch.int64, torch.int32, torch.int16, torch.uint8):
        raise SettingError(f"Ids are whole numbers; found {ids.dtype}. Convert them with ids.long().")
    if (
        ids.numel() == 0
        or torch.compiler.is_compiling()
        or (ids.is_cuda and torch.cuda.is_current_stream_capturing())
    ):
        return  # a compiled or captured graph cannot look at values; torch's own bounds check stands guard there
    low, high = torch.stack(ids.aminmax()).tolist()  # one look: a GPU stops for each
    if low >= 0 and high < rows:
        return
    place = [int(each) for each in ((ids < 0) | (ids >= rows)).nonzero()[0]]
    found = int(ids[tuple(place)]) if place else int(ids)
    raise SettingError(
        f"Id {found} at position {place} is outside the table of {rows:,} rows (0 to {rows - 1:,}). "
        "Use the tokenizer the model was made with, or grow the table."
    )


def grown(old: Tensor, rows: int, start: Rows, padding: int | None) -> Tensor:
    """`old` with new rows below it, `rows` in all."""
    new = rows - len(old)
    if new < 0:
        raise SettingError(f"The table has {len(old):,} rows, more than {rows:,}: growing never drops a row.")
    if isinstance(start, Tensor):
        if start.shape not in ((new, old.shape[1]), (old.shape[1],)):
            raise SettingError(
                f"{new} new rows of {old.shape[1]} need ({new}, {old.shape[1]}) numbers; found {tuple(start.shape)}."
            )
        return torch.cat([old.detach(), start.to(old).expand(new, -1)])
    kept = torch.ones(len(old), dtype=torch.bool, device=old.device)
    if padding is not None:
        kept[padding] = False  # padding is no word: it would only pull the mean towards zero
    mean = old.detach()[kept].to(torch.float64).mean(0).to(old.dtype)
    return torch.cat([old.detach(), mean.expand(new, -1)])


class _Lookup(torch.autograd.Function):
    """Rows of a table; the gradient of each row is the sum over its places, in float32 or better."""

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
        summed = _sparse if ctx.sparse else _dense
        (shape, dtype) = ctx.table
        return summed(rows, ids, shape, dtype, ctx.padding), None, None, None, None


def _dense(rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None) -> Tensor:
    """torch's own sum over places, given at least float32: in bfloat16 a sum of ones stops at 256."""
    wide = rows.to(torch.promote_types(dtype, torch.float32))
    total = torch.ops.aten.embedding_dense_backward(
        wide, ids.long(), shape[0], -1 if padding is None else padding, False
    )
    return total.to(dtype)


def _sparse(rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None) -> Tensor:
    """Each place by itself; whoever uses the gradient sums those of one row (see `optimizer.rows_of`)."""
    ids = ids.reshape(-1).long()
    rows = rows.reshape(-1, shape[1])
    if padding is not None:
        ids, rows = ids[ids != padding], rows[ids != padding]
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
    """How often the id at each place occurs in the whole batch."""
    _, places, counts = ids.unique(return_inverse=True, return_counts=True)
    return counts[places]


def _check_tie(table: TokenEmbedding, words: int, dim: int) -> None:
    if (table.num_embeddings, table.embedding_dim) != (words, dim):
        raise SettingError(
            f"A tied output layer of {words:,} x {dim} needs an input table of that size; "
            f"found {table.num_embeddings:,} x {table.embedding_dim}. Untie them, or give them one size."
        )
    if table.sparse:
        raise SettingError(
            "A tied output layer sends gradient to every row, so the input table cannot be sparse. Untie, or sparse=False."
        )
