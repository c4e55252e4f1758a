"""Model: tables become Vectors, texts become vectors, layers and words are the ones asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch

from inlaid import registry
from inlaid.errors import FormatError, SettingError
from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.config import make_config
from inlaid.neural.generate import GenerationSettings, generate, generate_texts
from inlaid.neural.model import Model
from inlaid.neural.network import grow_network, make_network
from inlaid.neural.tokens import check_texts, make_batch
from inlaid.study.search.neighbors import neighbors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##happy", "cat", "猫", "喜", "欢", "我", "sat", "."]


def tokenizer(*, added: bool = True) -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    if added:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return made


def model(kind: str = "encoder", **rest: Any) -> Model:
    settings: dict[str, Any] = {
        "vocab_size": 15,
        "dim": 8,
        "attention.heads": 2,
        "layers": 2,
        "positions.max_length": 12,
        "special.padding": 0,
        **rest,
    }
    config = make_config(
        {
            "kind": kind,
            "decoder_layers": 2 if kind == "seq2seq" else 0,
            "special.start": 2,
            "special.end": (3,),
            **settings,
        }
    )  # pyright: ignore
    network = make_network(config)
    for parameter in network.parameters():
        parameter.data.normal_(std=0.5)
    return Model(network.eval(), tokenizer(added=kind != "decoder"))


@torch.no_grad()
def hidden(made: Model, ids: list[int], layer: int) -> np.ndarray:
    return made.network(torch.tensor([ids]), layers=True).layers[layer][0].numpy()  # pyright: ignore


def test_tables_are_vectors_of_the_tokenizers_words():
    made = model(**{"head.tied": False})
    vectors = made.input_vectors()
    assert list(vectors.words) == [*WORDS, "<row 13>", "<row 14>"]
    assert vectors["猫"].tolist() == made.network.tokens.weight[7].tolist()  # pyright: ignore
    assert made.output_vectors()["猫"].tolist() == made.network.head.weight[7].tolist()  # pyright: ignore
    assert len(neighbors(vectors, "cat", n=3)) == 3
    tied = model(**{"head.kind": "masked"})
    assert np.array_equal(tied.input_vectors().table, tied.output_vectors().table)
    with pytest.raises(SettingError, match="without an output layer for words"):
        model(**{"head.kind": "none"}).output_vectors()


@pytest.mark.parametrize("layer", [0, 1, 2, -1, -3])
def test_texts_become_the_mean_or_the_first_of_a_layer(layer: int):
    made = model()
    ids = [2, 6, 11, 3]
    found = made.embed(["cat sat", "我喜欢猫."], layer=layer)
    assert found.shape == (2, 8)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], hidden(made, ids, layer).mean(0), atol=1e-5)
    first = made.embed(["cat sat", "我喜欢猫."], layer=layer, pooling="first")
    np.testing.assert_allclose(first[0], hidden(made, ids, layer)[0], atol=1e-5)
    one_by_one = made.embed(["cat sat", "我喜欢猫."], layer=layer, batch=1)
    np.testing.assert_allclose(found, one_by_one, atol=1e-5)  # padding and batch change nothing


@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq", "bilm"])
@pytest.mark.parametrize("position", [entry.name for entry in registry.entries("position")])
def test_a_text_has_the_same_vector_in_any_batch(kind: str, position: str):
    rest: dict[str, Any] = {"positions.kind": position}
    if kind == "bilm":
        rest["dim"] = 4
    made = model(kind, **rest)
    texts = ["cat", "sat", "cat sat", "我喜欢猫.", "sat cat", "猫", "我喜欢 cat sat."]
    alone = np.stack([made.embed(text) for text in texts])
    for batch in (None, 1, 3):
        np.testing.assert_allclose(made.embed(texts, batch=batch), alone, atol=1e-5)
    bags = position == "none" and kind in ("encoder", "seq2seq")  # the order of words makes no difference
    assert len(np.unique(alone.round(4), axis=0)) == len(texts) - bags


def test_packed_texts_by_the_kernel_for_any_length(monkeypatch: pytest.MonkeyPatch):
    """On a GPU, one kernel does the attention of all texts; here, its definition does."""

    def attend(query: Any, keys: Any, values: Any, offsets: Any, _: Any, longest: int, __: int) -> Any:
        assert offsets.dtype == torch.int32
        assert longest == offsets.diff().max()
        parts = zip(*(each.split(offsets.diff().tolist()) for each in (query, keys, values)), strict=True)
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return torch.cat([sdpa(*(each.transpose(0, 1) for each in part)).transpose(0, 1) for part in parts])

    made = model()
    texts = ["cat", "我喜欢猫.", "sat", "cat sat"]
    expected = made.embed(texts)
    asked: list[int] = []
    monkeypatch.setattr("inlaid.neural.stack.takes_any_length", lambda _, views: not asked.append(len(views)))
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", attend)
    np.testing.assert_allclose(made.embed(texts), expected, atol=1e-5)
    assert asked == [3]
    model("decoder").embed(texts)  # causal: not by this kernel
    assert asked == [3]


def test_one_text_is_one_vector_and_any_iterable_is_taken():
    made = model()
    assert made.embed("cat").shape == (8,)
    expected = made.embed(["cat", "我"])
    np.testing.assert_array_equal(made.embed(text for text in ("cat", "我")), expected)
    np.testing.assert_array_equal(made.embed(np.array(["cat", "我"])), expected)
    found = made.embed_words(text for text in ("cat sat", "我"))
    assert [each.words for each in found] == [["cat", "sat"], ["我"]]


def test_tokens_are_merged_to_words_in_both_languages():
    made = model()
    english, chinese = made.embed_words(["Unhappy cat.", "我喜欢猫"])
    rows = hidden(made, [2, 4, 5, 6, 12, 3], -1)
    assert english.words == ["Unhappy", "cat"]
    np.testing.assert_allclose(english.table, [rows[1:3].mean(0), rows[3]], atol=1e-5)
    rows = hidden(made, [2, 10, 8, 9, 7, 3], -1)
    assert chinese.words == ["我", "喜欢", "猫"]
    np.testing.assert_allclose(chinese.table, [rows[1], rows[2:4].mean(0), rows[4]], atol=1e-5)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq"])
def test_attention_of_a_text(kind: str):
    made = model(kind)
    shown = made.attention("我 cat", layers=[1])
    assert shown.tokens == (["我", "cat"] if kind == "decoder" else ["[CLS]", "我", "cat", "[SEP]"])
    assert shown.weights.keys() == {1}
    np.testing.assert_allclose(shown.weights[1].sum(-1), 1, atol=1e-5)
    assert made.attention("cat").weights.keys() == {0, 1}


def test_attention_to_the_source():
    made = model("seq2seq", decoder_layers=1)
    assert not made.attention("cat").cross_weights
    shown = made.attention("我 cat", target="猫 sat .")
    assert shown.target_tokens == ["[CLS]", "[CLS]", "猫", "sat", "."]  # the start, then the text's own
    assert shown.weights.keys() == {0, 1}
    network: Any = made.network
    source = network.encode(torch.tensor([[2, 10, 6, 3]]))
    expected = network.decode(torch.tensor([[2, 2, 7, 11, 12]]), source, attention=[0])
    np.testing.assert_allclose(shown.target_weights[0], expected.attention[0][0].detach(), atol=1e-6)
    np.testing.assert_allclose(shown.cross_weights[0], expected.cross_attention[0][0].detach(), atol=1e-6)
    assert shown.cross_weights[0].shape == (2, 5, 4)
    with pytest.raises(SettingError, match="an encoder and a decoder"):
        model().attention("cat", target="sat")


@pytest.mark.parametrize(
    "rest", [{"head.kind": "masked", "head.bias": True}, {"head.tied": False}, {"head.kind": "none"}]
)
def test_growing_keeps_what_was_there(rest: dict[str, Any], tmp_path: Path):
    made = model(**rest)
    before = made.network(torch.tensor([[6, 7]]))  # pyright: ignore
    grow_network(made.network, 18)
    after = made.network(torch.tensor([[6, 7]]))  # pyright: ignore
    assert torch.equal(after.hidden, before.hidden)
    if after.logits is not None:
        assert after.logits.shape[-1] == 18
        torch.testing.assert_close(after.logits[..., :15], before.logits)
    made.network(torch.tensor([[17]]))  # pyright: ignore
    save_model(made, tmp_path / "grown")
    assert load_model(tmp_path / "grown").config.vocab_size == 18


def test_segments_and_encoders_of_pairs():
    made = model("seq2seq", **{"positions.kind": "sinusoidal"})
    assert made.embed(["cat sat"], layer=0).shape == (1, 8)
    assert model(segment_types=2).embed(["cat"]).shape == (1, 8)


def test_a_folder_keeps_the_tokenizer(tmp_path: Path):
    made = model(
        **{
            "norm.placement": "post",
            "norm.final": False,
            "norm.embedding": True,
            "segment_types": 2,
            "head.kind": "masked",
            "head.bias": True,
            "norm.eps": 1e-12,
        }
    )
    save_model(made, tmp_path / "kept")
    again = load_model(tmp_path / "kept")
    np.testing.assert_array_equal(again.embed(["我喜欢 cat"]), made.embed(["我喜欢 cat"]))
    (tmp_path / "kept" / "tokenizer.json").write_text("{}")
    with pytest.raises(FormatError, match="not a tokenizer"):
        load_model(tmp_path / "kept")


def test_a_tokenizer_with_more_words_than_rows_is_refused(tmp_path: Path):
    made = model(vocab_size=12)
    save_model(made, tmp_path / "small")
    with pytest.raises(FormatError, match="13 words, but the table only 12 rows"):
        load_model(tmp_path / "small")


def test_generating_text():
    made = model("decoder")
    settings = GenerationSettings(max_new_tokens=4)
    texts = generate_texts(made, ["cat sat", "我"], settings)
    ids = [generate(made, torch.tensor([row]), None, settings)[0] for row in ([6, 11], [10])]
    assert texts == made.tokenizer.decode_batch(ids)


def test_bad_input_is_named():
    made = model()
    with pytest.raises(SettingError, match="has 14 tokens; this model takes 12"):
        made.embed(["cat", "cat " * 12])
    with pytest.raises(SettingError, match="No pooling is called 'maen'. Did you mean 'mean'"):
        made.embed(["cat"], pooling="maen")
    for batch in (0, -1):
        with pytest.raises(SettingError, match="expected a number of texts"):
            made.embed(["cat"], batch=batch)
        with pytest.raises(SettingError, match="expected a number of texts"):
            made.embed_words(["cat"], batch=batch)
    with pytest.raises(SettingError, match="Text 1 has a lone surrogate, '.ud800', at character 1"):
        made.embed(["cat", "s\ud800t"])
    with pytest.raises(SettingError, match="Text 0 has a lone surrogate"):
        made.embed("\udfff")
    with pytest.raises(SettingError, match="A single text is a list of one"):
        made.embed_words("cat")
    with pytest.raises(SettingError, match="A single text is a list of one"):
        make_batch(made.tokenizer, "cat", padding=0)
    with pytest.raises(SettingError, match="no layer 3"):
        made.embed(["cat"], layer=3)
    with pytest.raises(SettingError, match="no texts"):
        made.embed([])
    with pytest.raises(SettingError, match="no tokens"):
        model("decoder").embed([""])
    with pytest.raises(SettingError, match=r"no tokenizer.json"):
        Model(made.network).embed(["cat"])
    assert list(Model(made.network).input_vectors().words)[:2] == ["<row 0>", "<row 1>"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([None], "Text 0 is None; expected a string"),
        (["cat", 3], "Text 1 is 3; expected a string"),
        (3, "Expected a list of texts; found 3"),
        (b"cat", "Expected a list of texts"),
    ],
)
def test_what_is_no_text_is_named(texts: Any, reason: str):
    with pytest.raises(SettingError, match=reason):
        check_texts(texts)


def test_a_tokenizer_that_cannot_encode_is_named():
    words = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0}, unk_token="[UNK]"))
    with pytest.raises(FormatError, match="cannot encode a text"):
        make_batch(words, ["b"], padding=0)
