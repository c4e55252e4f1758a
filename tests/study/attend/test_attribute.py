"""Attributions: complete, equal to what is known by hand, and beside the measured effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import torch

import inlaid
from inlaid.encode.tokenizers import Word
from inlaid.report import Note, silent
from inlaid.study.attend.prediction import prediction_of

from .conftest import random_model


@pytest.mark.parametrize("baseline", ["mask", "mean", "zero"])
def test_integrated_gradients_are_complete(baseline: str):
    model = random_model(scale=5.0)
    found = inlaid.attribute(model, "我喜欢吃[MASK]。", baseline=baseline, steps=200)
    total = sum(each.integrated_gradients for each in found.words)
    expected = np.log(found.probability) - np.log(found.baseline_probability)
    assert total == pytest.approx(expected, abs=0.02 * abs(expected) + 1e-4)
    assert found.completeness_error < 0.02
    fixed = {each.word for each in found.words if each.fixed}
    assert {"[CLS]", "[SEP]"} <= fixed
    assert all(each.integrated_gradients == 0 for each in found.words if each.fixed)


def test_too_few_steps_are_noted():
    heard: list[Any] = []
    model = random_model("decoder", scale=60.0)
    with torch.no_grad():
        model.network.tokens.weight *= 40
    found = inlaid.attribute(model, "w1 w2 w3", steps=1, report=heard.append)
    assert found.completeness_error > 0.05
    assert any("more steps" in str(each) for each in heard if isinstance(each, Note))


def test_a_linear_model_is_attributed_exactly():
    """Without blocks the answer depends on the last token alone, and through it on its own vector."""
    from inlaid.neural.inside import LayerPlace, without_layers

    model = random_model("decoder", **{"norm.final": False})
    with without_layers(model.network, [LayerPlace("decoder", 0), LayerPlace("decoder", 1)]):
        found = inlaid.attribute(model, "w1 w2 w3", steps=100)
    *others, last = found.words
    assert all(each.effect == pytest.approx(0, abs=1e-6) for each in others)
    assert all(each.integrated_gradients == pytest.approx(0, abs=1e-6) for each in others)
    assert last.integrated_gradients == pytest.approx(last.effect, rel=1e-3, abs=1e-5)
    assert any(each.attention > 0.1 for each in others)  # attention says otherwise


def test_the_effect_is_what_replacing_the_word_costs():
    model = random_model(scale=5.0)
    asked = prediction_of(model, "我喜欢吃[MASK]", None, None, Word(), "mask", silent)
    found = inlaid.attribute(model, "我喜欢吃[MASK]", baseline="mask")
    ids = torch.tensor([asked.readings[0].ids])
    with torch.no_grad():
        hidden = ids.clone()
        hidden[0, 2:4] = ids[0, asked.place]  # 喜欢
        full = model.network(ids).logits[0, asked.place].log_softmax(-1)[asked.id]
        without = model.network(hidden).logits[0, asked.place].log_softmax(-1)[asked.id]
    word = next(each for each in found.words if each.word == "喜欢")
    assert word.effect == pytest.approx(float(full - without), abs=1e-5)
    assert np.log(found.probability) == pytest.approx(float(full), abs=1e-5)


def test_gradient_x_input_is_the_gradient_times_the_vector():
    model = random_model("decoder", scale=5.0)
    asked = prediction_of(model, "w1 w2 w3", None, "w5", Word(), None, silent)
    ids = torch.tensor([asked.readings[0].ids])
    rows = model.network.tokens.weight[ids].detach()
    step = 1e-3
    found = asked.gradient_x_input()[0]
    for word in range(3):
        moved = [rows.clone(), rows.clone()]
        moved[0][0, word] *= 1 + step
        moved[1][0, word] *= 1 - step
        with torch.no_grad():
            values = [float(asked.log_probabilities([each])[0]) for each in moved]
        assert found[word] == pytest.approx((values[0] - values[1]) / (2 * step), rel=2e-2, abs=1e-3)


def test_typed(typed: Any):
    found = json.loads(typed("attribute", "seq2seq", "我 打 你", "--target", "I", "--json"))
    assert [each["side"] for each in found["words"]] == ["text"] * 4 + ["target"] * 2
    assert found["agreement"]["rollout"] is None
    assert "no explanation" in found["warning"]
    assert found["completeness_error"] < 0.2
    shown = typed("attribute", "decoder", "I", "--answer", "like")
    assert "like: probability 0.45" in shown
    assert "undefined" in shown  # one word has no rank correlation
    assert "nan" not in shown
    assert "is no single token" in typed("attribute", "decoder", "I", "--answer", "nothing at all", code=2)
    assert "holds 0 blanks" in typed("attribute", "masked", "我喜欢", code=2)
    assert "holds 2 blanks" in typed("attribute", "masked", "我___喜欢___", code=2)


@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_pictures(tmp_path: Path, suffix: str):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    path = tmp_path / f"attribute{suffix}"
    inlaid.attribute(random_model(), "我喜欢吃[MASK]", output=path)
    assert path.stat().st_size > 1000
