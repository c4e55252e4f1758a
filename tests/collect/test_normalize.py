"""Normalization in named steps, and the offsets in the original text."""

from __future__ import annotations

import unicodedata
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import inlaid
from inlaid.collect.normalize import normalizer, origins
from inlaid.errors import UnknownName

TEXT = st.text(st.characters(blacklist_categories=["Cs"])) | st.text("Aé e\u0301Σς中ＡİK\u1100\u1161")


def test_steps_run_in_the_order_given():
    assert normalizer(("nfkc", "lower"))("ＡＢ Ⅷ") == "ab viii"
    assert normalizer(())("ＡＢ") == "ＡＢ"
    assert normalizer(("width",))("ＡＢ１２！　①。") == "AB12! ①。"
    assert normalizer(("simplified",))("臺灣資訊") == "台湾资讯"
    with pytest.raises(UnknownName, match="No normalizer is called 'nfcc'. Did you mean 'nfc"):
        normalizer(("nfcc",))


@given(TEXT)
def test_all_steps_but_one_may_be_repeated(text: str):
    for name in ("nfc", "nfkc", "width", "lower"):
        step = normalizer((name,))
        assert step(step(text)) == step(text)


EVERY_STEP = [tuple(steps) for n in range(4) for steps in permutations(("nfc", "nfkc", "width", "lower"), n)]


@pytest.mark.parametrize(
    "text", ["㈱", "½杯水", "①②", "ﬁnd ﬂy", "㍿", "ＡＢ", "ΟΔΟΣ", "İstanbul", "乾隆皇帝", "e\u0301①"]
)
@pytest.mark.parametrize("steps", EVERY_STEP)
def test_no_token_comes_from_nothing(text: str, steps: tuple[str, ...]):
    check_origins(text, (*steps, "simplified"))


@given(TEXT, st.sampled_from(EVERY_STEP))
def test_origins_lead_back_to_what_a_character_was_made_of(text: str, steps: tuple[str, ...]):
    places = origins(text, steps)
    if places is None:
        return
    normalize = normalizer(steps)
    done = normalize(text)
    assert len(places) == len(done)
    for character, (start, end) in zip(done, places, strict=True):
        assert 0 <= start < end <= len(text)
        # Σ and marks that stand elsewhere in their cluster depend on their neighbors
        assert (
            character in normalize(text[start:end]) or character in "σς" or unicodedata.combining(character)
        )
    assert places == sorted(places)
    check_origins(text, steps)


def check_origins(text: str, steps: tuple[str, ...]) -> None:
    """Tokens come from something, in order, and everything that became a token is part of one."""
    for tokenizer in ("word", "char", "whitespace"):
        shown = inlaid.tokenize(text, tokenizer=tokenizer, normalize=steps)
        if shown.original is None:
            continue
        assert len(shown.original) == len(shown.tokens)
        assert all(0 <= start < end <= len(text) for start, end in shown.original)
        assert shown.original == sorted(shown.original)
        covered = "".join(text[start:end] for start, end in shown.original)
        if tokenizer == "char" and "\u200d" not in text:
            assert set("".join(text.split())) <= set(covered)


def test_tokens_have_their_positions_in_the_text():
    text = "CAFE\u0301 ＡＢ，我喜欢苹果"
    shown = inlaid.tokenize(text, normalize=["nfkc", "lower"])
    assert [token.text for token in shown.tokens] == ["café", "ab", "我", "喜欢", "苹果"]
    assert shown.original is not None
    assert [unicodedata.normalize("NFKC", text[a:b]).lower() for a, b in shown.original] == [
        token.text for token in shown.tokens
    ]


def test_a_step_that_looks_at_phrases_keeps_places_where_the_length_stays():
    """乾 is 干 by itself and 乾 in 乾隆: what becomes of it depends on its neighbor."""
    assert normalizer(("simplified",))("乾隆") != "".join(map(normalizer(("simplified",)), "乾隆"))
    assert origins("乾隆", ("simplified",)) == [(0, 1), (1, 2)]
    assert origins("資訊", ("simplified",)) == [(0, 1), (1, 2)]
