"""Models of the embedded world whose attention docs/attend.md shows, and what their heads do.

    python benchmarks/world_attention.py train FOLDER [masked] [causal] [translation] [--seeds 1]
    python benchmarks/world_attention.py random MODEL [--networks 100] [--scale 1]

`train` writes one folder for each model and seed, such as FOLDER/masked-1. `random` asks `inlaid heads` about
networks of the same config with fresh weights: the share of their heads that get a name. With a `scale`, the
weights of queries and keys are that much larger, and attention is sharp. One line of JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import inlaid
from inlaid.collect import world
from inlaid.neural.attention import Attention
from inlaid.neural.network import make_network

MODELS: dict[str, dict[str, Any]] = {
    "masked": {"layers": 3, "epochs": 8, "subwords": 4000},
    "causal": {"layers": 3, "epochs": 6, "subwords": 4000},
    "translation": {"layers": 2, "epochs": 10, "subwords": 3000},
}
WORDS = {"masked": 240_000, "causal": 120_000, "translation": 80_000}


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train")
    train.add_argument("folder", type=Path)
    train.add_argument("methods", nargs="*", default=[*MODELS])
    train.add_argument("--seeds", type=int, nargs="+", default=[1])
    train.add_argument("--device", default="cpu")
    random = commands.add_parser("random")
    random.add_argument("model", type=Path)
    random.add_argument("--networks", type=int, default=100)
    random.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.command == "random":
        random_networks(options)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for method in options.methods:
        for seed in options.seeds:
            trained(method, seed, options)


def trained(method: str, seed: int, options: Any) -> None:
    began = time.perf_counter()
    words = WORDS[method]
    if method == "translation":
        text: list[Any] = [(pair.zh, pair.en) for pair in world.pairs(words=words, seed=1)]
    else:
        text = list(world.sentences("both", words=words, seed=1))
    model = inlaid.train(
        text, method, **MODELS[method], learning_rate=0.002, dropout=0.0, seed=seed, device=options.device
    )
    inlaid.save_model(model, options.folder / f"{method}-{seed}")
    print(method, seed, round(time.perf_counter() - began), "s", flush=True)


def random_networks(options: Any) -> None:
    model = inlaid.load_model(options.model)
    heads = 0
    named: Counter[str] = Counter()
    with_name = 0
    for seed in range(options.networks):
        torch.manual_seed(seed)
        network = make_network(model.config).eval()
        with torch.no_grad():
            for module in network.modules():
                if isinstance(module, Attention):
                    module.query.weight *= options.scale
                    module.key.weight *= options.scale
        found = inlaid.heads(dataclasses.replace(model, network=network), sentences=30, seed=seed)
        heads += found.layers * found.heads
        with_name += len({(each.layer, each.head) for each in found.named})
        named.update(each.name for each in found.named)
    line = {
        "question": "names of random heads",
        "model": options.model.name,
        "networks": options.networks,
        "scale": options.scale,
        "heads": heads,
        "named": with_name,
        "share": round(with_name / heads, 4),
        "names": dict(named),
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
