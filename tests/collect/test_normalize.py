"""Normalization in named steps, and the offsets in the original text."""

from __future__ import annotations

import unicodedata

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


@given(TEXT)
def test_origins_lead_back_to_what_a_character_was_made_of(text: str):
    steps = ("nfc", "lower")
    places = origins(text, steps)
    done = normalizer(steps)(text)
    if places is None:
        return
    assert len(places) == len(done) + 1
    assert places == sorted(places)
    for here in range(len(done)):
        if places[here] < places[here + 1]:
            assert done[here] in normalizer(steps)(text[places[here] : places[here + 1]])


def test_tokens_have_their_positions_in_the_text():
    text = "CAFE\u0301 ＡＢ，我喜欢苹果"
    shown = inlaid.tokenize(text, normalize=["nfkc", "lower"])
    assert [token.text for token in shown.tokens] == ["café", "ab", "我", "喜欢", "苹果"]
    assert shown.original is not None
    assert [unicodedata.normalize("NFKC", text[a:b]).lower() for a, b in shown.original] == [
        token.text for token in shown.tokens
    ]


def test_a_step_that_looks_at_phrases_keeps_no_places():
    """乾 is 干 by itself and 乾 in 乾隆: what becomes of it depends on its neighbor."""
    assert normalizer(("simplified",))("乾隆") != "".join(map(normalizer(("simplified",)), "乾隆"))
    assert origins("乾隆", ("simplified",)) is None
    assert origins("資訊", ("simplified",)) == [0, 1, 2]
