"""Tokens merged to words: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.neural.checkpoint import load_model
from inlaid.report import silent
from inlaid.study.attend.reading import _reading, read_target, read_text, spelled_spans


def made(text: str, spans: list[tuple[int, int]], added: list[bool] | None = None):
    tokens = tuple(f"t{place}" for place in range(len(spans)))
    ids = list(range(len(spans)))
    return _reading(text, ids, ids, tokens, spans, added or [False] * len(spans), Word())


def test_characters_become_words():
    found = made("我喜欢吃苹果", [(place, place + 1) for place in range(6)])
    assert found.words == ("我", "喜欢", "吃", "苹果")
    assert found.groups.tolist() == [0, 1, 1, 2, 3, 3]


def test_bytes_of_one_character_are_one_word_and_punctuation_stays():
    found = made("吃，I", [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3)])
    assert found.words == ("吃", "，", "I")


def test_a_token_over_two_words_joins_them():
    found = made("我喜欢吃苹果", [(0, 1), (1, 4), (4, 6)])
    assert found.words == ("我", "喜欢吃", "苹果")


def test_special_tokens_and_the_mark_of_a_space():
    found = made("apples", [(0, 0), (0, 0), (0, 5), (5, 6), (0, 0)], [True, False, False, False, True])
    assert found.words == ("t0", "apples", "t4")
    assert found.groups.tolist() == [0, 1, 1, 1, 2]
    assert found.special.tolist() == [True, False, True]


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_merged_rows_still_sum_to_one(count: int, seed: int):
    random = np.random.default_rng(seed)
    text = "我喜欢吃苹果手机"[:count]
    cuts = sorted(random.integers(0, count + 1, 3).tolist())
    spans = [(one, two) for one, two in zip([0, *cuts], [*cuts, count], strict=True)]
    reading = made(text, spans)
    weights = random.dirichlet(np.ones(len(spans)), (2, 3, len(spans)))
    merged = reading.merged_rows(reading.merged_columns(weights))
    assert merged.shape == (2, 3, len(reading.words), len(reading.words))
    assert np.allclose(merged.sum(-1), 1)


def test_the_sum_over_keys_and_the_mean_over_queries():
    reading = made("苹果我", [(0, 1), (1, 2), (2, 3)])
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.5, 0.0, 0.5]])
    merged = reading.merged_rows(reading.merged_columns(weights))
    assert np.allclose(merged, [[0.5, 0.5], [0.5, 0.5]])


def test_spans_by_spelling():
    assert spelled_spans(("▁I", "▁like", "▁", "苹"), "I like 苹") == [(0, 1), (2, 6), (6, 6), (7, 8)]


def test_the_decoder_has_read_its_start_token_first(tiny_models):
    model = load_model(tiny_models / "seq2seq")
    found = read_target(model, "long time")
    assert found.words == ("<pad>", "long", "time")
    assert found.special.tolist() == [True, False, False]


def test_a_word_is_found_by_spelling_or_number(tiny_models):
    model = load_model(tiny_models / "masked")
    found = read_text(model, "我喜欢吃苹果", silent)
    assert found.words == ("[CLS]", "我", "喜欢", "吃", "苹果", "[SEP]")
    assert found.find("苹果") == found.find("[4]") == 4
    assert found.find("[CLS]") == 0
    with pytest.raises(SettingError, match=r"no word '香蕉'.*苹果 \[4\]"):
        found.find("香蕉")


def test_a_blank_is_the_mask_of_a_masked_model(tiny_models):
    found = read_text(load_model(tiny_models / "masked"), "我喜欢吃___", silent)
    assert found.tokens == ("[CLS]", "我", "喜", "欢", "吃", "[MASK]", "[SEP]")
    assert "[MASK]" not in read_text(load_model(tiny_models / "seq2seq"), "好 久 ___", silent).tokens
