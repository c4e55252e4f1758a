"""How fast are the neural parts? Training steps, table updates and beam search, beside `transformers` and plain torch.

    python benchmarks/neural_speed.py [train] [table] [beam] [--device cuda] [--threads 1]

One line of JSON a measurement; peers run in the same process, in turns, and the fastest of the rounds counts. On a CPU the
sizes are smaller (they are in the lines), so compare ratios, not figures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from inlay.neural.checkpoint import load_model
from inlay.neural.embedding import TokenEmbedding
from inlay.neural.families import GPT2
from inlay.neural.generate import Generation, generate
from inlay.neural.network import make_network
from inlay.neural.optimizer import RowAdam

ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("questions", nargs="*", default=["train", "table", "beam"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    for question in options.questions:
        {"train": train, "table": table, "beam": beam}[question](options.device)


def race(question: str, unit: str, amount: float, runners: dict[str, Callable[[], Any]], device: str, **about: Any) -> None:
    """Time all in turns, and print one line for each: `amount` of `unit` a second, and the ratio to the first peer."""
    best = dict.fromkeys(runners, float("inf"))
    for runner in runners.values():
        runner()  # warm up, compile
    for _ in range(ROUNDS):
        for name, runner in runners.items():
            best[name] = min(best[name], seconds(runner, device))
    peer = next(time for name, time in best.items() if name != "inlay")
    for name, taken in best.items():
        line = {
            "question": question,
            "who": name,
            unit: round(amount / taken, 1),
            "ms": round(taken * 1e3, 3),
            "ratio": round(peer / taken, 2),
        }
        print(json.dumps({**line, "device": device, "threads": torch.get_num_threads(), **about}))


def seconds(work: Callable[[], Any], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


# --- a training step of the GPT-2 shape -------------------------------------------------------------------------------


class Plain(nn.Module):
    """GPT-2 as one writes it in a hurry, for comparison: fused projections, nothing checked, nothing returned but logits."""

    def __init__(self, words: int, length: int, dim: int, layers: int, heads: int) -> None:
        super().__init__()
        self.heads, self.words, self.places = heads, nn.Embedding(words, dim), nn.Embedding(length, dim)
        parts = lambda: nn.ModuleList(  # noqa: E731
            [
                nn.LayerNorm(dim),
                nn.Linear(dim, 3 * dim),
                nn.Linear(dim, dim),
                nn.LayerNorm(dim),
                nn.Linear(dim, 4 * dim),
                nn.Linear(4 * dim, dim),
            ]
        )
        self.blocks, self.norm = nn.ModuleList(parts() for _ in range(layers)), nn.LayerNorm(dim)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for before, qkv, out, middle, up, down in self.blocks:  # pyright: ignore
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv(before(x)).chunk(3, -1))
            x = x + out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            x = x + down(functional.gelu(up(middle(x)), approximate="tanh"))
        return functional.linear(self.norm(x), self.words.weight)


def train(device: str) -> None:
    """Forward and backward of GPT-2 124M; bf16 and torch.compile on a GPU, float32 and plain on a CPU."""
    batch, length = (16, 1024) if device == "cuda" else (1, 256)
    ids = torch.randint(0, 50257, (batch, length + 1), device=device)
    shape = GPT2.read({"resid_pdrop": 0.0, "attn_pdrop": 0.0})
    config = transformers.GPT2Config(resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0)
    ours, theirs = make_network(shape).to(device), transformers.GPT2LMHeadModel(config).to(device)
    plain = Plain(50257, 1024, 768, 12, 12).to(device)
    makers: dict[str, tuple[nn.Module, Callable[[nn.Module], Tensor]]] = {
        "inlay": (ours, lambda network: network(ids[:, :-1]).logits),
        "transformers": (theirs, lambda network: network(ids[:, :-1]).logits),
        "plain torch": (plain, lambda network: network(ids[:, :-1])),
    }
    runners = {name: _step(network, logits, ids[:, 1:], device) for name, (network, logits) in makers.items()}
    if device == "cuda":
        for name, (network, logits) in makers.items():
            runners[f"{name}, compiled"] = _step(torch.compile(network), logits, ids[:, 1:], device)  # pyright: ignore
    race("train", "tokens/s", batch * length, runners, device, batch=batch, length=length, dtype="bf16" if device == "cuda" else "f32")


def _step(network: nn.Module, logits: Callable[[nn.Module], Tensor], targets: Tensor, device: str) -> Callable[[], None]:
    def step() -> None:
        network.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found = logits(network)
            loss = functional.cross_entropy(found.flatten(0, 1), targets.flatten())
        loss.backward()

    return step


# --- updating a large table -------------------------------------------------------------------------------------------


def table(device: str) -> None:
    """Look up a Zipf batch of 65,536 ids, backward, and one Adam step; 3 million x 300 on a GPU, a tenth of it on a CPU."""
    rows, dim, count = (3_000_000 if device == "cuda" else 300_000), 300, 65_536
    draws = torch.rand(count, device=device, dtype=torch.float64)
    ids = (torch.tensor(float(rows), dtype=torch.float64, device=device) ** draws).long().clamp(1, rows) - 1  # P(id) ~ 1 / id
    upstream = torch.randn(count, dim, device=device)
    runners: dict[str, Callable[[], None]] = {}
    kinds: dict[str, tuple[Callable[[], nn.Module], Callable[[Any], torch.optim.Optimizer]]] = {
        "inlay": (lambda: TokenEmbedding(rows, dim, sparse=True, device=device), lambda p: RowAdam(p, rate=1e-3)),
        "SparseAdam": (lambda: nn.Embedding(rows, dim, sparse=True, device=device), lambda p: torch.optim.SparseAdam(list(p), lr=1e-3)),
        "dense Adam": (lambda: nn.Embedding(rows, dim, device=device), lambda p: torch.optim.Adam(p, lr=1e-3)),
    }
    for name, (layer, optimizer) in kinds.items():
        made = layer()
        runners[name] = _update(made, optimizer(made.parameters()), ids, upstream)
    race("table", "ids/s", count, runners, device, rows=rows, dim=dim, different=len(ids.unique()))


def _update(layer: nn.Module, optimizer: torch.optim.Optimizer, ids: Tensor, upstream: Tensor) -> Callable[[], None]:
    def update() -> None:
        optimizer.zero_grad(set_to_none=True)
        layer(ids).backward(upstream)
        optimizer.step()

    return update


# --- translating with four beams --------------------------------------------------------------------------------------


def beam(device: str) -> None:
    """Beam-4 decoding of the OPUS-MT shape, random weights: one text, and eight; every text runs to its full length."""
    settings = {
        "d_model": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
    }
    config = transformers.MarianConfig(
        vocab_size=65001, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512, pad_token_id=65000,
        decoder_start_token_id=65000, eos_token_id=0, forced_eos_token_id=None, scale_embedding=True,
        activation_function="swish", **settings,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config).eval().to(device)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load_model(folder, device=device)
    new = 24
    chosen = Generation(method="beam", beams=4, new_tokens=new)
    for texts in (1, 8):
        ids = torch.randint(1, 60_000, (texts, 20), device=device)
        mask = torch.ones_like(ids)
        runners = {
            "inlay": lambda ids=ids, mask=mask: generate(ours, ids, mask, chosen),
            "transformers": lambda ids=ids, mask=mask: theirs.generate(
                ids, attention_mask=mask, num_beams=4, max_new_tokens=new, do_sample=False
            ),
        }
        found, expected = runners["inlay"](), runners["transformers"]()
        same = [row[1:] for row in expected.tolist()] == found  # pyright: ignore
        race("beam", "tokens/s", texts * new, runners, device, texts=texts, beams=4, new_tokens=new, same_ids=same)


if __name__ == "__main__":
    main()
