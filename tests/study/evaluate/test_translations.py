"""Translations by models: translators are compared with the right translations, others retrieve them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
sacrebleu = pytest.importorskip(
    "sacrebleu", reason="sacrebleu is not installed: pip install 'inlaid[neural]'"
)

from inlaid.cli import main  # noqa: E402
from inlaid.collect import world  # noqa: E402
from inlaid.study.evaluate import model_space  # noqa: E402
from inlaid.study.evaluate.bleu import bleu, counts_of  # noqa: E402
from inlaid.study.evaluate.in_context import HELD_OUT, held_out_pairs  # noqa: E402

TASKS = ("world-translations", "world-referents")
IN_CONTEXT = (*TASKS, "world-senses", "world-sentences", "world-classification")
SIZES = ["--dim", "8", "--layers", "1", "--epochs", "1", "--max-length", "64"]
BPE = ["--tokenizer", "bpe", "--subwords", "500"]
Typed = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of the world, pairs, and a translator."""
    path = tmp_path_factory.mktemp("world")
    text = "\n".join(world.sentences("both", words=4_000))
    pairs = "\n".join(f"{pair.zh}\t{pair.en}" for pair in world.pairs(words=3_000))
    (path / "text.txt").write_text(text + "\n", "utf-8")
    (path / "pairs.tsv").write_text(pairs + "\n", "utf-8")
    words = ["train", "translation", path / "pairs.tsv", "-o", path / "translator", *SIZES, *BPE]
    assert main([str(word) for word in words]) == 0
    return path


@pytest.mark.parametrize("language", ["zh", "en"])
def test_bleu_is_that_of_sacrebleu(language: Any):
    right = [pair.zh if language == "zh" else pair.en for pair in held_out_pairs()[:40]]
    random = np.random.default_rng(1)
    joint = "" if language == "zh" else " "
    cut = [list(each) if language == "zh" else each.split() for each in right]
    for share in (0.0, 0.3, 0.8):
        found = [joint.join(word for word in words if random.random() >= share) for words in cut]
        counts = counts_of(found, right, language)
        metric = sacrebleu.BLEU(tokenize="zh" if language == "zh" else "13a")
        assert bleu(counts, np.ones((1, 40)))[0] == pytest.approx(metric.corpus_score(found, [right]).score)
    few = counts_of(["the cat"], ["the dog sat there"], "en")
    assert bleu(few, np.ones((1, 1)))[0] == 0.0  # it has no n-grams of three words


def test_held_out_pairs_are_not_in_the_text():
    pairs = held_out_pairs()
    assert len(pairs) == HELD_OUT
    assert not {pair.zh for pair in pairs} & {pair.zh for pair in world.pairs()}


def scores(typed: Typed, path: Path, *tasks: str) -> dict[tuple[str, str], list[str]]:
    found = json.loads(typed("evaluate", path, *tasks, "--json"))["scores"]
    return {
        (each["task"], each["language"]): [each["metric"], *(other["metric"] for other in each["others"])]
        for each in found
    }


@pytest.mark.parametrize("method", ["causal", "masked", "contrastive", "bilm"])
def test_models_retrieve_translations(method: str, typed: Typed, folder: Path, tmp_path: Path):
    text = folder / ("pairs.tsv" if method == "contrastive" else "text.txt")
    tokenizer = [] if method == "bilm" else BPE
    typed("train", method, text, "-o", tmp_path / "m", *SIZES, *tokenizer)
    tasks = IN_CONTEXT if method == "bilm" else TASKS  # it has no table of words
    found = scores(typed, tmp_path / "m", *tasks)
    assert {(task, language) for task in tasks for language in ("zh", "en")} == found.keys()
    assert found["world-translations", "zh"] == ["P@1", "P@5"]


def test_a_translator_is_scored_by_its_translations(
    typed: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    assert scores(typed, folder / "translator", *TASKS)["world-translations", "en"] == ["exact", "BLEU"]
    right = {pair.zh: pair.en for pair in held_out_pairs()} | {pair.en: pair.zh for pair in held_out_pairs()}

    def perfect(space: Any, texts: list[str]) -> list[str]:
        return [right[text] for text in texts]

    monkeypatch.setattr(model_space.ModelSpace, "translations", perfect)
    for score in json.loads(typed("evaluate", folder / "translator", TASKS[0], "--json"))["scores"]:
        assert score["value"] == 1.0
        assert score["others"][0]["value"] == pytest.approx(100)
        assert score["used"] == HELD_OUT


def test_what_a_translator_cannot_read_is_left_out(typed: Typed, folder: Path, tmp_path: Path):
    """The vocabulary of the source is Chinese."""
    words = ["--tokenizer", "word", "--vocabularies", "separate", "--min-count", "1"]
    typed("train", "translation", folder / "pairs.tsv", "-o", tmp_path / "m", *SIZES, *words)
    assert scores(typed, tmp_path / "m", "world-translations").keys() == {("world-translations", "zh")}


def test_unlike_answers_are_not_compared(typed: Typed, folder: Path, tmp_path: Path):
    typed("train", "causal", folder / "text.txt", "-o", tmp_path / "gpt", *SIZES, *BPE)
    typed("train", "ppmi", folder / "text.txt", "-o", tmp_path / "v.inlaid", "--dim", "8", "--min-count", "1")
    for other in (tmp_path / "gpt", tmp_path / "v.inlaid"):
        words = ["evaluate", folder / "translator", *TASKS, "--against", other, "--json"]
        found = {each["task"] for each in json.loads(typed(*words))["differences"]}
        assert found == {"world-referents"}
