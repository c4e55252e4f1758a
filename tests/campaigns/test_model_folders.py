"""Odd settings in the folder of a model, as the fuzzer finds them, are refused in one sentence."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from inlaid import registry
from inlaid.errors import InlaidError

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
sys.path.insert(0, str(Path(__file__).parent))

from fuzz import samples, targets


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    samples.sentence_model(folder / "sentence", "bert")
    samples.model(folder / "gpt2", "gpt2")
    samples.model(folder / "t5", "t5")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "models")


def change(path: Path, name: str, value: Any) -> None:
    content = json.loads(path.read_text())
    content[name] = value
    path.write_text(json.dumps(content))


def test_every_family_is_mutated():
    families = {entry.name for entry in registry.entries("family")}
    assert families == {*samples.MODELS, "elmo", "inlaid"}  # that of ELMo is in the files of the target hdf5


def test_the_folders_are_read_as_they_are(folder: Path):
    for path in folder.iterdir():
        targets.use_model(path)


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("2_Dense/config.json", "out_features", None),
        ("2_Dense/config.json", "out_features", "3"),
        ("2_Dense/config.json", "out_features", 1 << 40),
        ("2_Dense/config.json", "in_features", [16]),
        ("2_Dense/config.json", "bias", "yes"),
        ("2_Dense/config.json", "activation_function", 7),
        ("1_Pooling/config.json", "include_prompt", {}),
        ("1_Pooling/config.json", "pooling_mode", [["mean"]]),
        ("config_sentence_transformers.json", "prompts", "query: "),
        ("config_sentence_transformers.json", "prompts", ["query: "]),
        ("config_sentence_transformers.json", "prompts", {"query": 5}),
        ("sentence_bert_config.json", "max_seq_length", True),
        ("sentence_bert_config.json", "max_seq_length", "512"),
    ],
)
def test_settings_of_sentence_transformers(file: str, name: str, value: Any, folder: Path):
    change(folder / "sentence" / file, name, value)
    with pytest.raises(InlaidError):
        targets.use_model(folder / "sentence")


@pytest.mark.parametrize("path", ["x" * 300, "a\0b", "../gpt2", "/", 5, None])
def test_paths_of_modules(path: Any, folder: Path):
    modules = [dict(each) for each in samples.MODULES]
    modules[3]["path"] = path
    (folder / "sentence" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InlaidError, match="a path inside the folder"):
        targets.use_model(folder / "sentence")


@pytest.mark.parametrize("family", ["gpt2", "t5"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_length", {}),
        ("max_length", "24"),
        ("max_length", True),
        ("min_length", [0]),
        ("min_length", "猫"),
        ("pad_token_id", "0"),
        ("length_penalty", 1 << 62),
        ("length_penalty", "1"),
        ("num_beams", 1 << 40),
        ("num_beams", [2]),
        ("eos_token_id", {"a": 1}),
        ("bad_words_ids", [["x"]]),
        ("temperature", 0),
        ("top_k", -1),
    ],
)
def test_settings_for_generating(family: str, name: str, value: Any, folder: Path):
    change(folder / family / "generation_config.json", name, value)
    with pytest.raises(InlaidError):
        targets.use_model(folder / family)


def test_a_large_length_penalty_is_a_number(folder: Path):
    change(folder / "gpt2" / "generation_config.json", "length_penalty", 50.0)
    targets.use_model(folder / "gpt2")
