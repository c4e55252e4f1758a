"""`Model.embed` against `SentenceTransformer.encode`, on folders made with its own modules."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)
peer = pytest.importorskip(
    "sentence_transformers", reason="sentence-transformers is not installed: pip install 'inlaid[peers]'"
)
tokenizers = pytest.importorskip("tokenizers")

from sentence_transformers.sentence_transformer import modules  # noqa: E402

from inlaid.errors import FormatError, SettingError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.report import Note  # noqa: E402

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "cat", "猫", "sat", "on", "the", "mat", "query", ":", "Big", "big"]
TEXTS = [
    "cat",
    "the cat sat on the mat",
    "猫 sat",
    "Big big cat on the mat the cat sat",
    "mat mat mat mat",
    "on the",
    "猫 猫 猫 猫",
]
"""Of different and of equal lengths, so that batches are packed and sorted."""
POOLINGS = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
BYTES = [*WORDS[:4], *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())]
SIZE = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 24,
}
IDS = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
T5 = {"vocab_size": len(WORDS), "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {**SIZE, **IDS}),
    "roberta": ("Roberta", {**SIZE, **IDS}),
    "xlm-roberta": ("XLMRoberta", {**SIZE, **IDS}),
    "camembert": ("Camembert", {**SIZE, **IDS}),
    "mpnet": ("MPNet", {**SIZE, **IDS}),
    "distilbert": (
        "DistilBert",
        {
            "vocab_size": len(WORDS),
            "dim": 32,
            "n_layers": 2,
            "n_heads": 4,
            "hidden_dim": 48,
            "max_position_embeddings": 24,
            "pad_token_id": 1,
        },
    ),
    "electra": ("Electra", {**SIZE, **IDS, "embedding_size": 16}),
    "ernie": ("Ernie", {**SIZE, **IDS, "use_task_id": True}),
    "modernbert": (
        "ModernBert",
        {**SIZE, **IDS, "cls_token_id": 0, "sep_token_id": 2, "local_attention": 6},
    ),
    "nomic_bert": ("NomicBert", {**SIZE, **IDS}),
    "gpt2": ("GPT2", {**SIZE, **IDS}),
    "llama": ("Llama", {**SIZE, **IDS, **GROUPED}),
    "qwen2": (
        "Qwen2",
        {**SIZE, **IDS, "num_key_value_heads": 2, "vocab_size": len(BYTES), "max_position_embeddings": 60},
    ),
    "qwen3": ("Qwen3", {**SIZE, **IDS, **GROUPED}),
    "mistral": ("Mistral", {**SIZE, **IDS, **GROUPED, "sliding_window": 4}),
    "gemma3_text": ("Gemma3Text", {**SIZE, **IDS, **GROUPED, "sliding_window": 4}),
    "gemma3_text, both ways": (
        "Gemma3Text",
        {**SIZE, **IDS, **GROUPED, "sliding_window": 4, "use_bidirectional_attention": True},
    ),
    "t5": ("T5", {**T5, "pad_token_id": 1, "eos_token_id": 2}),
    "mt5": ("MT5", {**T5, "pad_token_id": 1, "eos_token_id": 2}),
}
"""Their class, and its config."""
COUNTS_PADDING = ("bert", "distilbert", "electra", "ernie", "gpt2")
"""They count padding on the left among their positions: there a vector depends on its batch."""


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of `transformers`, by their model type, with random weights of a size that matters."""
    root = tmp_path_factory.mktemp("networks")
    torch.manual_seed(1)
    for name, (kind, settings) in MODELS.items():
        suffix = "EncoderModel" if kind in ("T5", "MT5") else "Model"
        network = getattr(transformers, kind + suffix)(getattr(transformers, f"{kind}Config")(**settings))
        for key, parameter in network.named_parameters():
            is_norm = parameter.dim() == 1 and key.endswith("weight") and kind != "Gemma3Text"
            parameter.data.normal_(mean=1.0 if is_norm else 0.0, std=0.3)
        network.save_pretrained(root / name)
        tokenizer(name).save_pretrained(root / name)
    return root


def tokenizer(name: str, *, side: str = "right") -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id for id, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    if name == "qwen2":  # whose tokenizer is always byte-level there
        made = tokenizers.Tokenizer(tokenizers.models.BPE({word: id for id, word in enumerate(BYTES)}, []))
        made.normalizer = tokenizers.normalizers.NFC()
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        made.add_special_tokens(BYTES[:4])
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=60 if name == "qwen2" else 20,
        padding_side=side,
    )


def build(network: Path, *after: Any, pooling: Any = "mean", **settings: Any) -> Any:
    """A SentenceTransformer of a network's folder."""
    include_prompt = settings.pop("include_prompt", True)
    length = settings.pop("max_seq_length", None)
    first = modules.Transformer(str(network), max_seq_length=length)
    pooled = modules.Pooling(32, pooling, include_prompt=include_prompt)
    torch.manual_seed(2)
    return peer.SentenceTransformer(modules=[first, pooled, *after], device="cpu", **settings)


def same(ours: Any, theirs: Any, **options: Any) -> None:
    expected = theirs.encode(TEXTS, **options)
    found = ours.embed(TEXTS, **options)
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    products = (found * expected).sum(1)
    cosine = products / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert np.abs(cosine - 1).max() < 1e-6


def round_trip(theirs: Any, path: Path) -> Any:
    """Our model of their folder, which must be the same after we saved it, for us and for them."""
    theirs.save(str(path / "theirs"), create_model_card=False)
    ours = load_model(path / "theirs")
    save_model(ours, path / "ours")
    same(ours, peer.SentenceTransformer(str(path / "ours"), device="cpu"))
    same(load_model(path / "ours"), theirs)
    return ours


@pytest.mark.parametrize("name", MODELS)
def test_every_family_pools_as_its_folder_says(name: str, networks: Path, tmp_path: Path):
    theirs = build(networks / name)
    theirs.save(str(tmp_path / "made"), create_model_card=False)
    assert theirs.encode(TEXTS).std(0).mean() > 0.01  # the texts differ
    for pooling in POOLINGS:
        theirs[1].pooling_mode = pooling
        settings = {"embedding_dimension": 32, "pooling_mode": pooling, "include_prompt": True}
        (tmp_path / "made" / "1_Pooling" / "config.json").write_text(json.dumps(settings))
        ours = load_model(tmp_path / "made")
        same(ours, theirs)
        np.testing.assert_array_equal(ours.embed(TEXTS), ours.embed(TEXTS, pooling=pooling))
    (tmp_path / "made" / "modules.json").unlink()
    plain = load_model(tmp_path / "made")
    assert plain.sentence is None
    np.testing.assert_array_equal(plain.embed(TEXTS), plain.embed(TEXTS, pooling="mean"))


@pytest.mark.parametrize("name", MODELS)
def test_padding_on_the_left(name: str, networks: Path, tmp_path: Path):
    theirs = build(networks / name, pooling=POOLINGS)
    theirs.tokenizer.padding_side = "left"
    theirs.save(str(tmp_path / "left"), create_model_card=False)
    ours = load_model(tmp_path / "left")
    if name not in COUNTS_PADDING:
        same(ours, theirs)
    alone = theirs.encode(TEXTS, batch_size=1)
    np.testing.assert_allclose(ours.embed(TEXTS), alone, atol=1e-5 * np.abs(alone).max())
    save_model(ours, tmp_path / "ours")
    again = peer.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    assert again.tokenizer.padding_side == "left"
    np.testing.assert_allclose(again.encode(TEXTS, batch_size=1), alone, atol=1e-5 * np.abs(alone).max())


@pytest.mark.parametrize("order", [["cls", "lasttoken"], ["lasttoken", "mean", "max"]])
def test_several_poolings_are_concatenated(order: list[str], networks: Path, tmp_path: Path):
    ours = round_trip(build(networks / "bert", pooling=order), tmp_path)
    assert ours.card.settings["embed"]["pooling"] == "+".join(order)


def test_layers_after_the_pooling(networks: Path, tmp_path: Path):
    nn = torch.nn
    chains = [
        [modules.Dense(32, 12), modules.Normalize()],
        [modules.Dense(32, 32, bias=False, activation_function=nn.Identity(), use_residual=True)],
        [modules.Dense(32, 9, activation_function=nn.GELU(), use_residual=True), modules.LayerNorm(9)],
        [modules.Dropout(0.3), modules.LayerNorm(32), modules.Dense(32, 5, activation_function=nn.ReLU())],
    ]
    for number, chain in enumerate(chains):
        for parameter in (each for module in chain for each in module.parameters()):
            parameter.data.normal_()
        path = tmp_path / str(number)
        path.mkdir()
        ours = round_trip(build(networks / "bert", *chain, pooling="cls"), path)
    assert ours.card.settings["embed"]["layers"] == ["LayerNorm", "Dense 32 -> 5, ReLU"]
    # another layer or pooling is the pooled hidden states alone
    assert ours.embed(TEXTS, layer=1).shape == (len(TEXTS), 32)
    assert ours.embed(TEXTS, pooling="mean").shape == (len(TEXTS), 32)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_layers_of_another_dtype(dtype: str, networks: Path, tmp_path: Path):
    theirs = build(networks / "bert", modules.Dense(32, 12), modules.LayerNorm(12))
    theirs.to(getattr(torch, dtype)).save(str(tmp_path / "theirs"), create_model_card=False)
    ours = load_model(tmp_path / "theirs")
    expected = theirs.encode(TEXTS, convert_to_tensor=True).float().numpy()
    allowed = 0.05 if dtype == "bfloat16" else 1e-5
    np.testing.assert_allclose(ours.embed(TEXTS), expected, atol=allowed * np.abs(expected).max())
    save_model(ours, tmp_path / "ours")
    again = peer.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    found = again.encode(TEXTS, convert_to_tensor=True).float().numpy()
    np.testing.assert_allclose(found, expected, atol=allowed * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "include"),
    [("roberta", False), ("llama", False), ("bert", True), ("bert", False), ("qwen3", False), ("t5", False)],
)
def test_prompts(name: str, include: bool, networks: Path, tmp_path: Path):
    theirs = build(
        networks / name,
        pooling=POOLINGS,
        include_prompt=include,
        prompts={"query": "query: ", "passage": "the big "},
        default_prompt_name="passage",
    )
    ours = round_trip(theirs, tmp_path)
    same(ours, theirs, prompt_name="query")
    same(ours, theirs, prompt="on the mat ")
    same(ours, theirs, prompt="")
    with pytest.raises(SettingError, match=r"no prompt called 'querry'; it has .*'passage'"):
        ours.embed(TEXTS, prompt_name="querry")
    with pytest.raises(SettingError, match="Give one of them"):
        ours.embed(TEXTS, prompt_name="query", prompt="")


def test_a_long_text_is_cut_only_when_asked(networks: Path, tmp_path: Path):
    for name, side in (("bert", "right"), ("gpt2", "left")):
        build(networks / name, max_seq_length=6).save(str(tmp_path / name), create_model_card=False)
        settings = tmp_path / name / "tokenizer_config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "truncation_side": side}))
        theirs = peer.SentenceTransformer(str(tmp_path / name), device="cpu")
        ours = load_model(tmp_path / name)
        with pytest.raises(SettingError, match=r"has 11 tokens; this model takes 6 \(2 of 7 texts"):
            ours.embed(TEXTS)
        notes: list[Any] = []
        found = ours.embed(TEXTS, truncate=True, report=notes.append)
        np.testing.assert_allclose(found, theirs.encode(TEXTS), atol=1e-5)
        said = [str(event) for event in notes if isinstance(event, Note)]
        assert said == ["2 of 7 texts have more than 6 tokens and were truncated."]
    longer = dataclasses.replace(ours, sentence=dataclasses.replace(ours.sentence, max_length=None))
    assert not np.allclose(longer.embed(TEXTS)[3], found[3])


def test_the_length_in_files_of_other_names(networks: Path, tmp_path: Path):
    build(networks / "mpnet").save(str(tmp_path / "old"), create_model_card=False)
    (tmp_path / "old" / "sentence_bert_config.json").unlink()
    for name, length in (("mpnet", 20), ("roberta", 6)):
        settings = {"max_seq_length": 6, "do_lower_case": False}
        (tmp_path / "old" / f"sentence_{name}_config.json").write_text(json.dumps(settings))
        theirs = peer.SentenceTransformer(str(tmp_path / "old"), device="cpu")
        assert load_model(tmp_path / "old").sentence.max_length == theirs.max_seq_length == length


def test_the_tokenizer_limits_where_no_length_is_given(networks: Path, tmp_path: Path):
    theirs = build(networks / "llama")
    theirs.save(str(tmp_path / "whole"), create_model_card=False)
    ours = load_model(tmp_path / "whole")
    assert ours.sentence.max_length == theirs.max_seq_length == 20
    text = "cat " * 40
    np.testing.assert_allclose(ours.embed(text, truncate=True), theirs.encode(text), atol=1e-5)


def test_lower_case(networks: Path, tmp_path: Path):
    theirs = build(networks / "bert")
    theirs.save(str(tmp_path / "cased"), create_model_card=False)
    settings = tmp_path / "cased" / "sentence_bert_config.json"
    settings.write_text(json.dumps({"max_seq_length": 18, "do_lower_case": True}))
    ours = load_model(tmp_path / "cased")
    theirs = peer.SentenceTransformer(str(tmp_path / "cased"), device="cpu")
    same(ours, theirs)
    np.testing.assert_array_equal(ours.embed("Big CAT"), ours.embed("big cat"))
    save_model(ours, tmp_path / "ours")
    same(ours, peer.SentenceTransformer(str(tmp_path / "ours"), device="cpu"))


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan", None])
def test_similarity(name: str | None, networks: Path, tmp_path: Path):
    theirs = build(networks / "bert", similarity_fn_name=name, truncate_dim=7)
    ours = round_trip(theirs, tmp_path)
    found = ours.embed(TEXTS)
    assert found.shape == (len(TEXTS), 7)
    np.testing.assert_allclose(ours.similarity(found, found), theirs.similarity(found, found), atol=1e-4)
    assert ours.similarity(found[0], found).shape == (1, len(TEXTS))


def test_one_text_is_one_vector(networks: Path, tmp_path: Path):
    theirs = build(networks / "bert")
    theirs.save(str(tmp_path / "one"), create_model_card=False)
    ours = load_model(tmp_path / "one")
    assert ours.embed("cat").shape == theirs.encode("cat").shape == (32,)
    np.testing.assert_allclose(ours.embed("cat"), theirs.encode("cat"), atol=1e-5)
    np.testing.assert_array_equal(ours.embed(iter(TEXTS)), ours.embed(np.array(TEXTS)))


REFUSED = [
    ("modules.json", [{"type": "sentence_transformers.models.Transformer", "path": ""}], "no Pooling"),
    (
        "modules.json",
        [
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "sentence_transformers.models.LSTM", "path": "1_LSTM"},
        ],
        "module 1 is LSTM, which is not supported",
    ),
    ("modules.json", [{"type": "my.Transformer", "path": ""}], "module 0 is my.Transformer"),
    ("modules.json", [{"type": "x", "path": "../other"}], "a path inside the folder"),
    ("modules.json", {}, "expected a list of modules"),
    ("1_Pooling/config.json", {"pooling_mode": "men"}, "No pooling is called 'men'. Did you mean 'mean'"),
    ("1_Pooling/config.json", {"word_embedding_dimension": 9}, "pools vectors of 9"),
    ("1_Pooling/config.json", {"pooling_mode": "mean", "pooling_mode_new": True}, "pooling_mode_new"),
    ("2_Dense/config.json", {"in_features": 32, "out_features": 5}, "its weights are"),
    ("2_Dense/config.json", {"in_features": 31, "out_features": 4}, "takes vectors of 31 components"),
    (
        "2_Dense/config.json",
        {"in_features": 32, "out_features": 4, "module_input_name": "token_embeddings"},
        "module_input_name is 'token_embeddings'",
    ),
    (
        "2_Dense/config.json",
        {"in_features": 32, "out_features": 4, "activation_function": "my.Tanh"},
        "its activation is my.Tanh",
    ),
    ("sentence_bert_config.json", {"max_seq_length": 0}, "max_seq_length is 0"),
    ("sentence_bert_config.json", {"config_args": {"is_causal": False}}, "config_args is"),
    ("config_sentence_transformers.json", {"similarity_fn_name": "maxsim"}, "'maxsim'; supported are cosine"),
    ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "the default prompt is 'query'"),
]


@pytest.mark.parametrize(("file", "content", "reason"), REFUSED)
def test_what_is_not_known_is_refused(file: str, content: Any, reason: str, networks: Path, tmp_path: Path):
    theirs = build(networks / "bert", modules.Dense(32, 4))
    theirs.save(str(tmp_path / "made"), create_model_card=False)
    load_model(tmp_path / "made")
    (tmp_path / "made" / file).write_text(json.dumps(content))
    with pytest.raises(FormatError, match=reason):
        load_model(tmp_path / "made")


def test_a_real_model(minilm: Path, tmp_path: Path):
    theirs = peer.SentenceTransformer(str(minilm), device="cpu")
    ours = load_model(minilm)
    texts = ["A cat sat on the mat.", "我喜欢猫", "king", "queen", "Embeddings " * 300, "Ünïcödé, TOO."]
    expected = theirs.encode(texts)
    found = ours.embed(texts, truncate=True)
    assert ((found * expected).sum(1) > 1 - 1e-6).all()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    shown = ours.card.settings["embed"]
    assert shown == {
        "pooling": "mean",
        "layers": ["Normalize"],
        "include_prompt": True,
        "max_seq_length": 256,
    }
    save_model(ours, tmp_path / "saved")
    again = peer.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-6)
