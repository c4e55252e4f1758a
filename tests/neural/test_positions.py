"""Positions: formulas by hand, loops in plain Python, and what each encoding promises about distance and
length."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.errors import SettingError
from inlaid.neural.config import make_config
from inlaid.neural.config_parts import Layout
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.positions import (
    Alibi,
    BucketBias,
    Learned,
    Positions,
    Shaw,
    Sinusoidal,
    TransformerXL,
    alibi_slopes,
    make_positions,
    sinusoids,
)
from inlaid.neural.rotary import Rotary, scaled_frequencies

AT = torch.arange(5)[None]


def test_token_plus_position_is_the_published_sum():
    positions = Learned(4, 3)
    positions.table.data[0] = torch.tensor([0.1, 0.3, -0.1])
    summed = positions.add(torch.tensor([[[0.5, -0.2, 0.1]]]), torch.tensor([[0]]))
    torch.testing.assert_close(summed, torch.tensor([[[0.6, 0.1, 0.0]]]))


def test_published_shapes():
    tokens = TokenEmbedding(50257, 256)
    positions = Learned(4, 256)
    rows = tokens(torch.zeros(8, 4, dtype=torch.int64))
    assert rows.shape == (8, 4, 256)
    assert positions.table.shape == (4, 256)
    assert positions.add(rows, torch.arange(4)[None]).shape == (8, 4, 256)


def test_scores_with_absolute_positions_are_four_terms():
    x, p, query, key = (torch.randn(6, 4, dtype=torch.float64) for _ in range(4))
    query = query[:4]
    key = key[:4]
    a = query @ key.T
    whole = (x + p) @ a @ (x + p).T
    terms = [
        x @ a @ x.T,
        x @ a @ p.T,
        p @ a @ x.T,
        p @ a @ p.T,
    ]  # content-content, content-place, place-content, place-place
    torch.testing.assert_close(whole, sum(terms, torch.zeros(6, 6, dtype=torch.float64)))
    assert not torch.allclose(2 * x @ a @ (2 * x).T, 2 * (x @ a @ x.T))  # a quadratic form, not a linear one
    shared = query @ query.T
    assert torch.allclose(
        x @ shared @ x.T, (x @ shared @ x.T).T
    )  # one W for both sides makes scores symmetric
    assert not torch.allclose(whole, whole.T)


@pytest.mark.parametrize(("layout", "sine", "cosine"), [("interleaved", 2, 3), ("halves", 1, 4)])
def test_sinusoids_are_the_formula(layout: Layout, sine: int, cosine: int):
    waves = sinusoids(torch.tensor([0, 7]), 6, layout)
    angle = 7 / 10_000 ** (2 / 6)  # the second of three frequencies
    assert waves[1, sine].item() == pytest.approx(math.sin(angle), abs=1e-7)
    assert waves[1, cosine].item() == pytest.approx(math.cos(angle), abs=1e-7)
    assert waves[0].tolist() == ([0, 1, 0, 1, 0, 1] if layout == "interleaved" else [0, 0, 0, 1, 1, 1])
    assert sinusoids(AT, 7, layout).shape == (1, 5, 7)
    assert torch.equal(Sinusoidal(6, layout).add(torch.zeros(1, 2, 6), torch.tensor([[0, 7]]))[0], waves)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_rotary_scores_see_only_distances(layout: Layout):
    rotary = Rotary(8, layout=layout, max_length=200)
    query = torch.randn(1, 1, 1, 8, dtype=torch.float64)
    key = torch.randn(1, 1, 1, 8, dtype=torch.float64)

    def score(at: int, key_at: int) -> float:
        turned = (
            rotary.rotate(query, rotary.rotation(torch.tensor([[at]]))),
            rotary.rotate(key, rotary.rotation(torch.tensor([[key_at]]))),
        )
        return float((turned[0] * turned[1]).sum())

    assert score(3, 7) == pytest.approx(score(103, 107), abs=1e-4)
    assert score(3, 7) != pytest.approx(score(3, 8), abs=1e-4)
    assert score(5, 5) == pytest.approx(float((query * key).sum()), abs=1e-5)


def test_rotary_rotates_each_pair_as_a_complex_number():
    x = torch.randn(1, 1, 1, 6)
    at = torch.tensor([[3]])
    angles = 3 * 10_000 ** (-torch.arange(0, 6, 2) / 6)
    turned = torch.view_as_complex(x.view(3, 2)) * torch.polar(torch.ones(3), angles)
    rotary = Rotary(6, layout="interleaved", max_length=8)
    torch.testing.assert_close(rotary.rotate(x, rotary.rotation(at)).view(3, 2), torch.view_as_real(turned))
    halves = Rotary(6, layout="halves", max_length=8)
    order = torch.tensor(
        [0, 2, 4, 1, 3, 5]
    )  # the other layout is the same rotation with its numbers in another order
    torch.testing.assert_close(
        halves.rotate(x[..., order], halves.rotation(at)), rotary.rotate(x, rotary.rotation(at))[..., order]
    )


def test_shaw_adds_the_query_times_the_vector_of_the_distance():
    shaw = Shaw(4, max_distance=2)
    query = torch.randn(2, 3, 5, 4)
    bias = shaw.content_bias(query, query, AT, AT, 0.5)
    for i in range(5):
        for j in range(5):
            row = shaw.table[min(max(j - i, -2), 2) + 2]
            torch.testing.assert_close(bias[:, :, i, j], (query[:, :, i] @ row) * 0.5)


def test_transformer_xl_is_its_formula():
    positions = TransformerXL(6, heads=2, head_dim=3).double()
    positions.content_query.data.normal_()
    positions.position_query.data.normal_()
    query = torch.randn(2, 2, 5, 3, dtype=torch.float64)
    key = torch.randn(2, 2, 7, 3, dtype=torch.float64)
    key_at = torch.arange(7)[None]
    bias = positions.content_bias(query, key, AT + 2, key_at, 0.5)
    for i in range(5):
        for j in range(7):
            wave = sinusoids(torch.tensor(i + 2 - j), 6, "halves").double()
            row = (positions.project.weight @ wave).view(2, 3)
            expected = (
                positions.content_query[:, 0] * key[:, :, j]
                + (query[:, :, i] + positions.position_query[:, 0]) * row
            )
            torch.testing.assert_close(bias[:, :, i, j], 0.5 * expected.sum(-1))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_those_of_the_paper(bidirectional: bool):
    def bucket(distance: int) -> int:
        buckets = 32
        first = 0
        if bidirectional:
            buckets = 16
            first = 16 * (distance > 0)
            distance = abs(distance)
        else:
            distance = max(-distance, 0)
        near = buckets // 2
        if distance < near:
            return first + distance
        return first + min(
            near + int(math.log(distance / near) / math.log(128 / near) * (buckets - near) + 1e-9),
            buckets - 1,
        )

    bias = BucketBias(2, bidirectional=bidirectional)
    places = torch.arange(-300, 301)
    assert bias.bucket(places).tolist() == [bucket(int(each)) for each in places]
    bias.table.data.normal_()
    made = bias.bias(AT, AT)
    assert made.shape == (1, 2, 5, 5)
    assert torch.equal(made[0, :, 4, 1], bias.table[bucket(-3)])


def test_alibi_slopes_and_bias():
    assert alibi_slopes(8) == [2.0**-power for power in range(1, 9)]
    assert alibi_slopes(12)[8:] == [2 ** (-power / 2) for power in (1, 3, 5, 7)]
    bias = Alibi(8).bias(AT, AT)
    assert bias[0, 0, 4, 1].item() == -1.5
    assert bias[0, 7, 1, 1].item() == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.sampled_from(["shaw", "t5", "transformer-xl", "alibi", "rotary"]))
def test_relative_kinds_do_not_see_a_shift(shift: int, kind: str):
    config = make_config(
        {"kind": "decoder", "vocab_size": 9, "dim": 8, "attention.heads": 2, "positions.kind": kind}
    )  # pyright: ignore[reportArgumentType]
    positions = make_positions(config, causal=True)
    for parameter in positions.parameters():
        parameter.data.normal_()
    query = torch.randn(1, 2, 5, 4)
    key = torch.randn(1, 2, 5, 4)

    def scores(at: torch.Tensor) -> torch.Tensor:
        rotation = positions.rotation(at)
        rotated = (query, key)
        if rotation is not None:
            rotated = (positions.rotate(query, rotation), positions.rotate(key, rotation))
        total = rotated[0] @ rotated[1].transpose(-1, -2)
        for part in (positions.bias(at, at), positions.content_bias(query, key, at, at, 1.0)):
            total = total if part is None else total + part
        return total

    torch.testing.assert_close(scores(AT), scores(AT + shift), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(scores(AT), scores(AT * 2), atol=1e-3)


def test_no_positions_change_nothing():
    none = Positions()
    x = torch.randn(1, 5, 4)
    assert none.add(x, AT) is x
    assert (none.bias(AT, AT), none.content_bias(x, x, AT, AT, 1.0), none.rotation(AT)) == (None, None, None)


def test_past_the_maximum_length_is_an_error():
    with pytest.raises(SettingError, match="at position 5, the last one is 4"):
        Learned(4, 3).add(torch.zeros(1, 5, 3), AT)
    with pytest.raises(SettingError, match="extrapolate=True"):
        Rotary(4, max_length=4).rotation(AT)
    assert Rotary(4, max_length=4, extrapolate=True).rotation(AT).shape == (2, 1, 1, 5, 4)
    with pytest.raises(SettingError, match="even head_dim"):
        Rotary(3, max_length=4)


def test_gradients_of_tables_do_not_stall_in_bfloat16():
    bias = BucketBias(1, bidirectional=False).bfloat16()
    at = torch.arange(300)[None]
    bias.bias(at, at).sum().backward()
    assert bias.table.grad is not None
    ahead = 300 * 299 // 2  # every key after its query falls into bucket 0, and so does the query itself
    assert bias.table.grad[0, 0].item() == torch.tensor(ahead + 300.0).bfloat16().item()
    learned = Learned(4, 1).bfloat16()
    learned.add(
        torch.zeros(1000, 1, 1, dtype=torch.bfloat16), torch.zeros(1000, 1, dtype=torch.int64)
    ).sum().backward()
    assert learned.table.grad is not None
    assert learned.table.grad[0, 0].item() == 1000


def scaled(scaling: str, **rest: object) -> torch.Tensor:
    settings = {
        "positions.rotary.factor": 4.0,
        "positions.rotary.original_length": 100,
        "positions.rotary.ramp": (1.0, 4.0),
        "positions.rotary.base": 1000.0,
        **rest,
    }
    config = make_config(
        {
            "kind": "decoder",
            "vocab_size": 9,
            "dim": 16,
            "positions.kind": "rotary",
            "positions.rotary.scaling": scaling,
            **settings,
        }
    )  # pyright: ignore
    return scaled_frequencies(config.head_dim, config.positions.rotary)


def test_scaled_frequencies():
    """Of 8 pairs with 15.9, 6.7, 2.8, 1.2, 0.5 ... periods in 100 tokens."""
    usual = [1000 ** (-pair / 8) for pair in range(8)]
    periods = [100 * frequency / (2 * math.pi) for frequency in usual]
    assert scaled("none").tolist() == pytest.approx(usual)
    assert scaled("linear").tolist() == pytest.approx([frequency / 4 for frequency in usual])
    shares = [min(max((each - 1) / (4 - 1), 0), 1) for each in periods]  # llama3: how far from 1 to 4
    assert shares[1:5] == [1, pytest.approx(0.61, abs=0.01), pytest.approx(0.06, abs=0.01), 0]
    expected = [share * each + (1 - share) * each / 4 for share, each in zip(shares, usual, strict=True)]
    assert scaled("llama3").tolist() == pytest.approx(expected)
    # yarn: 4 periods are between the ranks 1 and 2, 1 period between 3 and 4
    shares = [1, 1, 2 / 3, 1 / 3, 0, 0, 0, 0]
    expected = [share * each + (1 - share) * each / 4 for share, each in zip(shares, usual, strict=True)]
    assert scaled("yarn").tolist() == pytest.approx(expected)


def test_linear_scaling_by_two_halves_the_positions():
    config = make_config(
        {
            "kind": "decoder",
            "vocab_size": 9,
            "dim": 8,
            "positions.kind": "rotary",
            "positions.rotary.scaling": "linear",
            "positions.rotary.factor": 2.0,
        }
    )
    torch.testing.assert_close(
        make_positions(config, causal=True).rotation(2 * AT),
        Rotary(8, max_length=9, layout="interleaved").rotation(AT),
    )


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ({"positions.rotary.scaling": "llama3"}, "llama3 needs original_length"),
        (
            {"positions.rotary.ramp": (4.0, 1.0)},
            r"ramp is \(4.0, 1.0\); expected two numbers above 0, the smaller first",
        ),
        ({"positions.rotary.ramp": (1.0,)}, "expected two numbers"),
        ({"positions.rotary.factor": 0.0}, "factor is 0.0"),
        ({"target_vocab_size": 5}, "Only a seq2seq has a second table"),
    ],
)
def test_impossible_settings_are_named(rest: dict[str, object], said: str):
    with pytest.raises(SettingError, match=said):
        make_config({"kind": "decoder", "vocab_size": 9, "dim": 8, **rest})  # pyright: ignore
