"""Networks made here, of default sizes, saved and opened with `transformers`: the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.config import make_config  # noqa: E402
from inlaid.neural.model import Model  # noqa: E402
from inlaid.neural.network import make_network  # noqa: E402

SIZES = {"vocab_size": 30, "dim": 16, "layers": 2, "attention.heads": 2}
BERT = {
    **SIZES,
    "kind": "encoder",
    "norm.placement": "post",
    "norm.final": False,
    "norm.embedding": True,
    "segment_types": 2,
    "head.kind": "masked",
    "head.bias": True,
}
BARE = {"head.kind": "none", "head.bias": False}
ROBERTA = {
    **BERT,
    "positions.skip_padding": True,
    "positions.offset": 2,
    "special.padding": 1,
    "special.start": 0,
    "special.end": (2,),
}
GPT2 = {**SIZES, "kind": "decoder", "feed_forward.activation": "gelu_tanh"}
UNBIASED = {"attention.bias": False, "attention.output_bias": False, "feed_forward.bias": False}
LLAMA = {
    **SIZES,
    **UNBIASED,
    "kind": "decoder",
    "norm.kind": "rms",
    "feed_forward.gated": True,
    "feed_forward.activation": "silu",
    "positions.kind": "rotary",
    "positions.layout": "halves",
}
T5 = {
    **SIZES,
    **UNBIASED,
    "kind": "seq2seq",
    "decoder_layers": 1,
    "norm.kind": "rms",
    "positions.kind": "t5",
    "attention.scaled": False,
}
GATED = {"feed_forward.gated": True, "feed_forward.activation": "gelu_tanh"}
MARIAN = {
    **SIZES,
    "kind": "seq2seq",
    "decoder_layers": 1,
    "norm.placement": "post",
    "norm.final": False,
    "positions.kind": "sinusoidal",
    "positions.layout": "halves",
    "head.bias": True,
    "special.start": 3,
}
FRESH = {
    "BertForMaskedLM": BERT,
    "BertForMaskedLM-untied": {**BERT, "head.tied": False},
    "BertModel": {**BERT, **BARE, "pooler": True},
    "BertModel-no-pooler": {**BERT, **BARE},
    "RobertaForMaskedLM": ROBERTA,
    "RobertaForMaskedLM-untied": {**ROBERTA, "head.tied": False},
    "RobertaModel": {**ROBERTA, **BARE},
    "GPT2LMHeadModel": GPT2,
    "GPT2LMHeadModel-untied": {**GPT2, "head.tied": False},
    "GPT2Model": {**GPT2, **BARE},
    "LlamaForCausalLM": LLAMA,
    "LlamaForCausalLM-biases": {**LLAMA, "attention.bias": True, "attention.output_bias": True},
    "LlamaModel": {**LLAMA, **BARE},
    "Qwen2ForCausalLM": {**LLAMA, "attention.bias": True},
    "T5ForConditionalGeneration": T5,
    "T5ForConditionalGeneration-gated": {**T5, **GATED, "head.tied": False},
    "T5Model": {**T5, **BARE},
    "MarianMTModel": MARIAN,
    "MarianMTModel-sides": {**MARIAN, "target_vocab_size": 25, "embedding_scale": True},
    "MarianModel": {**MARIAN, **BARE},
}
COMPUTED = ("pooler.dense", "embed_positions")
"""Tensors they make themselves: a pooler that no number here comes from, and sinusoids."""


@torch.no_grad()
def output_of(network: Any, kind: str) -> Any:
    ids = torch.tensor([[5, 6, 7, 8], [9, 8, 7, 6]])
    output = network(ids, decoder_input_ids=ids) if kind == "seq2seq" else network(ids)
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


@torch.no_grad()
@pytest.mark.parametrize("name", FRESH)
def test_a_fresh_network_opens_there(name: str, tmp_path: Path):
    config = make_config(FRESH[name])
    network = make_network(config).eval()
    for parameter in network.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.1)
    save_model(Model(network), tmp_path / "model")
    family = name.partition("-")[0]
    assert json.loads((tmp_path / "model" / "config.json").read_text())["architectures"] == [family]
    theirs, report = getattr(transformers, family).from_pretrained(
        tmp_path / "model", output_loading_info=True
    )
    lacking = [each for each in report["missing_keys"] if not any(part in each for part in COMPUTED)]
    assert not lacking
    assert not report["unexpected_keys"]
    ids = torch.tensor([[5, 6, 7, 8], [9, 8, 7, 6]])
    ours = network(ids, ids) if config.kind == "seq2seq" else network(ids)
    expected = output_of(theirs.eval(), config.kind)
    torch.testing.assert_close(
        ours.hidden if ours.logits is None else ours.logits, expected, atol=2e-5, rtol=1e-5
    )
    assert load_model(tmp_path / "model").config == config.resolved()


@torch.no_grad()
@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_an_untied_masked_head_uses_the_bias_of_its_output_layer(family: str, tmp_path: Path):
    """Two biases are stored, and may differ; `transformers` adds one of them."""
    config = getattr(transformers, f"{family}Config")(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=20,
        tie_word_embeddings=False,
    )
    theirs = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    biases = [
        each
        for name, each in theirs.named_parameters()
        if name.endswith(("decoder.bias", "ns.bias", "head.bias"))
    ]
    assert len(biases) == 2
    for number, bias in enumerate(biases):
        bias.normal_(number)
    theirs.save_pretrained(tmp_path / "model")
    model = load_model(tmp_path / "model")
    ids = torch.tensor([[5, 6, 7, 8]])
    torch.testing.assert_close(model.network(ids).logits, theirs(ids).logits, atol=2e-5, rtol=1e-5)
    assert [note.split(": ")[0] for note in model.card.notes] == ["not used"]
    save_model(model, tmp_path / "again")
    again = type(theirs).from_pretrained(tmp_path / "again").eval()
    assert torch.equal(again(ids).logits, theirs(ids).logits)
