"""How many tokens a second does `inlaid train causal` reach with GPT-2's 124M parameters on a GPU?

    python benchmarks/gpt_speed.py TEXT TOKENIZER [--seconds 40]

Beside it, in the same run: the bare loop of our own network, and that of `transformers`, both compiled, with
the same batches, AdamW, clipping and bfloat16. TOKENIZER is GPT-2's. One line of JSON for each.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from torch.nn import functional

import inlaid
from inlaid.encode.corpus import Corpus
from inlaid.neural.families import read_config
from inlaid.neural.loss import word_loss
from inlaid.neural.network import make_network
from inlaid.report import Progress

LENGTH = 1024
ROWS = 16
WARM = 25
"""Steps before the clock starts: the network is compiled in the first ones."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args()
    lines = options.text.read_text("utf-8").splitlines() * 20
    corpus = inlaid.corpus(lines, tokenizer_file=options.tokenizer)
    torch.set_float32_matmul_precision("high")
    speeds = {
        "inlaid train causal": by_command(corpus, options.seconds),
        "inlaid, bare loop": by_loop(our_loss(), options.seconds),
        "transformers, bare loop": by_loop(their_loss(), options.seconds),
    }
    peer = speeds["transformers, bare loop"]
    for who, speed in speeds.items():
        line = {"question": "gpt", "who": who, "tokens/s": round(speed), "ratio": round(speed / peer, 3)}
        print(json.dumps({**line, "device": torch.cuda.get_device_name(), "batch": ROWS, "length": LENGTH}))


class Done(Exception):
    """Enough was measured."""


def by_command(corpus: Corpus, seconds: float) -> float:
    """Tokens a second between two progress reports, the first after the network is compiled."""
    seen: list[tuple[float, int]] = []

    def watch(event: Any) -> None:
        if isinstance(event, Progress) and event.stage == "training" and event.done > WARM * ROWS * LENGTH:
            seen.append((time.perf_counter(), event.done))
            if seen[-1][0] - seen[0][0] > seconds:
                raise Done

    with contextlib.suppress(Done):
        inlaid.train(
            corpus,
            "causal",
            preset="base",
            max_length=LENGTH,
            batch_tokens=ROWS * LENGTH,
            dropout=0.0,
            epochs=100,
            held_out=0.0,
            precision="bfloat16",
            compile=True,
            device="cuda",
            report=watch,
        )
    return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])


def our_loss() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    network: Any = make_network(
        read_config({"model_type": "gpt2", "resid_pdrop": 0.0, "attn_pdrop": 0.0, "embd_pdrop": 0.0})
    )
    called = torch.compile(network)

    def loss(ids: torch.Tensor) -> torch.Tensor:
        return word_loss(called(ids[:, :-1], logits=False).hidden, network.head, ids[:, 1:])

    return network, loss


def their_loss() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    config = transformers.GPT2Config(resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0)
    network: Any = transformers.GPT2LMHeadModel(config)
    called = torch.compile(network)

    def loss(ids: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(called(ids[:, :-1]).logits.flatten(0, 1), ids[:, 1:].flatten())

    return network, loss


def by_loop(made: tuple[nn.Module, Callable[..., torch.Tensor]], seconds: float) -> float:
    network, loss = made
    network.to("cuda").train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, 50257, (ROWS, LENGTH + 1), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            total = loss(ids)
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        total.item()

    for _ in range(WARM):
        step()
    began = time.perf_counter()
    steps = 0
    while time.perf_counter() - began < seconds:
        step()
        steps += 1
    torch.cuda.synchronize()
    return steps * ROWS * LENGTH / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
