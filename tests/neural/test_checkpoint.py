"""Checkpoints: what is written is read back to the bit; damaged and contradictory folders are refused."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.utils.parametrizations import weight_norm

from inlaid.cli import main
from inlaid.errors import FormatError, InlaidError, SettingError, SourceError, UnknownName, WriteError
from inlaid.neural.blocks import TransformerBlock
from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.config import Config, make_config
from inlaid.neural.decoder import Decoder
from inlaid.neural.embedding import OutputEmbedding
from inlaid.neural.families import all_families, read_config, write_config
from inlaid.neural.families.nearest import NEAREST
from inlaid.neural.model import Model
from inlaid.neural.network import empty_network, grow_network, make_network, parameter_shapes
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.sizes import check_parameters
from inlaid.vectors import Card

BERT = {
    "model_type": "bert",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
}
GPT2 = {"model_type": "gpt2", "vocab_size": 20, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 12}
LLAMA = {
    "model_type": "llama",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
T5 = {
    "model_type": "t5",
    "vocab_size": 20,
    "d_model": 8,
    "d_kv": 4,
    "d_ff": 12,
    "num_layers": 1,
    "num_heads": 2,
}
ROBERTA = {**BERT, "model_type": "roberta", "max_position_embeddings": 12}
QWEN2 = {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 1}
QWEN3 = {**QWEN2, "model_type": "qwen3", "head_dim": 6}
MISTRAL = {**QWEN2, "model_type": "mistral", "sliding_window": 3}
GEMMA3 = {**QWEN2, "model_type": "gemma3_text", "head_dim": 6, "num_hidden_layers": 7, "sliding_window": 4}
MT5 = {**T5, "model_type": "mt5"}
DECODERS = {"qwen2": QWEN2, "qwen3": QWEN3, "mistral": MISTRAL, "gemma3": GEMMA3}
MARIAN = {"model_type": "marian", "vocab_size": 20, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1}
MARIAN |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
UNSHARED = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 15}
LLAMA3 = {"rope_theta": 5e5, "rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}
SIZES = {key: value for key, value in BERT.items() if key != "model_type"}
ENCODERS = {
    "roberta": ROBERTA,
    "xlm-roberta": {**ROBERTA, "model_type": "xlm-roberta"},
    "camembert": {**ROBERTA, "model_type": "camembert"},
    "mpnet": {**ROBERTA, "model_type": "mpnet"},
    "distilbert": {"model_type": "distilbert", "vocab_size": 20, "dim": 8, "n_heads": 2, "n_layers": 1},
    "electra": {**SIZES, "model_type": "electra", "embedding_size": 4},
    "electra-generator": {
        **SIZES,
        "model_type": "electra",
        "embedding_size": 4,
        "architectures": ["ElectraForMaskedLM"],
    },
    "ernie": {**SIZES, "model_type": "ernie", "use_task_id": True},
    "modernbert": {**SIZES, "model_type": "modernbert", "pad_token_id": 0},
    "nomic_bert": {**SIZES, "model_type": "nomic_bert"},
}
CONFIGS = {
    "bert": BERT,
    **ENCODERS,
    "gpt2": GPT2,
    "llama": LLAMA,
    "llama-bias": {**LLAMA, "attention_bias": True},
    "llama-both-ways": {**LLAMA, "is_causal": False},
    "llama3": {**LLAMA, "rope_parameters": LLAMA3},
    "qwen2-window": {**QWEN2, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0},
    **DECODERS,
    "gemma3-both-ways": {**GEMMA3, "use_bidirectional_attention": True},
    "mt5": MT5,
    "t5-encoder": {**T5, "architectures": ["T5EncoderModel"]},
    "t5": T5,
    "marian": MARIAN,
    "t5-sides": {**T5, "share_encoder_decoder_embeddings": False},
    "marian-sides": {**MARIAN, **UNSHARED},
    "marian-untied": {**MARIAN, "tie_word_embeddings": False},
    "marian-three": {**MARIAN, **UNSHARED, "tie_word_embeddings": False},
}
OWN = make_config(
    {
        "kind": "decoder",
        "vocab_size": 20,
        "dim": 8,
        "attention.heads": 2,
        "positions.kind": "alibi",
        "norm.kind": "rms",
    }
)


def folder_of(config: dict[str, Any] | Config, path: Path) -> Path:
    card = Card(settings={} if isinstance(config, Config) else {"model_type": config["model_type"]})
    config = config if isinstance(config, Config) else read_config(config)
    save_model(Model(make_network(config), card=card), path)
    return path


def test_a_model_type_is_never_taken_for_a_similar_one():
    with pytest.raises(UnknownName) as caught:
        read_config({"model_type": "deberta-v2"})
    assert "Did you mean" not in str(caught.value)
    assert "The nearest that works is modernbert, for example Alibaba-NLP/gte-modernbert-base" in str(
        caught.value
    )
    known = all_families()
    assert all(nearest.model_type in known for nearest in NEAREST.values())
    assert not NEAREST.keys() & known.keys()


@pytest.mark.parametrize("name", ["bert", "roberta", "mpnet", "distilbert", "electra", "modernbert"])
def test_a_head_that_is_not_stored_is_left_out_and_noted(name: str, tmp_path: Path):
    """all-mpnet-base-v2 names MPNetForMaskedLM, and has the weights of MPNetModel."""
    config = CONFIGS[name]
    folder = folder_of({**config, "architectures": [all_families()[name].classes["none"]]}, tmp_path / "bare")
    whole = load_model(folder)
    settings = json.loads((folder / "config.json").read_text())
    named = next(iter(all_families()[name].classes.values()))
    (folder / "config.json").write_text(json.dumps({**settings, "architectures": [named]}))
    found = load_model(folder)
    assert found.config == whole.config
    assert f"the weights have no head, though config.json says {named}" in found.card.notes
    save_model(found, tmp_path / "again")
    assert load_model(tmp_path / "again").config == whole.config


def test_a_part_of_a_head_is_not_left_out(tmp_path: Path):
    folder = folder_of(CONFIGS["mpnet"], tmp_path / "mpnet")
    change(folder, **{"lm_head.dense.weight": None})
    with pytest.raises(FormatError, match=r"lack lm_head.dense.weight"):
        load_model(folder)


def change(folder: Path, **tensors: torch.Tensor | None) -> None:
    """Put tensors into a folder's weights, or take them out."""
    kept = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        kept.pop(name, None)
        if tensor is not None:
            kept[name] = tensor
    save_file(kept, folder / "model.safetensors")


@pytest.mark.parametrize("config", [*CONFIGS.values(), OWN], ids=[*CONFIGS, "own"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_there_and_back_keeps_every_bit(config: Any, dtype: torch.dtype, tmp_path: Path):
    config = config if isinstance(config, Config) else read_config(config)
    network = make_network(config).to(dtype)
    save_model(Model(network), tmp_path / "one")
    again = load_model(tmp_path / "one")
    assert again.config.resolved() == config.resolved()
    assert not again.card.notes
    assert not again.network.training
    one = network.state_dict()
    two = again.network.state_dict()
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) and two[name].dtype == dtype for name in one)
    assert all(parameter.requires_grad for parameter in again.network.parameters())
    with pytest.raises(WriteError, match="already exists"):
        save_model(again, tmp_path / "one")


def test_networks_of_no_family_are_our_own():
    assert write_config(OWN)["model_type"] == "inlaid"
    assert read_config(json.loads(json.dumps(write_config(OWN)))) == OWN
    for name, family in all_families().items():
        if name not in ("elmo", "inlaid"):
            assert write_config(family.read({"model_type": name}), preferred=name)["model_type"] == name


def test_missing_and_extra_tensors_are_named(tmp_path: Path):
    folder = folder_of(GPT2, tmp_path / "gpt2")
    change(folder, **{"transformer.h.1.ln_1.bias": None})
    with pytest.raises(FormatError, match=r"lack transformer.h.1.ln_1.bias, which config.json asks for"):
        load_model(folder)
    change(
        folder, **{"transformer.h.1.ln_1.bias": torch.zeros(8), "transformer.h.2.ln_1.bias": torch.zeros(8)}
    )
    with pytest.raises(
        FormatError, match=r"have transformer.h.2.ln_1.bias, which this model has no place for"
    ):
        load_model(folder)
    change(
        folder, **{"transformer.h.2.ln_1.bias": None, "transformer.h.0.attn.bias": torch.ones(1, 1, 12, 12)}
    )
    assert load_model(folder).card.notes == ("not used: transformer.h.0.attn.bias",)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_and_infinity_are_named(bad: float, tmp_path: Path):
    folder = folder_of(LLAMA, tmp_path / "llama")
    table = torch.zeros(20, 8)
    table[3, 5] = bad
    change(folder, **{"model.embed_tokens.weight": table})
    with pytest.raises(
        FormatError, match=r"model.embed_tokens.weight holds NaN or infinity, first at \[3, 5\]"
    ):
        load_model(folder)
    change(folder, **{"model.embed_tokens.weight": torch.zeros(20, 8, dtype=torch.int8)})
    with pytest.raises(FormatError, match="floating-point"):
        load_model(folder)


def test_wrong_shapes_are_named(tmp_path: Path):
    folder = folder_of(BERT, tmp_path / "bert")
    change(folder, **{"bert.embeddings.word_embeddings.weight": torch.zeros(21, 8)})
    with pytest.raises(FormatError, match=r"word_embeddings.weight has shape \(21, 8\).*asks for \(20, 8\)"):
        load_model(folder)
    own = folder_of(OWN, tmp_path / "own")
    change(own, **{"tokens.weight": torch.zeros(3, 8)})
    with pytest.raises(
        FormatError, match=r"shape of tokens.weight is \(3, 8\); the config asks for \(20, 8\)"
    ):
        load_model(own)


def test_copies_must_be_copies(tmp_path: Path):
    folder = folder_of(MARIAN, tmp_path / "marian")
    table = load_file(folder / "model.safetensors")["model.shared.weight"]
    change(folder, **{"model.encoder.embed_tokens.weight": table.clone()})
    load_model(folder)
    change(folder, **{"model.encoder.embed_tokens.weight": table + 1})
    with pytest.raises(
        FormatError, match=r"model.encoder.embed_tokens.weight should repeat model.shared.weight"
    ):
        load_model(folder)


def test_what_t5_stores_twice_is_one_table_or_two(tmp_path: Path):
    folder = folder_of(T5, tmp_path / "t5")
    table = load_file(folder / "model.safetensors")["shared.weight"]
    change(folder, **{"encoder.embed_tokens.weight": table.clone(), "lm_head.weight": table.clone()})
    assert (load_model(folder).config.target_vocab_size, load_model(folder).config.head.tied) == (0, True)
    change(folder, **{"encoder.embed_tokens.weight": table + 1, "lm_head.weight": table + 2})
    network = load_model(folder).network
    assert isinstance(network, Seq2Seq)
    assert torch.equal(network.tokens.weight, table + 1)
    assert torch.equal(network.decoder_tokens.weight, table)
    assert isinstance(network.head, OutputEmbedding)
    assert torch.equal(network.head.weight, table + 2)
    change(
        folder,
        **{
            "lm_head.weight": None,
            "encoder.embed_tokens.weight": None,
            "decoder.embed_tokens.weight": table + 3,
        },
    )
    network = load_model(folder).network
    assert isinstance(network, Seq2Seq)
    assert torch.equal(network.decoder_tokens.weight, table + 3)
    assert isinstance(network.head, OutputEmbedding)
    assert torch.equal(network.head.weight, table)  # what is not stored is the shared one, the output too
    with pytest.raises(SettingError, match="one table for the source and one for the target"):
        grow_network(network, 30)


def test_first_bert_names_are_understood(tmp_path: Path):
    folder = folder_of(BERT, tmp_path / "bert")
    expected = load_model(folder).network.state_dict()
    tensors = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for name, t in tensors.items()
    }
    save_file(old, folder / "model.safetensors")
    assert all(
        torch.equal(tensor, expected[name])
        for name, tensor in load_model(folder).network.state_dict().items()
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model_type": "gpt3"},
            "model_type is 'gpt3'; supported are bert, roberta, ",
        ),
        ({}, "model_type is None"),
        (
            {**LLAMA, "rope_parameters": {"rope_type": "llama3"}},
            "rotary embeddings of type 'llama3' need a factor",
        ),
        (
            {**LLAMA, "rope_parameters": {"rope_type": "llama3", "factor": 8}},
            "need low_freq_factor and high_freq_factor",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2}},
            "of type 'dynamic'; supported are default, linear, llama3, yarn",
        ),
        ({**LLAMA, "rope_scaling": {"type": "longrope", "factor": 2}}, "of type 'longrope'"),
        (
            {**LLAMA, "rope_scaling": {"type": "yarn", "factor": 2, "truncate": False}},
            "yarn's truncate is not true",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "linear", "factor": 2, "partial_rotary_factor": 0.5}},
            "partial_rotary_factor is set",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "linear", "factor": -2}},
            "factor is -2.0; expected at least",
        ),
        (
            {**QWEN2, "layer_types": ["sliding_attention"]},
            "layer_types has sliding_attention, but use_sliding_window is false",
        ),
        ({**QWEN3, "layer_types": ["linear_attention"]}, "layer_types has 'linear_attention'"),
        ({**QWEN3, "layer_types": []}, "expected a list with a type for each of the 1 layers"),
        (
            {**GEMMA3, "final_logit_softcapping": 30.0},
            "final_logit_softcapping is 30.0; gemma3_text is only supported with None",
        ),
        ({**GEMMA3, "rope_parameters": {"rope_type": "linear", "factor": 8.0}}, "one for sliding_attention"),
        ({**GEMMA3, "sliding_window_pattern": 0}, "sliding_window_pattern is 0; expected 1 or more"),
        ({**GEMMA3, "sliding_window": None}, "layer_types has sliding_attention, and no sliding_window"),
        (
            {**GEMMA3, "rope_scaling": {"rope_type": "longrope", "factor": 8.0}},
            "the rotary embeddings are of type 'longrope'",
        ),
        ({**MT5, "is_decoder": True}, "is_decoder is True; mt5 is only supported with False"),
        ({**T5, "dense_act_fn": "mish"}, "dense_act_fn is 'mish'"),
        (
            {**T5, "architectures": ["T5ForTokenClassification"]},
            "of t5, T5ForConditionalGeneration, T5Model, T5EncoderModel are supported",
        ),
        ({**ROBERTA, "pad_token_id": None}, "pad_token_id is null"),
        ({**ENCODERS["mpnet"], "relative_attention_num_buckets": 16}, "only supported with 32"),
        ({**ENCODERS["mpnet"], "pad_token_id": 0}, "pad_token_id is 0; mpnet is only supported with 1"),
        ({**ENCODERS["modernbert"], "layer_types": ["full_attention"]}, "each of the 2 layers"),
        (
            {**ENCODERS["modernbert"], "layer_types": ["chunked_attention"] * 2},
            "layer_types has 'chunked_attention'; supported are full_attention and sliding_attention",
        ),
        ({**ENCODERS["modernbert"], "mlp_dropout": 0.1}, "mlp_dropout is 0.1"),
        ({**ENCODERS["nomic_bert"], "n_embd": 8, "rotary_scaling_factor": 2}, "rotary_scaling_factor is 2"),
        ({**ENCODERS["nomic_bert"], "n_embd": 8, "activation_function": "gelu"}, "swiglu, geglu are"),
        (
            {**ENCODERS["electra"], "architectures": ["ElectraForCausalLM"]},
            "ElectraForMaskedLM, ElectraModel are",
        ),
        ({**ROBERTA, "max_position_embeddings": 2}, "max_length is 0; expected from 1 to"),
        ({**GPT2, "scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
        ({**GPT2, "activation_function": "mish"}, "activation_function is 'mish'"),
        ({**GPT2, "n_head": 3}, "3 heads do not divide"),
        ({**GPT2, "n_layer": 0}, "layers is 0; expected from 1 to"),
        (
            {**BERT, "architectures": ["BertForQuestionAnswering"]},
            "BertForQuestionAnswering; of bert, BertForMaskedLM, BertModel are",
        ),
        ({**MARIAN, "encoder_ffn_dim": 12}, "encoder_ffn_dim and decoder_ffn_dim differ"),
        (
            {**MARIAN, "decoder_vocab_size": 21},
            "share_encoder_decoder_embeddings is true, but decoder_vocab_size is 21",
        ),
        ({**MARIAN, **UNSHARED, "pad_token_id": 17}, "padding is 17, outside the table of 15 rows"),
    ],
)
def test_configs_that_are_not_supported_are_named(config: dict[str, Any], message: str):
    with pytest.raises((FormatError, UnknownName)) as caught:
        read_config(config)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "config",
    [BERT, *ENCODERS.values(), GPT2, LLAMA, *DECODERS.values(), T5, MT5, MARIAN, write_config(OWN)],
    ids=lambda config: config["model_type"],
)
@pytest.mark.parametrize(
    "bad", [None, -1, 1.5, "x", [], 10**12, 10**400, float("nan")], ids=lambda bad: str(bad)[:20]
)
def test_a_damaged_config_is_never_another_error(config: dict[str, Any], bad: object):
    full = write_config(read_config(config), preferred=config["model_type"])
    for key in full:
        with contextlib.suppress(InlaidError):
            read_config({**full, key: bad})


@pytest.mark.parametrize(
    "config",
    [BERT, *ENCODERS.values(), GPT2, LLAMA, *DECODERS.values(), T5, MT5, MARIAN, write_config(OWN)],
    ids=lambda config: config["model_type"],
)
def test_a_config_that_asks_for_more_than_the_weights_gets_no_memory(config: dict[str, Any], tmp_path: Path):
    folder = folder_of(config if config["model_type"] != "inlaid" else OWN, tmp_path / "model")
    whole = json.loads((folder / "config.json").read_text())
    sizes = [name for name, value in whole.items() if type(value) is int and value > 1 and "_id" not in name]
    for name in sizes:
        for absurd in ((1 << 31) - 1, 1 << 62, 10**400):
            (folder / "config.json").write_text(json.dumps({**whole, name: absurd}))
            with contextlib.suppress(InlaidError):  # a length may be larger than it needs to be
                load_model(folder)
    place = whole.get("config", whole)
    for absurd, said in (
        ((1 << 31) - 1, "the config asks for "),
        (1 << 62, "vocab_size is 461168601842738790"),
    ):
        place |= {name: absurd for name in ("vocab_size", "decoder_vocab_size") if name in place}
        (folder / "config.json").write_text(json.dumps(whole))
        with pytest.raises(FormatError, match=said):
            load_model(folder)


@pytest.mark.parametrize("layers", [600, 100_000, (1 << 31) - 1])
def test_layers_are_compared_with_the_tensors_before_they_are_built(
    layers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Narrow layers have few parameters, and take time and memory all the same."""
    narrow = {**GPT2, "n_embd": 1, "n_head": 1, "n_inner": 1, "vocab_size": 5, "n_positions": 4}
    folder = folder_of(narrow, tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({**narrow, "n_layer": layers}))
    monkeypatch.setattr("inlaid.neural.weights.parameter_shapes", None)
    with pytest.raises(FormatError, match=rf"asks for {layers:,} layers, and the weights are \d+ tensors"):
        load_model(folder)


def test_many_layers_are_read_where_the_weights_have_them():
    config = Config(kind="decoder", vocab_size=5, dim=1, layers=1001)
    sizes = [math.prod(shape) for shape in parameter_shapes(config.replace({"layers": 1})).values()]
    check_parameters(Path("model"), config, sizes * 1001)


def test_an_absurd_config_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "config.json"
    for absurd in (1 << 62, 10**400, -1, 0, 1.5, "many", None, [], {}, float("nan"), True):
        for name in ("vocab_size", "n_head", "n_layer", "n_embd"):
            path.write_text(json.dumps({**GPT2, name: absurd}))
            code = main(["inspect", str(path)])
            shown = capsys.readouterr()
            assert code in (0, 2)
            assert len(shown.err.splitlines()) == (code == 2), shown.err


def test_weights_of_several_dtypes_become_the_widest(tmp_path: Path):
    folder = folder_of(GPT2, tmp_path / "gpt2")
    expected = load_model(folder).network.state_dict()
    name = "transformer.ln_f.weight"
    narrow = load_file(folder / "model.safetensors")[name].bfloat16()  # ones, which lose nothing
    change(folder, **{name: narrow})
    found = load_model(folder).network
    assert {tensor.dtype for tensor in found.state_dict().values()} == {torch.float32}
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.state_dict().items())
    with torch.no_grad():
        assert found(torch.tensor([[1, 2, 3]])).logits.isfinite().all()  # pyright: ignore


def test_the_dtype_of_mixed_weights_is_on_the_card(tmp_path: Path):
    folder = folder_of(GPT2, tmp_path / "gpt2")
    assert load_model(folder).card.notes == ()
    name = "transformer.ln_f.weight"
    change(folder, **{name: load_file(folder / "model.safetensors")[name].bfloat16()})
    assert load_model(folder).card.notes == ("weights of bfloat16, float32 are used as float32",)


@pytest.mark.parametrize("config", [GPT2, OWN], ids=["gpt2", "own"])
def test_computed_weights_are_saved_as_they_are(config: Any, tmp_path: Path):
    network = make_network(config if isinstance(config, Config) else read_config(config)).eval()
    assert isinstance(network, Decoder)
    block = network.stack.blocks[0]
    assert isinstance(block, TransformerBlock)
    weight_norm(block.attention.query)
    weight_norm(block.feed_forward.up)
    with torch.no_grad():
        block.attention.query.parametrizations.weight.original0.mul_(2)  # pyright: ignore
    batch = torch.tensor([[1, 2, 3]])
    expected = network(batch).logits
    save_model(Model(network), tmp_path / "model")
    again = load_model(tmp_path / "model").network
    assert isinstance(again, Decoder)
    torch.testing.assert_close(again(batch).logits, expected)


def test_tensors_in_any_layout_are_saved(tmp_path: Path):
    """As those of a loaded ELMo: parts of one array, transposed."""
    network = make_network(OWN)
    assert isinstance(network, Decoder)
    both = torch.randn(8, 40)
    network.tokens.weight = torch.nn.Parameter(both[:, :20].T)
    save_model(Model(network), tmp_path / "model")
    again = load_model(tmp_path / "model").network
    assert isinstance(again, Decoder)
    assert torch.equal(again.tokens.weight, both[:, :20].T)


def test_a_network_that_no_longer_is_its_config_is_not_saved(tmp_path: Path):
    network = make_network(OWN)
    assert isinstance(network, Decoder)
    network.tokens.grow(25)
    with pytest.raises(SettingError, match=r"tokens.weight is \(25, 8\), and its config asks for \(20, 8\)"):
        save_model(Model(network), tmp_path / "model")
    network = make_network(OWN)
    network.adapter = torch.nn.Linear(2, 2)
    with pytest.raises(SettingError, match=r"adapter.bias is \(2,\), and its config asks for none"):
        save_model(Model(network), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_weights_that_an_adapter_belongs_to_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_model(Model(make_network(read_config(BERT))), tmp_path / "model")
    (tmp_path / "model" / "adapter_config.json").write_text("{}")
    assert main(["inspect", str(tmp_path / "model")]) != 0
    assert "merge_and_unload" in capsys.readouterr().err
    with pytest.raises(FormatError, match="adapter_config.json says that an adapter"):
        load_model(tmp_path / "model")


def test_weights_that_could_not_be_read_again_are_not_written(tmp_path: Path):
    network = make_network(OWN)
    assert isinstance(network, Decoder)
    with torch.no_grad():
        network.tokens.weight[3, 5] = float("nan")
    with pytest.raises(FormatError, match=r"tokens.weight holds NaN or infinity, first at \[3, 5\]"):
        save_model(Model(network), tmp_path / "model")
    with pytest.raises(SettingError, match="meta device"):
        save_model(Model(empty_network(OWN)), tmp_path / "model")
    for path in ("a\0b", "\ud800"):
        with pytest.raises(SettingError, match="cannot be the name of a folder"):
            save_model(Model(make_network(OWN)), path)
        with pytest.raises(SettingError, match="cannot be the name of a folder"):
            load_model(path)


def test_devices_and_dtypes_that_are_not_there_are_named(tmp_path: Path):
    folder = folder_of(GPT2, tmp_path / "gpt2")
    with pytest.raises(SettingError, match="device 'banana'"):
        load_model(folder, device="banana")
    with pytest.raises(SettingError, match=r"dtype is torch.int8; expected one of torch.float16"):
        load_model(folder, dtype=torch.int8)


def test_folders_that_are_no_checkpoint(tmp_path: Path):
    with pytest.raises(SourceError, match="no folder"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(SourceError, match=r"config.json"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    with pytest.raises(FormatError, match=r"expected model.safetensors.*found only: config.json"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(FormatError, match="not a readable safetensors"):
        load_model(tmp_path)


class Evil:
    def __reduce__(self):
        return (print, ("unpickled",))


def test_nothing_is_unpickled(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    torch.save({"transformer.wte.weight": Evil()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(FormatError, match="other pickled objects are never loaded"):
        load_model(tmp_path)
    assert "unpickled" not in capsys.readouterr().out


def test_a_truncated_file_is_never_a_wrong_model(tmp_path: Path):
    folder = folder_of(GPT2, tmp_path / "gpt2")
    whole = (folder / "model.safetensors").read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (folder / "model.safetensors").write_bytes(whole[:size])
        with pytest.raises(InlaidError):
            load_model(folder)
