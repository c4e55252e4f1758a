"""Tokenizers of decoders and T5s from their older files against the `transformers` library."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)
sentencepiece = pytest.importorskip(
    "sentencepiece", reason="sentencepiece is not installed: pip install 'inlaid[sentencepiece]'"
)

from tokenizers import Tokenizer, models, processors  # noqa: E402

from inlaid.errors import FormatError  # noqa: E402
from inlaid.neural.families import find_family, read_config  # noqa: E402

TEXT = [f"the cat{n % 7} runs, 今天天气很好 {n}%" for n in range(40)] + [
    "A dog sleeps.",
    "我们去公园散步",
] * 20
SAMPLES = (
    "the cat  runs",
    "Hello\tworld\n今天 很好",
    "<extra_id_3> a </s> b <pad><s>c",
    "  é ﬁ Ａ ☃ ",
    "<unk> <0x0A> 123",
)
T5 = {"model_type": "unigram", "vocab_size": 70, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
LLAMA = {
    "model_type": "bpe",
    "vocab_size": 330,
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}


def folder(path: Path, file: str, options: dict[str, Any], settings: dict[str, Any]) -> Path:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=written, minloglevel=3, hard_vocab_limit=False, **options
    )
    (path / file).write_bytes(written.getvalue())
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path


def read_tokenizer(path: Path, model_type: str) -> Any:
    raw = {"model_type": model_type}
    return find_family(raw).read_tokenizer(path, read_config(raw))


def assert_same(ours: Any, theirs: Any):
    assert ours.get_vocab() == theirs.get_vocab()
    for text in SAMPLES:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text).ids == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("settings", [{}, {"extra_ids": 0}, {"extra_ids": 5, "eos_token": "</s>"}], ids=str)
def test_pieces_of_t5_agree(settings: dict[str, Any], tmp_path: Path):
    path = folder(tmp_path, "spiece.model", T5, settings)
    assert_same(read_tokenizer(path, "mt5"), transformers.T5Tokenizer.from_pretrained(path))
    assert read_tokenizer(path, "t5").encode("cat").tokens[-1] == "</s>"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"add_bos_token": True, "bos_token": {"content": "<s>", "__type": "AddedToken"}},
        {"add_bos_token": True, "add_eos_token": True, "legacy": True},
        {"add_eos_token": True, "add_prefix_space": False, "pad_token": "</s>"},
    ],
    ids=str,
)
def test_pieces_of_llama_agree(settings: dict[str, Any], tmp_path: Path):
    path = folder(tmp_path, "tokenizer.model", LLAMA, settings)
    assert_same(read_tokenizer(path, "llama"), transformers.LlamaTokenizer.from_pretrained(path))
    assert read_tokenizer(path, "mistral").get_vocab_size() == 330


@pytest.mark.parametrize(
    ("file", "model_type", "options", "settings", "message"),
    [
        ("spiece.model", "t5", T5, {"pad_token": "[PAD]"}, r"adds \[PAD\], which are not among its words"),
        ("spiece.model", "t5", T5, {"extra_ids": -1}, "extra_ids beside it is -1"),
        ("spiece.model", "t5", LLAMA, {}, "expected a unigram model that begins with <pad>, </s>, <unk>"),
        ("tokenizer.model", "llama", LLAMA, {"pad_token": "<pad>"}, "adds <pad>, which are not among"),
        ("tokenizer.model", "gemma3_text", T5, {}, "found <pad>, </s>, <unk>. Get tokenizer.json"),
    ],
)
def test_what_only_tokenizer_json_tells_is_named(
    file: str,
    model_type: str,
    options: dict[str, Any],
    settings: dict[str, Any],
    message: str,
    tmp_path: Path,
):
    with pytest.raises(FormatError, match=message):
        read_tokenizer(folder(tmp_path, file, options, settings), model_type)


def test_damaged_pieces_are_named(tmp_path: Path):
    path = folder(tmp_path, "spiece.model", T5, {})
    (path / "spiece.model").write_bytes((path / "spiece.model").read_bytes()[:-40])
    with pytest.raises(FormatError, match="is not a SentencePiece model, or damaged"):
        read_tokenizer(path, "t5")


@pytest.mark.parametrize("settings", [{}, {"add_bos_token": False, "add_eos_token": False}], ids=str)
def test_what_tokenizer_json_puts_after_a_text_is_kept(settings: dict[str, Any], tmp_path: Path):
    """Qwen3-Embedding ends every text so, and pools over that token."""
    words = {"▁": 0, "a": 1, "b": 2, "<|endoftext|>": 3}
    tokenizer = Tokenizer(models.BPE(words, []))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    end = ("<|endoftext|>", 3)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <|endoftext|>", special_tokens=[end])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    named = {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>", **settings}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(named))
    theirs = transformers.Qwen2Tokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "qwen3")
    assert ours.encode("ab").ids == theirs("ab")["input_ids"] == [1, 2, 3]
