"""Sentence: how a model of sentence-transformers embeds texts: prompt, tokens, network, pooling, layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.messages import Listed, Message

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


class Dense(nn.Module):
    """A linear layer, an activation, and optionally the input added to the output."""

    def __init__(self, dims: tuple[int, int], *, bias: bool, activation: str, residual: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(*dims, bias=bias)
        self.activation: nn.Module = getattr(nn, activation)()
        self.adds_input = residual
        self.residual = nn.Linear(*dims, bias=False) if residual and dims[0] != dims[1] else None

    def forward(self, x: Tensor) -> Tensor:
        out = self.activation(self.linear(x))
        if not self.adds_input:
            return out
        return out + (x if self.residual is None else self.residual(x))


class LayerNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Normalize(nn.Module):
    """Unit length."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.normalize(x, dim=-1)


@dataclass(frozen=True, eq=False)
class Sentence:
    """How texts become vectors: prompt, tokens, network, pooling, layers."""

    poolings: tuple[str, ...] = ("mean",)
    """More than one are concatenated."""
    include_prompt: bool = True
    """The tokens of the prompt are pooled, too."""
    layers: nn.ModuleList = field(default_factory=nn.ModuleList)
    """Applied to the pooled vector, in this order."""
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    """By name; a prompt is put before every text."""
    default_prompt_name: str | None = None
    max_length: int | None = None
    """Most tokens of a text; None: as many as the network takes."""
    truncation_side: str = "right"
    """Where a longer text is cut, if it may be."""
    lower: bool = False
    """Text is lower-cased, whatever the tokenizer says."""
    similarity: str | None = None
    """The similarity the vectors were trained for; None: cosine."""
    dim: int | None = None
    """How many components, the first, are kept (Matryoshka); None: all."""

    def prompt(self, prompt: str | None, name: str | None) -> str:
        """The prompt to use: as given, or by name, or the default."""
        if prompt is not None and name is not None:
            raise SettingError("Both prompt and prompt_name are given. Give one of them.")
        if prompt is not None:
            return prompt
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in self.prompts:
            raise SettingError(
                "This model has no prompt called {name!r}; it has {known}. Give the text with prompt=.",
                name=name,
                known=Listed(map(repr, self.prompts)) or Message("none"),
            )
        return self.prompts[name]

    @torch.no_grad()
    def finish(self, vectors: Tensor, *, unit: bool = True) -> Tensor:
        """Pooled vectors (text, dim) after all layers; without `unit`, after those that do not normalize."""
        self.layers.to(vectors)  # pooled in float32, whatever the dtype of the network and of the layers
        for layer in self.layers:
            if unit or not isinstance(layer, Normalize):
                vectors = layer(vectors)
        return vectors if self.dim is None else vectors[:, : self.dim]

    def settings(self) -> dict[str, Any]:
        """What was read, for the card."""
        found = {
            "pooling": "+".join(self.poolings),
            "layers": [layer_name(layer) for layer in self.layers],
            "include_prompt": self.include_prompt,
            "prompts": dict(self.prompts),
            "default_prompt_name": self.default_prompt_name,
            "max_seq_length": self.max_length,
            "do_lower_case": self.lower,
            "similarity": self.similarity,
            "truncate_dim": self.dim,
        }
        return {name: value for name, value in found.items() if value not in (None, [], {}, False)}


def similarity(name: str | None, one: Tensor, other: Tensor) -> Tensor:
    """Each row of `one` with each row of `other`; distances are negative, so that more is always closer."""
    if name == "dot":
        return one @ other.T
    if name in ("euclidean", "manhattan"):
        return -torch.cdist(one, other, p=2.0 if name == "euclidean" else 1.0)
    return functional.normalize(one, dim=-1) @ functional.normalize(other, dim=-1).T


def layer_name(layer: nn.Module) -> str:
    """As the card shows it."""
    if isinstance(layer, Dense):
        sizes = f"{layer.linear.in_features} -> {layer.linear.out_features}"
        return f"Dense {sizes}, {type(layer.activation).__name__}"
    return type(layer).__name__
