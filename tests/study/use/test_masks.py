"""Masks filled by a model, beside the blanks that word vectors fill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid
from inlaid.neural.checkpoint import load_model


@pytest.mark.parametrize("text", ["我喜欢吃[MASK]", "我喜欢吃___", "我喜欢吃＿＿", "我喜欢吃<mask>"])
def test_a_mask_is_filled_however_it_is_written(typed: Any, text: str):
    shown = typed("fill", "masked", text, "-n", "3")
    assert shown == "我喜欢吃**苹果**\n\n0.5000  苹果\n0.3000  米饭\n0.2000  鱼\n"


def test_each_of_several_masks(typed: Any):
    found = json.loads(typed("fill", "masked", "我___吃[MASK]，", "-n", "2", "--json"))
    assert found["text"] == "我[MASK]吃[MASK]，"
    assert [[each["word"] for each in mask] for mask in found["masks"]] == [["苹果", "米饭"]] * 2
    lines = typed("fill", "masked", "我___吃[MASK]，", "-n", "1").splitlines()
    assert lines[0] == "我**苹果**吃**苹果**，"
    assert lines[2::2] == ["mask 1", "mask 2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("我喜欢吃",), "The text holds no blank. Write it as [MASK] or ___"),
        (("我吃___", "--prior", "1"), "prior is for word vectors"),
        (("我吃___", "--dictionary", "苹果"), "dictionary is for word vectors"),
    ],
)
def test_what_cannot_work_is_one_line(typed: Any, words: tuple[str, ...], said: str):
    assert said in typed("fill", "masked", *words, code=2)


def test_in_python(tiny_models: Path):
    found = inlaid.fill(load_model(tiny_models / "masked"), "我吃[MASK]", n=1)
    assert found.masks[0][0].word == "苹果"  # pyright: ignore
    assert found.masks[0][0].probability == pytest.approx(0.5, abs=1e-4)  # pyright: ignore
