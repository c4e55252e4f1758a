"""Subwords: trained ones lose nothing and repeat; loaded ones give the ids their own tools give."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import lzma
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine

from inlaid.collect import world
from inlaid.encode import subword_training, subwords
from inlaid.encode.subword_files import load, of_model
from inlaid.encode.subword_training import train
from inlaid.encode.subwords import SPECIAL, Subwords
from inlaid.encode.tokenizers import Tokenizer
from inlaid.errors import FormatError, MissingExtra, SettingError, SourceError, UnknownName, UnknownWord

KINDS = tuple(subword_training.TRAINERS)
SIZES = {"bpe": 500, "wordpiece": 1200, "unigram": 1500}
ODD = "I don't like naïve 3.14 …  [MASK] <s> <0x41> ##ing 我喜欢 iPhone手机，😀👨‍👩‍👧\u3000e\u0301\t\n end "
MIXED = [
    "The cat sat on the mat.",
    "我喜欢自然语言处理。",
    "naïve café 3.14",
    "  two  spaces ",
    "",
    " ",
    "（全角）ＡＢＣ①",
    "Hello world",
]


def sentences() -> list[str]:
    return list(itertools.islice(world.sentences(), 2000))


@pytest.fixture(scope="module")
def trained() -> dict[str, Subwords]:
    needs_sentencepiece()
    return {kind: train(kind, sentences(), size=SIZES[kind]) for kind in KINDS}


def needs_sentencepiece():
    pytest.importorskip(
        "google.protobuf", reason="reading SentencePiece models needs the extra sentencepiece"
    )
    return pytest.importorskip(
        "sentencepiece", reason="SentencePiece models are read and compared with the extra sentencepiece"
    )


def lines(path: Path, characters: int = 100_000) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read(characters).split("\n")


def chinese(data: Path) -> list[str]:
    return lines(data / "corpus_zhwiki" / "zhwiki_slice.txt.xz")


def english(data: Path) -> list[str]:
    return lines(data / "corpus_enwiki" / "enwiki_slice.txt.xz")


# Trained here


@pytest.mark.parametrize("kind", KINDS)
def test_training_gives_the_size_asked_special_tokens_first(kind: str, trained: dict[str, Subwords]):
    assert isinstance(trained[kind], Tokenizer)
    assert len(trained[kind].vocabulary) == len(set(trained[kind].vocabulary)) == SIZES[kind]
    assert trained[kind].special == {name: id for id, name in enumerate(SPECIAL)}
    assert trained[kind].vocabulary[: len(SPECIAL)] == list(SPECIAL)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_same_text_gives_the_same_tokenizer_on_any_number_of_threads(
    threads: str, trained: dict[str, Subwords]
):
    program = (
        "import json, sys; from inlaid.encode.subword_training import train; sizes, text = json.load(sys.stdin);"
        "print(json.dumps([train(kind, text, size=size).to_json() for kind, size in sizes.items()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([SIZES, sentences()]),
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONIOENCODING": "utf-8"},
    )
    assert json.loads(done.stdout) == [trained[kind].to_json() for kind in SIZES]


@pytest.mark.parametrize("kind", KINDS)
def test_real_text_gives_the_same_tokenizer_twice(kind: str, data: Path):
    needs_sentencepiece()
    text = english(data) + chinese(data)[:20]
    first, second = (train(kind, text, size=3000) for _ in range(2))
    assert first.to_json() == second.to_json()


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é\u0301\u200d"))
def test_bytes_lose_nothing(text: str, trained: dict[str, Subwords]):
    assert trained["bpe"].decode(trained["bpe"].ids(text)) == text


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é\u0301\u200d"))
def test_unigram_loses_nothing_but_its_own_mark_for_a_space(text: str, trained: dict[str, Subwords]):
    assert trained["unigram"].decode(trained["unigram"].ids(text)) == text.replace("▁", " ")


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é"))
def test_offsets_of_bytes_are_the_characters_they_come_from(text: str, trained: dict[str, Subwords]):
    bpe = trained["bpe"]
    tokens = bpe.tokenize(text)
    assert [token.text for token in tokens] == bpe.words(text) == [bpe.vocabulary[id] for id in bpe.ids(text)]
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert covered == set(range(len(text)))
    for token in tokens:
        surface = text[token.start : token.end]
        said = bpe.decode([bpe.vocabulary.index(token.text)])
        assert said == surface or "\ufffd" in said  # bytes that are not whole characters


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é"))
def test_offsets_slice_to_the_surface(text: str, trained: dict[str, Subwords]):
    for kind, mark in (("wordpiece", "##"), ("unigram", "▁")):
        tokens = trained[kind].tokenize(text)
        assert [token.text for token in tokens] == trained[kind].words(text)
        assert all(before.start <= after.start for before, after in itertools.pairwise(tokens))
        for token in tokens:
            surface = text[token.start : token.end].replace(" ", "▁")
            if token.text not in SPECIAL and not token.text.startswith("<0x"):
                assert token.text == surface or token.text == mark + surface


def test_a_mark_that_no_character_stands_for_has_an_empty_place(trained: dict[str, Subwords]):
    tokens = trained["unigram"].tokenize("😀我")
    assert tokens[0] == ("▁", 0, 0)
    assert [(token.start, token.end) for token in tokens[1:]] == [(0, 1)] * 4 + [(1, 2)]


def test_wordpiece_sets_chinese_characters_apart_and_keeps_case(trained: dict[str, Subwords]):
    words = trained["wordpiece"].words("The cat喜欢")
    assert words[-2:] == ["喜", "欢"]
    assert words[0][0] == "T"


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_special_tokens_are_text_unless_asked(kind: str, trained: dict[str, Subwords]):
    mask = SPECIAL.index("[MASK]")
    assert mask not in trained[kind].ids("a [MASK] b")
    assert trained[kind].ids("a [MASK] b", special=True).count(mask) == 1
    assert trained[kind].ids(ODD) == trained[kind].ids_of([ODD])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_json_carries_everything(kind: str, trained: dict[str, Subwords]):
    for again in (Subwords.from_json(trained[kind].to_json()), pickle.loads(pickle.dumps(trained[kind]))):
        assert again == trained[kind]
        assert hash(again) == hash(trained[kind])
        assert again.special == trained[kind].special
        assert again.tokenize(ODD) == trained[kind].tokenize(ODD)
    assert trained["bpe"] != trained["unigram"]


def test_many_texts_are_encoded_as_each_alone(trained: dict[str, Subwords], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subwords, "BATCH", 3)
    for kind in KINDS:
        assert trained[kind].ids_of(MIXED) == [trained[kind].ids(text) for text in MIXED]


# What cannot be trained


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [[], ["", " \n"]])
def test_an_empty_text_is_refused(kind: str, text: list[str]):
    with pytest.raises(SourceError, match="text is empty"):
        train(kind, text)


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_text_is_refused_with_the_size_it_is_good_for(kind: str):
    needs_sentencepiece()
    with pytest.raises(
        SourceError,
        match=r"gives [\d,]+ subwords, and size asks for 8,000. Bring more text, or lower size to (\d+)",
    ) as refused:
        train(kind, sentences())
    most = int(str(refused.value).split()[-1].rstrip("."))
    assert len(train(kind, sentences(), size=most).vocabulary) == most


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_below_the_alphabet_is_refused(kind: str):
    needs_sentencepiece()
    with pytest.raises(SettingError, match="size is 60"):
        train(kind, sentences(), size=60)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'unigram'"):
        train("unigramm", ["a"])
    with pytest.raises(SettingError, match="differ"):
        train("bpe", ["a"], special=("x", "x"))
    with pytest.raises(SettingError, match="without .UNK."):
        train("wordpiece", ["a"], special=("[PAD]",))
    with pytest.raises(SourceError, match="half a character .* after 'abc'"):
        train("bpe", ["abc\ud800"])


def test_what_cannot_be_encoded_or_decoded_is_refused(trained: dict[str, Subwords]):
    with pytest.raises(SourceError, match="half a character"):
        trained["bpe"].ids("a\udc00")
    with pytest.raises(SourceError, match="half a character"):
        trained["bpe"].ids_of(["fine", "a\udc00"])
    for wrong in (-1, 500):
        with pytest.raises(UnknownWord, match="from 0 to 499"):
            trained["bpe"].decode([wrong])


# Loaded from the files people have


def test_gpt2(data: Path):
    gpt2 = load(data / "vocab_gpt2")
    assert gpt2.ids("Hello world") == [15496, 995]
    assert gpt2.words("Hello world") == ["Hello", "Ġworld"]
    assert gpt2.special == {"<|endoftext|>": 50256}
    assert gpt2.ids("<|endoftext|>", special=True) == [50256]
    assert load(data / "vocab_gpt2" / "encoder.json") == load(data / "vocab_gpt2" / "vocab.bpe") == gpt2


def test_gpt2_agrees_with_transformers(data: Path):
    transformers = pytest.importorskip("transformers", reason="the peer to agree with is in the extra peers")
    folder = data / "vocab_gpt2"
    peer = transformers.GPT2Tokenizer(vocab=str(folder / "encoder.json"), merges=str(folder / "vocab.bpe"))
    text = [*english(data), *chinese(data), *MIXED]
    assert load(folder).ids_of(text) == [peer(each, add_special_tokens=False)["input_ids"] for each in text]


def test_gpt2_under_its_other_names(data: Path, tmp_path: Path):
    for here, there in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")):
        (tmp_path / here).symlink_to(data / "vocab_gpt2" / there)
    assert load(tmp_path) == load(tmp_path / "vocab.json") == load(data / "vocab_gpt2")


def test_bert_says_itself_or_is_told_whether_it_lower_cases(data: Path):
    path = data / "vocab_bert_chinese" / "vocab.txt"
    with pytest.raises(SettingError, match="does not say whether text is lower-cased"):
        load(path)
    assert load(path, lower=True).words("我喜欢 NLP") == ["我", "喜", "欢", "n", "##lp"]
    assert load(path, lower=False).words("我喜欢 NLP") == ["我", "喜", "欢", "[UNK]"]
    assert len(load(path, lower=True).vocabulary) == 21128
    minilm = data / "pretrained_minilm_tokenizer"
    with pytest.raises(SettingError, match="tokenizer_config.json beside"):
        load(minilm / "vocab.txt", lower=False)
    with pytest.raises(SettingError, match="lower goes with a vocab.txt"):
        load(minilm, lower=True)


def test_tokenizer_json_and_vocab_txt_agree(data: Path):
    folder = data / "pretrained_minilm_tokenizer"
    complete = load(folder)
    plain = load(folder / "vocab.txt")
    text = [*english(data), *chinese(data), *MIXED, "long " * 300]
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
def test_bert_agrees_with_transformers(folder: str, lower: bool, data: Path):
    transformers = pytest.importorskip("transformers", reason="the peer to agree with is in the extra peers")
    path = data / folder / "vocab.txt"
    peer = transformers.BertTokenizer(vocab=str(path), do_lower_case=lower)
    text = [*english(data), *chinese(data), *MIXED]
    assert load(path, lower=lower).ids_of(text) == [
        peer(each, add_special_tokens=False)["input_ids"] for each in text
    ]


@pytest.mark.parametrize(
    "model",
    [
        "vocab_sentencepiece/test_model.model",
        "vocab_opus_mt_zh_en/source.spm",
        "vocab_opus_mt_zh_en/target.spm",
    ],
)
def test_sentencepiece_models_give_its_own_pieces(model: str, data: Path):
    library = needs_sentencepiece()
    ours = load(data / model)
    theirs = library.SentencePieceProcessor(model_file=str(data / model))
    botchan = (data / "vocab_sentencepiece" / "botchan.txt").read_text("utf-8-sig").split("\n")
    text = [*botchan, *english(data), *MIXED, ODD] + (chinese(data) if "source" in model else [])
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


def sentencepiece_model(path: Path, text: list[str], **options: object) -> Path:
    library = needs_sentencepiece()
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
def test_sentencepiece_models_of_every_make(options: dict[str, object], data: Path, tmp_path: Path):
    library = needs_sentencepiece()
    text = english(data) + chinese(data)[:60]
    path = sentencepiece_model(
        tmp_path / "x.model", text, vocab_size=3500, character_coverage=0.98, **options
    )
    theirs = library.SentencePieceProcessor(model_file=str(path))
    text += [*MIXED, "<s> a </s><unk>", "<0x41>", "a\tb\u3000c", "▁a"]
    ours = load(path)
    assert_same_pieces(ours, theirs, text)
    assert Subwords.from_json(ours.to_json()) == ours


def test_sentencepiece_models_that_cannot_be_followed_are_refused(data: Path, tmp_path: Path):
    text = english(data)
    for what, options in {
        "words or characters": {"model_type": "char", "vocab_size": 60},
        "spaces marked after": {
            "model_type": "unigram",
            "vocab_size": 500,
            "treat_whitespace_as_suffix": True,
        },
        "user-defined pieces": {"model_type": "bpe", "vocab_size": 500, "user_defined_symbols": ["<x>"]},
    }.items():
        path = sentencepiece_model(tmp_path / "x.model", text, character_coverage=0.98, **options)
        with pytest.raises(FormatError, match=f"{what}.*Load its tokenizer.json"):
            load(path)


def test_names_of_control_pieces_in_a_text_are_text(data: Path):
    needs_sentencepiece()
    model = load(data / "vocab_sentencepiece" / "test_model.model")  # which does not know "<"
    assert not {model.special["<s>"], model.special["</s>"]} & set(model.ids("<s> a </s>"))
    assert model.ids("<s>", special=True) == [model.special["<s>"]]


# What cannot be loaded


def test_a_folder_must_leave_no_doubt(data: Path, tmp_path: Path):
    with pytest.raises(FormatError, match="2 tokenizers: source.spm, target.spm. Name the one"):
        load(data / "vocab_opus_mt_zh_en")
    with pytest.raises(FormatError, match="holds no tokenizer. Expected one of: tokenizer.json"):
        load(tmp_path)
    with pytest.raises(SourceError, match="no tokenizer .*none.json"):
        load(tmp_path / "none.json")


BYTES = {character: id for id, character in enumerate(sorted(subwords.pre_tokenizers.ByteLevel.alphabet()))}


def test_the_tokenizer_of_a_models_folder(data: Path, tmp_path: Path):
    assert of_model(tmp_path, reads_both_ways=True) is None
    (tmp_path / "vocab.txt").write_text("[UNK]\n我\n")
    with pytest.raises(FormatError, match=r"not BERT's vocabulary: expected \[CLS\] and \[SEP\]"):
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
    whole = train("bpe", sentences(), size=500)
    whole.engine.enable_truncation(2)
    whole.engine.enable_padding(length=9)
    (tmp_path / "tokenizer.json").write_text(whole.to_json())
    first = of_model(tmp_path, reads_both_ways=True)  # it comes before the others
    assert isinstance(first, Engine)
    assert first.encode(ODD).ids == load(tmp_path).ids(ODD, special=True)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tokenizer.json", b'{"model": {"type": "BP', "not JSON"),
        ("tokenizer.json", b"[]", "JSON list; expected an object"),
        ("tokenizer.json", b'{"vocab": {}}', "has no 'model'"),
        ("tokenizer.json", b'{"version": "1.0", "model": {"type": "Swivel"}}', "tokenizer.json is damaged"),
        ("tokenizer.json", b"\xff\xfe", "not text in UTF-8"),
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
            "has no words",
        ),
        ("vocab.json", json.dumps(BYTES).encode(), "Cannot read .*merges.txt"),
        ("vocab.txt", b"the\nof\n", "not BERT's vocabulary: expected one word a line"),
        ("vocab.txt", b"[UNK]\nthe\nthe\n", "'the' stands on more than one line"),
        ("some.model", b"\x0a\x05hello", "not a SentencePiece model"),
        ("some.model", b"", "not a SentencePiece model"),
        ("words.bin", b"?", "a name no tokenizer has"),
    ],
)
def test_damaged_and_unknown_files_are_named(name: str, content: bytes, said: str, tmp_path: Path):
    needs_sentencepiece()
    (tmp_path / name).write_bytes(content)
    with pytest.raises((FormatError, SourceError), match=said) as refused:
        load(tmp_path / name, lower=True if name == "vocab.txt" else None)
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("vocabulary", "merges", "said"),
    [
        (BYTES, "#version: 0.2\na b\na b c\n", r"merges.txt:3: expected two words"),
        (BYTES, "a b\n", "is damaged, or not what its name says: .*Token `ab` out of vocabulary"),
        ({"a": 0}, "", "not of GPT-2's kind"),
        ({**BYTES, "a</w>": 256}, "", "not of GPT-2's kind"),
        ({**BYTES, "ab": "x"}, "a b\n", "is damaged"),
    ],
)
def test_damaged_gpt2_files(vocabulary: dict[str, object], merges: str, said: str, tmp_path: Path):
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    with pytest.raises(FormatError, match=said):
        load(tmp_path)


def test_a_real_model_cut_short_is_refused(data: Path, tmp_path: Path):
    needs_sentencepiece()
    content = (data / "vocab_sentencepiece" / "test_model.model").read_bytes()
    for cut in range(1, len(content), len(content) // 7):
        (tmp_path / "cut.model").write_bytes(content[:cut])
        with pytest.raises(FormatError, match="cut.model"):
            load(tmp_path / "cut.model")


def test_a_real_model_with_a_byte_changed_reads_or_is_refused(data: Path, tmp_path: Path):
    needs_sentencepiece()
    content = (data / "vocab_sentencepiece" / "test_model.model").read_bytes()
    for place in range(5, len(content), len(content) // 60):
        (tmp_path / "flipped.model").write_bytes(
            content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        )
        with contextlib.suppress(FormatError):
            load(tmp_path / "flipped.model").ids_of(MIXED)


def test_a_tokenizer_that_cannot_read_says_so():
    without_unknown = Subwords.from_json(
        json.dumps(
            {
                "model": {
                    "type": "WordPiece",
                    "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 9,
                    "vocab": {"a": 0},
                }
            }
        )
    )
    for read in (without_unknown.ids, without_unknown.tokenize):
        with pytest.raises(FormatError, match="cannot read a text: .*UNK"):
            read("b")


def test_a_missing_extra_is_named(data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    for attempt in (
        lambda: load(data / "vocab_sentencepiece" / "test_model.model"),
        lambda: train("unigram", ["a"]),
    ):
        with pytest.raises(MissingExtra, match=r"pip install 'inlaid\[sentencepiece\]'"):
            attempt()


def test_a_panic_in_the_library_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch):
    class PanicException(BaseException):
        """As pyo3 makes them: no Exception."""

    def panic(*_: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setitem(subword_training.TRAINERS, "bpe", panic)
    with pytest.raises(FormatError, match="gave up on this text: index out of bounds"):
        train("bpe", ["a"])


def test_holes_among_ids_are_shown():
    holed = Subwords.from_json(
        json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 2, "c": 3}, "merges": []}})
    )
    assert holed.vocabulary == ["a", "<id 1>", "b", "c"]


def test_chance_is_taken_out():
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "dropout": 0.9}
    assert all(Subwords.from_json(json.dumps({"model": model})).ids("ab") == [2] for _ in range(20))
