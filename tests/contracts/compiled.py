"""Trains networks with `--compile`, without the minutes of code generation, on the text and the pairs given.

Prints a line for each that is traced as one graph, learns what it learns without `--compile`, and resumes.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from inlaid.cli import main
from inlaid.neural.checkpoint import load_model

TEXT, PAIRS = sys.argv[1:]
TEXTS = {"causal": TEXT, "masked": TEXT, "translation": PAIRS, "contrastive": PAIRS}
SETTINGS = [
    "--dim",
    "8",
    "--layers",
    "1",
    "--heads",
    "2",
    "--epochs",
    "1",
    "--max-length",
    "32",
    "--dropout",
    "0",
]
ENCODING = ["--tokenizer", "bpe", "--subwords", "600", "--min-count", "1", "--checkpoint-minutes", "0"]

compile_network = torch.compile
replace = os.replace
graphs = list[Any]()
saves_left = [0]


def traced(network: Any) -> Any:
    graphs.append(compile_network(network, backend="aot_eager", fullgraph=True))
    return graphs[-1]


def replace_and_press_ctrl_c(source: Any, target: Any) -> None:
    replace(source, target)
    if Path(target).suffix == ".checkpoint":
        saves_left[0] -= 1
        if saves_left[0] == 0:
            signal.raise_signal(signal.SIGINT)


def same(one: Path, two: Path) -> bool:
    tensors = load_model(two).network.state_dict()
    found = load_model(one).network.state_dict()
    return all(torch.allclose(found[name], tensor, atol=1e-5) for name, tensor in tensors.items())


torch.compile = traced
os.replace = replace_and_press_ctrl_c
for name, text in TEXTS.items():
    folder = Path(tempfile.mkdtemp())
    batch = [] if name == "contrastive" else ["--batch-tokens", "512"]
    command = ["train", name, text, *SETTINGS, *batch, *ENCODING, "-o"]
    graphs.clear()
    assert main([*command, str(folder / "whole"), "--compile"]) == 0
    if len(graphs) == 1:
        print(f"{name}: one graph")
    assert main([*command, str(folder / "plain")]) == 0
    if name == "causal" or same(folder / "whole", folder / "plain"):  # it leaves out the smaller last batch
        print(f"{name}: as plain")
    saves_left[0] = 2
    assert main([*command, str(folder / "part"), "--compile"]) == 130
    assert main([*command, str(folder / "part"), "--compile", "--resume"]) == 0
    if same(folder / "part", folder / "whole"):
        print(f"{name}: resumed")
