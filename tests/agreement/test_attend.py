"""`inlaid attend` and `attend-step` on folders of five families, beside the weights of transformers."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    transformers = pytest.importorskip("transformers", reason="transformers comes with the extra `peers`")

import torch

from inlaid.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:::transformers", "ignore:::torch")
WORDS = ["<pad>", "</s>", "<unk>", "我", "喜", "欢", "吃", "苹", "果", "I", "like", "apples"]
SMALL = {"vocab_size": len(WORDS), "hidden_size": 16, "intermediate_size": 24}
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", "BertConfig", {**SMALL, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": len(WORDS), "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32},
    ),
    "llama": (
        "LlamaForCausalLM",
        "LlamaConfig",
        {**SMALL, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    ),
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {"vocab_size": len(WORDS), "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4},
    ),
    "marian": (
        "MarianMTModel",
        "MarianConfig",
        {
            "vocab_size": len(WORDS),
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24,
            "decoder_start_token_id": 0,
            "max_position_embeddings": 32,
        },
    ),
}
TEXT = "我喜欢吃苹果"
TARGET = "I like apples"


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A random model, and its folder with a tokenizer of characters and words."""
    import tokenizers

    name, config, settings = FAMILIES[request.param]
    torch.manual_seed(1)
    made = getattr(transformers, config)(**settings, pad_token_id=0, eos_token_id=1, bos_token_id=1)
    made._attn_implementation = "eager"
    model = getattr(transformers, name)(made).eval()
    with torch.no_grad():
        for part, parameter in model.named_parameters():
            if "embed_positions" not in part:  # Marian's are sinusoids
                parameter.normal_(std=0.5)
    folder = tmp_path_factory.mktemp(request.param) / "model"
    model.save_pretrained(folder)
    words = {word: id for id, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex("[a-zA-Z]+|."), "isolated"),
        ]
    )
    tokenizer.add_special_tokens(WORDS[:3])
    tokenizer.save(str(folder / "tokenizer.json"))
    return model, folder


def typed(capsys: pytest.CaptureFixture[str], *words: Any) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_weights_are_those_of_transformers(family: Any, capsys: pytest.CaptureFixture[str]):
    model, folder = family
    seq2seq = model.config.is_encoder_decoder
    target = ["--target", TARGET] if seq2seq else []
    found = typed(capsys, "attend", folder, TEXT, "--tokens", *target)["parts"]
    ids = torch.tensor([[3, 4, 5, 6, 7, 8]])
    with torch.no_grad():
        if seq2seq:
            read = torch.tensor([[0, 9, 10, 11]])
            output = model(ids, decoder_input_ids=read, output_attentions=True)
            theirs = {
                "encoder": output.encoder_attentions,
                "decoder": output.decoder_attentions,
                "cross": output.cross_attentions,
            }
        else:
            kind = "encoder" if "Bert" in type(model).__name__ else "decoder"
            theirs = {kind: model(ids, output_attentions=True).attentions}
    assert found.keys() == theirs.keys()
    for name, weights in theirs.items():
        expected = torch.stack(weights)[:, 0].numpy()
        assert np.allclose(found[name]["weights"], expected, atol=2e-5), name


def test_words_and_steps(family: Any, capsys: pytest.CaptureFixture[str]):
    model, folder = family
    seq2seq = model.config.is_encoder_decoder
    target = ["--target", TARGET] if seq2seq else []
    shown = typed(capsys, "attend", folder, TEXT, "--layer", 1, "--head", 2, *target)["shown"]
    assert shown["keys"] == ["我", "喜欢", "吃", "苹果"]
    assert np.allclose(np.sum(shown["weights"], 1), 1)
    word = "like" if seq2seq else "吃"
    step = typed(capsys, "attend-step", folder, TEXT, word, "--layer", 1, "--head", 2, *target)
    assert step["error"] <= 1e-5
    row = shown["queries"].index(word)
    assert np.allclose(step["weights"][0], shown["weights"][row][0], atol=1e-5)
    assert step["scale"] == (1.0 if model.config.model_type == "t5" else 0.5)
