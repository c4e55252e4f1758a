"""Our tokens and contextual vectors against the `transformers` library, on real tokenizers and a real
model."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import FormatError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.families import find_family, read_config  # noqa: E402
from inlaid.neural.tokens import check_tokenizer, make_batch, tokenizer_files, words_in_order  # noqa: E402
from inlaid.study.search.neighbors import neighbors  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def read_tokenizer(folder: Path, model_type: str) -> Any:
    raw = {"model_type": model_type}
    return find_family(raw).read_tokenizer(folder, read_config(raw))


def test_a_real_model_gives_the_same_contextual_vectors(minilm: Path):
    texts = ["A cat sat on the mat.", "我喜欢猫", "Embeddings " * 40, "king queen man woman"]
    ours = load_model(minilm)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    model = transformers.AutoModel.from_pretrained(minilm).eval()
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    with torch.no_grad():
        expected = model(**batch, output_hidden_states=True).hidden_states
    mask = batch["attention_mask"][..., None]
    for layer in (0, 3, 6):
        means = (expected[layer] * mask).sum(1) / mask.sum(1)
        assert np.abs(ours.embed(texts, layer=layer, pooling="mean") - means.numpy()).max() < 1e-5
        assert (
            np.abs(ours.embed(texts, layer=layer, pooling="first") - expected[layer][:, 0].numpy()).max()
            < 1e-5
        )
    assert np.array_equal(
        ours.input_vectors().table, model.embeddings.word_embeddings.weight.detach().numpy()
    )
    assert ours.input_vectors().words[tokenizer.vocab["queen"]] == "queen"
    found = [neighbor.word for neighbor in neighbors(ours.input_vectors(), "king", n=5)]
    assert {"kings", "queen"} & set(found)


def test_tokenizers_we_write_open_there(minilm: Path, tmp_path: Path):
    save_model(load_model(minilm), tmp_path / "here")
    one, two = (transformers.AutoTokenizer.from_pretrained(folder) for folder in (minilm, tmp_path / "here"))
    text = "Don't 我喜欢猫, unhappily!"
    assert one(text)["input_ids"] == two(text)["input_ids"]
    assert two.pad_token == "[PAD]"


def test_marian_pieces_agree(data: Path, tmp_path: Path):
    pytest.importorskip(
        "sentencepiece", reason="sentencepiece is not installed: pip install 'inlaid[sentencepiece]'"
    )
    folder = data / "vocab_opus_mt_zh_en"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends another package
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    config = read_config(json.loads((folder / "config.json").read_text()))
    special = config.special
    assert (config.vocab_size, special.start, special.end, special.banned) == (65001, 65000, (0,), (65000,))
    ours = read_tokenizer(folder, "marian")
    texts = ["我喜欢猫。", "今天天气很好,我们去公园吧!", "Inlaid 是什么?", "𠮷野家"]
    found = make_batch(ours, texts, padding=special.padding)
    expected = tokenizer(texts, return_tensors="pt", padding=True)
    assert torch.equal(found.ids, expected["input_ids"])
    assert torch.equal(found.mask.long(), expected["attention_mask"])
    assert "".join(texts[0][start:end] for start, end in found.spans[0]) == texts[0]
    english = tokenizer(text_target=["I like cats.", "What is it?"])["input_ids"]
    assert (
        ours.decode_batch(english)
        == tokenizer.batch_decode(english, skip_special_tokens=True)
        == ["I like cats.", "What is it?"]
    )
    assert ours.get_vocab_size() == 65001
    assert tokenizer_files(ours, config).keys() == {"source.spm", "target.spm", "vocab.json"}


def test_byte_pairs_agree(data: Path, tmp_path: Path):
    for name, source in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")):
        (tmp_path / name).write_bytes((data / "vocab_gpt2" / source).read_bytes())
    theirs = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "gpt2")
    for text in ("I don't like it.", "  我喜欢 猫!", "naïve\n\tcafé", "the end<|endoftext|>"):
        assert ours.encode(text).ids == theirs(text)["input_ids"]
        assert ours.decode(theirs(text)["input_ids"], skip_special_tokens=False) == text


def test_byte_pairs_of_roberta_agree(data: Path, tmp_path: Path):
    """The same words as GPT-2's, numbered otherwise, between "<s>" and "</s>"."""
    words: dict[str, int] = json.loads((data / "vocab_gpt2" / "encoder.json").read_text())
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    order = [*special, *sorted(words.keys() - {"<|endoftext|>"}, key=words.__getitem__), "<mask>"]
    vocabulary = {word: id for id, word in enumerate(order)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "merges.txt").write_bytes((data / "vocab_gpt2" / "vocab.bpe").read_bytes())
    theirs = transformers.RobertaTokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "roberta")
    for text in ("I don't like it.", "  我喜欢 猫!", "naïve\n\tcafé"):
        assert ours.encode(text).ids == theirs(text)["input_ids"]
        assert ours.decode(theirs(text)["input_ids"]) == text
    assert ours.encode("我").tokens[0] == "<s>"
    assert ours.encode("我").ids[-1] == 2
    for name in ("<s>", "</s>"):
        del vocabulary[name]
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    with pytest.raises(FormatError, match="no <s> and </s>"):
        read_tokenizer(tmp_path, "roberta")


def test_byte_pairs_of_qwen2_agree(data: Path, tmp_path: Path):
    """Digits one by one, NFC, and special tokens after the vocabulary."""
    for name, source in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")):
        (tmp_path / name).write_bytes((data / "vocab_gpt2" / source).read_bytes())
    settings = {"added_tokens_decoder": {"50257": {"content": "<|im_start|>", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    theirs = transformers.Qwen2Tokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "qwen2")
    for text in (
        "I DON'T like 12345 it.",
        "  我喜欢 猫!\n\n",
        "nai\u0308ve\n\tcafé",
        "<|im_start|>a<|endoftext|>",
    ):
        assert ours.encode(text).ids == theirs(text)["input_ids"]
    assert len(ours.encode("12345").ids) == 5
    assert ours.token_to_id("<|im_start|>") == 50257
    settings = {"added_tokens_decoder": {"60000": {"content": "<|im_end|>"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(FormatError, match="should have id 60000, but comes after 50,257 words"):
        read_tokenizer(tmp_path, "qwen2")


@pytest.mark.parametrize("lower", [True, False, None])
def test_bert_words_agree(lower: bool | None, data: Path, tmp_path: Path):
    (tmp_path / "vocab.txt").write_bytes((data / "vocab_bert_chinese" / "vocab.txt").read_bytes())
    if lower is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower}))
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "bert")
    for text in ("I don't LIKE it.", "我喜欢 猫!", "Naïve\n\tcafé", "the [MASK] end"):
        assert ours.encode(text).ids == theirs(text)["input_ids"]
    assert ours.encode("我").tokens == ["[CLS]", "我", "[SEP]"]
    assert read_tokenizer(tmp_path, "gpt2") is None  # it would put [CLS] before a prompt


def test_marian_pieces_of_two_vocabularies_agree(data: Path, tmp_path: Path):
    pytest.importorskip(
        "sentencepiece", reason="sentencepiece is not installed: pip install 'inlaid[sentencepiece]'"
    )
    for name in ("source.spm", "target.spm", "vocab.json"):
        (tmp_path / name).write_bytes((data / "vocab_opus_mt_zh_en" / name).read_bytes())
    words: dict[str, int] = json.loads((tmp_path / "vocab.json").read_text())
    other = {
        word: id
        for id, word in enumerate(
            ["<pad>", "</s>", "<unk>", *sorted(words.keys() - {"<pad>", "</s>", "<unk>"})[:60_000]]
        )
    }
    (tmp_path / "target_vocab.json").write_text(json.dumps(other))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": True}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends another package
        theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    values = {
        "model_type": "marian",
        "vocab_size": len(words),
        "share_encoder_decoder_embeddings": False,
        "pad_token_id": 0,
    }
    config = read_config(
        {**values, "decoder_vocab_size": len(other), "decoder_start_token_id": 0, "eos_token_id": 1}
    )
    ours = read_tokenizer(tmp_path, "marian")
    texts = ["我喜欢猫。", "𠮷野家"]
    answers = ["I like cats.", "What is it?"]
    assert [each.ids for each in ours.encode_batch(texts)] == theirs(texts)["input_ids"]
    ids = theirs(text_target=answers)["input_ids"]
    assert ours.decode_batch(ids) == theirs.batch_decode(ids, skip_special_tokens=True) == answers
    assert words_in_order(ours, len(other), target=True)[:3] == ["<pad>", "</s>", "<unk>"]
    assert words_in_order(ours, len(words))[0] == "</s>"
    assert tokenizer_files(ours, config).keys() == {
        "source.spm",
        "target.spm",
        "vocab.json",
        "target_vocab.json",
        "tokenizer_config.json",
    }
    with pytest.raises(FormatError, match=r"60,003 words, but the table only 60,002 rows"):
        check_tokenizer(ours, tmp_path, config.replace({"target_vocab_size": 60_002}))


FEW_WORDS = ("the", "cat", "sat", "##s", "我", "喜", "欢", "!", ".", "caf", "##e")
HARD_TEXTS = (
    "我喜欢猫。",
    "the  cat sat\n on",
    "Ｈｅｌｌｏ ｃａｔ",
    "a <mask> b",
    "x<mask>y",
    "𠮷 zzz",
    " the </s> end",
    "<unk> ▁the",
    "cafe\u0301",
)


def test_pieces_of_xlm_roberta_agree(tmp_path: Path):
    """Older folders have SentencePiece's file alone, and ids shifted by one."""
    library = pytest.importorskip(
        "sentencepiece", reason="sentencepiece is not installed: pip install 'inlaid[sentencepiece]'"
    )
    lines = ["我喜欢猫和狗 the cat sat on the mat", "the weather is fine 今天天气很好"] * 30
    written = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=30, minloglevel=3
    )
    (tmp_path / "sentencepiece.bpe.model").write_bytes(written.getvalue())
    theirs = transformers.XLMRobertaTokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "xlm-roberta")
    for text in HARD_TEXTS:
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
        assert ours.encode(text, text).ids == theirs(text, text)["input_ids"]
    assert ours.get_vocab() == theirs.get_vocab()
    theirs.save_pretrained(tmp_path / "new")
    ours = read_tokenizer(tmp_path / "new", "xlm-roberta")  # from tokenizer.json
    assert [ours.encode(text).ids for text in HARD_TEXTS] == theirs(list(HARD_TEXTS))["input_ids"]


def test_words_of_mpnet_agree(tmp_path: Path):
    """BERT's words with RoBERTa's special tokens."""
    words = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", *FEW_WORDS, "<mask>"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    theirs = transformers.MPNetTokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, "mpnet")
    for text in (*HARD_TEXTS, "The cats SAT!", "[UNK] <s>"):
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
    (tmp_path / "vocab.txt").write_text("\n".join(words[1:]), "utf-8")
    with pytest.raises(FormatError, match="expected <s> and </s> among its words"):
        read_tokenizer(tmp_path, "mpnet")


@pytest.mark.parametrize("model_type", ["distilbert", "electra", "ernie", "nomic_bert"])
def test_words_of_encoders_like_bert_agree(model_type: str, tmp_path: Path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *FEW_WORDS]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = read_tokenizer(tmp_path, model_type)
    for text in (*HARD_TEXTS, "The cats SAT!", "the [MASK] cat"):
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
