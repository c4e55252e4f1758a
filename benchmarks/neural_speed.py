"""How fast are the neural parts? Training steps, table updates and beam search, compared with `transformers`
and plain torch.

    python benchmarks/neural_speed.py [train] [table] [beam] [--device cuda] [--threads 1] [--weights float32]

One line of JSON for each measurement; peers run in the same process, in turns, and the fastest round counts.
On a CPU the sizes are smaller (they are in the lines), so compare ratios, not figures. On a GPU, products are
in bfloat16; with `--weights bfloat16` so is everything else.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
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

from inlaid.neural.checkpoint import load_model
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.families import read_config
from inlaid.neural.generate import GenerationSettings, generate
from inlaid.neural.loss import word_loss
from inlaid.neural.network import make_network
from inlaid.neural.optimizer import RowAdam

ROUNDS = 3
STEPS = 4
UPDATES = 20
"""Training steps and table updates in one measurement on a GPU, which is not synchronized after each."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("questions", nargs="*", default=["train", "table", "beam"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    for question in options.questions:
        if question == "train":
            train(options.device, getattr(torch, options.weights))
        else:
            {"table": table, "beam": beam}[question](options.device)


def race(
    question: str,
    unit: str,
    amount: float,
    runners: dict[str, Callable[[], Any]],
    device: str,
    times: int = 1,
    **about: Any,
) -> None:
    """Time all in turns, and print one line for each: `amount` of `unit` a second, and the ratio to the first
    peer.

    A runner does its work `times` times.
    """
    best = dict.fromkeys(runners, float("inf"))
    for runner in runners.values():
        runner()  # warm up, compile
    for _ in range(ROUNDS):
        for name, runner in runners.items():
            best[name] = min(best[name], seconds(runner, device) / times)
    peer = next(time for name, time in best.items() if not name.startswith("inlaid"))
    for name, taken in best.items():
        line = {
            "question": question,
            "who": name,
            unit: round(amount / taken, 1),
            "ms": round(taken * 1e3, 3),
            "ratio": round(peer / taken, 2),
        }
        about_run = {"device": device, "threads": torch.get_num_threads(), **about}
        print(json.dumps({**line, **about_run}), flush=True)


def seconds(work: Callable[[], Any], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def repeat(work: Callable[[], None], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            work()

    return repeated


# --- a training step of GPT-2


class Plain(nn.Module):
    """A minimal GPT-2 for comparison: fused projections, no checks, returns only logits."""

    def __init__(self, vocab_size: int, length: int, dim: int, layers: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(vocab_size, dim)
        self.positions = nn.Embedding(length, dim)
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
        self.blocks = nn.ModuleList(parts() for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for before, qkv, out, middle, up, down in self.blocks:  # pyright: ignore
            q, k, v = (
                part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv(before(x)).chunk(3, -1)
            )
            x = x + out(
                functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            )
            x = x + down(functional.gelu(up(middle(x)), approximate="tanh"))
        return functional.linear(self.norm(x), self.words.weight)


def train(device: str, weights: torch.dtype) -> None:
    """Forward and backward of GPT-2 124M; bf16 and torch.compile on a GPU, float32 and eager on a CPU.

    The loss is the same for all; ours is computed by `word_loss`, that of the others by torch from their
    logits. The last peer uses 50,304 words instead of 50,257, as many people do: GPUs need multiples of 64.
    """
    batch = 16 if device == "cuda" else 1
    length = 1024 if device == "cuda" else 256
    ids = torch.randint(0, 50257, (batch, length + 1), device=device)
    before = ids[:, :-1]
    targets = ids[:, 1:]
    config = transformers.GPT2Config(resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0)
    networks: dict[str, Any] = {
        "inlaid": make_network(read_config({"model_type": "gpt2", "resid_pdrop": 0.0, "attn_pdrop": 0.0})),
        "transformers": transformers.GPT2LMHeadModel(config),
        "plain torch": Plain(50257, 1024, 768, 12, 12),
        "plain torch, padded": Plain(50304, 1024, 768, 12, 12),
    }
    for network in networks.values():
        network.to(device, weights).apply(_initialize)
    head = networks["inlaid"].head
    losses: dict[str, Callable[[Any], Tensor]] = {
        "inlaid": lambda network: word_loss(network(before, logits=False).hidden, head, targets),
        "transformers": lambda network: functional.cross_entropy(
            network(before).logits.flatten(0, 1), targets.flatten()
        ),
        "plain torch": lambda network: functional.cross_entropy(
            network(before).flatten(0, 1), targets.flatten()
        ),
        "plain torch, padded": lambda network: functional.cross_entropy(
            network(before)[..., :50257].flatten(0, 1), targets.flatten()
        ),
    }
    mixed = device == "cuda" and weights == torch.float32
    runners = {name: _step(network, losses[name], device, mixed) for name, network in networks.items()}
    if device == "cuda":
        for name, network in networks.items():
            runners[f"{name}, compiled"] = _step(torch.compile(network), losses[name], device, mixed)
    kind = "bf16" if device == "cuda" else "f32"
    times = STEPS if device == "cuda" else 1
    runners = {name: repeat(step, times) for name, step in runners.items()}
    race(
        "train",
        "tokens/s",
        batch * length,
        runners,
        device,
        times,
        batch=batch,
        length=length,
        products=kind,
        weights=str(weights)[6:],
    )


def _initialize(module: nn.Module) -> None:
    """Small initial tables, as in GPT-2: with torch's defaults nearly all gradients of the logits are zero,
    and zeros are fast."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)


def _step(network: Any, loss: Callable[[Any], Tensor], device: str, mixed: bool) -> Callable[[], None]:
    def step() -> None:
        network.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=mixed):
            found = loss(network)
        found.backward()

    return step


# --- updating a large table


def table(device: str) -> None:
    """Look up a Zipf batch of 65,536 ids, backward, and one Adam step; 3 million x 300 on a GPU, a tenth of
    it on a CPU.

    Ours never synchronizes, so it can also be captured as a CUDA graph, which removes the cost of launching;
    SparseAdam cannot.
    """
    rows = 3_000_000 if device == "cuda" else 300_000
    dim = 300
    count = 65_536
    times = UPDATES if device == "cuda" else 1
    draws = torch.rand(count, device=device, dtype=torch.float64)
    size = torch.tensor(float(rows), dtype=torch.float64, device=device)
    ids = (size**draws).long().clamp(1, rows) - 1  # P(id) ~ 1 / id
    upstream = torch.randn(count, dim, device=device)
    runners: dict[str, Callable[[], None]] = {}
    kinds: dict[str, tuple[Callable[[], nn.Module], Callable[[Any], torch.optim.Optimizer]]] = {
        "inlaid": (
            lambda: TokenEmbedding(rows, dim, sparse=True, device=device),
            lambda p: RowAdam(p, learning_rate=1e-3),
        ),
        "SparseAdam": (
            lambda: nn.Embedding(rows, dim, sparse=True, device=device),
            lambda p: torch.optim.SparseAdam(list(p), lr=1e-3),
        ),
        "dense Adam": (
            lambda: nn.Embedding(rows, dim, device=device),
            lambda p: torch.optim.Adam(p, lr=1e-3),
        ),
    }
    for name, (layer, optimizer) in kinds.items():
        made = layer()
        runners[name] = repeat(_update(made, optimizer(made.parameters()), ids, upstream), times)
        if name == "inlaid" and device == "cuda":
            runners["inlaid, captured"] = repeat(
                _captured(_update(made, optimizer(made.parameters()), ids, upstream)), times
            )
    race("table", "ids/s", count, runners, device, times, rows=rows, dim=dim, different=len(ids.unique()))


def _update(
    layer: nn.Module, optimizer: torch.optim.Optimizer, ids: Tensor, upstream: Tensor
) -> Callable[[], None]:
    def update() -> None:
        optimizer.zero_grad(set_to_none=True)
        layer(ids).backward(upstream)
        optimizer.step()

    return update


def _captured(work: Callable[[], None]) -> Callable[[], None]:
    """The same work as one launch: a CUDA graph recorded once and replayed."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


# --- translating with four beams


def beam(device: str) -> None:
    """Decoding by a model of OPUS-MT's size, random weights: one text and eight, to full length, with four
    beams and greedily. On a CPU CTranslate2, if it is installed, is a mark for engines made for this."""
    settings = {
        "d_model": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
    }
    config = transformers.MarianConfig(
        vocab_size=65001,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        max_position_embeddings=512,
        pad_token_id=65000,
        decoder_start_token_id=65000,
        eos_token_id=0,
        forced_eos_token_id=None,
        scale_embedding=True,
        activation_function="swish",
        **settings,
    )
    theirs = transformers.MarianMTModel(config).eval().to(device)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load_model(folder, device=device)
    marks = {} if device == "cuda" else _ctranslate2(theirs)
    for method, beams in (("beam", 4), ("greedy", 1)):
        for texts in (1, 8):
            _decode(ours, theirs, marks, method, beams, torch.randint(1, 60_000, (texts, 20), device=device))


def _decode(ours: Any, theirs: Any, marks: dict[str, Any], method: Any, beams: int, ids: Tensor) -> None:
    new = 24
    mask = torch.ones_like(ids)
    chosen = GenerationSettings(method=method, beams=beams, max_new_tokens=new)
    runners: dict[str, Callable[[], Any]] = {
        "inlaid": lambda: generate(ours, ids, mask, chosen),
        "transformers": lambda: theirs.generate(
            ids, attention_mask=mask, num_beams=beams, max_new_tokens=new, do_sample=False
        ),
    }
    same = [row[1:] for row in runners["transformers"]().tolist()] == runners["inlaid"]()
    words = [[str(id) for id in row] for row in ids.tolist()]
    for name, translator in marks.items():
        runners[name] = lambda each=translator: each.translate_batch(
            words, beam_size=beams, max_decoding_length=new, min_decoding_length=new
        )
    about = {"texts": len(ids), "beams": beams, "max_new_tokens": new, "same_ids": same}
    race(method, "tokens/s", len(ids) * new, runners, ids.device.type, **about)


def _ctranslate2(model: Any) -> dict[str, Any]:
    """Translators in float32 and int8 of the same model. It is optional: `pip install ctranslate2`."""
    if importlib.util.find_spec("ctranslate2") is None:
        print("ctranslate2 is not installed, and is not measured.")
        return {}
    import ctranslate2
    from ctranslate2.converters.transformers import MarianMTLoader

    words = [str(id) for id in range(65000)]  # it has no row for the padding token
    found: dict[str, Any] = {}
    for kind in ("float32", "int8"):
        loader = MarianMTLoader()
        spec = loader.get_model_spec(copy.deepcopy(model))  # it changes the weights in place
        spec.config.eos_token = spec.config.unk_token = spec.config.decoder_start_token = "0"
        loader.set_vocabulary(spec, words)
        spec.validate()
        spec.optimize(quantization=None if kind == "float32" else kind)
        with tempfile.TemporaryDirectory() as folder:
            spec.save(folder)
            found[f"ctranslate2 {kind}"] = ctranslate2.Translator(
                folder, compute_type=kind, inter_threads=1, intra_threads=torch.get_num_threads()
            )
    return found


if __name__ == "__main__":
    main()
