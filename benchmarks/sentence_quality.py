"""How good are sentence embeddings of `train contrastive`? Beside sentence-transformers, in the same run.

    python benchmarks/sentence_quality.py [sts] [lcqmc] [static] [--device cuda] [--seeds 5] [--epochs 4]
                                          [--pairs 20000] [--dim 256] [--layers 4]
                                          [--pretrain 10] [--data FOLDER]

Both start from the same small encoder with the same weights and tokenizer, a masked language model of the
part to learn from. They learn in as many steps of as many pairs, with the same optimizer, schedule and scale.
What differs: which pairs are in one batch, and pairs with a text in common, which are no negatives of each
other here. `sts`: pairs of the STS benchmark's training part with a score of 4 or more, scored by Spearman on
its dev part. `lcqmc`: positive pairs of half of LCQMC's dev part, scored by AUC on the other half. `static`:
as `sts`, from a table of word vectors alone, which sentence-transformers has as StaticEmbedding. One line of
JSON for each task: means over seeds with 95 % intervals (Student), seconds, and the paired difference.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import inlaid
from inlaid.report import silent
from inlaid.study.evaluate import statistics

BATCH = 32
SUBWORDS = 4000
LEARNING_RATES = {"encoder": 5e-4, "static": 1e-2}


class Task(NamedTuple):
    """Pairs to learn from, and pairs with scores to test on."""

    texts: list[str]
    """What the encoder or the vectors to start from are trained on: the part to learn from."""
    pairs: list[tuple[str, str]]
    one: list[str]
    two: list[str]
    scores: np.ndarray
    statistic: Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=["sts", "lcqmc", "static"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs to learn from, at most")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--pretrain", type=int, default=10, help="epochs of the masked model to start from")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("INLAID_DATA", "data")))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.tasks:
        print(json.dumps(measure(name, options)), flush=True)


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Scores and seconds of both over all seeds."""
    task = lcqmc(options.data) if name == "lcqmc" else sts(options.data)
    task = task._replace(pairs=task.pairs[: options.pairs])
    found: dict[str, list[float]] = {"start": [], "ours": [], "theirs": []}
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            start = Path(folder) / "start"
            make_start(start, task, options, static=name == "static", seed=seed)
            found["start"].append(score(task, peer(start, options.device).encode))
            for side, learn in (("ours", ours), ("theirs", theirs)):
                before = time.perf_counter()
                embed = learn(start, task, options, seed, static=name == "static")
                seconds[side].append(time.perf_counter() - before)
                found[side].append(score(task, embed))
    differences = tuple(one - two for one, two in zip(found["ours"], found["theirs"], strict=True))
    report: dict[str, Any] = {"task": name, "pairs": len(task.pairs), "seeds": options.seeds}
    for side, values in found.items():
        interval = statistics.student(tuple(values))
        report[side] = {"mean": round(float(np.mean(values)), 4), "95 %": [interval.low, interval.high]}
    interval = statistics.student(differences)
    report["ours - theirs"] = {
        "mean": round(float(np.mean(differences)), 4),
        "95 %": [interval.low, interval.high],
    }
    report["seconds"] = {side: round(float(np.median(each)), 1) for side, each in seconds.items()}
    return report


def sts(data: Path) -> Task:
    folder = data / "sts_benchmark"
    rows = [
        [line.split("\t") for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("sts-train.csv", "sts-dev.csv")
    ]
    pairs = [(row[5], row[6]) for row in rows[0] if float(row[4]) >= 4]
    test = rows[1]
    return Task(
        [text for row in rows[0] for text in row[5:7]],
        pairs,
        [row[5] for row in test],
        [row[6] for row in test],
        np.array([float(row[4]) for row in test]),
        statistics.spearman,
    )


def lcqmc(data: Path) -> Task:
    """The part to learn from and the part to test on have no text in common."""
    with (data / "pairs_zh" / "lcqmc_dev.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(row) == 3]
    rows = [row for row in rows if row[2] in "01"]
    half = len(rows) // 2
    pairs = [(row[0], row[1]) for row in rows[:half] if row[2] == "1"]
    seen = {text for row in rows[:half] for text in row[:2]}
    test = [row for row in rows[half:] if not seen & set(row[:2])]
    scores = np.array([float(row[2]) for row in test])
    texts = [text for row in rows[:half] for text in row[:2]]
    return Task(texts, pairs, [row[0] for row in test], [row[1] for row in test], scores, statistics.area)


def score(task: Task, embed: Any) -> float:
    one, two = (np.asarray(embed(texts), np.float64) for texts in (task.one, task.two))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    cosines = (one * two).sum(1) / np.maximum(lengths, 1e-12)
    return statistics.value_of(np.column_stack([task.scores, cosines]), task.statistic)


def make_start(path: Path, task: Task, options: argparse.Namespace, *, static: bool, seed: int) -> None:
    """A folder that both start from: an encoder with a tokenizer of the pairs, or vectors."""
    texts = task.texts
    if static:
        vectors = inlaid.train(
            texts, "sgns", dim=options.dim, epochs=3, min_count=1, seed=seed, report=silent
        )
        inlaid.save(vectors, path, format="static-embedding", report=silent)
        return
    from inlaid.neural.checkpoint import save_model

    model = inlaid.train(
        texts,
        "masked",
        dim=options.dim,
        layers=options.layers,
        heads=4,
        max_length=128,
        epochs=options.pretrain,
        tokenizer="bpe",
        subwords=SUBWORDS,
        batch_tokens=8192,
        device=options.device,
        seed=seed,
        report=silent,
    )
    save_model(model, path.parent / "network")
    transformer, pooling, normalize = peer_modules()
    from sentence_transformers import SentenceTransformer

    parts = [transformer(str(path.parent / "network")), pooling(options.dim, "mean"), normalize()]
    SentenceTransformer(modules=parts, device="cpu").save(str(path), create_model_card=False)


def peer(path: Path, device: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(path), device=device)


def peer_modules() -> tuple[Any, Any, Any]:
    """Their place has changed between versions."""
    try:
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    except ImportError:
        from sentence_transformers.models import Normalize, Pooling, Transformer
    return Transformer, Pooling, Normalize


def peer_loss() -> Any:
    try:
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    except ImportError:
        from sentence_transformers.losses import MultipleNegativesRankingLoss
    return MultipleNegativesRankingLoss


def settings(options: argparse.Namespace, seed: int, *, static: bool) -> Any:
    return inlaid.Contrastive(
        batch_pairs=BATCH,
        epochs=options.epochs,
        learning_rate=LEARNING_RATES["static" if static else "encoder"],
        held_out=0.0,
        device=options.device,
        seed=seed,
    )


def ours(start: Path, task: Task, options: argparse.Namespace, seed: int, *, static: bool) -> Any:
    method = settings(options, seed, static=static)
    learned = inlaid.train(task.pairs, method, init_from=start, report=silent)
    if not static:
        return lambda texts: learned.embed(texts, truncate=True)
    folder = start.parent / "ours"
    inlaid.save(learned, folder, format="static-embedding", report=silent)
    return peer(folder, "cpu").encode


def theirs(start: Path, task: Task, options: argparse.Namespace, seed: int, *, static: bool) -> Any:
    """Its model and loss in a plain loop: the pairs shuffled, AdamW and the schedule as ours."""
    method = settings(options, seed, static=static)
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = peer(start, options.device)
    loss_of = peer_loss()(model)
    weights = [each for each in model.parameters() if each.requires_grad]
    groups = [
        {"params": [each for each in weights if each.dim() > 1], "weight_decay": method.weight_decay},
        {"params": [each for each in weights if each.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, method.beta2))
    batches = -(-len(task.pairs) // BATCH)
    model.train()
    preprocess = getattr(model, "preprocess", None) or model.tokenize
    for epoch in range(options.epochs):
        order = np.array_split(random.permutation(len(task.pairs)), batches)
        for number, chosen in enumerate(order):
            sides = [[task.pairs[place][side] for place in chosen] for side in (0, 1)]
            features = [to_device(preprocess(texts), options.device) for texts in sides]
            loss = loss_of(features, None)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, method.clip)
            for group in optimizer.param_groups:
                group["lr"] = method.learning_rate_at(epoch * batches + number, options.epochs * batches)
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    return lambda texts: model.encode(texts, batch_size=256)


def to_device(features: Any, device: str) -> dict[str, Any]:
    return {name: each.to(device) if torch.is_tensor(each) else each for name, each in features.items()}


if __name__ == "__main__":
    main()
