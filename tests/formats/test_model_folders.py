"""Model folders as vectors: the input table of what `save_model` and `transformers` write, without torch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import inlaid
from inlaid.cli import main
from inlaid.errors import FormatError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from inlaid.neural.checkpoint import save_model  # noqa: E402
from inlaid.neural.config import Config, make_config  # noqa: E402
from inlaid.neural.families import read_config  # noqa: E402
from inlaid.neural.model import Model  # noqa: E402
from inlaid.neural.network import make_network  # noqa: E402
from inlaid.vectors import Card  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "猫", "狗", "king", "queen"]
SIZE = len(WORDS)
T5: dict[str, Any] = {"model_type": "t5", "vocab_size": SIZE, "d_model": 8, "d_kv": 4, "d_ff": 12}
T5 |= {"num_layers": 1, "num_heads": 2}
MARIAN: dict[str, Any] = {"model_type": "marian", "vocab_size": SIZE, "d_model": 8, "pad_token_id": 0}
MARIAN |= {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
MARIAN |= {"decoder_attention_heads": 2, "decoder_start_token_id": 0}
LAYERS = {"num_hidden_layers": 1, "num_attention_heads": 2}
OWN = {"vocab_size": SIZE, "dim": 8, "attention.heads": 2, "positions.kind": "alibi"}
CONFIGS: dict[str, dict[str, Any] | Config] = {
    "bert": {"model_type": "bert", "vocab_size": SIZE, "hidden_size": 8, "intermediate_size": 12, **LAYERS},
    "gpt2": {"model_type": "gpt2", "vocab_size": SIZE, "n_embd": 8, "n_layer": 1, "n_head": 2},
    "llama": {"model_type": "llama", "vocab_size": SIZE, "hidden_size": 8, **LAYERS},
    "t5": T5,
    "t5-sides": {**T5, "share_encoder_decoder_embeddings": False},
    "marian": MARIAN,
    "marian-sides": {**MARIAN, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 7},
    "own": make_config({**OWN, "kind": "decoder", "norm.kind": "rms"}),
    "own-sides": make_config({**OWN, "kind": "seq2seq", "decoder_layers": 1, "target_vocab_size": SIZE}),
}


def tokenizer() -> Any:
    vocabulary = {word: id for id, word in enumerate(WORDS)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


def saved(kind: str, path: Path, *, words: bool = True) -> Model:
    config = CONFIGS[kind]
    chosen = config if isinstance(config, Config) else read_config(config)
    torch.manual_seed(1)
    card = Card(method="masked", scores={"loss": 2.5}, notes=("trained for a test",))
    model = Model(make_network(chosen), tokenizer() if words else None, card)
    save_model(model, path)
    return model


@pytest.fixture(params=CONFIGS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_input_table_has_the_words_of_the_tokenizer(kind: str, tmp_path: Path):
    model = saved(kind, tmp_path / "model")
    found = inlaid.load(tmp_path / "model")
    assert list(found.words) == WORDS
    assert found.table.tobytes() == model.input_vectors().table.tobytes()
    assert found.card.scores == {"loss": 2.5}
    assert found.card.method == "masked"
    assert "trained for a test" in found.card.notes


def test_commands_read_a_model_folder(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = saved(kind, tmp_path / "model")
    assert main(["neighbors", str(tmp_path / "model"), "Cat", "--n", "9"]) == 0
    unit = model.input_vectors().unit
    order = np.argsort(-(unit @ unit[WORDS.index("cat")]))
    expected = [WORDS[id] for id in order if WORDS[id] != "cat"]
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == expected
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["words"] == SIZE
    assert main(["convert", str(tmp_path / "model"), str(tmp_path / "table.inlaid")]) == 0
    assert inlaid.load(tmp_path / "table.inlaid")["猫"].tobytes() == model.input_vectors()["猫"].tobytes()


def test_a_map_of_a_model_folder(tmp_path: Path):
    saved("own", tmp_path / "model")
    assert main(["map", str(tmp_path / "model"), "-o", str(tmp_path / "map.html")]) == 0
    assert "queen" in (tmp_path / "map.html").read_text("utf-8")


def test_without_a_tokenizer_rows_are_numbered_and_a_note_says_so(kind: str, tmp_path: Path):
    model = saved(kind, tmp_path / "model", words=False)
    notes: list[object] = []
    found = inlaid.load(tmp_path / "model", report=notes.append)
    assert list(found.words) == list(model.input_vectors().words) == [f"<row {id}>" for id in range(SIZE)]
    assert "no tokenizer" in str(notes[0])
    assert "<row 0> to <row 9>" in str(notes[0])


def test_torch_is_not_imported(tmp_path: Path):
    saved("own", tmp_path / "own")
    saved("bert", tmp_path / "bert")
    code = (
        "import sys, inlaid\n"
        f"for kind in ('own', 'bert'): inlaid.load({str(tmp_path)!r} + '/' + kind).table\n"
        "print('torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["spiece.model", "tokenizer.model"])
def test_words_of_a_sentencepiece_model(name: str, tmp_path: Path, data: Path):
    pytest.importorskip("sentencepiece")
    chosen = read_config({**T5, "vocab_size": 1010})
    model = Model(make_network(chosen))
    save_model(model, tmp_path / "model")
    shutil.copy(data / "vocab_sentencepiece" / "test_model.model", tmp_path / "model" / name)
    found = inlaid.load(tmp_path / "model")
    assert found.words[:3] == ["<unk>", "<s>", "</s>"]
    assert found.words[1000] == "<row 1000>"
    assert found.id("the") == found.words.find("▁the")


def test_a_model_that_spells_its_words_has_no_input_table(tmp_path: Path, data: Path):
    with pytest.raises(FormatError, match="characters"):
        inlaid.load(data / "pretrained_elmo_fixture")
    spelled = make_config(
        {
            "kind": "bilm",
            "vocab_size": 262,
            "dim": 8,
            "lstm.cell_dim": 12,
            "positions.kind": "none",
            "head.kind": "none",
            "characters.vocab_size": 262,
            "characters.dim": 4,
            "characters.max_length": 10,
            "characters.filter_widths": (1, 2),
            "characters.filter_counts": (3, 4),
            "characters.highways": 1,
        }
    )
    save_model(Model(make_network(spelled)), tmp_path / "model")
    with pytest.raises(FormatError, match="characters"):
        inlaid.load(tmp_path / "model")
