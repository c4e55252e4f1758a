"""Models of the embedded world whose attention docs/attend.md shows, and what their heads do.

    python benchmarks/world_attention.py train FOLDER [masked] [causal] [translation] [--seeds 1] [--device cpu]

`train` writes one folder for each model and seed, such as FOLDER/masked-1.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch

import inlaid
from inlaid.collect import world

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
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
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


if __name__ == "__main__":
    main()
