"""Where training starts: a decoder of another tool learns to translate, with a token that it did not have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from inlaid.cli import main  # noqa: E402
from inlaid.encode.subwords.training import learn  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402

END = "<|endoftext|>"
WORDS = 400
SPARE = 20
"""Rows that the table of a Qwen2 has, and no word."""
Typed = Callable[..., str]


def network_of(name: str) -> Any:
    """A small random decoder of transformers."""
    torch.manual_seed(1)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    if name == "gpt2":
        sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=WORDS, **sizes, **ends))
    config = transformers.Qwen2Config(
        vocab_size=WORDS + (SPARE if name == "qwen2-spare" else 0),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=32,
        max_position_embeddings=64,
        tie_word_embeddings=name != "qwen2-untied",
        **ends,
    )
    return transformers.Qwen2ForCausalLM(config)


def saved(name: str, pairs: Path, folder: Path) -> Path:
    """A folder of transformers with network and tokenizer; it samples, as Qwen2's do."""
    network = network_of(name)
    network.generation_config.do_sample = True
    network.generation_config.temperature = 0.7
    network.save_pretrained(folder)
    model = json.loads(
        learn("bpe", pairs.read_text("utf-8").splitlines(), size=WORDS, special=(END,)).to_json()
    )
    kind = transformers.GPT2Tokenizer if name == "gpt2" else transformers.Qwen2Tokenizer
    merges = [tuple(each) for each in model["model"]["merges"]]
    kind(vocab=model["model"]["vocab"], merges=merges, eos_token=END, unk_token=END).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["gpt2", "qwen2", "qwen2-untied", "qwen2-spare"])
def test_a_decoder_of_another_tool_learns_to_translate(name: str, typed: Typed, pairs: Path, tmp_path: Path):
    start = saved(name, pairs, tmp_path / "start")
    train = ["train", "translation", pairs, "-o", tmp_path / "m", "--init-from", start]
    typed(*train, "--epochs", "1", "--max-length", "64", "--learning-rate", "0.01")
    before, after = load_model(start), load_model(tmp_path / "m")
    rows = WORDS + (SPARE if name == "qwen2-spare" else 1)
    assert after.tokenizer.token_to_id("[TRANSLATION]") == WORDS
    assert after.config == before.config.replace({"vocab_size": rows})
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    assert type(theirs).__name__ == type(network_of(name)).__name__
    text = pairs.read_text("utf-8").partition("\t")[0]
    read = tokenizer([text], return_tensors="pt")
    assert int(read["input_ids"][0, -1]) == WORDS
    ids = theirs.generate(**read, max_new_tokens=6, do_sample=False, pad_token_id=0)
    expected = tokenizer.decode(ids[0, read["input_ids"].shape[1] :], skip_special_tokens=True)
    assert typed("translate", tmp_path / "m", text, "--max-new-tokens", "6").rstrip("\n") == expected
    typed(
        *train[:4], tmp_path / "again", "--init-from", tmp_path / "m", "--epochs", "1", "--max-length", "64"
    )
    assert load_model(tmp_path / "again").config == after.config


def test_the_new_token_is_named(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    start = saved("gpt2", pairs, tmp_path / "start")
    words = ["train", "translation", pairs, "-o", tmp_path / "m", "--init-from", start, "--epochs", "1"]
    assert main(list(map(str, words))) == 0
    assert (
        f"[TRANSLATION] was added to the vocabulary of the model, as token {WORDS}."
        in capsys.readouterr().err
    )


def test_a_causal_model_of_words_learns_to_translate(typed: Typed, pairs: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_bytes(pairs.read_bytes())
    tiny = ["--dim", "8", "--layers", "1", "--heads", "2", "--epochs", "1", "--max-length", "64"]
    typed("train", "causal", tmp_path / "text.txt", "-o", tmp_path / "gpt", *tiny, "--tokenizer", "word")
    start = ["--init-from", tmp_path / "gpt", "--epochs", "1"]
    typed("train", "translation", pairs, "-o", tmp_path / "m", *start)
    shown = typed("translate", tmp_path / "m", "我", "--max-new-tokens", "2", "--trace").splitlines()
    assert shown[0].endswith(" [TRANSLATION]")
