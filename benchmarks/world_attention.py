"""Models of the embedded world whose attention docs/attend.md shows, and what their heads do.

    python benchmarks/world_attention.py train FOLDER [masked] [causal] [translation] [--seeds 1]
    python benchmarks/world_attention.py random MODEL [--networks 100] [--scale 1]
    python benchmarks/world_attention.py agree MODEL [--sentences 60]
    python benchmarks/world_attention.py draw FOLDER PICTURES

`train` writes one folder for each model and seed, such as FOLDER/masked-1. `random` asks `inlaid heads` about
networks of the same config with fresh weights: the share of their heads that get a name. With a `scale`, the
weights of queries and keys are that much larger, and attention is sharp. `agree` hides one token in new
sentences and asks `inlaid attribute` of a masked model: the rank correlation of each attribution with the
measured effect. `draw` redraws the pictures of the page from the folders of `train`. One line of JSON each.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

import inlaid
from inlaid.collect import world
from inlaid.neural.attention import Attention
from inlaid.neural.network import make_network
from inlaid.report import silent
from inlaid.study.attend.reading import read_text
from inlaid.study.evaluate.statistics import interval, mean

MODELS: dict[str, dict[str, Any]] = {
    "masked": {"layers": 3, "epochs": 8, "subwords": 4000},
    "causal": {"layers": 3, "epochs": 6, "subwords": 4000},
    "translation": {"layers": 2, "epochs": 10, "subwords": 3000},
}
WORDS = {"masked": 240_000, "causal": 120_000, "translation": 80_000}

COMPARED = ("attention", "rollout", "gradient_x_input", "integrated_gradients")
SEED = 2
"""Of sentences that no model was trained on as a text; some of them occur there, too."""
TEXTS = {
    "zh": "我喜欢吃苹果",
    "zh-phone": "我喜欢苹果手机",
    "en": "I like to eat apples.",
    "en-phone": "I like Apple phones.",
}


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
    agree = commands.add_parser("agree")
    agree.add_argument("model", type=Path)
    agree.add_argument("--sentences", type=int, default=60)
    draw = commands.add_parser("draw")
    draw.add_argument("folder", type=Path)
    draw.add_argument("pictures", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    others = {"random": random_networks, "agree": agreement, "draw": pictures}
    if options.command in others:
        others[options.command](options)
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


def agreement(options: Any) -> None:
    model = inlaid.load_model(options.model)
    random = Random(2)
    found: dict[str, list[float]] = {name: [] for name in COMPARED}
    errors: list[float] = []
    for line in world.sentences("both", words=100_000, seed=SEED):
        reading = read_text(model, line, silent, merge=False)
        own = [span for span in reading.spans if span[1] > span[0]]
        start, end = own[int(random.random() * len(own))]
        made = inlaid.attribute(model, f"{line[:start]}[MASK]{line[end:]}", report=silent)
        if made.agreement.words < 4:
            continue
        errors.append(made.completeness_error)
        for name in COMPARED:
            found[name].append(getattr(made.agreement, name))
        if len(errors) == options.sentences:
            break
    line = {
        "question": "rank correlation with the effect",
        "model": options.model.name,
        "sentences": len(errors),
    }
    line["largest completeness error"] = round(max(errors), 5)
    for name, values in found.items():
        items = np.array([each for each in values if not np.isnan(each)])[:, None]
        spread = interval(items, mean, seed=1)
        line[name] = [round(each, 3) for each in (float(items.mean()), spread.low, spread.high)]
    print(json.dumps(line, ensure_ascii=False), flush=True)


def pictures(options: Any) -> None:
    masked, translation = (
        inlaid.load_model(options.folder / f"{name}-1") for name in ("masked", "translation")
    )
    out = options.pictures
    for name, text in TEXTS.items():
        inlaid.attend(masked, text, layer=1, view="matrix", output=out / f"attend-{name}.png", overwrite=True)
    inlaid.attend(masked, TEXTS["zh"], view="grid", output=out / "attend-grid.png", overwrite=True)
    for name, text in (("eat", "我喜欢吃苹果。"), ("phone", "我喜欢苹果手机。")):
        path = out / f"attend-cross-{name}.png"
        inlaid.attend(translation, text, layer=1, view="matrix", output=path, overwrite=True)
    inlaid.attend_step(
        masked, TEXTS["zh-phone"], "苹果", layer=1, head=2, output=out / "attend-step.png", overwrite=True
    )
    inlaid.heads(masked, output=out / "attend-heads.png", overwrite=True)
    inlaid.ablate(masked, output=out / "attend-ablate.png", overwrite=True)
    inlaid.attribute(masked, "我喜欢[MASK]苹果。", output=out / "attend-attribute.png", overwrite=True)


if __name__ == "__main__":
    main()
