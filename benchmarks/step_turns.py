"""How much CPU time does one training step take, beside the usual code for the same network?

    python benchmarks/step_turns.py shakespeare TEXT [--turns 25]
    python benchmarks/step_turns.py translation PAIRS [--turns 25]

Steps of ours and of the peer are taken in turn, on one thread, each with its own weights, and the CPU time of
the process is read, so that other programs of the machine hardly matter. Shakespeare: the sizes and the plain
loop of `shakespeare.py`; `gelu` is our step with the exact GELU, which the plain loop has. Translation: the
preset small on pairs of English, tab, Chinese, beside the Marian of `transformers` on the same batches, in a
plain loop with fused AdamW and clipping, without their Trainer. One line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shakespeare
import torch
import translation_quality

import inlaid
from inlaid.collect.pairs import Columns, read_pairs
from inlaid.encode.corpus import Corpus, Encoding
from inlaid.fit.causal import Causal
from inlaid.fit.networks.method import NetworkMethod
from inlaid.fit.networks.training import NetworkTraining
from inlaid.fit.translation import Translation
from inlaid.neural.checkpoint import save_model
from inlaid.report import silent

FIRST = 2
"""Turns that are not counted: memory is taken, and kernels are chosen."""
STEPS = 2000
Step = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("question", choices=STEPS_OF)
    parser.add_argument("text", type=Path)
    parser.add_argument("--turns", type=int, default=25)
    options = parser.parse_args()
    torch.set_num_threads(1)
    times = in_turn(STEPS_OF[options.question](options.text), options.turns)
    peer = times["peer"]
    for who, found in times.items():
        low, high = np.percentile(found / peer, [25, 75])
        line = {"question": f"steps of {options.question}", "who": who, "turns": options.turns}
        line |= {"cpu_ms": round(1000 * float(np.median(found)), 1)}
        line |= {"ratio": round(float(found.sum() / peer.sum()), 3)}
        line |= {"ratio_25": round(float(low), 3), "ratio_75": round(float(high), 3)}
        print(json.dumps(line), flush=True)


def in_turn(steps: dict[str, Step], turns: int) -> dict[str, np.ndarray]:
    """CPU seconds of each step: who -> (turn)."""
    times: dict[str, list[float]] = {who: [] for who in steps}
    for _ in range(FIRST + turns):
        for who, step in steps.items():
            began = time.process_time()
            step()
            times[who].append(time.process_time() - began)
    return {who: np.array(found[FIRST:]) for who, found in times.items()}


def of_shakespeare(path: Path) -> dict[str, Step]:
    corpus = inlaid.corpus(path, tokenizer="bpe", subwords=shakespeare.BYTES, sentences="document")
    size = shakespeare.SIZES["cpu"]
    settings = shakespeare.settings_of(size, STEPS)
    loop = shakespeare.PlainLoop(corpus, size, STEPS, device="cpu", seed=1)
    return {
        "inlaid": stepping(started(Causal(**settings), corpus)),
        "inlaid, gelu": stepping(started(Causal(**settings, activation="gelu"), corpus)),
        "peer": loop.step,
    }


def of_translation(path: Path) -> dict[str, Step]:
    method = Translation(preset="small", epochs=20, reverse=True, dropout=0.3, batch_tokens=2048)
    encoding = method.prepared(Encoding(tokenizer="bpe", subwords=8000))
    train, _ = translation_quality.split(read_pairs(path, Columns(), silent), 1)
    corpus = inlaid.corpus(method.sentences(train, encoding), encoding=encoding, report=silent)
    training = started(method, corpus)
    return {"inlaid": stepping(training), "peer": marian(training)}


def started(method: NetworkMethod, corpus: Corpus) -> NetworkTraining:
    training: Any = method.start(corpus)
    return training


def stepping(training: NetworkTraining) -> Step:
    done = 0

    def step() -> None:
        nonlocal done
        done = training.step(done).done

    return step


def marian(training: NetworkTraining) -> Step:
    """The same network of `transformers`, with fresh weights, on the same batches."""
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        save_model(training.result(), Path(folder) / "ours")
        config = transformers.AutoConfig.from_pretrained(Path(folder) / "ours")
    network = transformers.MarianMTModel(config).train()
    weights = list(network.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-3, betas=(0.9, training.settings.beta2), fused=True)
    smoothed = transformers.trainer_pt_utils.LabelSmoother(epsilon=0.1)
    per_epoch = len(training.ends(0))
    start = training.network.config.special.start or 0
    batches = iter(translation_quality.Batches(training.batches, per_epoch, training.settings.epochs, start))

    def step() -> None:
        batch = next(batches)
        labels = batch.pop("labels")
        loss = smoothed(network(**batch), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


STEPS_OF = {"shakespeare": of_shakespeare, "translation": of_translation}


if __name__ == "__main__":
    main()
