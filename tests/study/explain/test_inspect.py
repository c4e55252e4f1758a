"""Inspecting: published parameter counts to the last one, and three witnesses about the tie."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from inlaid import registry
from inlaid.errors import SourceError, UnknownName
from inlaid.neural.config import make_config
from inlaid.neural.sizes import attention, feed_forward, parameters
from inlaid.study.explain.inspect import Tie, inspect

GPT3 = {"model_type": "gpt2", "n_layer": 96, "n_embd": 12288, "n_head": 96, "n_positions": 2048}
QWEN2 = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "tie_word_embeddings": True,
}
ROBERTA = {
    "model_type": "roberta",
    "architectures": ["RobertaModel"],
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
}
QWEN3 = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "vocab_size": 151669,
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "intermediate_size": 3072,
    "tie_word_embeddings": True,
}
EMBEDDING_GEMMA = {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3TextModel"],
    "vocab_size": 262144,
    "hidden_size": 768,
    "num_hidden_layers": 24,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "intermediate_size": 1152,
    "sliding_window": 512,
    "use_bidirectional_attention": True,
}
GTR = {
    "model_type": "t5",
    "architectures": ["T5EncoderModel"],
    "d_model": 768,
    "d_ff": 3072,
    "num_layers": 12,
    "num_heads": 12,
}
PUBLISHED = [
    ({"model_type": "gpt2"}, 124_439_808),
    ({"model_type": "bert", "architectures": ["BertModel"]}, 109_482_240),
    ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, 109_514_298),
    ({"model_type": "llama"}, 6_738_415_616),  # the defaults are Llama-2-7B's
    (QWEN2, 494_032_768),
    (ROBERTA, 124_645_632),
    (GPT3, 174_604_259_328),
    (QWEN3, 595_776_512),
    (EMBEDDING_GEMMA, 302_863_104),
    ({"model_type": "mistral"}, 7_241_732_096),  # the defaults are Mistral-7B's
    (GTR, 109_628_544),
    ({"model_type": "mt5", "tie_word_embeddings": False}, 300_176_768),  # the defaults are mt5-small's
]

UNTIED = 2 * 6 * 8 + 1024 * 8 + (4 * 64 + 4 * 8) + (2 * 8 * 32 + 32 + 8) + 3 * 16
"""Of the `folder` below, by hand: two tables, places, attention, feed-forward, three norms."""


def config(path: Path, values: dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(
    ("values", "expected"),
    PUBLISHED,
    ids=lambda value: value.get("model_type") if isinstance(value, dict) else str(value),
)
def test_published_counts_are_exact(values: dict[str, Any], expected: int, tmp_path: Path):
    found = inspect(config(tmp_path / "one", values))
    assert found.parameters == expected
    assert found.memory == {"float32": 4 * expected, "bfloat16": 2 * expected}
    assert inspect(tmp_path / "one" / "config.json").parameters == expected
    assert f"{expected:,}  parameters in total" in str(found)


def test_gpt3_by_its_parts(tmp_path: Path):
    found = inspect(config(tmp_path, GPT3))
    assert found.config is not None
    assert found.config.head_dim == 128
    bias = 4 * 12288 + 5 * 12288
    assert attention(found.config) + feed_forward(found.config) == 4 * 12288**2 + 8 * 12288**2 + bias
    assert found.parts["token table"] == 50257 * 12288
    assert found.parts["positions"] == 2048 * 12288
    assert round((found.parts["attention"] + found.parts["feed-forward"]) / 96 / 1e9, 1) == 1.8
    assert found.tie == Tie(config=True)


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: pip install 'inlaid[neural]'"
)
@pytest.mark.parametrize("positions", [entry.name for entry in registry.entries("position")])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq", "bilm"])
def test_counts_are_those_of_the_networks(kind: str, positions: str):
    import torch

    from inlaid.neural.network import make_network

    for number in range(8):
        one = number & 1
        two = number & 2
        three = number & 4
        config = make_config(
            {
                "kind": kind,
                "positions.kind": positions,
                "vocab_size": 30,
                "dim": 8,
                "layers": 2,
                "decoder_layers": 3 if kind == "seq2seq" else 0,
                "attention.heads": 4,
                "attention.kv_heads": 2 if one else 0,
                "attention.head_dim": 6 if two else 0,
                "feed_forward.dim": 10,
                "feed_forward.gated": bool(one),
                "norm.kind": "rms" if two else "layer",
                "norm.final": bool(one),
                "segment_types": 2 if three else 0,
                "attention.bias": bool(two),
                "attention.output_bias": bool(one),
                "feed_forward.bias": bool(two),
                "norm.embedding": bool(three),
                "head.tied": bool(one),
                "head.kind": ("linear", "none", "masked")[number % 3],
                "head.bias": bool(two),
                "pooler": bool(three) and kind == "encoder",
                "positions.max_length": 16,
                "characters.vocab_size": 20 if one else 0,
                "characters.dim": 3,
                "characters.max_length": 6,
                "characters.filter_widths": (1, 2),
                "characters.filter_counts": (4, 5),
                "characters.highways": 2,
                "positions.max_distance": 20,
                "characters.activation": "relu",
                "lstm.cell_dim": 10,
            }
        )
        if (config.head.kind == "masked" and kind == "bilm") or (
            positions == "rotary" and config.head_dim % 2
        ):
            continue
        with torch.device("meta"):
            network = make_network(config)
        assert sum(parameters(config).values()) == sum(
            parameter.numel() for parameter in network.parameters()
        )


def folder(path: Path, tied: bool, head: str | None, dtype: str = "float32") -> Path:
    """A GPT-2 with only its tables, which is all that inspecting looks at."""
    table = np.arange(48, dtype=dtype).reshape(6, 8)
    tensors = {"transformer.wte.weight": table, "transformer.h.0.mlp.c_fc.weight": np.zeros((8, 32), dtype)}
    if head is not None:
        tensors["lm_head.weight"] = table if head == "same" else table + 1
    config(
        path,
        {
            "model_type": "gpt2",
            "vocab_size": 6,
            "n_embd": 8,
            "n_layer": 1,
            "n_head": 2,
            "tie_word_embeddings": tied,
        },
    )
    save_file(tensors, path / "model.safetensors")
    return path


@pytest.mark.parametrize(
    ("tied", "head", "expected", "agree"),
    [
        (True, None, Tie(True, True, None), True),
        (True, "same", Tie(True, False, True), True),
        (True, "other", Tie(True, False, False), False),
        (False, "other", Tie(False, False, False), True),
        (False, "same", Tie(False, False, True), False),
        (False, None, Tie(False, True, None), False),
    ],
)
def test_ties_by_config_names_and_content(
    tied: bool, head: str | None, expected: Tie, agree: bool, tmp_path: Path
):
    found = inspect(folder(tmp_path / "one", tied, head))
    assert found.tie == expected
    assert found.tie.agree == agree
    assert ("THEY DISAGREE" in str(found)) != agree


def test_tables_and_types_are_listed(tmp_path: Path):
    found = inspect(folder(tmp_path / "one", False, "other", "float16"))
    assert [(table.name, table.shape, table.dtype, table.role) for table in found.tables] == [
        ("transformer.wte.weight", (6, 8), "F16", "input table"),
        ("lm_head.weight", (6, 8), "F16", "output table"),
    ]
    assert found.dtypes == {"F16": 48 + 48 + 256}
    assert found.stored == 352
    assert found.parameters == UNTIED


T5 = {
    "model_type": "t5",
    "vocab_size": 6,
    "d_model": 8,
    "d_kv": 4,
    "d_ff": 12,
    "num_layers": 1,
    "num_heads": 2,
}
MARIAN = {
    "model_type": "marian",
    "vocab_size": 6,
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 12,
    "pad_token_id": 0,
}
SIDES = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 5}


@pytest.mark.parametrize(
    ("values", "tables", "expected", "roles"),
    [
        (T5, {"shared": 6}, Tie(None, True), {"shared": "input table"}),
        (
            T5,
            {"shared": 6, "lm_head": 6},
            Tie(None, False, False),
            {"shared": "input table", "lm_head": "output table"},
        ),
        (
            T5,
            {"shared": 6, "encoder.embed_tokens": 6},
            Tie(None, True),
            {"encoder.embed_tokens": "input table", "shared": "target table"},
        ),
        (
            {**MARIAN, **SIDES},
            {"model.encoder.embed_tokens": 6, "model.decoder.embed_tokens": 5},
            Tie(True, True),
            {"model.encoder.embed_tokens": "input table", "model.decoder.embed_tokens": "target table"},
        ),
        (
            {**MARIAN, **SIDES, "tie_word_embeddings": False},
            {"model.encoder.embed_tokens": 6, "model.decoder.embed_tokens": 5, "lm_head": 5},
            Tie(False, False, False),
            {
                "model.encoder.embed_tokens": "input table",
                "model.decoder.embed_tokens": "target table",
                "lm_head": "output table",
            },
        ),
    ],
    ids=["t5", "t5-untied", "t5-sides", "marian-sides", "marian-three"],
)
def test_a_table_for_each_side(
    values: dict[str, Any], tables: dict[str, int], expected: Tie, roles: dict[str, str], tmp_path: Path
):
    config(tmp_path, values)
    random = np.random.default_rng(1)
    stored = {f"{name}.weight": random.standard_normal((rows, 8)) for name, rows in tables.items()}
    save_file(stored, tmp_path / "model.safetensors")
    found = inspect(tmp_path)
    assert found.tie == expected
    assert found.tie.agree
    assert {table.name.removesuffix(".weight"): table.role for table in found.tables} == roles
    counted = sum(found.parts.get(part, 0) for part in ("token table", "target table", "output table"))
    assert counted == sum(table.size for table in stored.values())
    assert ("6 words, " in str(found)) == ("target table" in roles.values())


def test_rotary_scaling_is_shown(tmp_path: Path):
    rope = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    found = inspect(config(tmp_path, {"model_type": "llama", "rope_theta": 500000.0, "rope_scaling": rope}))
    assert "rotary frequencies divided by 8 (llama3)" in str(found)


def test_unknown_families_are_listed_by_name(tmp_path: Path):
    config(tmp_path, {"model_type": "mamba"})
    save_file(
        {"backbone.layers.0.weight": np.zeros((2, 3)), "backbone.embedding.weight": np.zeros((4, 3))},
        tmp_path / "model.safetensors",
    )
    found = inspect(tmp_path)
    assert found.config is None
    assert found.parts == {"backbone.embedding": 12, "backbone.layers": 6}
    assert "not of a registered family" in str(found)
    with pytest.raises(UnknownName, match="'mamba'"):
        inspect(tmp_path / "config.json")
    with pytest.raises(SourceError, match="no folder"):
        inspect(tmp_path / "nowhere")


def test_elmo_is_counted(data: Path):
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'inlaid[elmo]'")
    from inlaid.formats.elmo import read_weights

    folder = data / "pretrained_elmo_fixture"
    in_file = sum(array.size for array in read_weights(folder).values())
    assert inspect(folder).parameters == in_file + 4  # and the row of zeros that means no character


def test_torch_is_not_needed(tmp_path: Path):
    folder(tmp_path / "one", True, "same")
    code = "import sys; from inlaid.study.explain.inspect import inspect"
    code += f"; print(inspect({str(tmp_path / 'one')!r}).parameters); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(UNTIED - 48), "False"]
