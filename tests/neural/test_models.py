"""Networks: tokens attend to what they may see and nothing else; caches and padding change nothing; bad
batches are named."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils.parametrizations import weight_norm

from inlaid import registry
from inlaid.errors import SettingError, UnknownName
from inlaid.neural.config import Config, make_config
from inlaid.neural.decoder import Decoder
from inlaid.neural.encoder import Encoder
from inlaid.neural.generate import GenerationSettings, generate
from inlaid.neural.model import Model
from inlaid.neural.network import make_network
from inlaid.neural.seq2seq import Seq2Seq

KINDS = [entry.name for entry in registry.entries("position")]


def config(kind: str, **rest: Any) -> Config:
    decoder_layers = 2 if kind == "seq2seq" else 0
    settings: dict[str, Any] = {
        "vocab_size": 20,
        "dim": 8,
        "attention.heads": 2,
        "layers": 2,
        "feed_forward.dim": 12,
        "positions.max_length": 12,
        "positions.max_distance": 20,
        **rest,
    }
    return make_config({"kind": kind, "decoder_layers": decoder_layers, **settings})


def ready(network: torch.nn.Module) -> Any:
    """In float64, every number random, so that a zero bias hides nothing."""
    for parameter in network.parameters():
        parameter.data.normal_(std=0.4)
    return network.double().eval()


def ids(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("place", ["pre", "post"])
def test_a_decoder_never_looks_ahead(positions: str, place: str):
    network = ready(Decoder(config("decoder", **{"positions.kind": positions, "norm.placement": place})))
    one = network(ids([1, 2, 3, 4, 5])).logits
    two = network(ids([1, 2, 3, 9, 9])).logits
    torch.testing.assert_close(one[:, :3], two[:, :3])
    assert not torch.allclose(one[:, 3], two[:, 3])


@pytest.mark.parametrize("positions", KINDS)
def test_a_decoder_with_a_cache_gives_the_same_logits(positions: str):
    network = ready(Decoder(config("decoder", **{"positions.kind": positions, "attention.kv_heads": 1})))
    batch = ids([1, 2, 3, 4, 5, 6], [3, 3, 8, 1, 0, 2])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    for padding in (None, mask):
        cache = network.new_cache()
        steps = []
        for start, stop in ((0, 3), (3, 4), (4, 6)):
            steps.append(
                network(
                    batch[:, start:stop], None if padding is None else padding[:, :stop], cache=cache
                ).logits
            )
        torch.testing.assert_close(torch.cat(steps, 1), network(batch, padding).logits)
        assert cache.length == 6


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_nothing(positions: str, side: str):
    for network in (
        Decoder(config("decoder", **{"positions.kind": positions})),
        Encoder(config("encoder", **{"positions.kind": positions})),
    ):
        network = ready(network)
        alone = network(ids([5, 6, 7])).logits
        rows = {"left": ([0, 0, 5, 6, 7], [0, 0, 1, 1, 1]), "right": ([5, 6, 7, 0, 0], [1, 1, 1, 0, 0])}[side]
        padded = network(ids(rows[0], [1, 2, 3, 4, 5]), ids(rows[1], [1] * 5)).logits
        torch.testing.assert_close(padded[:1, ids(rows[1])[0].bool()], alone)


@pytest.mark.parametrize("positions", KINDS)
def test_an_encoder_sees_both_ways_and_order(positions: str):
    network = ready(
        Encoder(
            config(
                "encoder",
                **{
                    "positions.kind": positions,
                    "segment_types": 2,
                    "pooler": True,
                    "head.kind": "masked",
                    "head.bias": True,
                },
            )
        )
    )
    output = network(ids([1, 2, 3, 4]), layers=True, attention=[1])
    assert not torch.allclose(output.logits[:, 0], network(ids([1, 2, 3, 9])).logits[:, 0])
    turned = network(ids([1, 3, 2, 4])).logits[:, [0, 2, 1, 3]]
    assert torch.allclose(output.logits, turned) == (positions == "none")  # without positions a text is a set
    assert len(output.layers) == 3
    assert output.layers[2] is output.hidden
    assert output.attention.keys() == {1}
    assert output.attention[1].shape == (1, 2, 4, 4)
    assert output.pooled.shape == (1, 8)
    other = network(ids([1, 2, 3, 4]), segments=ids([0, 0, 1, 1])).logits
    assert not torch.allclose(other, output.logits)
    torch.testing.assert_close(network(ids([1, 2, 3, 4]), segments=ids([0, 0, 0, 0])).logits, output.logits)


@pytest.mark.parametrize("positions", KINDS)
def test_a_seq2seq_attends_to_its_source(positions: str):
    network = ready(Seq2Seq(config("seq2seq", **{"positions.kind": positions, "embedding_scale": True})))
    source = ids([1, 2, 3, 4])
    target = ids([7, 8, 9])
    logits = network(source, target).logits
    assert not torch.allclose(logits, network(ids([1, 2, 3, 5]), target).logits)
    torch.testing.assert_close(logits[:, :2], network(source, ids([7, 8, 1])).logits[:, :2])
    padded = network(ids([1, 2, 3, 4, 0, 0]), target, ids([1, 1, 1, 1, 0, 0])).logits
    torch.testing.assert_close(padded, logits)
    encoded = network.encode(source)
    cache = network.new_cache()
    steps = [network.decode(target[:, place : place + 1], encoded, cache=cache).logits for place in range(3)]
    torch.testing.assert_close(torch.cat(steps, 1), logits)
    shown = network.decode(target, encoded, attention=[0])
    assert shown.cross_attention[0].shape == (1, 2, 3, 4)
    torch.testing.assert_close(shown.logits, logits)


def test_asking_for_weights_changes_nothing():
    network = ready(
        Decoder(
            config(
                "decoder",
                **{
                    "positions.kind": "rotary",
                    "positions.layout": "halves",
                    "norm.kind": "rms",
                    "feed_forward.activation": "silu",
                    "feed_forward.gated": True,
                },
            )
        )
    )
    batch = ids([0, 2, 3, 4], [1, 2, 3, 4])
    mask = ids([0, 1, 1, 1], [1, 1, 1, 1])
    shown = network(batch, mask, attention=[0, 1])
    torch.testing.assert_close(shown.logits, network(batch, mask).logits)
    assert not shown.logits.isnan().any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("positions", KINDS)
def test_half_precision_with_weights(positions: str, dtype: torch.dtype):
    """The path with weights gives what the fast path gives, to the rounding of the dtype."""
    fields = {"kind": "decoder", "vocab_size": 20, "dim": 16, "attention.heads": 4}
    network = make_network(make_config({**fields, "positions.kind": positions})).to(dtype).eval()
    batch = torch.randint(0, 20, (2, 9))
    shown = network(batch, attention=[0])
    assert (shown.hidden.dtype, shown.attention[0].dtype) == (dtype, dtype)
    torch.testing.assert_close(shown.hidden, network(batch).hidden, atol=0.05, rtol=0.05)


def test_computed_layers_are_used():
    """Weight norm, as torch parametrizes a layer, in the forward pass and in decoding; also its old way."""
    config = make_config({"kind": "decoder", "vocab_size": 20, "dim": 8, "attention.heads": 2})
    network = make_network(config).eval()
    assert isinstance(network, Decoder)
    batch = torch.tensor([[1, 2, 3]])
    settings = GenerationSettings(max_new_tokens=5)
    before = generate(Model(network), batch, settings=settings)
    logits = network(batch).logits
    expected = copy.deepcopy(network)
    block: Any = network.stack.blocks[0]
    for layer in (block.attention.query, block.attention.output, block.feed_forward.down):
        weight_norm(layer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.nn.utils.weight_norm(block.attention.value)
    torch.testing.assert_close(network(batch).logits, logits)
    assert generate(Model(network), batch, settings=settings) == before
    changed: Any = expected.stack.blocks[0]
    with torch.no_grad():
        changed.feed_forward.down.weight.mul_(30)
        block.feed_forward.down.parametrizations.weight.original0.mul_(30)
    torch.testing.assert_close(network(batch).logits, expected(batch).logits)
    assert generate(Model(network), batch, settings=settings) == generate(
        Model(expected), batch, settings=settings
    )


@pytest.mark.parametrize(
    ("batch", "mask", "said"),
    [
        (torch.zeros(0, 3, dtype=torch.int64), None, "0 texts of 3 tokens"),
        (torch.zeros(2, 0, dtype=torch.int64), None, "2 texts of 0 tokens"),
        (torch.tensor([1, 2]), None, r"found shape \(2,\)"),
        (torch.tensor([[1, 20]]), None, r"Id 20 at position \[0, 1\]"),
        (torch.tensor([[1, -1]]), None, "Id -1"),
        (torch.tensor([[1.0]]), None, "integers"),
        (torch.ones(1, 13, dtype=torch.int64), None, "at position 13, the last one is 12"),
        (torch.tensor([[1, 2]]), torch.ones(1, 3), r"shape \(1, 3\); the ids need \(1, 2\)"),
        (torch.tensor([[1, 2]]), torch.tensor([[0.0, -1e9]]), "other than 0 and 1"),
    ],
)
def test_bad_batches_are_named(batch: Tensor, mask: Tensor | None, said: str):
    for network in (Encoder(config("encoder")), Decoder(config("decoder"))):
        with pytest.raises(SettingError, match=said):
            network(batch, mask)


def test_inputs_that_do_not_fit_each_other_are_named():
    encoder = Encoder(config("encoder", segment_types=2))
    with pytest.raises(
        SettingError, match=r"segments have shape \(1, 2\); expected that of the ids, \(1, 3\)"
    ):
        encoder(torch.tensor([[1, 2, 3]]), segments=torch.tensor([[0, 1]]))
    with pytest.raises(SettingError, match="2 sources and 4 targets"):
        Seq2Seq(config("seq2seq"))(torch.ones(2, 3).long(), torch.ones(4, 3).long())
    decoder = Decoder(config("decoder"))
    cache = decoder.new_cache()
    decoder(torch.tensor([[1, 2]]), cache=cache)
    with pytest.raises(SettingError, match="cache holds 1 texts; found 2"):
        decoder(torch.tensor([[1], [2]]), cache=cache)
    with pytest.raises(SettingError, match="cache has 2 layers and the network 1"):
        Decoder(config("decoder", layers=1))(torch.tensor([[1, 2]]), cache=cache)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"norm.eps": -1.0}, "eps is -1.0; expected at least 0"),
        ({"positions.rotary.base": 0.0}, "base is 0.0"),
        ({"positions.kind": "t5", "positions.buckets": 1}, "1 buckets"),
        ({"positions.kind": "t5", "positions.max_distance": 8}, "max_distance of 8"),
    ],
)
def test_settings_that_give_nan_are_named(fields: dict[str, Any], said: str):
    with pytest.raises(SettingError, match=said):
        Decoder(config("decoder", **fields))


def test_an_unknown_field_to_replace_is_named():
    with pytest.raises(UnknownName, match="'head'. Did you mean 'heads'"):
        config("decoder").replace({"attention.head": 2})


def test_a_network_without_memory_is_named():
    with pytest.raises(SettingError, match=r"no memory for a network of [\d,]+ parameters"):
        make_network(config("decoder", vocab_size=2**31 - 1, dim=2**30))


def test_bad_configs_are_named():
    with pytest.raises(SettingError, match="3 heads do not divide"):
        config("encoder", **{"attention.heads": 3})
    with pytest.raises(SettingError, match="share 3 key/value"):
        config("encoder", **{"attention.heads": 4, "attention.kv_heads": 3})
    with pytest.raises(SettingError, match="decoder_layers"):
        make_config({"kind": "encoder", "vocab_size": 2, "dim": 2, "decoder_layers": 1})
    with pytest.raises(SettingError, match="padding is 20"):
        config("encoder", **{"special.padding": 20})
    with pytest.raises(SettingError, match="no layer 2"):
        Decoder(config("decoder"))(ids([1]), attention=[2])
