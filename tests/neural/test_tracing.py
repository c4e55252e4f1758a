"""Tracing: layers and networks compile as one graph, and export with any number of texts and tokens.
Values of other types than the annotations say end in an error of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "tracing.py"


@pytest.fixture(scope="module")
def traced() -> list[str]:
    """What the script prints; in a process of its own, as torch cannot look through the type checker."""
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize("layer", ["plain", "max_norm", "bfloat16", "bag"])
def test_embeddings_compile_as_one_graph(traced: list[str], layer: str):
    assert f"compiled {layer}" in traced


@pytest.mark.parametrize("positions", ["learned", "rotary", "t5"])
def test_networks_compile_as_one_graph(traced: list[str], positions: str):
    assert f"compiled {positions}" in traced


@pytest.mark.parametrize("head", ["loss", "masked loss"])
def test_the_loss_compiles_as_one_graph(traced: list[str], head: str):
    assert f"compiled {head}" in traced


@pytest.mark.parametrize("network", ["encoder", "rotary", "transformer-xl", "seq2seq"])
def test_networks_export_for_any_number_of_texts_and_tokens(traced: list[str], network: str):
    assert f"exported {network}" in traced


def test_values_of_other_types_are_refused(traced: list[str]):
    refused = [line.removeprefix("refused ") for line in traced if line.startswith("refused ")]
    assert refused == [
        "ids",
        "no ids",
        "mask",
        "attention",
        "layer",
        "renorm",
        "offsets",
        "grow",
        "start",
        "load",
        "dtype",
        "save",
        "save path",
        "optimizer",
        "rate",
        "layout",
        "characters",
    ]
