"""Translators whose languages have vocabularies of their own: typed, resumed, continued, opened elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from inlaid.cli import main  # noqa: E402
from inlaid.fit.translation import Translation  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402
from inlaid.neural.model import Model  # noqa: E402
from inlaid.neural.tokenizer_pair import PairTokenizer  # noqa: E402

SIZES = {"dim": 8, "layers": 1, "heads": 2, "epochs": 2, "max-length": 32, "batch-tokens": 512}
TINY = [word for name, size in SIZES.items() for word in (f"--{name}", str(size))]
SEPARATE = [*TINY, "--vocabularies", "separate"]
BPE = ["--tokenizer", "bpe", "--subwords", "500"]
WORDS = ["--tokenizer", "word", "--min-count", "1"]
Typed = Callable[..., str]


def weights(folder: Path) -> dict[str, bytes]:
    return {name: array.numpy().tobytes() for name, array in load_model(folder).network.state_dict().items()}


def vocabularies(model: Model) -> tuple[dict[str, int], dict[str, int]]:
    assert isinstance(model.tokenizer, PairTokenizer)
    return model.tokenizer.get_vocab(), dict(model.tokenizer.target_vocabulary)


@pytest.mark.parametrize("tokenizer", [BPE, WORDS], ids=["bpe", "word"])
def test_each_language_has_its_own_vocabulary(typed: Typed, pairs: Path, tmp_path: Path, tokenizer: Any):
    shown = typed("train", "translation", pairs, "-o", tmp_path / "m", *SEPARATE, *tokenizer)
    model = load_model(tmp_path / "m")
    source, target = vocabularies(model)
    assert f"{len(source):,} and {len(target):,} tokens in the vocabularies" in shown
    words = [{word.lstrip("Ġ") for word in each} for each in (source, target)]
    assert "doctor" not in words[0]
    assert "doctor" in words[1] or tokenizer is BPE
    assert model.config.vocab_size == len(source)
    assert model.config.target_vocab_size == len(target)
    assert source["[PAD]"] == target["[PAD]"] == model.config.special.padding
    assert (source["[SEP]"],) == (target["[SEP]"],) == model.config.special.end
    assert json.loads((tmp_path / "m" / "card.json").read_text())["settings"]["vocabularies"] == "separate"
    text = pairs.read_text("utf-8").partition("\t")[0]
    assert typed("translate", tmp_path / "m", text, "--max-new-tokens", "3", "--trace").startswith(
        "start: [PAD]"
    )


def test_reversed_pairs_swap_the_vocabularies(typed: Typed, pairs: Path, tmp_path: Path):
    typed("train", "translation", pairs, "-o", tmp_path / "a", *SEPARATE, *BPE)
    typed("train", "translation", pairs, "-o", tmp_path / "b", *SEPARATE, *BPE, "--reverse")
    forward, backward = (vocabularies(load_model(tmp_path / name)) for name in "ab")
    assert forward == backward[::-1]
    assert forward[0] != forward[1]


def test_training_goes_on_to_the_bit(
    typed: Typed, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = ["train", "translation", pairs, *SEPARATE, *BPE, "--checkpoint-minutes", "0"]
    typed(*words, "-o", tmp_path / "whole")
    checkpoint = tmp_path / "m.checkpoint"
    replace = os.replace

    def replace_and_press_ctrl_c(source: Any, target: Any) -> None:
        replace(source, target)
        if Path(target) == checkpoint:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_press_ctrl_c)
        typed(*words, "-o", tmp_path / "m", code=130)
    typed(*words, "-o", tmp_path / "m", "--resume")
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


@pytest.mark.parametrize("tokenizer", [BPE, WORDS], ids=["bpe", "word"])
def test_a_model_with_two_vocabularies_is_continued(
    typed: Typed, pairs: Path, tmp_path: Path, tokenizer: Any
):
    typed("train", "translation", pairs, "-o", tmp_path / "a", *SEPARATE, *tokenizer)
    again = [
        "train",
        "translation",
        pairs,
        "-o",
        tmp_path / "b",
        "--init-from",
        tmp_path / "a",
        "--epochs",
        "1",
    ]
    typed(*again)
    before, after = (load_model(tmp_path / name) for name in "ab")
    assert vocabularies(before) == vocabularies(after)
    assert before.config == after.config
    assert weights(tmp_path / "a") != weights(tmp_path / "b")
    assert "vocabularies is joint, and" in typed(
        *again[:3], "-o", tmp_path / "c", *again[5:], "--vocabularies", "joint", code=2
    )


def test_word_vectors_start_both_tables(typed: Typed, pairs: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_bytes(pairs.read_bytes())
    typed(
        "train",
        "onehot",
        tmp_path / "text.txt",
        "-o",
        tmp_path / "v.inlaid",
        "--min-count",
        "1",
        "--max-size",
        "8",
    )
    words = ["train", "translation", pairs, "-o", tmp_path / "m", *SEPARATE, *WORDS]
    typed(*words, "--init-from", tmp_path / "v.inlaid", "--freeze")
    network: Any = load_model(tmp_path / "m").network
    for table in (network.tokens.weight, network.target_tokens.weight):
        one_hot = (table != 0).sum(1) == 1
        assert bool(one_hot.any())


def test_what_has_one_vocabulary_is_refused(typed: Typed, pairs: Path, tmp_path: Path):
    words = ["train", "translation", pairs, "-o", tmp_path / "m", *SEPARATE]
    typed("train", "translation", pairs, "-o", tmp_path / "joint", *TINY, *BPE)
    assert "names one tokenizer" in typed(*words, "--tokenizer-file", tmp_path / "joint", code=2)
    assert "vocabularies is separate, and" in typed(
        "train",
        "translation",
        pairs,
        "-o",
        tmp_path / "m",
        "--init-from",
        tmp_path / "joint",
        "--vocabularies",
        "separate",
        code=2,
    )
    assert "There is no file or folder" in typed(*words, "--init-from", tmp_path / "none", code=2)
    sentences = [side for line in pairs.read_text("utf-8").splitlines() for side in line.split("\t")]
    (tmp_path / "lines.txt").write_text("\n".join(sentences), "utf-8")
    typed("corpus", tmp_path / "lines.txt", "-o", tmp_path / "corpus", *BPE)
    error = typed("train", "translation", tmp_path / "corpus", "-o", tmp_path / "m", *SEPARATE, code=2)
    assert "this corpus was encoded with one vocabulary" in error


def test_a_plan_keeps_pairs_together(typed: Typed, pairs: Path, tmp_path: Path):
    lines = pairs.read_text("utf-8").splitlines()
    (tmp_path / "odd.tsv").write_text("\n".join(lines[:301]) + "\n", "utf-8")
    shown = typed(
        "train", "translation", tmp_path / "odd.tsv", "--plan", *SEPARATE, *BPE[:2], "--subwords", "300"
    )
    assert "training" in shown


# ---- In `transformers`


def test_the_folder_translates_alike_in_transformers(typed: Typed, pairs: Path, tmp_path: Path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    typed("train", "translation", pairs, "-o", tmp_path / "m", *SEPARATE, *BPE, "--learning-rate", "0.01")
    texts = [line.partition("\t")[0] for line in pairs.read_text("utf-8").splitlines()[:5]]
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "m")
    source, target = (
        transformers.AutoTokenizer.from_pretrained(each)
        for each in (tmp_path / "m", tmp_path / "m" / "target")
    )
    for text in texts:
        ids = model.generate(**source([text], return_tensors="pt"), max_new_tokens=6, num_beams=1)
        theirs = target.batch_decode(ids, skip_special_tokens=True)[0]
        assert typed("translate", tmp_path / "m", text, "--max-new-tokens", "6").rstrip("\n") == theirs


SACREMOSES = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
"""Their tokenizer would like it, for punctuation that these texts do not have."""


@pytest.fixture
def opus(data: Path, tmp_path: Path) -> Path:
    """A small random model with the tokenizer of OPUS-MT zh-en: two SentencePiece models."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    files = data / "vocab_opus_mt_zh_en"
    config = transformers.MarianConfig.from_pretrained(files)
    sizes = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}
    for side in ("encoder", "decoder"):
        for name, size in sizes.items():
            setattr(config, f"{side}_{name}", size)
    config.d_model = 8
    config.max_position_embeddings = 64
    torch.manual_seed(1)
    model = transformers.MarianMTModel(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(std=0.1)
    folder = tmp_path / "opus"
    model.save_pretrained(folder)
    for name in ("source.spm", "target.spm", "vocab.json"):
        shutil.copyfile(files / name, folder / name)
    return folder


@SACREMOSES
def test_a_checkpoint_with_two_sentencepiece_models_is_continued(
    typed: Typed, pairs: Path, tmp_path: Path, opus: Path
):
    transformers = pytest.importorskip("transformers")
    output = tmp_path / "m"
    words = ["train", "translation", pairs, "-o", output, "--init-from", opus, "--epochs", "1"]
    typed(*words, "--batch-tokens", "4096")
    assert weights(output) != weights(opus)
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (output / name).read_bytes() == (opus / name).read_bytes()
    tokenizer = transformers.MarianTokenizer.from_pretrained(output)
    model = transformers.MarianMTModel.from_pretrained(output)
    ids = model.generate(**tokenizer(["我喜欢苹果。"], return_tensors="pt"), max_new_tokens=6, num_beams=1)
    theirs = tokenizer.batch_decode(ids, skip_special_tokens=True)[0]
    asked = ["translate", output, "我喜欢苹果。", "--max-new-tokens", "6", "--method", "greedy"]
    assert typed(*asked).strip() == theirs


@SACREMOSES
def test_its_first_loss_is_that_of_transformers(pairs: Path, opus: Path):
    """The text is cut by their tokenizer, and the loss is theirs."""
    transformers = pytest.importorskip("transformers")
    from inlaid.encode.corpus import Encoding

    lines = pairs.read_text("utf-8").splitlines()[:12]
    sentences = [side for line in lines for side in line.split("\t")]
    method = Translation(init_from=opus, batch_tokens=4096, held_out=0.0, label_smoothing=0.0)
    corpus = method.encode_pairs(sentences, method.prepared(Encoding(tokenizer="bpe")))
    training: Any = method.start(corpus)
    training.network.eval()
    ours = [training.loss(training.network, training.batches.batch(0, number)) for number in range(1)]
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    model = transformers.MarianMTModel.from_pretrained(opus).eval()
    total = 0.0
    targets = 0
    for line in lines:
        source, target = line.split("\t")
        batch = tokenizer([source], text_target=[target], return_tensors="pt")
        count = batch["labels"].numel()
        total += float(model(**batch).loss.detach()) * count
        targets += count
    assert len(training.batches.ends(0)) == 1
    assert ours[0].targets == targets
    assert float(ours[0].total.detach()) / targets == pytest.approx(total / targets, abs=1e-5)


def test_an_empty_or_long_text_is_not_translated_silently(
    typed: Typed, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    typed("train", "translation", pairs, "-o", tmp_path / "m", *TINY, *BPE)
    assert "The text is empty" in typed("translate", tmp_path / "m", "", code=2)
    long = "你好。" * 200 + "."  # of more bytes than the name of a file may have
    assert main(["translate", str(tmp_path / "m"), long, "--max-new-tokens", "2"]) == 0
    assert "the model was made for 32" in capsys.readouterr().err
    typed("train", "translation", pairs, "-o", tmp_path / "d", *DECODER, *BPE)
    assert "this model takes 32" in typed("translate", tmp_path / "d", long, code=2)


# ---- A decoder alone


DECODER = [*TINY, "--network", "decoder"]


def test_a_decoder_translates_by_prompt(typed: Typed, pairs: Path, tmp_path: Path):
    typed("train", "translation", pairs, "-o", tmp_path / "m", *DECODER, *BPE)
    model = load_model(tmp_path / "m")
    assert model.config.kind == "decoder"
    assert model.card.settings["network"] == "decoder"
    text = pairs.read_text("utf-8").partition("\t")[0]
    shown = typed("translate", tmp_path / "m", text, "--max-new-tokens", "3", "--trace").splitlines()
    assert shown[0].endswith(" [TRANSLATION]")
    assert shown[1].startswith("1 ")
    translations = json.loads(typed("translate", tmp_path / "m", text, text[:4], "--beams", "2", "--json"))
    assert len(translations["translations"]) == 2
    typed("train", "translation", pairs, "-o", tmp_path / "again", "--init-from", tmp_path / "m", *TINY[6:8])
    assert load_model(tmp_path / "again").config == model.config


def test_a_decoder_learns_to_translate(typed: Typed, tmp_path: Path):
    """A language of ten words, each with one translation, in the same order."""
    numbers = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    digits = [f"{number:03}" for number in range(400)]
    lines = [f"{' '.join(each)}\t{' '.join(numbers[int(digit)] for digit in each)}" for each in digits]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    words = ["train", "translation", tmp_path / "pairs.tsv", "-o", tmp_path / "m", "--network", "decoder"]
    sizes = ["--dim", "32", "--layers", "2", "--heads", "2", "--epochs", "30", "--max-length", "16"]
    typed(*words, *sizes, *WORDS, "--learning-rate", "0.01", "--batch-tokens", "512", "--dropout", "0")
    asked = ["4 5 6", "7 2 9", "8 8 1"]
    found = typed("translate", tmp_path / "m", *asked).splitlines()
    assert found == ["four five six", "seven two nine", "eight eight one"]


def test_a_decoder_translates_alike_in_transformers(typed: Typed, pairs: Path, tmp_path: Path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    typed("train", "translation", pairs, "-o", tmp_path / "m", *DECODER, *BPE, "--learning-rate", "0.01")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    model = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "m")
    text = pairs.read_text("utf-8").partition("\t")[0]
    read = tokenizer([text], return_tensors="pt")
    ids = model.generate(**read, max_new_tokens=6, num_beams=1, do_sample=False)
    theirs = tokenizer.decode(ids[0, read["input_ids"].shape[1] :], skip_special_tokens=True)
    assert typed("translate", tmp_path / "m", text, "--max-new-tokens", "6").rstrip("\n") == theirs


@pytest.mark.parametrize(("preset", "layers"), [("tiny", 2), ("small", 3), ("base", 6)])
def test_the_sides_of_a_translator_have_half_of_the_blocks(preset: Any, layers: int):
    def sized(**settings: Any) -> Any:
        return Translation(preset=preset, **settings).sized_by_preset()

    both = sized().config(100, {})
    assert (both.layers, both.decoder_layers) == (layers, layers)
    alone = sized(network="decoder").config(100, {})
    assert (alone.layers, alone.decoder_layers) == (2 * layers, 0)
    assert sized(layers=5).config(100, {}).decoder_layers == 5


def test_what_does_not_fit_a_decoder_is_refused(typed: Typed, pairs: Path, tmp_path: Path):
    words = ["train", "translation", pairs, "-o", tmp_path / "m"]
    assert "Leave out one of them" in typed(*words, *DECODER, "--vocabularies", "separate", code=2)
    assert "predict_source is for the network decoder" in typed(*words, *TINY, "--predict-source", code=2)
    assert "tokens in all. Raise max_length" in typed(*words, *DECODER, *BPE, "--max-length", "4", code=2)
    text = tmp_path / "text.txt"
    text.write_bytes(pairs.read_bytes())
    typed("train", "causal", text, "-o", tmp_path / "gpt", *TINY, *BPE)
    assert "A model of kind decoder cannot translate" in typed("translate", tmp_path / "gpt", "我", code=2)


@pytest.mark.parametrize(
    ("method", "asked"), [("translation", "a file of pairs"), ("causal", "files or folders")]
)
def test_the_help_says_what_text_is(method: str, asked: str, capsys: pytest.CaptureFixture[str]):
    with contextlib.suppress(SystemExit):
        main(["train", method, "--help"])
    assert asked in capsys.readouterr().out


def test_warm_up_is_long_unless_it_is_set():
    long = Translation(learning_rate=1.0).learning_rate_at(9, 100)
    short = Translation(learning_rate=1.0, warmup=0.1).learning_rate_at(9, 100)
    assert (long, short) == (0.5, 1.0)
