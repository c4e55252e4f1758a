"""Distilled vectors: what the model says of each token, and of words added; texts read by the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.errors import SettingError
from inlaid.study.use.distill import principal_components

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")


@pytest.fixture(scope="module")
def folder(tiny_models: Path) -> Path:
    return tiny_models / "masked"


def distilled(folder: Path, **settings: Any) -> Any:
    return inlaid.distill(inlaid.load_model(folder), **settings)


class TestTable:
    def test_row_is_the_text_of_its_token(self, folder: Path) -> None:
        found = distilled(folder, dim=None, weights="none").vectors
        model = inlaid.load_model(folder)
        for word in ("我", "苹果", "鱼"):
            expected = model.embed([word])[0]
            np.testing.assert_allclose(found[word], expected, atol=1e-5)

    def test_special_tokens_have_rows_of_zeros(self, folder: Path) -> None:
        found = distilled(folder).vectors
        assert not found["[CLS]"].any()
        assert not found["[UNK]"].any()
        assert found["我"].any()

    def test_zipf_weights_follow_the_rank_of_used_tokens(self, folder: Path) -> None:
        plain = distilled(folder, dim=None, weights="none").vectors
        weighed = distilled(folder, dim=None, sif=0.1).vectors
        used = np.flatnonzero(plain.table.any(axis=1))
        seen = 1 / np.arange(2, len(used) + 2)
        expected = 0.1 / (0.1 + seen / seen.sum())
        measured = np.linalg.norm(weighed.table[used], axis=1) / np.linalg.norm(plain.table[used], axis=1)
        np.testing.assert_allclose(measured, expected, rtol=1e-4)

    def test_all_components_keep_every_distance(self) -> None:
        rows = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32)
        found, share = principal_components(rows, 6, print)
        centered = rows - rows.mean(axis=0)
        np.testing.assert_allclose(found @ found.T, centered @ centered.T, atol=1e-4)
        assert share == pytest.approx(1)


class TestWords:
    def test_chinese_word_of_several_tokens_gets_its_own_row(self, folder: Path) -> None:
        found = distilled(folder, words=["喜 欢", "我"], dim=None, weights="none")
        assert found.added == 1
        assert found.vectors.words[-1] == "喜 欢"
        assert "喜 欢" in found.vectors.tokenizer.words("我 喜 欢 鱼")

    def test_words_and_files_of_words_are_typed(self, folder: Path, tmp_path: Path, typed: Any) -> None:
        (tmp_path / "words.txt").write_text("喜 欢\n我\n", encoding="utf-8")
        listed = ("distill", folder, "--json", "--dim", "2", "--words")
        assert json.loads(typed(*listed, tmp_path / "words.txt"))["added"] == 1
        assert json.loads(typed(*listed, tmp_path / "words.txt", "鱼 我"))["added"] == 2

    def test_words_with_unknown_characters_are_noted(self, folder: Path) -> None:
        notes: list[str] = []
        found = inlaid.distill(
            inlaid.load_model(folder), words=["鱼龘鱼"], report=lambda event: notes.append(str(event))
        )
        assert found.added == 0
        assert any("鱼龘鱼" in note for note in notes)

    def test_counts_need_a_corpus(self, folder: Path) -> None:
        with pytest.raises(SettingError, match="needs a corpus"):
            distilled(folder, weights="counts")


class TestCommand:
    def test_saves_and_embeds_any_text(self, folder: Path, tmp_path: Path, typed: Any) -> None:
        typed("distill", folder, "-o", tmp_path / "small.inlaid", "--dim", "2")
        said = json.loads(typed("embed", tmp_path / "small.inlaid", "我 吃 鱼", "--json"))
        table = inlaid.load(tmp_path / "small.inlaid")
        expected = np.mean([table[word] for word in ("我", "吃", "鱼")], axis=0)
        np.testing.assert_allclose(said["vectors"][0], expected, atol=1e-6)

    def test_opens_in_sentence_transformers(self, folder: Path, tmp_path: Path, typed: Any) -> None:
        library = pytest.importorskip(
            "sentence_transformers",
            reason="sentence-transformers is not installed: pip install 'inlaid[peers]'",
        )
        typed("distill", folder, "-o", tmp_path / "small", "--format", "static-embedding")
        typed("distill", folder, "-o", tmp_path / "small.inlaid")
        theirs = library.SentenceTransformer(str(tmp_path / "small"), device="cpu").encode(["我 吃 鱼"])[0]
        ours = json.loads(typed("embed", tmp_path / "small.inlaid", "我 吃 鱼", "--json"))["vectors"][0]
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-6)

    def test_opens_in_model2vec(self, folder: Path, tmp_path: Path, typed: Any) -> None:
        model2vec = pytest.importorskip(
            "model2vec", reason="model2vec is not installed: pip install 'inlaid[peers]'"
        )
        typed("distill", folder, "-o", tmp_path / "small", "--format", "model2vec")
        typed("distill", folder, "-o", tmp_path / "small.inlaid")
        theirs = model2vec.StaticModel.from_pretrained(tmp_path / "small").encode(["我 吃 鱼"])[0]
        ours = json.loads(typed("embed", tmp_path / "small.inlaid", "我 吃 鱼", "--json"))["vectors"][0]
        cosine = np.dot(theirs, ours) / np.linalg.norm(theirs) / np.linalg.norm(ours)
        assert cosine == pytest.approx(1, abs=1e-5)
