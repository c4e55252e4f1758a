"""Hashed n-grams: known buckets, unseen words, tables with and without the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode import ngrams
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.vectors import Int8Table, LazyTable, Subwords, Vectors

WORDS = ["cat", "猫", "</s>", "café", "人工智能", ""]


def make(
    *, size: int = 50, dim: int = 4, kept: np.ndarray | None = None, min_n: int = 1, max_n: int = 4
) -> NGrams:
    random = np.random.default_rng(3)
    rows = size if kept is None else len(kept)
    own, buckets = (random.standard_normal((count, dim)).astype(np.float32) for count in (len(WORDS), rows))
    return NGrams(own=own, buckets=buckets, size=size, min_n=min_n, max_n=max_n, kept=kept)


def test_the_hash_is_fnv_with_signed_bytes():
    from inlaid.kernels.text.reference import fnv

    assert fnv(b"") == 2166136261
    assert fnv(b"a") == 0xE40C292C  # as published
    assert fnv(b"\xff") == (2166136261 ^ 0xFFFFFFFF) * 16777619 % 2**32  # published: ^ 0xFF


def test_ngrams_are_of_characters_not_of_bytes():
    both = make(size=2**31 - 1, kept=np.zeros(0, np.int32), min_n=3, max_n=3)
    assert len(both.ids("猫")) == 1  # <猫>
    assert len(both.ids("人工智能")) == 4
    assert both.ids("猫").tolist() == [ngrams.reference.fnv("<猫>".encode()) % (2**31 - 1)]


def test_brackets_alone_are_no_ngrams():
    assert len(make(min_n=1, max_n=1).ids("cat")) == 3
    assert len(make(min_n=1, max_n=2).ids("")) == 1  # <> together


def test_an_unseen_word_is_the_mean_of_its_ngrams():
    made = make()
    assert isinstance(made, Subwords)
    ids = made.ids("dog")
    np.testing.assert_allclose(made.vector("dog"), made.buckets[ids].mean(axis=0), rtol=1e-6)  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize("word", ["</s>", "a\ud800b"])
def test_a_word_without_ngrams_has_no_vector(word: str):
    assert make().vector(word) is None
    assert make(min_n=4).vector("x") is None


def test_only_kept_buckets_count():
    kept = np.array([3, 7, 20], np.int32)
    made = make(kept=kept)
    word = "人工智能 in 2026"
    ids = [id for id in made.ids(word).tolist() if id in kept]
    expected = made.buckets[np.searchsorted(kept, ids)].mean(axis=0)  # pyright: ignore[reportIndexIssue]
    np.testing.assert_allclose(made.vector(word), expected, rtol=1e-6)
    assert make(kept=np.zeros(0, np.int32)).vector("cat") is None


@pytest.mark.parametrize("kept", [None, np.array([1, 4, 9, 30, 49], np.int32), np.zeros(0, np.int32)])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_table_is_the_same_whole_and_by_rows_fast_and_plain(
    kept: np.ndarray | None, lazy: bool, monkeypatch: pytest.MonkeyPatch
):
    made = make(kept=kept)
    if lazy:
        made = NGrams(
            own=Int8Table.of(made.own),
            buckets=Int8Table.of(made.buckets),
            size=50,
            min_n=1,
            max_n=4,
            kept=kept,
        )  # pyright: ignore[reportArgumentType]
    table = NGramTable.of(Words.of(WORDS), made)
    assert isinstance(table, LazyTable)
    whole = table.whole()
    assert table.rows([4, 0, 4, 5]).tobytes() == whole[[4, 0, 4, 5]].tobytes()
    for id in (-1, 6):
        with pytest.raises(IndexError, match=f"row {id} of 6"):
            table.rows([4, id])
    own = made.own if isinstance(made.own, np.ndarray) else made.own.whole()
    assert whole[2].tobytes() == own[2].tobytes()  # </s> is its own row alone
    monkeypatch.setattr(ngrams, "BLOCK", 2)
    assert table.whole().tobytes() == whole.tobytes()
    monkeypatch.setattr(ngrams, "fast", lambda: None)  # as where Numba is missing
    assert table.whole().tobytes() == whole.tobytes()


def test_vectors_answer_for_unseen_words():
    made = make()
    vectors = Vectors(Words.of(WORDS), NGramTable.of(Words.of(WORDS), made), subwords=made)
    assert vectors["猫"].tobytes() == vectors.table[1].tobytes()
    assert vectors["小猫"].tobytes() == made.vector("小猫").tobytes()  # pyright: ignore[reportOptionalMemberAccess]
    kept = made.with_words(made.own_rows(np.array([0, 2])))
    assert kept.own.shape[0] == 2
    assert kept.vector("小猫").tobytes() == made.vector("小猫").tobytes()  # pyright: ignore[reportOptionalMemberAccess]


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        FormatError, match=r"Expected a table of 50 n-gram buckets by 4 components, found the shape \(49, 4\)"
    ):
        NGrams(
            own=np.zeros((1, 4), np.float32),
            buckets=np.zeros((49, 4), np.float32),
            size=50,
            min_n=3,
            max_n=6,
        )
    with pytest.raises(FormatError, match="ascending order"):
        make(kept=np.array([3, 3], np.int32))
    buckets = np.full((50, 4), np.nan, np.float32)
    with pytest.raises(FormatError, match="n-grams of 'cat' .* give NaN"):
        NGrams(own=np.zeros((1, 4), np.float32), buckets=buckets, size=50, min_n=3, max_n=6).vector("cat")


def test_the_parts_of_a_word_have_its_vector_as_their_mean():
    random = np.random.default_rng(1)
    words = Words.of(["猫咪", "cat"])
    made = NGrams(
        own=random.random((2, 5), np.float32),
        buckets=random.random((50, 5), np.float32),
        size=50,
        min_n=2,
        max_n=4,
    )
    known = made.parts("猫咪", 0)
    assert [name for name, _ in known] == ["猫咪", "<猫", "<猫咪", "<猫咪>", "猫咪", "猫咪>", "咪>"]
    np.testing.assert_allclose(
        np.mean([row for _, row in known], axis=0), NGramTable.of(words, made).whole()[0], rtol=1e-6
    )
    np.testing.assert_allclose(
        np.mean([row for _, row in made.parts("cats")], axis=0), made.vector("cats"), rtol=1e-6
    )


def test_spread_has_a_row_for_every_bucket_zeros_where_there_was_none():
    kept = np.array([3, 7, 20], np.int32)
    made = make(kept=kept)
    whole = made.spread()
    assert whole.kept is None
    assert whole.buckets.shape == (50, 4)
    table = whole.buckets.whole()  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(table[kept], made.buckets)
    assert not np.delete(table, kept, axis=0).any()
    assert not make(kept=np.zeros(0, np.int32)).spread().buckets.whole().any()  # pyright: ignore[reportAttributeAccessIssue]
    assert make().spread().kept is None


def test_whether_all_ngrams_of_some_words_have_a_row():
    words = Words.of(["cat", "猫"])
    ids = np.unique(np.concatenate([make().ids(word) for word in words]))
    assert make(kept=ids).has_rows_for(words)
    assert make().has_rows_for(words)
    assert not make(kept=ids[1:]).has_rows_for(words)
