"""Folders beside sentence-transformers, model2vec and transformers: what they encode with ours is our vector,
and the reverse."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.vectors import Card, Vectors

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    peer = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers comes with the extra `peers`"
    )
    model2vec = pytest.importorskip("model2vec", reason="model2vec comes with the extra `peers`")
    transformers = pytest.importorskip("transformers", reason="transformers comes with the extra `peers`")

pytestmark = pytest.mark.filterwarnings(
    "ignore:::sentence_transformers", "ignore:::transformers", "ignore:::torch"
)
WORDS = [
    "cat",
    "cats",
    "don't",
    "new_york",
    "c++",
    "café",
    "猫",
    "喜欢",
    "我",
    "人工智能",
    "人工",
    "智能",
    "T恤",
    "3.14",
    ",",
    "in",
]
ENCODING = {"tokenizer": "word", "normalize": ["nfc", "lower"]}


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    table = np.random.default_rng(1).standard_normal((len(WORDS), 6))
    return Vectors.of(WORDS, table, Card(encoding=ENCODING))


@pytest.fixture(params=["static-embedding", "model2vec"])
def folder(request: pytest.FixtureRequest, vectors: Vectors, tmp_path: Path) -> Path:
    inlaid.save(vectors, tmp_path / "folder", format=request.param)
    return tmp_path / "folder"


def encoders(folder: Path) -> list[Any]:
    return [
        peer.SentenceTransformer(str(folder), device="cpu").encode,
        model2vec.StaticModel.from_pretrained(folder, normalize=False).encode,
    ]


def mean(vectors: Vectors, *words: str) -> np.ndarray:
    return vectors.rows([vectors.id(word) for word in words]).mean(axis=0)


def test_both_libraries_give_our_vector_for_every_word(folder: Path, vectors: Vectors):
    for encode in encoders(folder):
        np.testing.assert_array_equal(encode(WORDS), vectors.table)


def test_running_text_is_cut_into_our_words(folder: Path, vectors: Vectors):
    texts = {
        "Cats don't LIKE new_york": ("cats", "don't", "new_york"),
        "我喜欢人工智能": ("我", "喜欢", "人工智能"),  # the longest match
        "我喜欢Cats,我喜欢c++": ("我", "喜欢", "cats", ",", "我", "喜欢"),
        "CAFE\u0301 in 3.14": ("café", "in", "3.14"),
    }
    ours = model2vec.StaticModel.from_pretrained(folder, normalize=False)
    theirs = peer.SentenceTransformer(str(folder), device="cpu")
    for text, words in texts.items():
        expected = mean(vectors, *words)
        np.testing.assert_allclose(ours.encode([text])[0], expected, atol=1e-6)
        angle = (
            theirs.encode([text])[0]
            @ expected
            / np.linalg.norm(theirs.encode([text])[0])
            / np.linalg.norm(expected)
        )
        assert angle == pytest.approx(
            1, abs=1e-6
        )  # unknown words count as zeros there: shorter, the same direction


def test_what_we_wrote_is_read_back(folder: Path, vectors: Vectors):
    found = inlaid.load(folder)
    assert list(found.words) == [*WORDS, "[UNK]"]
    np.testing.assert_array_equal(found.table, np.vstack([vectors.table, np.zeros((1, 6))]))
    assert found.find("CAT") == 0


def test_their_own_folders_are_read(tmp_path: Path, vectors: Vectors):
    inlaid.save(vectors, tmp_path / "ours", format="model2vec")
    peer.SentenceTransformer(str(tmp_path / "ours"), device="cpu").save(str(tmp_path / "st"))
    np.testing.assert_array_equal(inlaid.load(tmp_path / "st").table[: len(WORDS)], vectors.table)
    model = model2vec.StaticModel.from_pretrained(tmp_path / "ours")
    random = np.random.default_rng(2)
    size = len(WORDS) + 1
    mapping = random.integers(0, 4, size)
    weights = random.random(size).astype(np.float32)
    for kind in (np.float32, np.float16):
        rows = random.standard_normal((4, 6)).astype(kind)
        shared = model2vec.StaticModel(
            rows, model.tokenizer, weights=weights, token_mapping=mapping, normalize=False
        )
        shared.save_pretrained(tmp_path / kind.__name__)
        found = inlaid.load(tmp_path / kind.__name__)
        for word in ("cat", "猫", "c++"):
            np.testing.assert_allclose(
                found[word], shared.encode([word])[0], rtol=1e-3 if kind is np.float16 else 1e-6
            )


CONFIGS = {
    "bert": (
        "BertModel",
        {
            "vocab_size": 40,
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        },
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": 40, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 40},
    ),
    "llama": (
        "LlamaForCausalLM",
        {
            "vocab_size": 40,
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        },
    ),
    "t5": (
        "T5ForConditionalGeneration",
        {"vocab_size": 40, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2},
    ),
    "marian": (
        "MarianMTModel",
        {
            "vocab_size": 40,
            "d_model": 8,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 16,
            "decoder_ffn_dim": 16,
            "pad_token_id": 39,
            "decoder_start_token_id": 39,
            "eos_token_id": 0,
        },
    ),
    "distilbert": (
        "DistilBertForMaskedLM",
        {"vocab_size": 40, "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 16},
    ),
    "gpt_neox": (
        "GPTNeoXForCausalLM",
        {
            "vocab_size": 40,
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        },
    ),
    "opt": (
        "OPTForCausalLM",
        {
            "vocab_size": 40,
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "ffn_dim": 16,
            "word_embed_proj_dim": 8,
        },
    ),
}


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("family", CONFIGS)
def test_the_input_table_of_any_checkpoint(tmp_path: Path, family: str, kind: str):
    import torch

    torch.manual_seed(1)
    name, settings = CONFIGS[family]
    model = getattr(transformers, name)(transformers.AutoConfig.for_model(family, **settings)).to(
        getattr(torch, kind)
    )
    model.save_pretrained(tmp_path, max_shard_size="2KB")
    (tmp_path / "vocab.json").write_text('{"Ġking": 3, "çĮ«": 5, "king": 7, "Ġqueen": 8}')
    notes: list[object] = []
    found = inlaid.load(tmp_path, report=notes.append)
    np.testing.assert_array_equal(found.table, model.get_input_embeddings().weight.detach().float().numpy())
    np.testing.assert_array_equal(found.rows([5, 39]), found.table[[5, 39]])
    assert "36 of 40 rows belong to no token" in str(notes)
    assert [found.words[id] for id in (3, 5, 7)] == ["Ġking", "猫", "king"]
    asked = ("king", " king", "##king", "queen", "猫", "Ġking", "nobody")
    assert [found.find(word) for word in asked] == [3, 3, 7, 8, 5, 3, None]


@pytest.mark.parametrize("family", ["marian", "t5"])
def test_of_two_input_tables_the_one_that_reads(tmp_path: Path, family: str):
    import torch

    torch.manual_seed(1)
    name, settings = CONFIGS[family]
    more = {"share_encoder_decoder_embeddings": False} if family == "marian" else {}
    model = getattr(transformers, name)(transformers.AutoConfig.for_model(family, **settings, **more))
    encoder = model.get_encoder()
    if family == "t5":
        encoder.embed_tokens.weight = torch.nn.Parameter(torch.randn(40, 8))
    model.save_pretrained(tmp_path)
    np.testing.assert_array_equal(inlaid.load(tmp_path).table, encoder.embed_tokens.weight.detach().numpy())
