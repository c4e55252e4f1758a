"""Full-width input, as a Chinese input method types it, is understood; texts and words stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.commands.half_width import half_width
from inlaid.fit.sgns import SGNS
from inlaid.vectors import Vectors

WORDS = ["苹果", "蘋果", "香蕉", "国王", "王后", "男人", "女人", "apple"]


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    table = np.random.default_rng(1).normal(size=(len(WORDS), 8)).astype(np.float32)
    inlaid.save(Vectors.of(WORDS, table), tmp_path / "v.inlaid")
    monkeypatch.chdir(tmp_path)
    return "v.inlaid"


@pytest.mark.parametrize(
    ("typed_words", "meant"),
    [
        (["－－dim", "３００"], ["--dim", "300"]),
        (["——epochs＝５"], ["--epochs=5"]),
        (["--learning-rate", "０．０５"], ["--learning-rate", "0.05"]),
        (["－－ｏｂｊｅｃｔｉｖｅ", "ｃｂｏｗ"], ["--objective", "cbow"]),
        (["Ａ", "５", "－男人"], ["Ａ", "５", "－男人"]),
        (["--", "－－dim", "５"], ["--", "－－dim", "５"]),
    ],
)
def test_flags_numbers_and_choices(typed_words: list[str], meant: list[str]):
    assert half_width(typed_words, SGNS) == meant


def test_what_a_user_types(typed: Any, vectors: str):
    expected = typed("neighbors", vectors, "国王", "-n", "3", "--by", "csls")
    assert typed("neighbors", vectors, "国王", "－－n", "３", "——by", "ｃｓｌｓ") == expected
    expected = typed("analogy", vectors, "国王 - 男人 + 女人", "-n", "1")
    assert typed("analogy", vectors, "国王 － 男人 ＋ 女人", "-n", "１") == expected
    assert typed("tokenize", "苹果", "--tokenizer", "ｃｈａｒ").startswith("ｃｈａｒ: 苹 果")
    assert "There is no option --nn" in typed("neighbors", vectors, "国王", "－－nn", "3", code=2)


def test_a_text_keeps_its_width(typed: Any, vectors: str, tmp_path: Path):
    text = tmp_path / "Ａ.txt"
    text.write_text("我 喜欢 苹果\n" * 5, "utf-8")
    typed("train", "ppmi", "Ａ.txt", "-o", "Ｂ.inlaid", "--dim", "２")
    assert (tmp_path / "Ｂ.inlaid").exists()
