"""Attention: equal to a loop in plain Python and to SDPA, under any mask."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.attention import (
    Attention,
    Projected,
    View,
    attend_with_weights,
    causal_mask,
)
from inlaid.neural.cache import KeyValueCache
from inlaid.neural.positions import Alibi, Shaw, TransformerXL
from inlaid.neural.rotary import Rotary


def view(length: int, keys: int | None = None, **rest: object) -> View:
    places = torch.arange(max(length, keys or 0))[None]
    given: Any = rest
    return View(places[:, :length], places[:, : keys or length], **given)


@torch.no_grad()
def by_hand(layer: Attention, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """One text, one head and one query at a time; grouped heads by their number."""
    result = torch.zeros(len(x), layer.heads * layer.head_dim, dtype=x.dtype)
    for head in range(layer.heads):
        shared = head * layer.kv_heads // layer.heads
        width = layer.head_dim
        query = layer.query(x)[:, head * width : (head + 1) * width]
        key = layer.key(memory)[:, shared * width : (shared + 1) * width]
        value = layer.value(memory)[:, shared * width : (shared + 1) * width]
        for i in range(len(x)):
            scores = [
                math.exp(float(query[i] @ key[j]) / math.sqrt(width)) if mask[i, j] else 0.0
                for j in range(len(memory))
            ]
            total = sum(scores) or 1.0
            result[i, head * width : (head + 1) * width] = sum(
                s / total * value[j] for j, s in enumerate(scores)
            )  # pyright: ignore
    return layer.output(result)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("weights", [False, True])
def test_equals_the_formula(kv_heads: int, weights: bool):
    layer = Attention(8, 4, kv_heads=kv_heads).double()
    x = torch.randn(2, 3, 8).double()
    memory = torch.randn(2, 5, 8).double()
    mask = torch.rand(2, 1, 3, 5) < 0.6
    mask[1, 0, 2] = False  # one query sees no key
    output = layer(x, view(3, 5, mask=mask), memory=memory, need_weights=weights).output
    for text in range(2):
        torch.testing.assert_close(
            output[text].detach(), by_hand(layer, x[text], memory[text], mask[text, 0])
        )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(4, 4), (4, 2), (6, 1)]),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["none", "alibi", "shaw", "transformer-xl", "rotary"]),
)
def test_the_path_with_weights_equals_sdpa(
    heads: tuple[int, int], length: int, causal: bool, padded: bool, kind: str
):
    layer = Attention(12, heads[0], kv_heads=heads[1], head_dim=4).double()
    made = {
        "none": None,
        "alibi": Alibi(heads[0]),
        "shaw": Shaw(4, 2),
        "transformer-xl": TransformerXL(12, heads[0], 4),
        "rotary": Rotary(4, max_length=9),
    }
    positions = made[kind]
    positions = None if positions is None else positions.double()
    x = torch.randn(2, length, 12).double()
    places = torch.arange(length)[None]
    mask = causal_mask(length, length, x.device)[None, None] if causal else None
    if padded:
        real = torch.tensor([[True] * length, [False] + [True] * (length - 1)])[:, None, None]
        mask = real if mask is None else mask & real
    extra = (
        {}
        if positions is None
        else {"bias": positions.bias(places, places), "rotation": positions.rotation(places)}
    )
    at = view(length, mask=mask, causal=causal and not padded, encoding=positions, **extra)
    fast = layer(x, at)
    slow = layer(x, at, need_weights=True)
    torch.testing.assert_close(fast.output, slow.output)
    assert fast.weights is None
    assert not fast.output.isnan().any()
    shares = slow.weights.sum(-1)
    assert slow.weights.shape == (2, heads[0], length, length)
    assert torch.allclose(shares, shares.round())  # each row adds up to 1, or to 0 where nothing may be mask
    if causal:
        assert not slow.weights.triu(1).any()


def test_a_query_that_sees_nothing_gets_zeros():
    layer = Attention(8, 2, bias=False)
    blind = view(3, mask=torch.zeros(1, 1, 1, 3, dtype=torch.bool))
    for weights in (False, True):
        assert not layer(torch.randn(1, 3, 8), blind, need_weights=weights).output.any()


def test_the_scale_keeps_the_variance_of_scores_at_one():
    for width in (16, 64, 256):
        query = torch.randn(4000, width)
        key = torch.randn(4000, width)
        scores = (query * key).sum(1)
        assert scores.var().item() == pytest.approx(width, rel=0.1)
        assert (scores * Attention(width, 1).scale).var().item() == pytest.approx(1, rel=0.1)
    query = torch.randn(1, 1, 50, 256)
    key = torch.randn(1, 1, 50, 256)
    saturated, scaled = (
        attend_with_weights(Projected(query, key, key), None, None, scale=scale)[1].amax(-1).mean()
        for scale in (1.0, 1 / 16)
    )
    assert saturated > 0.8  # nearly all of the weight on one key
    assert scaled < 0.3
    assert Attention(16, 1, scale=1.0).scale == 1.0


def test_softmax_of_the_well_known_scores():
    shares = (torch.tensor([3.2, 12.3, 38.5, 3.0]) / math.sqrt(64)).softmax(0)
    assert [round(each, 3) for each in shares.tolist()] == [
        0.011,
        0.036,
        0.942,
        0.011,
    ]  # not .05 .15 .75 .05, as often told


def test_heads_side_by_side_are_a_sum_over_heads():
    layer = Attention(8, 2, bias=False)
    x = torch.randn(1, 3, 8)
    value = layer.value(x).view(3, 2, 4)
    shares = layer(x, view(3), need_weights=True).weights[0]
    parts = [
        shares[head] @ value[:, head] @ layer.output.weight[:, head * 4 : head * 4 + 4].T for head in range(2)
    ]
    torch.testing.assert_close(layer(x, view(3)).output[0], parts[0] + parts[1])


@pytest.mark.parametrize("rotary", [False, True])
def test_a_cache_changes_nothing(rotary: bool):
    layer = Attention(8, 2, kv_heads=1).double()
    x = torch.randn(2, 5, 8).double()
    positions = Rotary(4, max_length=9) if rotary else None

    def at(start: int, stop: int) -> View:
        places = torch.arange(5)[None]
        rotation = positions.rotation(places[:, start:stop]) if positions else None
        mask = causal_mask(stop - start, stop, x.device)[None, None]
        return View(places[:, start:stop], places[:, :stop], mask, rotation=rotation, encoding=positions)

    cache = KeyValueCache()
    steps = [
        layer(x[:, start:stop], at(start, stop), cache=cache).output
        for start, stop in ((0, 2), (2, 3), (3, 5))
    ]
    torch.testing.assert_close(torch.cat(steps, 1), layer(x, at(0, 5)).output)


def test_beams_share_a_memory():
    layer = Attention(8, 2)
    x = torch.randn(6, 1, 8)
    memory = torch.randn(2, 4, 8)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])[:, None, None]
    for weights in (False, True):
        shared = layer(x, view(1, 4, mask=mask), memory=memory, need_weights=weights)
        repeated = layer(
            x,
            view(1, 4, mask=mask.repeat_interleave(3, 0)),
            memory=memory.repeat_interleave(3, 0),
            need_weights=weights,
        )
        torch.testing.assert_close(shared.output, repeated.output)
        if weights:
            torch.testing.assert_close(shared.weights, repeated.weights)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(SettingError, match="3 heads do not divide"):
        Attention(8, 3)
    with pytest.raises(SettingError, match="share 3 key/value heads"):
        Attention(8, 4, kv_heads=3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dim": 0, "heads": 1}, "dim is 0"),
        ({"dim": 8, "heads": 0}, "heads is 0"),
        ({"dim": 8, "heads": -2}, "heads is -2"),
        ({"dim": 8, "heads": 2, "head_dim": -4}, "head_dim is -4"),
        ({"dim": 8, "heads": 2, "dropout": 2.0}, "dropout is 2.0"),
    ],
)
def test_settings_that_no_attention_has_are_named(settings: dict, said: str):
    with pytest.raises(SettingError, match=said):
        Attention(**settings)


@pytest.mark.parametrize("shape", [(2, 3, 6), (3, 8), (0, 3, 8)])
def test_hidden_states_of_another_shape_are_named(shape: tuple[int, ...]):
    positions = torch.arange(3)[None]
    with pytest.raises(SettingError, match=rf"found shape \({shape[0]}, {shape[1]}"):
        Attention(8, 2)(torch.zeros(shape), View(positions=positions, key_positions=positions))
