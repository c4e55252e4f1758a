"""What `inlaid classify` promises for every classifier of the registry, typed at a command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import inlaid
from inlaid import registry
from inlaid.collect import world
from tests.contracts.conftest import Type

METHODS = [entry.name for entry in registry.entries("classifier")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of the world in two languages: the language is the label."""
    folder = tmp_path_factory.mktemp("classify")
    for name, seed in (("train", 1), ("test", 2)):
        rows = [(language, text) for language in ("en", "zh") for text in _sentences(language, seed)]
        lines = [f"__label__{label} {text}" for label, text in rows]
        (folder / f"{name}.txt").write_text("\n".join(lines), "utf-8")
        table = ["label\ttext", *(f"{label}\t{text}" for label, text in rows)]
        (folder / f"{name}.tsv").write_text("\n".join(table), "utf-8")
    return folder


def _sentences(language: world.Language, seed: int) -> list[str]:
    return list(world.sentences(language, words=2_000, seed=seed))[:200]


@pytest.mark.parametrize("name", METHODS)
class TestClassifier:
    def test_train_test_and_predict(self, name: str, files: Path, typed: Type, tmp_path: Path):
        more = self._more(name, files, typed, tmp_path)
        made = typed("classify", "train", files / "train.txt", "-o", tmp_path / "c", "--method", name, *more)
        assert f"2 labels from 400 texts, by {name}" in made.out
        found = json.loads(typed("classify", "test", tmp_path / "c", files / "test.tsv", "--json").out)
        assert found["accuracy"] > 0.95
        assert found["interval"][0] <= found["accuracy"] <= found["interval"][1]
        shown = typed("classify", "test", tmp_path / "c", files / "test.txt").out
        assert "macro F1" in shown
        assert "precision" in shown
        text = _sentences("zh", 3)[0]
        assert typed("classify", "predict", tmp_path / "c", text).out.startswith("zh ")
        lines = typed("classify", "predict", tmp_path / "c", text, "-n", "2", "--json").out
        ranked = json.loads(lines)["labels"]
        assert [each["label"] for each in ranked] == ["zh", "en"]
        assert abs(sum(each["probability"] for each in ranked) - 1) < 1e-5

    def test_help(self, name: str, typed: Type):
        shown = typed("classify", "train", "--method", name, "--help").out
        assert "--output" in shown
        assert name in typed("classify", "--help").out

    def _more(self, name: str, files: Path, typed: Type, tmp_path: Path) -> list[str | Path]:
        if name != "logistic":
            return []
        out = tmp_path / "v.inlaid"
        typed("train", "ppmi", files / "train.txt", "-o", out, "--min-count", "2", "--dim", "20")
        return ["--embedder", out]


@pytest.mark.parametrize("alias", ["classifier", "fasttext", "supervised"])
def test_an_alias_trains_what_it_names(alias: str, files: Path, typed: Type, tmp_path: Path):
    words = ("classify", "train", files / "train.txt", "--epochs", "1", "--dim", "4")
    typed(*words, "-o", tmp_path / "a", "--method", alias)
    typed(*words, "-o", tmp_path / "b", "--method", "ngrams")
    one = inlaid.load_classifier(tmp_path / "a")
    other = inlaid.load_classifier(tmp_path / "b")
    assert one.card.settings == other.card.settings
    assert one.output.any()
    assert one.output.tobytes() == other.output.tobytes()


def test_a_table_without_labels_and_a_file_of_vectors_are_refused(files: Path, typed: Type, tmp_path: Path):
    (tmp_path / "a.txt").write_text("no label\n", "utf-8")
    assert (
        "found no label" in typed("classify", "train", tmp_path / "a.txt", "-o", tmp_path / "c", code=2).err
    )
    (tmp_path / "c").write_text("nothing", "utf-8")
    typed("classify", "predict", tmp_path / "c", "text", code=2)
    assert "Did you mean" in typed("classify", "tain", code=2).err


def test_a_file_that_exists_is_not_replaced(files: Path, typed: Type, tmp_path: Path):
    (tmp_path / "mine.txt").write_text("precious", "utf-8")
    words = ("classify", "train", files / "train.txt", "--epochs", "1", "-o", tmp_path / "mine.txt")
    assert "already exists" in typed(*words, code=2).err
    assert (tmp_path / "mine.txt").read_text("utf-8") == "precious"


def test_a_plan_writes_nothing(files: Path, typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert "memory" in typed("classify", "train", files / "train.txt", "--plan").out
    assert not list(tmp_path.iterdir())


def test_int8_says_what_it_costs(files: Path, typed: Type, tmp_path: Path):
    made = typed("classify", "train", files / "train.tsv", "-o", tmp_path / "c", "--dtype", "int8")
    assert "int8: 0 of 400 texts" in made.err
