"""How well and how fast does `causal` learn tiny Shakespeare by characters, beside a plain loop?

    python benchmarks/shakespeare.py TEXT [--size cpu] [--device cpu] [--steps N] [--seed 1]

TEXT is tiny Shakespeare. Both train with the same sizes, batches, steps, learning rates and AdamW; steps are
rounded to whole epochs. The plain loop is the usual short one: a network of nn.Linear and nn.Embedding,
random windows, cross entropy. The loss is measured on the last tenth of the text, all of it. One line of JSON
for each; `seconds` are those of training, without the evaluations on held-out text that our command makes;
`step_ms` is the mean step after the first 100, so without compiling.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from step_clock import StepClock
from torch import nn
from torch.nn import functional

import inlaid
from inlaid.encode.corpus import Corpus
from inlaid.feed.token_stream import TokenStream
from inlaid.fit.networks.losses import next_token_loss

BYTES = 256 + 5
"""Tokens of a byte-level tokenizer without merges: bytes, which are characters here, and special tokens."""


@dataclass(frozen=True)
class Size:
    layers: int
    heads: int
    dim: int
    length: int
    rows: int
    steps: int
    dropout: float
    beta2: float = 0.99


SIZES = {
    "cpu": Size(layers=4, heads=4, dim=128, length=64, rows=12, steps=2000, dropout=0.0),
    "gpu": Size(layers=6, heads=6, dim=384, length=256, rows=64, steps=5000, dropout=0.2),
}
"""Those of nanoGPT's two configurations for this text."""


class Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.dropout = size.dropout
        self.norms = nn.ModuleList(nn.LayerNorm(size.dim) for _ in range(2))
        self.qkv = nn.Linear(size.dim, 3 * size.dim)
        self.out = nn.Linear(size.dim, size.dim)
        self.up = nn.Linear(size.dim, 4 * size.dim)
        self.down = nn.Linear(4 * size.dim, size.dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        drop = self.dropout if self.training else 0.0
        parts = self.qkv(self.norms[0](x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        found = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=drop)
        x = x + functional.dropout(self.out(found.transpose(1, 2).flatten(2)), drop)
        return x + functional.dropout(self.down(functional.gelu(self.up(self.norms[1](x)))), drop)


class Plain(nn.Module):
    """A short GPT."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.dropout = size.dropout
        self.words = nn.Embedding(BYTES, size.dim)
        self.positions = nn.Embedding(size.length, size.dim)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.dim)
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * size.layers) if residual else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.positions.weight[: ids.shape[1]]
        x = functional.dropout(x, self.dropout if self.training else 0.0)
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.words.weight)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=Path)
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    size = SIZES[options.size]
    corpus = inlaid.corpus(options.text, tokenizer="bpe", subwords=BYTES, sentences="document")
    epoch_steps = -(-stream(corpus, size, options.seed).windows // size.rows)
    epochs = max(round((options.steps or size.steps) / epoch_steps), 1)
    steps = epochs * epoch_steps
    clock = StepClock()
    clock.watch_trainings()
    for name, trained in (("inlaid", ours), ("plain loop", plain)):
        clock.start()
        measure = trained(corpus, size, steps, options, clock)
        clock.stop()
        loss = held_out_loss(corpus, size, measure)
        line = {"who": name, "loss": round(loss, 4), "seconds": round(clock.seconds, 1), "steps": steps}
        line["step_ms"] = round(clock.step_ms, 2)
        about = {"size": options.size, "device": options.device, "threads": torch.get_num_threads()}
        print(json.dumps({"question": "shakespeare", **line, **about, "seed": options.seed}), flush=True)


def stream(corpus: Corpus, size: Size, seed: int) -> TokenStream:
    return TokenStream(
        corpus=corpus, end=3, length=size.length, rows=size.rows, held_out_share=0.1, seed=seed
    )


def ours(corpus: Corpus, size: Size, steps: int, options: Any, clock: StepClock) -> Any:
    epoch_steps = -(-stream(corpus, size, options.seed).windows // size.rows)
    settings = settings_of(size, steps) | {"epochs": steps // epoch_steps, "seed": options.seed}
    on_gpu = options.device == "cuda"
    precision = "bfloat16" if on_gpu else "float32"
    model = inlaid.train(
        corpus, "causal", **settings, device=options.device, precision=precision, compile=on_gpu
    )
    return lambda rows: next_token_loss(model.network, rows).total


def settings_of(size: Size, steps: int) -> dict[str, Any]:
    """What `causal` is told to be of this size."""
    return {
        "dim": size.dim,
        "layers": size.layers,
        "heads": size.heads,
        "max_length": size.length,
        "batch_tokens": size.rows * size.length,
        "dropout": size.dropout,
        "beta2": size.beta2,
        "weight_decay": 0.1,
        "warmup": 100 / steps,
        "held_out": 0.1,
    }


@torch.no_grad()
def held_out_loss(corpus: Corpus, size: Size, loss: Any) -> float:
    """The mean loss over the last tenth of the text, in windows that touch."""
    text = stream(corpus, size, 1)
    starts = np.arange(text.training_tokens, text.tokens - size.length, size.length)
    rows = text.read(starts[:, None] + np.arange(size.length + 1))
    total = sum(float(loss(rows[at : at + 64])) for at in range(0, len(rows), 64))
    return total / (rows.shape[0] * size.length)


class PlainLoop:
    """The plain network with its text and its optimizer, for `steps` steps."""

    def __init__(self, corpus: Corpus, size: Size, steps: int, *, device: str, seed: int) -> None:
        torch.manual_seed(seed)
        text = stream(corpus, size, seed)
        self.text = torch.from_numpy(text.read(np.arange(text.training_tokens)))
        self.size = size
        self.steps = steps
        self.done = 0
        self.device = device
        self.network = Plain(size).to(device)
        self.weights = list(self.network.parameters())
        groups = [
            {"params": [each for each in self.weights if each.dim() > 1], "weight_decay": 0.1},
            {"params": [each for each in self.weights if each.dim() <= 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, size.beta2), fused=True)
        self.called = torch.compile(self.network) if device == "cuda" else self.network
        self.precision = torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda")
        self.network.train()

    def step(self) -> None:
        starts = torch.randint(len(self.text) - self.size.length - 1, (self.size.rows, 1))
        rows = self.text[starts + torch.arange(self.size.length + 1)].to(self.device)
        with self.precision:
            logits = self.called(rows[:, :-1]).flatten(0, 1)
            loss = functional.cross_entropy(logits, rows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-3 * schedule(self.done, self.steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.done += 1

    def summed_loss(self, rows: np.ndarray) -> torch.Tensor:
        ids = torch.from_numpy(rows).to(self.device)
        logits = self.network(ids[:, :-1]).flatten(0, 1)
        return functional.cross_entropy(logits, ids[:, 1:].flatten(), reduction="sum")


def plain(corpus: Corpus, size: Size, steps: int, options: Any, clock: StepClock) -> Any:
    loop = PlainLoop(corpus, size, steps, device=options.device, seed=options.seed)
    for _ in range(steps):
        clock.step()
        loop.step()
    if options.device == "cuda":
        torch.cuda.synchronize()
    loop.network.eval()
    return loop.summed_loss


def schedule(step: int, steps: int) -> float:
    """Linear warm-up over 100 steps, then a cosine to a tenth."""
    if step < 100:
        return (step + 1) / 100
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - 100) / max(steps - 100, 1)))


if __name__ == "__main__":
    main()
