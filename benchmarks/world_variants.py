"""What do the choices inside a translation Transformer bring? Each is swapped, then trained on the world.

    python benchmarks/world_variants.py train runs.jsonl [--variants usual convolution ...] [--seeds 1 2 3]
        [--jobs 16] [--seconds 360] [--threads 1] [--device cpu] [--words 100000] [--epochs 12]
    python benchmarks/world_variants.py score runs.jsonl

train: Chinese to English, text and tests of `world_models.py`, every variant with the same seeds. One line of
JSON for each run, with its answers. No run is started that would end after `--seconds`, judged by the longest
so far. sacreBLEU is not needed.
score: BLEU (sacreBLEU) and exact matches over seeds, with 95 % intervals by Student's t, and the difference
to the usual network, paired by seed. One line of JSON for each variant and test.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from world_models import ORDER, Sentence, split_by_pattern

import inlaid
from inlaid.collect import world
from inlaid.encode import scripts
from inlaid.encode.tokenizers import Word
from inlaid.fit.networks import start
from inlaid.neural.attention import AttentionOutput, View
from inlaid.neural.blocks import Memory
from inlaid.neural.generate import GenerationSettings, generate_texts
from inlaid.neural.model import Model
from inlaid.neural.network import make_network
from inlaid.neural.positions import Positions, sinusoids
from inlaid.neural.stack import Output
from inlaid.report import silent
from inlaid.study.evaluate.statistics import student

TESTS = ("new sentences", "twins", "new patterns")
WIDTH = 5
"""Tokens that a convolution sees."""
SECTIONS = ("fruit", "deed", "sitting", "beast", "vehicle", "snack", "people")
"""Subjects of the sentences: a vocabulary that a small network learns in a minute."""
BATCH_TOKENS = 512
LAYERS = 2
"""Of each side, of every network."""
WIDTHS = range(16, 640, 2)
"""States that an LSTM may have."""


# --- variants: each changes a fresh Transformer


class Multiplied(Positions):
    """The token vectors times the sinusoids, or times 1 + sinusoids."""

    def __init__(self, dim: int, offset: float) -> None:
        super().__init__()
        self.dim = dim
        self.offset = offset

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x * (self.offset + sinusoids(positions, self.dim, "halves").to(x.dtype))


class Convolution(nn.Module):
    """In place of self-attention: a weight matrix for each of the tokens around, or of those before."""

    def __init__(self, dim: int, *, causal: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(dim, dim, WIDTH)
        self.causal = causal
        nn.init.xavier_uniform_(self.convolution.weight)
        nn.init.zeros_(self.convolution.bias)  # pyright: ignore[reportArgumentType]

    def forward(
        self, x: Tensor, view: View, *, cache: object = None, need_weights: bool = False
    ) -> AttentionOutput:
        if view.mask is not None and not self.causal:
            x = x * view.mask[:, 0, 0, :, None]  # padding counts as nothing
        around = (WIDTH - 1, 0) if self.causal else (WIDTH // 2, WIDTH // 2)
        padded = functional.pad(x.transpose(1, 2), around)
        return AttentionOutput(self.convolution(padded).transpose(1, 2))


def made_lstm(inputs: int, states: int, **settings: Any) -> nn.LSTM:
    """Layers whose forget gates start open, by biases of 1 (Jozefowicz et al. 2015)."""
    lstm = nn.LSTM(inputs, states, LAYERS, batch_first=True, **settings)
    with torch.no_grad():
        for name, bias in lstm.named_parameters():
            if name.startswith("bias_ih"):
                bias[states : 2 * states] += 1
    return lstm


class LSTMEncoder(nn.Module):
    """Two layers of LSTMs in both directions."""

    def __init__(self, dim: int, states: int) -> None:
        super().__init__()
        self.scale = dim**0.5
        self.lstm = made_lstm(dim, states // 2, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor | None = None, **asked: Any) -> Output:
        x = x * self.scale
        if mask is None:
            return Output(self.lstm(x)[0])
        packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        return Output(hidden)


class LSTMDecoder(nn.Module):
    """Two layers of LSTMs that start from the last state of each direction of the encoder (Cho et al. 2014);
    with attention, each state also attends to those of the encoder (Luong et al. 2015: their score "general",
    and a layer of tanh over state and context)."""

    def __init__(self, dim: int, states: int, *, attends: bool) -> None:
        super().__init__()
        self.scale = dim**0.5
        self.attends = attends
        self.first = nn.Linear(states, LAYERS * states)
        self.lstm = made_lstm(dim, states)
        self.output = nn.Linear(states, dim)
        if attends:
            self.query = nn.Linear(states, states, bias=False)
            self.combined = nn.Linear(2 * states, states)

    def forward(self, x: Tensor, mask: Tensor | None = None, *, memory: Memory, **asked: Any) -> Output:
        texts, tokens = memory.hidden.shape[:2]
        seen = memory.view.mask
        real = x.new_ones(texts, tokens, dtype=torch.bool) if seen is None else seen[:, 0, 0]
        forward, backward = memory.hidden.chunk(2, -1)
        last = forward[torch.arange(texts, device=x.device), real.sum(1) - 1]
        state = self.first(torch.cat([last, backward[:, 0]], -1)).tanh()
        state = state.unflatten(-1, (LAYERS, -1)).transpose(0, 1).contiguous()
        hidden, _ = self.lstm(x * self.scale, (state, torch.zeros_like(state)))
        if self.attends:
            scores = self.query(hidden) @ memory.hidden.transpose(1, 2)
            weights = scores.masked_fill(~real[:, None], -torch.inf).softmax(-1)
            hidden = self.combined(torch.cat([weights @ memory.hidden, hidden], -1)).tanh()
        return Output(self.output(hidden))


def usual(network: Any) -> None:
    """Sinusoids added to the input, four heads."""


def no_positions(network: Any) -> None:
    for side in (network.encoder, network.decoder):
        side.positions = Positions()


def multiplied(network: Any) -> None:
    for side in (network.encoder, network.decoder):
        side.positions = Multiplied(network.config.dim, 0.0)


def multiplied_by_one_plus(network: Any) -> None:
    for side in (network.encoder, network.decoder):
        side.positions = Multiplied(network.config.dim, 1.0)


def shared_query_key(network: Any) -> None:
    """One matrix for queries and keys of each self-attention: its scores are symmetric."""
    for side in (network.encoder, network.decoder):
        for block in side.blocks:
            block.attention.key = block.attention.query


def convolution(network: Any) -> None:
    for side in (network.encoder, network.decoder):
        for block in side.blocks:
            block.attention = Convolution(network.config.dim, causal=side.causal)


def lstm(network: Any) -> None:
    become_lstm(network, attends=False)


def lstm_with_attention(network: Any) -> None:
    become_lstm(network, attends=True)


def become_lstm(network: Any, *, attends: bool) -> None:
    """LSTMs of the width at which the network has as many parameters as before."""
    dim = network.config.dim
    wanted = size_of([network.encoder, network.decoder])

    def sides(states: int) -> tuple[nn.Module, nn.Module]:
        return LSTMEncoder(dim, states), LSTMDecoder(dim, states, attends=attends)

    with torch.device("meta"):
        width = min(WIDTHS, key=lambda states: abs(size_of(sides(states)) - wanted))
    network.encoder, network.decoder = sides(width)


def size_of(modules: Iterable[nn.Module]) -> int:
    return sum(each.numel() for module in modules for each in module.parameters())


VARIANTS: dict[str, Callable[[Any], None]] = {
    "usual": usual,
    "lstm": lstm,
    "lstm with attention": lstm_with_attention,
    "convolution": convolution,
    "W_q = W_k": shared_query_key,
    "positions multiplied": multiplied,
    "positions multiplied, 1 + p": multiplied_by_one_plus,
    "without positions": no_positions,
}
RATE = 0.002
RATES = {"lstm": 0.01, "lstm with attention": 0.01}
WARMUP = 0.1
"""Share of the updates: with a shorter one and a higher learning rate, some Transformers with norms after
their sublayers never learn."""


# --- training


class Run(NamedTuple):
    """One training: which variant, and with which settings."""

    variant: str
    seed: int
    words: int
    epochs: int
    device: str
    threads: int
    learning_rate: float
    dim: int


def trained(run: Run) -> dict[str, Any]:
    """Train and answer all tests, in a process of its own."""
    torch.set_num_threads(run.threads)
    split = split_by_pattern(run.words, run.seed, SECTIONS)

    def made(config: Any) -> Any:
        network = make_network(config)
        VARIANTS[run.variant](network)
        return network

    began = time.perf_counter()
    with (
        mock.patch.object(start, "make_network", made),
        # The world is in simplified Chinese alone: nothing to look for, and opencc need not be installed.
        mock.patch.object(scripts, "_kinds", return_value=np.full(scripts.CODE_POINTS, scripts.BLANK)),
    ):
        model: Model = inlaid.train(
            [(pair.zh, pair.en) for pair in split.training],
            "translation",
            layers=LAYERS,
            epochs=run.epochs,
            dim=run.dim,
            batch_tokens=BATCH_TOKENS,
            tokenizer="word",
            dictionary=world.dictionary(),
            force_dictionary=True,
            learning_rate=run.learning_rate,
            warmup=WARMUP,
            dropout=0.0,
            seed=run.seed,
            device=run.device,
            report=silent,
        )
    seconds = time.perf_counter() - began
    answers = {name: translated(model, [pair.zh for pair in test]) for name, test in tests_of(split)}
    return {
        **run._asdict(),
        "parameters": size_of([model.network]),
        "pairs": len(split.training),
        "seconds": round(seconds, 1),
        "torch": torch.__version__,
        "word order": dict(
            zip([zh for zh, _ in ORDER], translated(model, [zh for zh, _ in ORDER]), strict=True)
        ),
        "answers": answers,
    }


def translated(model: Model, texts: Sequence[str]) -> list[str]:
    """Greedy, without a cache: convolutions and LSTMs have no keys and values to keep."""
    settings = GenerationSettings(method="greedy", max_new_tokens=50, use_cache=False)
    found: list[str] = []
    for first in range(0, len(texts), 200):
        found += generate_texts(model, list(texts[first : first + 200]), settings)
    return [text.strip() for text in found]


def tests_of(split: Any) -> Iterator[tuple[str, list[Sentence]]]:
    return zip(TESTS, split[1:], strict=True)


def train(options: Any) -> None:
    """All variants of a seed before those of the next, so that whole seeds are there when time is up."""
    began = time.perf_counter()
    waiting = [
        Run(
            variant,
            seed,
            options.words,
            options.epochs,
            options.device,
            options.threads,
            options.learning_rate or RATES.get(variant, RATE),
            options.dim,
        )
        for seed in options.seeds
        for variant in options.variants
    ]
    longest = 0.0
    started: dict[Future[dict[str, Any]], float] = {}
    with (
        ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool,
        options.runs.open("a", encoding="utf-8") as file,
    ):
        while waiting or started:
            while waiting and len(started) < options.jobs:
                if time.perf_counter() - began + longest > options.seconds:
                    print(f"{len(waiting)} runs are left out: their time is up", flush=True)
                    waiting.clear()
                    break
                started[pool.submit(trained, waiting.pop(0))] = time.perf_counter()
            for future in wait(started, return_when=FIRST_COMPLETED).done:
                longest = max(longest, time.perf_counter() - started.pop(future))
                line = future.result()
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                print(f"{line['variant']}, seed {line['seed']}: {line['seconds']} s", flush=True)


# --- scoring


class Scores(NamedTuple):
    """Of one run on one test."""

    bleu: float
    exact: float


def score(options: Any) -> None:
    lines = [json.loads(line) for line in options.runs.read_text("utf-8").splitlines()]
    splits: dict[tuple[int, int], Any] = {}
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        key = (line["words"], line["seed"])
        splits.setdefault(key, split_by_pattern(*key, SECTIONS))
        tests = dict(tests_of(splits[key]))
        line["scores"] = {name: scores_of(name, line["answers"][name], tests[name]) for name in TESTS}
        found[line["variant"]].append(line)
    for variant, runs in found.items():
        beside = [] if variant == "usual" else found.get("usual", [])
        for name in TESTS:
            print(json.dumps(summary(name, runs, beside), ensure_ascii=False))
    for line in lines:
        run = {each: line[each] for each in ("variant", "seed")}
        print(json.dumps({"question": "word order", **run, **line["word order"]}, ensure_ascii=False))


def summary(name: str, runs: Sequence[dict[str, Any]], beside: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a variant scores on a test over its seeds, and the difference to other runs of the same seeds."""
    others = {run["seed"]: run["scores"][name] for run in beside}
    result: dict[str, Any] = {"question": "world variants zh-en", "test": name, "seeds": len(runs)}
    result |= {each: runs[0][each] for each in ("variant", "learning_rate")}
    for metric in Scores._fields:
        values = {run["seed"]: getattr(run["scores"][name], metric) for run in runs}
        result[metric] = mean_and_interval(list(values.values()))
        differences = [
            value - getattr(others[seed], metric) for seed, value in values.items() if seed in others
        ]
        if differences:
            result[f"{metric} - usual"] = mean_and_interval(differences)
    for each in ("parameters", "pairs", "seconds"):
        result[each] = round(float(np.mean([run[each] for run in runs])))
    return result | {each: runs[0][each] for each in ("words", "epochs", "dim", "device", "threads", "torch")}


def scores_of(name: str, found: Sequence[str], test: Sequence[Sentence]) -> Scores:
    from sacrebleu.metrics.bleu import BLEU

    right = [spoken(pair.en) for pair in test]
    exact = list(map(str.__eq__, found, right))
    if name == "twins":
        exact = [one and two for one, two in zip(exact[::2], exact[1::2], strict=True)]
    return Scores(BLEU().corpus_score(found, [right]).score, sum(exact) / len(exact))


def spoken(text: str) -> str:
    """A sentence as a model of words writes it: in lower case, without punctuation."""
    return " ".join(word.text.lower() for word in Word().tokenize(text))


def mean_and_interval(values: Sequence[float]) -> dict[str, float | None]:
    interval = student(values)
    ends = {"low": interval.low, "high": interval.high}
    return {"mean": round(float(np.mean(values)), 4)} | {
        name: None if np.isnan(end) else round(end, 4) for name, end in ends.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["train", "score"])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--variants", nargs="+", default=[*VARIANTS], choices=[*VARIANTS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--learning-rate", type=float, help="for all variants, to compare several")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--dim", type=int, default=64)
    options = parser.parse_args()
    {"train": train, "score": score}[options.what](options)


if __name__ == "__main__":
    main()
