"""Networks without a head or a layer: what changes, and that nothing stays changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import torch

import inlaid
from inlaid.errors import SettingError
from inlaid.neural.inside import HeadPlace, LayerPlace, mean_outputs, without_heads, without_layers
from inlaid.study.attend.losses import items_of, losses

from .conftest import random_model


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("w1 w2 w3 w4\nw5 w1 w2 w7\nw9 w1 w3\nw4 w4 w4 w5 w6\n")
    return path


def hooks(network: Any) -> int:
    return sum(len(each._forward_hooks) + len(each._forward_pre_hooks) for each in network.modules())


def test_a_head_that_is_left_out_gives_zeros_or_its_mean():
    model = random_model("decoder", scale=20.0)
    ids = torch.tensor([[20, 21, 22, 23]])
    attention = model.network.stack.blocks[1].attention
    width = attention.head_dim
    seen: list[Any] = []
    with torch.no_grad():
        whole = model.network(ids).logits
        weight = attention.output.weight.clone()
        with without_heads(model.network, [HeadPlace("decoder", 1, 2)]):
            without = model.network(ids).logits
        attention.output.weight[:, 2 * width : 3 * width] = 0  # the same, by the weights
        assert torch.allclose(model.network(ids).logits, without, atol=1e-6)
        attention.output.weight.copy_(weight)
        assert torch.equal(model.network(ids).logits, whole)
        assert not torch.allclose(without, whole)
        with mean_outputs(model.network, ["decoder"]) as means:
            handle = attention.output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
            model.network(ids)
            handle.remove()
    place = HeadPlace("decoder", 1, 2)
    assert torch.allclose(means[place], seen[0][0, :, 2 * width : 3 * width].mean(0))
    assert not hooks(model.network)


def test_a_layer_that_is_left_out_passes_everything_on():
    model = random_model("decoder")
    ids = torch.tensor([[20, 21, 22, 23]])
    with torch.no_grad(), without_layers(model.network, [LayerPlace("decoder", 0), LayerPlace("decoder", 1)]):
        found = model.network(ids, layers=True)
    norm = model.network.stack.final_norm
    expected = found.layers[0] if norm is None else norm(found.layers[0])
    assert torch.allclose(found.hidden, expected)
    with (
        pytest.raises(SettingError, match="no layer 7"),
        without_layers(model.network, [LayerPlace("decoder", 7)]),
    ):
        pass
    with (
        pytest.raises(SettingError, match="no head 9"),
        without_heads(model.network, [HeadPlace("decoder", 0, 9)]),
    ):
        pass
    assert not hooks(model.network)


def test_the_head_that_everything_depends_on_is_found(made_by_hand: Any):
    """Without the previous-token head, the induction head has nothing to look for."""
    from inlaid.study.attend.weights import text_weights

    text = "w9 w1 w2 w3 w4 w1"
    whole = text_weights(made_by_hand, text).parts["decoder"].tokens[1, 0, 5]
    with without_heads(made_by_hand.network, [HeadPlace("decoder", 0, 0)]):
        without = text_weights(made_by_hand, text).parts["decoder"].tokens[1, 0, 5]
    assert whole[2] > 0.9
    assert without[2] < 0.3


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("replace", ["zero", "mean"])
def test_losses_are_restored_and_changes_are_differences(kind: str, replace: str, text: Path):
    model = random_model(kind, scale=10.0)
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    items = items_of(model, [(line, None) for line in text.read_text().splitlines()], lambda _: None)
    whole = losses(model, items)
    found = inlaid.ablate(model, file=text, replace=replace)
    assert found.loss == pytest.approx(whole.loss)
    assert len(found.parts) == 2 * 4 + 2
    assert [each.change for each in found.parts] == sorted(
        (each.change for each in found.parts), reverse=True
    )
    for each in found.parts:
        assert each.change == pytest.approx(each.loss - found.loss, abs=1e-6)
        assert each.interval.low <= each.change <= each.interval.high
    assert losses(model, items).loss == whole.loss
    assert all(torch.equal(value, before[name]) for name, value in model.network.state_dict().items())
    assert not hooks(model.network)


def test_the_loss_of_a_decoder_is_its_cross_entropy():
    model = random_model("decoder")
    (item,) = items_of(model, [("w1 w2 w3", None)], lambda _: None)
    ids = torch.tensor([model.tokenizer.encode("w1 w2 w3").ids])
    with torch.no_grad():
        expected = torch.nn.functional.cross_entropy(model.network(ids).logits[0, :-1], ids[0, 1:])
    assert losses(model, [item]).loss == pytest.approx(float(expected), rel=1e-5)


def test_typed(typed: Any, text: Path, tmp_path: Path):
    lines = ("--file", chinese(tmp_path), "--sentences", 2)
    found = json.loads(
        typed("ablate", "seq2seq", "我 打 你", "--layer", "0", "--part", "decoder", *lines, "--json")
    )
    (part,) = found["parts"]
    assert part["head"] is None
    assert part["answers"][0]["text"] == "我 打 你"
    assert "head is given without layer" in typed("ablate", "decoder", "--head", "0", code=2)
    shown = typed(
        "ablate", "masked", "我喜欢吃___", "--layer", "0", "--head", "0", "--file", chinese(tmp_path)
    )
    assert "苹果 → 苹果" in shown
    assert "+0.000" in shown


def chinese(folder: Path) -> Path:
    path = folder / "zh.txt"
    path.write_text("我 打 你\n好 久 不 见\n我 喜 欢 吃 苹果\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_pictures(text: Path, tmp_path: Path, suffix: str):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    path = tmp_path / f"ablate{suffix}"
    inlaid.ablate(random_model("decoder"), "w1 w2", file=text, output=path)
    assert path.stat().st_size > 1000
