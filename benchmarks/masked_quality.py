"""Do the sentence embeddings of a `masked` model beat static vectors that were trained on the same text?

    python benchmarks/masked_quality.py TEXT TASK [TASK ...] [--epochs 4] [--device cuda] [--dim 384]
        [--layers 6] [--seed 1]

TASKs are files or folders of sentence pairs and of texts with labels (STS, SST-2, TREC, LCQMC, ChnSentiCorp).
The model embeds a text as the mean of its last hidden states, static vectors (`sgns`, and `fasttext` with
subwords) as the mean of its words. One line of JSON for each task: the score of the model, that of the static
vectors, and the difference with its 95 % interval (paired bootstrap).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import inlaid
from inlaid.report import silent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=Path)
    parser.add_argument("tasks", type=Path, nargs="+")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--subwords", type=int, default=16_000)
    parser.add_argument("--batch-tokens", type=int, default=16_384)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    model = masked(options)
    about = {"text": options.text.name, "seconds": round(time.perf_counter() - began), "dim": options.dim}
    about |= {"layers": options.layers, "tokens": model.card.outcome.done, "seed": options.seed}
    print(json.dumps({"question": "masked training", **about}), flush=True)
    for name in ("sgns", "fasttext"):
        static = inlaid.train(
            options.text,
            name,
            dim=options.dim,
            workers=options.workers,
            seed=options.seed,
            report=silent,
        )
        for task in options.tasks:
            for each in inlaid.evaluate(model, [str(task)], against=static, report=silent):
                line = {"question": "sentences", "task": each.task, "metric": each.metric}
                line |= {"masked": round(each.first, 4), name: round(each.second, 4)}
                line |= {"difference": round(each.difference, 4), "items": each.used}
                line["95 %"] = [round(each.low, 4), round(each.high, 4)]
                print(json.dumps(line | about, ensure_ascii=False), flush=True)


def masked(options: Any) -> Any:
    return inlaid.train(
        options.text,
        "masked",
        dim=options.dim,
        layers=options.layers,
        heads=options.dim // 64,
        max_length=128,
        batch_tokens=options.batch_tokens,
        subwords=options.subwords,
        learning_rate=5e-4,
        epochs=options.epochs,
        held_out=0.005,
        precision="bfloat16" if options.device == "cuda" else "float32",
        device=options.device,
        seed=options.seed,
        report=silent,
    )


if __name__ == "__main__":
    main()
