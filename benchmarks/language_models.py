"""How well do our language models predict words? Perplexity on the Penn Treebank, beside published figures.

    python benchmarks/language_models.py bilm causal --size medium --device cuda
    python benchmarks/language_models.py bilm --size tiny --minutes 5        # a glance, on one core

The text is Mikolov's: 929,589 training words, 10,000 kinds, cut at spaces (`ptb/ptb.zip` in INLAID_DATA).
Every word counts, and the end of every sentence, as is usual on this text. 2 % of the training sentences are
held out to keep the best state; the validation and test files are only measured, once.

`causal` reads the files as one stream, like the published models. `bilm` starts anew in each sentence, which
makes it harder; it is its forward direction that is measured. One line of JSON for each model.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

import inlaid
from inlaid.feed.sentence_batches import bounded
from inlaid.fit.bilm import BiLM
from inlaid.fit.causal import Causal
from inlaid.fit.networks.losses import on_device
from inlaid.jobs.safety import Safety
from inlaid.neural.loss import word_loss
from inlaid.neural.model import Model
from inlaid.neural.sizes import parameters
from inlaid.neural.spelled_texts import spelled_texts
from inlaid.report import silent

PUBLISHED = (
    ("LSTM, 2 layers of 200, not regularized", "Zaremba et al. 2014", 120.7, 114.5),
    ("LSTM, 2 layers of 650, dropout 0.5", "Zaremba et al. 2014", 86.2, 82.7),
    ("LSTM, 2 layers of 1,500, dropout 0.65", "Zaremba et al. 2014", 82.2, 78.4),
    ("Transformer-XL, 24 M parameters", "Dai et al. 2019", 56.72, 54.52),
)
"""Model, paper, perplexity of validation and of test; all of them read the text as one stream."""
ENCODING: dict[str, Any] = {"tokenizer": "whitespace", "min_count": 1, "normalize": (), "unknown": "<unk>"}
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "bilm": {
        "tiny": {"dim": 64, "cell_dim": 256, "epochs": 10},
        "small": {"dim": 200, "cell_dim": 400, "dropout": 0.2, "epochs": 15, "batch_tokens": 2048},
        "medium": {
            "preset": "small",
            "dim": 400,
            "cell_dim": 800,
            "dropout": 0.5,
            "epochs": 40,
            "batch_tokens": 2048,
            "weight_decay": 0.1,
        },
    },
    "causal": {
        "tiny": {"dim": 64, "layers": 2, "max_length": 64, "epochs": 10},
        "small": {"dim": 192, "layers": 4, "dropout": 0.2, "epochs": 20, "batch_tokens": 4096},
        "medium": {
            "dim": 384,
            "layers": 6,
            "heads": 6,
            "dropout": 0.4,
            "max_length": 128,
            "epochs": 60,
            "batch_tokens": 4096,
            "weight_decay": 0.1,
        },
    },
}
METHODS = {"bilm": BiLM, "causal": Causal}
AT_ONCE = 64
"""Texts or windows measured at once."""


def main() -> None:
    options = _options()
    text = {part: _lines(part, options.lines) for part in ("train", "valid", "test")}
    for name in options.methods:
        print(json.dumps(measured(name, text, options)), flush=True)
    for model, paper, valid, test in PUBLISHED:
        print(json.dumps({"published": model, "paper": paper, "valid": valid, "test": test}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("methods", nargs="*", choices=[*METHODS, []], default=[*METHODS])
    parser.add_argument("--size", choices=["tiny", "small", "medium"], default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, help="of training each; epochs are chosen to fit")
    parser.add_argument("--lines", type=int, help="of each file, for a trial")
    parser.add_argument("--settings", type=json.loads, default={}, help='other settings: {"dropout": 0.3}')
    return parser.parse_args()


def _lines(part: str, count: int | None) -> list[str]:
    with zipfile.ZipFile(Path(os.environ["INLAID_DATA"]) / "ptb" / "ptb.zip") as archive:
        return archive.read(f"ptb.{part}.txt").decode("utf-8").splitlines()[:count]


def measured(name: str, text: dict[str, list[str]], options: argparse.Namespace) -> dict[str, Any]:
    """Train a model, and measure it on both files."""
    settings = {**SIZES[name][options.size], "device": options.device, **options.settings}
    method = METHODS[name](**settings)
    safety = Safety(minutes=options.minutes, patience=4)
    started = time.perf_counter()
    model = inlaid.train(text["train"], method, safety=safety, **ENCODING)
    seconds = time.perf_counter() - started
    outcome = model.card.outcome
    perplexity = {"bilm": bilm_perplexity, "causal": causal_perplexity}[name]
    with torch.no_grad():
        scores = {part: round(perplexity(model, text[part]), 2) for part in ("valid", "test")}
    return {
        "method": name,
        "size": options.size,
        **scores,
        "parameters": sum(parameters(model.config).values()),
        "seconds": round(seconds),
        "tokens": outcome.done,
        "best_after": outcome.kept,
        "ended": outcome.reason,
        "device": options.device,
        "settings": {key: str(value) for key, value in model.card.settings.items()},
    }


def bilm_perplexity(model: Model, lines: list[str]) -> float:
    """Of each word and each end of a sentence, given the words before it in the sentence."""
    network: Any = model.network.eval()
    special = model.config.special
    spelled = spelled_texts(model.tokenizer, lines, model.config, silent).encoded(
        model.config.characters.max_length
    )
    targets = [np.array(each.ids[1:-1]) for each in model.tokenizer.encode_batch(lines)]
    assert spelled.characters is not None
    parts = on_device(spelled.characters, network).split(4096)
    vectors = torch.cat([network.word_vectors(part) for part in parts])
    order = np.argsort([len(row) for row in targets], kind="stable")
    total = 0.0
    count = 0
    for start in range(0, len(order), AT_ONCE):
        chosen = order[start : start + AT_ONCE].tolist()
        rows = [targets[each] for each in chosen]
        ids, real = bounded(rows, special.start or 0, special.end[0], padding=0)
        words = bounded(
            [spelled.ids[each][1:-1] for each in chosen], spelled.ids[0][0], spelled.ids[0][-1], 0
        )
        read = network.read(vectors[on_device(words[0], network)], on_device(real, network))
        forward, _ = network.directions(read)
        places = on_device(np.flatnonzero(real[:, 1:]), network)
        expected = on_device(ids[:, 1:].flatten(), network)[places]
        loss = word_loss(forward[:, :-1].flatten(0, 1)[places], network.head, expected)
        total += float(loss) * len(places)
        count += len(places)
    return math.exp(total / count)


def causal_perplexity(model: Model, lines: list[str]) -> float:
    """Of each word and each end of a sentence, in windows of the stream that overlap by half: each has at
    least half a window before it."""
    network: Any = model.network.eval()
    end = model.config.special.end[0]
    stream = [end]
    for each in model.tokenizer.encode_batch(lines):
        stream += [*each.ids, end]
    length = int(model.card.settings["max_length"])
    half = length // 2
    ids = np.array(stream)
    total = 0.0
    count = 0
    for start in range(0, len(ids) - 1, half):
        window = ids[start : start + length + 1]
        skipped = half if start else 0  # these were predicted in the window before
        if len(window) - 1 <= skipped:
            break
        row = on_device(window[None], network)
        hidden = network(row[:, :-1], logits=False).hidden[:, skipped:]
        expected = row[:, 1 + skipped :]
        total += float(word_loss(hidden, network.head, expected)) * expected.numel()
        count += expected.numel()
    assert count == len(stream) - 1
    return math.exp(total / count)


if __name__ == "__main__":
    main()
