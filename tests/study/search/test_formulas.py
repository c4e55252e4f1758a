"""Formulas: one grammar, nothing guessed, and no text that breaks the reader."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlaid.errors import SettingError
from inlaid.study.search.formulas import Formula, Term, parse

WORDS = {"国王", "男人", "女人", "king", "man", "woman", "e-mail", "mail", "e"}


def weights(formula: str) -> list[tuple[float, str]]:
    return [(term.weight, term.word) for term in parse(formula, WORDS.__contains__).terms]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("king", [(1, "king")]),
        ("king - man + woman", [(1, "king"), (-1, "man"), (1, "woman")]),
        ("- king + man", [(-1, "king"), (1, "man")]),
        ("国王 － 男人 ＋ 女人", [(1, "国王"), (-1, "男人"), (1, "女人")]),
        ("国王-男人+女人", [(1, "国王"), (-1, "男人"), (1, "女人")]),
        ("国王－（男人－女人）", [(1, "国王"), (-1, "男人"), (1, "女人")]),
        ("2*king-0.5*man", [(2, "king"), (-0.5, "man")]),
        ("2 * king - 0.5 * (man - 4 * woman)", [(2, "king"), (-0.5, "man"), (2, "woman")]),
        ("2 ＊ king − 3 × man", [(2, "king"), (-3, "man")]),
        ("-king", [(-1, "king")]),
        ("e-mail - mail", [(1, "e-mail"), (-1, "mail")]),  # a known word is never cut
        ("e-mails", [(1, "e-mails")]),  # unknown, but so is a piece
        ("1984 - 2 * 7", [(1, "1984"), (-2, "7")]),  # numbers are words unless * follows
        ("((king))", [(1, "king")]),
        ("(man+woman)*0.5", [(0.5, "man"), (0.5, "woman")]),
        ("(man + woman) * 0.5 - king", [(0.5, "man"), (0.5, "woman"), (-1, "king")]),
        ("（国王＋女人）×2", [(2, "国王"), (2, "女人")]),
        ("2 * (man - (woman + king) * 3) *0.5", [(1, "man"), (-3, "woman"), (-3, "king")]),
        ("king * 2 * 3 - man *0.5", [(6, "king"), (-0.5, "man")]),
        ("king*2", [(2, "king")]),
        ("-1*man + king", [(-1, "man"), (1, "king")]),
        ("-1 * man + king", [(-1, "man"), (1, "king")]),
        ("-man + king", [(-1, "man"), (1, "king")]),
        ("-(man + woman)*0.5 + king", [(-0.5, "man"), (-0.5, "woman"), (1, "king")]),
        ('"new york" + “los angeles” - 「a b」', [(1, "new york"), (1, "los angeles"), (-1, "a b")]),
        (r'"say \"hi\""', [(1, 'say "hi"')]),
        ("don't + rock'n'roll", [(1, "don't"), (1, "rock'n'roll")]),
    ],
)
def test_reading(formula: str, expected: list[tuple[float, str]]):
    assert weights(formula) == expected


def test_signs_need_spaces_where_words_are_not_known():
    assert parse("king-man").terms == (Term(1.0, "king-man"),)


@pytest.mark.parametrize(
    ("formula", "place", "expected"),
    [
        ("king man", 6, "+ or - between words, found 'man'"),
        ("king - - man", 8, "a word, found '-'"),
        ("king 2 * man", 6, "+ or - between words, found '2'"),
        ("king)", 5, r"+ or - between words, found '\)'"),
        ("()", 2, r"a word, found '\)'"),
        ("2 * * king", 5, r"a word, found '\*'"),
        ("king * man", 8, "a number, found 'man'"),
        ("(king) * (man)", 10, r"a number, found '\('"),
        ("(king) * 1e300 * 1e300", 18, "weights whose product is finite, found '1e300'"),
        ('king + "new york', 8, 'a word between " and "'),
        ('""', 1, 'a word between " and "'),
        ("1e300 * (1e300 * king)", 10, "weights whose product is finite, found '1e300'"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_position(formula: str, place: int, expected: str):
    with pytest.raises(SettingError, match=rf"at character {place}: expected {expected.replace('+', '[+]')}"):
        parse(formula)


@pytest.mark.parametrize(
    ("formula", "place", "expected"),
    [
        ("", 1, "a word is"),
        ("king -", 7, "a word is"),
        ("(king", 6, r"1 more '\)' is"),
        ("2 *", 4, "a word is"),
        ("king *", 7, "a number is"),
    ],
)
def test_a_formula_that_ends_too_early_says_what_is_missing(formula: str, place: int, expected: str):
    with pytest.raises(SettingError, match=rf"ends at character {place}, where {expected} expected\."):
        parse(formula)


def test_factors_after_many_brackets_take_no_longer_than_their_length():
    """Multiplied term by term at each bracket, this would take minutes."""
    start = time.process_time()
    read = parse("(" * 8_000 + "a" + " + a" * 8_000 + ")*1" * 8_000)
    assert {term.weight for term in read.terms} == {1.0}
    assert time.process_time() - start < 2


def test_ten_thousand_brackets():
    assert weights("(" * 10_000 + "king" + ")" * 10_000) == [(1, "king")]
    with pytest.raises(SettingError, match="10000 more"):
        parse("- (" * 10_000 + "king")


@given(st.text(alphabet=st.sampled_from('ab国 +-*()（）＋－＊×"“”「」\\2.5e\t')) | st.text())
def test_no_text_breaks_the_reader_and_what_is_read_prints_and_reads_the_same(text: str):
    for known in (None, {"a", "b", "国"}.__contains__):
        try:
            formula = parse(text, known)
        except SettingError:
            continue
        assert parse(str(formula), known) == formula


TERMS = st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text(min_size=1))


@given(st.lists(TERMS, min_size=1))
def test_any_formula_prints_and_reads_the_same(terms: list[tuple[float, str]]):
    formula = Formula(tuple(Term(weight, word) for weight, word in terms))
    assert parse(str(formula)) == formula
    assert parse(str(formula), lambda word: len(word) == 1) == formula


@pytest.mark.parametrize("text", ["a", "国", "king + ", '"', "(", "1", "+", "1.", "1e", "\\", " ", '"a" '])
def test_a_formula_of_a_million_characters_is_refused_at_once(text: str):
    with pytest.raises(SettingError, match="The formula has .* characters; expected at most 100,000"):
        parse(text * (1_000_000 // len(text)))


@pytest.mark.parametrize("text", ["1" * 99_000 + "x", '"' + "a" * 99_000 + '"', "1." * 40_000 + "*"])
def test_the_time_grows_with_the_length_only(text: str):
    """Squared, each of these would take minutes."""
    start = time.process_time()
    assert len(parse(text).terms) == 1
    assert time.process_time() - start < 2
