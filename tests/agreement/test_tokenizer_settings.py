"""tokenizer_config.json against `transformers`: it decides where tokenizer.json says something else, and a
folder we write has all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)
tokenizers = pytest.importorskip("tokenizers")

from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.families import find_family, read_config  # noqa: E402
from inlaid.neural.families.tokenizer_classes import qwen2_parts  # noqa: E402
from inlaid.neural.families.tokenizer_settings import apply_settings, read_settings  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "Cat", "é", "e", "##s", "猫", "咪", "猫咪", "."]
TEXT = "Cat É 猫咪 cats."
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
SIZE = {"vocab_size": len(WORDS), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
MODELS = {
    "Bert": {**SIZE, "intermediate_size": 8},
    "MPNet": {**SIZE, "intermediate_size": 8},
    "Electra": {**SIZE, "intermediate_size": 8, "embedding_size": 8},
    "Ernie": {**SIZE, "intermediate_size": 8},
    "NomicBert": {**SIZE, "intermediate_size": 8},
    "DistilBert": {"vocab_size": len(WORDS), "dim": 8, "n_layers": 1, "n_heads": 1, "hidden_dim": 8},
    "ModernBert": {**SIZE, "intermediate_size": 8, "pad_token_id": 0},
}
STORED = [{"lowercase": True}, {"lowercase": False}, {"handle_chinese_chars": False}]
SAID = [
    {},
    {"do_lower_case": True},
    {"do_lower_case": False},
    {"tokenize_chinese_chars": False},
    {"strip_accents": False},
    {"do_lower_case": False, "strip_accents": True},
]


@pytest.fixture(autouse=True, scope="module")
def quiet():
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def network(name: str, folder: Path) -> None:
    config = getattr(transformers, f"{name}Config")(**MODELS[name])
    getattr(transformers, f"{name}Model")(config).save_pretrained(folder)


def write_tokenizer(folder: Path, normalizer: dict[str, Any], settings: dict[str, Any]) -> None:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(**normalizer)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(WORDS[:5])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**SPECIAL, **settings}))


@pytest.mark.parametrize("name", MODELS)
def test_it_decides_how_text_is_normalized(name: str, tmp_path: Path):
    network(name, tmp_path)
    different: set[bool] = set()
    for normalizer in STORED:
        for said in SAID:
            for named in (
                {},
                {"tokenizer_class": "BertTokenizer"},
                {"tokenizer_class": "MPNetTokenizerFast"},
            ):
                write_tokenizer(tmp_path, normalizer, {**said, **named})
                ours = load_model(tmp_path)
                alone = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
                theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
                found = ours.tokenizer.encode(TEXT).ids
                assert found == theirs(TEXT)["input_ids"], (normalizer, said, named)
                noted = any("tokenizer_config.json, not" in note for note in ours.card.notes)
                assert noted or found == alone.encode(TEXT).ids
                different.add(found != alone.encode(TEXT).ids)
    assert different == ({False} if name == "ModernBert" else {True, False})


@pytest.mark.parametrize("name", ["roberta", "gpt2"])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("said", [True, False, None])
def test_it_decides_about_a_space_before_a_text(name: str, stored: bool, said: bool | None, tmp_path: Path):
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *tokenizers.pre_tokenizers.ByteLevel.alphabet()]
    vocabulary = {word: id for id, word in enumerate([*dict.fromkeys(words), "Ġc"])}
    config: Any = transformers.GPT2Config(vocab_size=len(vocabulary), n_embd=8, n_layer=1, n_head=1)
    if name == "roberta":
        config = transformers.RobertaConfig(**{**SIZE, "vocab_size": len(vocabulary)}, intermediate_size=8)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("Ġ", "c")]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=stored)
    if name == "roberta":
        made.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.save(str(tmp_path / "tokenizer.json"))
    settings = {} if said is None else {"add_prefix_space": said}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    ours = load_model(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.tokenizer.encode("cat c").ids == theirs("cat c")["input_ids"]
    wanted = bool(said)
    assert any(f"add_prefix_space={wanted}" in note for note in ours.card.notes) == (stored != wanted)


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("said", [True, False])
def test_start_and_end_are_where_tokenizer_json_puts_them(end: bool, said: bool, tmp_path: Path):
    config = transformers.MistralConfig(**SIZE, intermediate_size=8, num_key_value_heads=1)
    transformers.MistralModel(config).save_pretrained(tmp_path)
    settings = {"add_bos_token": True, "add_eos_token": said, "bos_token": "[CLS]", "eos_token": "[SEP]"}
    write_tokenizer(tmp_path, {}, {**settings, "tokenizer_class": "LlamaTokenizer"})
    path = tmp_path / "tokenizer.json"
    made = tokenizers.Tokenizer.from_file(str(path))
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]" if end else "[CLS] $A", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(path))
    ours = load_model(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert ours.tokenizer.encode("cat").ids == theirs("cat")["input_ids"]
    noted = [note for note in ours.card.notes if "tokenizer_config.json" in note]
    expected = f"add_eos_token of tokenizer_config.json is {said}; tokenizer.json decides otherwise"
    assert noted == ([] if end == said else [expected])


UNIGRAM = [*("<s>", "<pad>", "</s>", "<unk>", "<mask>"), *"▁catdogCAT", "▁cat"]
PIECES = [
    *("<unk>", "<s>", "</s>", "<pad>", "<mask>"),
    *(f"<0x{byte:02X}>" for byte in range(256)),
    *"▁catdog",
]
TEXTS = ["cat", " cat  dog ", "CAT", "</s>cat <mask>dog", "cat\ndog", ""]
PARTS = tokenizers.pre_tokenizers
REBUILT: list[tuple[str, str | None, Any, Any, Any]] = [
    ("XLMRoberta", None, "unigram", None, PARTS.Metaspace()),
    (
        "XLMRoberta",
        "XLMRobertaTokenizerFast",
        "unigram",
        tokenizers.normalizers.Lowercase(),
        PARTS.Metaspace(),
    ),
    ("Bert", "XLMRobertaTokenizer", "unigram", None, PARTS.Metaspace(prepend_scheme="first")),
    ("Camembert", None, "unigram", None, PARTS.Metaspace()),
    ("Llama", "LlamaTokenizer", "pieces", tokenizers.normalizers.Prepend("▁"), None),
    ("Llama", None, "pieces", tokenizers.normalizers.Prepend("▁"), None),
    ("Mistral", "LlamaTokenizer", "pieces", tokenizers.normalizers.Prepend("▁"), None),
    ("Roberta", None, "bytes", tokenizers.normalizers.Lowercase(), PARTS.ByteLevel(add_prefix_space=False)),
    ("Qwen3", None, "bytes", None, PARTS.ByteLevel(add_prefix_space=True)),
]
"""A network, the class its tokenizer names, and what its tokenizer.json says, which few classes take."""


@pytest.mark.parametrize(("name", "named", "kind", "normalizer", "words"), REBUILT)
def test_a_class_builds_a_tokenizer_again(
    name: str, named: str | None, kind: str, normalizer: Any, words: Any, tmp_path: Path
):
    models = tokenizers.models
    listed = [*UNIGRAM[:5], *sorted(PARTS.ByteLevel.alphabet())]
    made = tokenizers.Tokenizer(
        {
            "unigram": lambda: models.Unigram([(word, -1.0) for word in UNIGRAM], 3),
            "pieces": lambda: models.BPE(
                {word: id for id, word in enumerate(PIECES)}, [], byte_fallback=True, unk_token="<unk>"
            ),
            "bytes": lambda: models.BPE({word: id for id, word in enumerate(listed)}, []),
        }[kind]()
    )
    if normalizer is not None:
        made.normalizer = normalizer
    if words is not None:
        made.pre_tokenizer = words
    made.save(str(tmp_path / "tokenizer.json"))  # without special tokens, which only the settings name
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
    settings = {**special, "pad_token": "<pad>", **({"tokenizer_class": named} if named else {})}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    size = {**SIZE, "vocab_size": 300, "intermediate_size": 8, "pad_token_id": 1}
    heads = {"num_key_value_heads": 1} if name in ("Llama", "Mistral", "Qwen3") else {}
    config = getattr(transformers, f"{name}Config")(**size, **heads)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    ours = load_model(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert ours.tokenizer.encode(text).ids == theirs(text)["input_ids"], text
    taken = name == "Mistral" or (name, named) == ("Llama", None)
    assert any("not tokenizer.json, decides" in note for note in ours.card.notes) != taken
    save_model(ours, tmp_path / "ours")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    for text in TEXTS:
        assert again(text)["input_ids"] == theirs(text)["input_ids"], text


def test_a_vocabulary_of_another_kind_is_left_as_it_is(tmp_path: Path):
    network("Bert", tmp_path)
    made = tokenizers.Tokenizer(tokenizers.models.Unigram([(word, -1.0) for word in WORDS], 1))
    made.pre_tokenizer = PARTS.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    ours = load_model(tmp_path)
    assert ours.tokenizer.encode("cat").ids == [WORDS.index("cat")]
    assert any("Unigram is no vocabulary for BertTokenizer" in note for note in ours.card.notes)


def test_a_class_that_takes_the_file_as_it_is(tmp_path: Path):
    network("Bert", tmp_path)
    write_tokenizer(
        tmp_path, {"lowercase": False}, {"do_lower_case": True, "tokenizer_class": "PreTrainedTokenizerFast"}
    )
    ours = load_model(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.tokenizer.encode(TEXT).ids == theirs(TEXT)["input_ids"]
    assert WORDS.index("Cat") in ours.tokenizer.encode(TEXT).ids


@pytest.mark.parametrize("older", [False, True])
def test_a_folder_we_write_keeps_it(older: bool, tmp_path: Path):
    """Without its special tokens, a tokenizer there can neither mask nor tell a text's end."""
    first = tmp_path / "theirs"
    first.mkdir()
    network("Bert", first)
    settings = {
        "padding_side": "left",
        "truncation_side": "left",
        "model_max_length": 77,
        "do_lower_case": False,
        "tokenizer_class": "BertTokenizer",
        "auto_map": {"AutoTokenizer": ["my.Tokenizer", None]},
        "chat_template": "{{ messages }}",
    }
    write_tokenizer(first, {"lowercase": True}, settings)
    if older:
        (first / "tokenizer_config.json").write_text(json.dumps(settings))
        (first / "special_tokens_map.json").write_text(json.dumps(SPECIAL))
    save_model(load_model(first), tmp_path / "ours")
    written = json.loads((tmp_path / "ours" / "tokenizer_config.json").read_text())
    assert "auto_map" not in written
    found = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    for name in ("padding_side", "truncation_side", "model_max_length", "chat_template"):
        assert getattr(found, name) == settings[name]
    assert found.special_tokens_map == SPECIAL
    assert found(TEXT)["input_ids"] == load_model(tmp_path / "ours").tokenizer.encode(TEXT).ids
    assert WORDS.index("Cat") in found(TEXT)["input_ids"]


WRONG = ["GPT2Tokenizer", "RobertaTokenizerFast", "LlamaTokenizerFast", "T5Tokenizer"]


@pytest.mark.parametrize(
    ("name", "named", "as_json"),
    [
        *(("qwen2", named, as_json) for named in ("Qwen2Tokenizer", *WRONG) for as_json in (True, False)),
        *(("qwen3", named, True) for named in ("Qwen2Tokenizer", "GPT2Tokenizer", "LlamaTokenizerFast")),
    ],
)
def test_a_class_that_does_not_fit(name: str, named: str, as_json: bool, tmp_path: Path):
    """`transformers` knows that folders of Qwen2 name wrong classes, and trusts those of Qwen3."""
    words = ["<|endoftext|>", *tokenizers.pre_tokenizers.ByteLevel.alphabet(), "'S", "12"]
    vocabulary = {word: id for id, word in enumerate(words)}
    merges = [("'", "S"), ("1", "2")]
    parts = qwen2_parts()
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    made.normalizer = parts.normalizer
    made.pre_tokenizer = parts.pre_tokenizer
    made.add_special_tokens(["<|endoftext|>"])
    if as_json:
        made.save(str(tmp_path / "tokenizer.json"))
    else:
        made.model.save(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": named}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": name, "vocab_size": len(words)}))
    family = find_family({"model_type": name})
    ours = family.read_tokenizer(tmp_path, read_config({"model_type": name}))
    notes = apply_settings(ours, read_settings(tmp_path), family, len(words))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in ("it'S IT'S 12", "cafe\u0301 12", "中国，12\r\n\n x  y", "<|endoftext|>hi"):
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
    assert bool(notes) == (named != "Qwen2Tokenizer")
