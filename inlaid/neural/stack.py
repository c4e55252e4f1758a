"""Stack: from token vectors to hidden states, block after block; the trunk of every Transformer here."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from inlaid.errors import SettingError
from inlaid.neural.attention import Run, View, causal_mask, window_mask
from inlaid.neural.blocks import BlockOutput, Memory, TransformerBlock, make_norm
from inlaid.neural.cache import Cache
from inlaid.neural.config import Config
from inlaid.neural.config_parts import AttentionConfig
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.lookup import check_integers, has_values
from inlaid.neural.positions import Positions, make_positions, make_window_positions


@dataclass
class Output:
    """What a network returns; what was not asked for is empty."""

    hidden: Tensor
    """Hidden states after the last block (batch, token, dim)."""
    logits: Tensor | None = None
    """One number for each word (batch, token, word)."""
    layers: tuple[Tensor, ...] = ()
    """The input of the first block, then the output of each; the last is `hidden`."""
    attention: dict[int, Tensor] = field(default_factory=dict)
    """By layer, from 0: weights (batch, head, query, key)."""
    cross_attention: dict[int, Tensor] = field(default_factory=dict)
    """The same, of a decoder's attention to its encoder."""
    pooled: Tensor | None = None
    """The pooler's output for the first token (batch, dim)."""


torch.export.register_dataclass(Output)


class Stack(nn.Module):
    """Positions and segments added to token vectors, then the blocks, then the final norm."""

    def __init__(self, config: Config, layers: int, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.gradient_checkpointing = False
        """In training, keep only the input of each block, and compute the block again for its gradient."""
        self.causal = causal
        self.plain = not causal and is_plain_attention(config.attention)
        self.scale = config.dim**0.5 if config.embedding_scale else 1.0
        self.positions = make_positions(config, causal=causal)
        self.window = config.attention.window
        self.window_positions = make_window_positions(config)
        self.has_window = [config.has_window(layer) for layer in range(layers)]
        dim = config.input_dim
        self.segments = TokenEmbedding(config.segment_types, dim) if config.segment_types else None
        self.embedding_norm = make_norm(config, dim) if config.norm.embedding else None
        asked = config.embedding_dropout
        self.dropout = nn.Dropout(config.dropout if asked is None else asked)
        self.final_dropout = nn.Dropout(config.final_dropout)
        self.project = nn.Linear(dim, config.dim) if dim != config.dim else None
        self.blocks = nn.ModuleList(
            TransformerBlock(config, cross=cross, first=layer == 0) for layer in range(layers)
        )
        self.final_norm = make_norm(config) if config.norm.final else None

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        runs: Sequence[tuple[int, int]] = (),
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Output:
        """x (batch, token, dim); `mask` (batch, cached + token) is true where a token is real.

        `positions` (batch, token) replace those counted from the mask where position vectors are added.
        `layers` asks for the hidden states after every block, `attention` for the weights of the blocks it
        names. `runs` are the texts of a packed batch (1, token, dim): how many there are of each length, in
        this order.
        """
        self._check_layers(attention)
        if cache is not None:
            cache.check(len(self.blocks), x.shape[0])
        if runs:
            view = self._packed_view(x, runs)
        else:
            view = self._view(x, mask, cache.length if cache is not None else 0)
        window_view = self._window_view(view) if self.window else view
        x = self._embed(x, view.positions if positions is None else positions, segments)
        hidden_states: list[Tensor] = [x]
        output = Output(x)
        for number, block in enumerate(self.blocks):
            block_cache = cache and cache.layers[number]
            seen = window_view if self.has_window[number] else view
            if self._recomputes(cache) and number not in attention:
                x = recomputed(block, x, seen, memory)
                hidden_states.append(x)
                continue
            after: BlockOutput = block(x, seen, memory, block_cache, need_weights=number in attention)
            x = after.hidden
            hidden_states.append(x)
            if after.weights is not None:
                output.attention[number] = after.weights
            if after.cross_weights is not None:
                output.cross_attention[number] = after.cross_weights
        output.hidden = x if self.final_norm is None else self.final_norm(x)
        if self.training:
            output.hidden = self.final_dropout(output.hidden)
        if layers:
            output.layers = (*hidden_states[:-1], output.hidden)
        return output

    def _recomputes(self, cache: Cache | None) -> bool:
        return self.gradient_checkpointing and self.training and torch.is_grad_enabled() and cache is None

    def _embed(self, x: Tensor, positions: Tensor, segments: Tensor | None) -> Tensor:
        """The input of the first block."""
        if self.scale != 1.0:
            x = x * self.scale
        if self.segments is not None:
            x = x + self.segments(numbers_of(x, positions, segments, "segments"))
        x = self.positions.add(x, positions)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        x = self.dropout(x)
        return x if self.project is None else self.project(x)

    def _view(self, x: Tensor, mask: Tensor | None, past: int) -> View:
        """Positions and masks, once for all blocks."""
        length = x.shape[1]
        keys = past + length
        positions = self._positions(mask, keys, x.device)
        visible = None if mask is None else mask[:, None, None, :]
        unmasked = mask is None and past == 0
        if self.causal and length > 1 and not unmasked:
            causal = causal_mask(length, keys, x.device)[None, None]
            visible = causal if visible is None else visible & causal
        query_positions = positions[:, past:]
        return View(
            positions=query_positions,
            key_positions=positions,
            mask=visible,
            causal=self.causal and unmasked,
            bias=self.positions.bias(query_positions, positions),
            rotation=self.positions.rotation(query_positions),
            encoding=self.positions,
        )

    def _positions(self, mask: Tensor | None, length: int, device: torch.device) -> Tensor:
        """Padding on the left is not counted. A token that is masked between others is: by an encoder, as
        in `transformers`; a decoder does not count it, as `generate` does not there."""
        counted = torch.arange(length, device=device)[None]
        if mask is None:
            return counted
        if self.causal:
            return token_positions(mask)
        return (counted - mask.int().argmax(1, keepdim=True)).clamp(min=0)

    def _packed_view(self, x: Tensor, runs: Sequence[tuple[int, int]]) -> View:
        """Every text sees itself only, as if it were alone."""
        views = [self._view(x[:, :length], None, 0) for _, length in runs]
        counted = [view.positions.repeat(1, texts) for view, (texts, _) in zip(views, runs, strict=True)]
        positions = torch.cat(counted, 1)
        packed = View(
            positions=positions,
            key_positions=positions,
            rotation=self.positions.rotation(positions),
            encoding=self.positions,
        )
        if self.plain and takes_any_length(x, views):
            lengths = [length for texts, length in runs for _ in range(texts)]
            offsets = torch.tensor([0, *lengths]).cumsum(0).to(x.device, torch.int32)
            return replace(packed, offsets=offsets, longest=max(lengths))
        joined = tuple(Run(*run, view) for run, view in zip(runs, views, strict=True))
        return replace(packed, runs=joined)

    def _window_view(self, view: View) -> View:
        """What the layers with a window see. It is counted in places of the batch, padding or not."""
        queries = view.positions.shape[1]
        keys = view.key_positions.shape[1]
        if view.runs:
            view = replace(
                view, runs=tuple(replace(run, view=self._window_view(run.view)) for run in view.runs)
            )
        elif keys > self.window:
            near = window_mask(queries, keys, self.window, view.positions.device)
            if view.causal:
                near &= causal_mask(queries, keys, view.positions.device)
            near = near[None, None]
            view = replace(view, mask=near if view.mask is None else view.mask & near, causal=False)
        if self.window_positions is None:
            return view
        rotation = self.window_positions.rotation(view.positions)
        return replace(view, rotation=rotation, encoding=self.window_positions)

    def _check_layers(self, wanted: Collection[int]) -> None:
        if isinstance(wanted, (int, str)):
            raise SettingError(
                "attention is {found!r}; expected the numbers of some layers, such as [0].", found=wanted
            )
        for number in wanted:
            if not 0 <= number < len(self.blocks):
                raise SettingError(
                    "There is no layer {layer} to show the attention of; layers are 0 to {last}.",
                    layer=number,
                    last=len(self.blocks) - 1,
                )


def recomputed(block: nn.Module, x: Tensor, view: View, memory: Memory | None) -> Tensor:
    """The hidden states after a block, of which only the input is kept: for its gradient, the block is
    computed again with the same dropout (Chen et al. 2016)."""

    def hidden(x: Tensor) -> Tensor:
        return block(x, view, memory).hidden

    return checkpoint(hidden, x, use_reentrant=False)  # pyright: ignore[reportReturnType]


def checkpoint_gradients(network: nn.Module) -> None:
    """Turn on gradient checkpointing in all stacks of a network."""
    for part in network.modules():
        if isinstance(part, Stack):
            part.gradient_checkpointing = True


def numbers_of(x: Tensor, positions: Tensor, given: Tensor | None, name: str) -> Tensor:
    """The segments or tasks as given, one for each token; all 0 unless given."""
    if given is None:
        return torch.zeros_like(positions)
    if given.dim() != 2 or given.shape[0] not in (1, x.shape[0]) or given.shape[1] != x.shape[1]:
        raise SettingError(
            "The {name} have shape {found}; expected that of the ids, {expected}.",
            name=name,
            found=tuple(given.shape),
            expected=tuple(x.shape[:2]),
        )
    return given


def is_plain_attention(settings: AttentionConfig) -> bool:
    """Whether a kernel for texts of any length computes it: all tokens see each other, usual scale, as many
    key heads as query heads."""
    usual_scale = settings.scaled and not settings.scale_dim
    return usual_scale and not settings.window and settings.key_value_heads == settings.heads


def token_positions(mask: Tensor) -> Tensor:
    """The position of each token, padding not counted.

    >>> token_positions(torch.tensor([[False, True, True]]))
    tensor([[0, 0, 1]])
    """
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def takes_any_length(x: Tensor, views: Sequence[View]) -> bool:
    """Whether one GPU kernel can do the attention of texts of different lengths."""
    if not x.is_cuda or x.dtype not in (torch.float16, torch.bfloat16):
        return False
    for view in views:
        assert view.encoding is not None
        by_content = type(view.encoding).content_bias is not Positions.content_bias
        if view.mask is not None or view.bias is not None or by_content:
            return False
    return importlib.util.find_spec("torch.nn.attention.varlen") is not None


def packed_positions(ids: Tensor, padding: int, runs: Sequence[tuple[int, int]]) -> Tensor:
    """`positions_without_padding` of the texts of a packed batch (1, token)."""
    parts = ids[0].split([texts * length for texts, length in runs])
    found = [
        positions_without_padding(part.view(run), padding).flatten()
        for part, run in zip(parts, runs, strict=True)
    ]
    return torch.cat(found)[None]


def positions_without_padding(ids: Tensor, padding: int) -> Tensor:
    """Positions from 0 of the tokens that are not padding, and -1 for padding, by the ids alone.

    >>> positions_without_padding(torch.tensor([[7, 8, 1, 1]]), 1)
    tensor([[ 0,  1, -1, -1]])
    """
    real = (ids != padding).long()
    return real.cumsum(1) * real - 1


def memory_view(x: Tensor, memory: Tensor, mask: Tensor | None) -> View:
    """Queries of `x` may see every real token of `memory`, without positions."""
    positions = torch.arange(max(x.shape[1], memory.shape[1]), device=x.device)[None]
    return View(
        positions=positions[:, : x.shape[1]],
        key_positions=positions[:, : memory.shape[1]],
        mask=None if mask is None else mask[:, None, None, :],
    )


def check_batch(ids: Tensor, mask: Tensor | None, past: int = 0) -> Tensor | None:
    """The mask as booleans; ids and masks that no network can take raise SettingError."""
    check_integers(ids, "ids")
    if ids.dim() != 2:
        raise SettingError(
            "A batch of ids is a matrix (text, token); found shape {shape}. One text is ids[None].",
            shape=tuple(ids.shape),
        )
    if 0 in ids.shape:
        raise SettingError(
            "A batch needs at least one text and one token; found {texts} texts of {tokens} tokens.",
            texts=ids.shape[0],
            tokens=ids.shape[1],
        )
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise SettingError(
            "The mask is a {kind}; expected a tensor, 1 where a token is real and 0 where it is padding.",
            kind=type(mask).__name__,
        )
    expected = (ids.shape[0], past + ids.shape[1])
    if tuple(mask.shape) != expected:
        raise SettingError(
            "The mask has shape {found}; the ids need {expected}. Real tokens are 1, padding is 0.",
            found=tuple(mask.shape),
            expected=expected,
        )
    readable = has_values(mask)
    # on a GPU the check would synchronize: there, integers are taken as `transformers` takes them, by `bool`
    checked = mask.is_floating_point() or (mask.dtype != torch.bool and mask.device.type == "cpu")
    if checked and readable and not ((mask == 0) | (mask == 1)).all():
        raise SettingError("The mask holds numbers other than 0 and 1. Real tokens are 1, padding is 0.")
    if mask.device.type == "cpu" and readable and bool(mask.all()):
        return None  # without padding the fast paths need no mask; on a GPU the check would synchronize
    return mask.bool()
