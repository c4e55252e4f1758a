"""SentencePiece models: the same pieces as SentencePiece's own."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from inlaid.encode.subwords.loading import load
from inlaid.encode.subwords.tokenizer import Subwords
from inlaid.errors import FormatError


@pytest.mark.parametrize(
    "model",
    [
        "vocab_sentencepiece/test_model.model",
        "vocab_opus_mt_zh_en/source.spm",
        "vocab_opus_mt_zh_en/target.spm",
    ],
)
def test_sentencepiece_models_give_its_own_pieces(
    model: str,
    data: Path,
    sentencepiece: Any,
    english: list[str],
    chinese: list[str],
    mixed: list[str],
    odd: str,
):
    ours = load(data / model)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(data / model))
    botchan = (data / "vocab_sentencepiece" / "botchan.txt").read_text("utf-8-sig").split("\n")
    text = [*botchan, *english, *mixed, odd] + (chinese if "source" in model else [])
    assert_same_pieces(ours, theirs, text)
    assert ours.vocabulary == [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
    assert ours.special == {"<unk>": theirs.unk_id(), "<s>": theirs.bos_id(), "</s>": theirs.eos_id()}


def assert_same_pieces(ours: Subwords, theirs: Any, text: list[str]):
    """Equal but for ties: where two cuts ("33 3", "3 33") score the same, 32-bit rounding decides in
    SentencePiece."""
    pairs = list(zip(ours.ids_of(text), theirs.encode(text), strict=True))
    others = [pair for pair in pairs if pair[0] != pair[1]]
    for pair in others:
        mine, its = (sorted(ids) for ids in pair)
        assert mine == its
    assert len(others) <= len(pairs) / 500


def sentencepiece_model(library: Any, path: Path, text: list[str], **options: object) -> Path:
    written = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=written, minloglevel=3, **options
    )
    path.write_bytes(written.getvalue())
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"model_type": "bpe", "byte_fallback": True},
        {"model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
        {"model_type": "unigram", "byte_fallback": True},
        {"model_type": "unigram", "add_dummy_prefix": False},
    ],
    ids=str,
)
def test_sentencepiece_models_of_every_make(
    options: dict[str, object],
    tmp_path: Path,
    sentencepiece: Any,
    english: list[str],
    chinese: list[str],
    mixed: list[str],
):
    text = english + chinese[:60]
    path = sentencepiece_model(
        sentencepiece, tmp_path / "x.model", text, vocab_size=3500, character_coverage=0.98, **options
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    text += [*mixed, "<s> a </s><unk>", "<0x41>", "a\tb\u3000c", "▁a"]
    ours = load(path)
    assert_same_pieces(ours, theirs, text)
    assert Subwords.from_json(ours.to_json()) == ours


def test_sentencepiece_models_that_cannot_be_followed_are_refused(
    tmp_path: Path, english: list[str], sentencepiece: Any
):
    text = english
    for what, options in {
        "words or characters": {"model_type": "char", "vocab_size": 60},
        "spaces marked after": {
            "model_type": "unigram",
            "vocab_size": 500,
            "treat_whitespace_as_suffix": True,
        },
        "user-defined pieces": {"model_type": "bpe", "vocab_size": 500, "user_defined_symbols": ["<x>"]},
    }.items():
        path = sentencepiece_model(
            sentencepiece, tmp_path / "x.model", text, character_coverage=0.98, **options
        )
        with pytest.raises(FormatError, match=f"{what}.*Load its tokenizer.json"):
            load(path)


def test_names_of_control_pieces_in_a_text_are_text(data: Path, sentencepiece: Any):
    model = load(data / "vocab_sentencepiece" / "test_model.model")  # which does not know "<"
    assert not {model.special["<s>"], model.special["</s>"]} & set(model.ids("<s> a </s>"))
    assert model.ids("<s>", special=True) == [model.special["<s>"]]


def test_a_real_model_cut_short_is_refused(data: Path, tmp_path: Path, sentencepiece: Any):
    content = (data / "vocab_sentencepiece" / "test_model.model").read_bytes()
    for cut in range(1, len(content), len(content) // 7):
        (tmp_path / "cut.model").write_bytes(content[:cut])
        with pytest.raises(FormatError, match="cut.model"):
            load(tmp_path / "cut.model")


def test_a_real_model_with_a_byte_changed_reads_or_is_refused(
    data: Path, tmp_path: Path, mixed: list[str], sentencepiece: Any
):
    content = (data / "vocab_sentencepiece" / "test_model.model").read_bytes()
    for place in range(5, len(content), len(content) // 60):
        (tmp_path / "flipped.model").write_bytes(
            content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        )
        with contextlib.suppress(FormatError):
            load(tmp_path / "flipped.model").ids_of(mixed)


@pytest.mark.parametrize("content", [b"\x0a\x05hello", b""])
def test_a_file_that_is_no_model_is_named(content: bytes, tmp_path: Path, sentencepiece: Any):
    (tmp_path / "some.model").write_bytes(content)
    with pytest.raises(FormatError, match=r"some.model is not a SentencePiece model"):
        load(tmp_path / "some.model")
