"""Tokenizer files: the same ids as the tools they come from; damaged files are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Engine
from tokenizers import pre_tokenizers

from inlaid.encode.subwords.loading import load, of_model, vocabulary_of
from inlaid.encode.subwords.training import learn
from inlaid.errors import FormatError, SettingError, SourceError


def test_gpt2(data: Path):
    gpt2 = load(data / "vocab_gpt2")
    assert gpt2.ids("Hello world") == [15496, 995]
    assert gpt2.words("Hello world") == ["Hello", "Ġworld"]
    assert gpt2.special == {"<|endoftext|>": 50256}
    assert gpt2.ids("<|endoftext|>", special=True) == [50256]
    assert load(data / "vocab_gpt2" / "encoder.json") == load(data / "vocab_gpt2" / "vocab.bpe") == gpt2


def test_gpt2_agrees_with_transformers(data: Path, english: list[str], chinese: list[str], mixed: list[str]):
    transformers = pytest.importorskip("transformers", reason="the peer to agree with is in the extra peers")
    folder = data / "vocab_gpt2"
    peer = transformers.GPT2Tokenizer(vocab=str(folder / "encoder.json"), merges=str(folder / "vocab.bpe"))
    text = [*english, *chinese, *mixed]
    assert load(folder).ids_of(text) == [peer(each, add_special_tokens=False)["input_ids"] for each in text]


def test_gpt2_under_its_other_names(data: Path, tmp_path: Path):
    for here, there in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")):
        (tmp_path / here).symlink_to(data / "vocab_gpt2" / there)
    assert load(tmp_path) == load(tmp_path / "vocab.json") == load(data / "vocab_gpt2")


def test_lower_case_of_bert_comes_from_its_config_the_caller_or_its_words(data: Path, tmp_path: Path):
    path = data / "vocab_bert_chinese" / "vocab.txt"
    assert load(path).words("我喜欢 NLP") == ["我", "喜", "欢", "n", "##lp"]
    cased = tmp_path / "vocab.txt"
    cased.write_text("[UNK]\n[CLS]\n<S>\nNLP\n##lp\nn\n", "utf-8")
    assert load(cased).words("NLP nlp") == ["NLP", "n", "##lp"]
    assert load(path, lower=True).words("我喜欢 NLP") == ["我", "喜", "欢", "n", "##lp"]
    assert load(path, lower=False).words("我喜欢 NLP") == ["我", "喜", "欢", "[UNK]"]
    assert len(load(path, lower=True).vocabulary) == 21128
    minilm = data / "pretrained_minilm_tokenizer"
    with pytest.raises(SettingError, match="tokenizer_config.json beside"):
        load(minilm / "vocab.txt", lower=False)
    with pytest.raises(SettingError, match="lower applies to a vocab.txt"):
        load(minilm, lower=True)


def test_tokenizer_json_and_vocab_txt_agree(
    data: Path, english: list[str], chinese: list[str], mixed: list[str]
):
    folder = data / "pretrained_minilm_tokenizer"
    complete = load(folder)
    plain = load(folder / "vocab.txt")
    text = [*english, *chinese, *mixed, "long " * 300]
    assert complete.ids_of(text) == plain.ids_of(text)
    assert complete.vocabulary == plain.vocabulary
    assert complete.special == plain.special
    assert complete.words("Café NAÏVE") == ["cafe", "naive"]
    assert [(token.start, token.end) for token in complete.tokenize("Ça E\u0301tude")] == [
        (0, 2),
        (3, 6),
        (6, 9),
    ]


def test_nothing_is_cut_or_padded_whatever_the_file_says(data: Path):
    minilm = load(data / "pretrained_minilm_tokenizer" / "tokenizer.json")
    assert minilm.ids("word " * 300) == [2773] * 300


@pytest.mark.parametrize(
    ("folder", "lower"),
    [("pretrained_minilm_tokenizer", True), ("vocab_bert_chinese", True), ("vocab_bert_chinese", False)],
)
def test_bert_agrees_with_transformers(
    folder: str, lower: bool, data: Path, english: list[str], chinese: list[str], mixed: list[str]
):
    transformers = pytest.importorskip("transformers", reason="the peer to agree with is in the extra peers")
    path = data / folder / "vocab.txt"
    peer = transformers.BertTokenizer(vocab=str(path), do_lower_case=lower)
    text = [*english, *chinese, *mixed]
    assert load(path, lower=lower).ids_of(text) == [
        peer(each, add_special_tokens=False)["input_ids"] for each in text
    ]


def test_a_folder_must_leave_no_doubt(data: Path, tmp_path: Path):
    with pytest.raises(FormatError, match="2 tokenizers: source.spm, target.spm. Name the one"):
        load(data / "vocab_opus_mt_zh_en")
    with pytest.raises(FormatError, match="holds no tokenizer. Expected one of: tokenizer.json"):
        load(tmp_path)
    with pytest.raises(SourceError, match="no tokenizer .*none.json"):
        load(tmp_path / "none.json")


BYTES = {character: id for id, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


def test_the_tokenizer_of_a_models_folder(data: Path, tmp_path: Path, odd: str, trained: Any):
    assert of_model(tmp_path, reads_both_ways=True) is None
    (tmp_path / "vocab.txt").write_text("[UNK]\n我\n")
    with pytest.raises(FormatError, match=r"not this model's vocabulary: expected \[CLS\] and \[SEP\]"):
        of_model(tmp_path, reads_both_ways=True)
    assert of_model(tmp_path, reads_both_ways=False) is None
    (tmp_path / "vocab.txt").write_text("[UNK]\n我\n[CLS]\n[SEP]\n")
    bert = of_model(tmp_path, reads_both_ways=True)
    assert isinstance(bert, Engine)
    assert bert.encode("我 Z").ids == [2, 1, 0, 3]
    assert bert.encode("我[SEP]").ids == [2, 1, 3, 3]  # a name is that token here
    gpt2 = of_model(data / "vocab_gpt2", reads_both_ways=False)
    assert isinstance(gpt2, Engine)
    assert gpt2.encode("Hello world<|endoftext|>").ids == [15496, 995, 50256]
    whole = learn("bpe", trained.sentences, size=500)
    whole.engine.enable_truncation(2)
    whole.engine.enable_padding(length=9)
    (tmp_path / "tokenizer.json").write_text(whole.to_json())
    first = of_model(tmp_path, reads_both_ways=True)  # it comes before the others
    assert isinstance(first, Engine)
    assert first.encode(odd).ids == load(tmp_path).ids(odd, special=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", b'{"model": {"type": "BP', "not JSON"),
        ("tokenizer.json", b"[]", "expected a JSON object, found list"),
        ("tokenizer.json", b'{"vocab": {}}', "has no 'model'"),
        ("tokenizer.json", b'{"version": "1.0", "model": {"type": "Swivel"}}', "tokenizer.json is damaged"),
        ("tokenizer.json", b"\xff\xfe", r"not JSON .*utf-8"),
        (
            "tokenizer.json",
            json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}}).encode(),
            "both have the id 0",
        ),
        (
            "tokenizer.json",
            json.dumps({"model": {"type": "BPE", "vocab": {"a": 2**31}, "merges": []}}).encode(),
            "ids up to 2,147,483,648",
        ),
        (
            "tokenizer.json",
            json.dumps({"model": {"type": "BPE", "vocab": {}, "merges": []}}).encode(),
            "an empty vocabulary",
        ),
        ("vocab.json", json.dumps(BYTES).encode(), "Cannot read .*merges.txt"),
        ("vocab.txt", b"the\nof\n", "not BERT's vocabulary: expected one word per line"),
        ("vocab.txt", b"[UNK]\nthe\nthe\n", "'the' is on more than one line"),
        ("words.bin", b"?", "does not have the name of a tokenizer"),
    ],
)
def test_damaged_and_unknown_files_are_named(name: str, content: bytes, message: str, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((FormatError, SourceError), match=message) as refused:
        load(tmp_path / name, lower=True if name == "vocab.txt" else None)
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        (BYTES, "#version: 0.2\na b\na b c\n", r"merges.txt:3: expected two words"),
        (BYTES, "a b\n", "is damaged, or not what its name says: .*Token `ab` out of vocabulary"),
        ({"a": 0}, "", "not a byte-level vocabulary"),
        ({**BYTES, "a</w>": 256}, "", "not a byte-level vocabulary"),
        ({**BYTES, "ab": "x"}, "a b\n", "is damaged"),
    ],
)
def test_damaged_gpt2_files(vocabulary: dict[str, object], merges: str, message: str, tmp_path: Path):
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    with pytest.raises(FormatError, match=message):
        load(tmp_path)


def test_words_that_are_no_text_are_refused(tmp_path: Path):
    content = {"model": {"type": "Unigram", "vocab": [["a", 0], [True, -1.0]]}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="expected words, each with an id"):
        vocabulary_of(tmp_path)
