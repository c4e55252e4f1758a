"""Config keys: each of `transformers`' config class is read, required at a value, or known to have no
effect."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import FormatError  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402
from inlaid.neural.families import all_families, read_config  # noqa: E402
from inlaid.neural.families.family import WITHOUT_EFFECT  # noqa: E402

NAMES = [name for name, family in all_families().items() if family.has_config_json and family.keys]


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_their_config_is_known(name: str):
    family = all_families()[name]
    config = transformers.CONFIG_MAPPING[name]
    raw = {each.name: 1 for each in fields(config)} | dict.fromkeys(config.attribute_map, 1)
    assert family.unknown_keys(raw) == []
    read = family.read_keys
    assert read & {*family.no_effect} == set()
    assert family.unknown_keys(family.write(read_config({"model_type": name}))) == []


def test_keys_of_all_models_are_known():
    theirs = {each.name for each in fields(transformers.PreTrainedConfig)}
    assert theirs - {*WITHOUT_EFFECT} == set()


@pytest.mark.parametrize("name", NAMES)
def test_other_names_of_keys_are_read(name: str):
    family = all_families()[name]
    theirs = transformers.CONFIG_MAPPING[name].attribute_map
    values = {"hidden_size": 48, "num_attention_heads": 2, "num_hidden_layers": 3, "head_dim": 12}
    values |= {"max_position_embeddings": 77}
    for alias in theirs:
        assert alias in family.aliases or alias in family.also_read or alias in family.no_effect, alias
    for alias, key in family.aliases.items():
        assert theirs[alias] == key
        other = {"decoder_attention_heads": 2} if key == "encoder_attention_heads" else {}
        raw = {"model_type": name, **other}
        assert read_config({**raw, alias: values[alias]}) == read_config({**raw, key: values[alias]})
        with pytest.raises(FormatError, match=f"{alias}, another name of it"):
            read_config({**raw, alias: values[alias], key: values[alias] + 1})


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("gpt2", "is_causal", False),
        ("marian", "is_causal", False),
        ("marian", "is_causal", True),
        ("bert", "is_causal", True),
        ("t5", "is_causal", False),
        ("marian", "decoder_layerdrop", 0.2),
        ("marian", "static_position_embeddings", False),
    ],
)
def test_what_is_not_built_is_refused(name: str, key: str, value: Any):
    with pytest.raises(FormatError, match=key):
        read_config({"model_type": name, key: value})


def test_keys_that_nobody_knows_are_noted(tmp_path: Path):
    config = transformers.GPT2Config(vocab_size=9, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**raw, "moon_phase": 2, "nothing": None}))
    assert load_model(tmp_path).card.notes == ("not used: moon_phase of config.json",)


def test_stored_positions_are_sinusoids(tmp_path: Path):
    """Some files hold Marian's positions, and `transformers` uses what is stored."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = transformers.MarianConfig(
        vocab_size=9, d_model=8, max_position_embeddings=12, pad_token_id=8, **sizes, **heads
    )
    torch.manual_seed(1)
    model = transformers.MarianModel(config).eval()
    model.save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    from safetensors.torch import load_file, save_file

    name = "encoder.embed_positions.weight"
    table = model.encoder.embed_positions.weight.detach().clone()
    save_file({**load_file(path), name: table}, path)
    ids = torch.tensor([[3, 4, 5]])
    ours = load_model(tmp_path / "model").network.encode(ids).output.hidden  # pyright: ignore
    torch.testing.assert_close(ours, model.encoder(ids).last_hidden_state, rtol=0, atol=1e-5)
    table[2, 3] += 0.5
    save_file({**load_file(path), name: table}, path)
    with pytest.raises(FormatError, match="encoder.embed_positions.weight holds other positions than sin"):
        load_model(tmp_path / "model")
