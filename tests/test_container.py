"""Vectors in the hands of Python: as a dict, an array, a frame, in notebooks, pickles and other processes."""

from __future__ import annotations

import multiprocessing
import pickle
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import notebook, open_file
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words
from inlaid.errors import InlaidError, MissingExtra, OutOfVocabulary, SettingError
from inlaid.vectors import Card, Vectors

WORDS = ["king", "queen", "man", "woman", "上海"]
TABLE = [[1, 0, 1], [1, 0.1, -1], [0, 1, 1], [0, 1.1, -1], [-1, -1, 0.5]]


@pytest.fixture
def vectors() -> Vectors:
    made = Vectors.of(WORDS, TABLE, Card(method="ppmi", settings={"dim": 3}))
    return Vectors(made.words, made.table, np.array([9, 7, 5, 3, 1]), made.card, contexts=2 * made.table)


@pytest.fixture
def with_subwords() -> Vectors:
    words = Words.of(["cat", "cats"])
    rng = np.random.default_rng(1)
    ngrams = NGrams(
        own=rng.normal(size=(2, 4)).astype(np.float32),
        buckets=rng.normal(size=(50, 4)).astype(np.float32),
        size=50,
        min_n=3,
        max_n=4,
    )
    return Vectors(words, NGramTable.of(words, ngrams), np.array([5, 2]), subwords=ngrams)


def test_as_a_dict(vectors: Vectors):
    assert list(vectors) == WORDS
    assert "king" in vectors
    assert 3 not in vectors
    assert vectors["king"].tolist() == [1, 0, 1]
    assert vectors[["woman", "king"]].tolist() == vectors.table[[3, 0]].tolist()
    assert vectors[np.array(["king"])].shape == (1, 3)
    assert vectors[[]].shape == (0, 3)
    assert vectors.get("king") is not None
    assert vectors.get("xyzzy") is None
    assert vectors.get("xyzzy", 0) == 0


@pytest.mark.parametrize("wrong", [0, slice(2), None, 1.5])
def test_rows_are_not_found_by_number(wrong: Any, vectors: Vectors):
    with pytest.raises(SettingError, match="found by word"):
        vectors[wrong]


def test_as_an_array(vectors: Vectors):
    assert np.asarray(vectors) is vectors.table or np.shares_memory(np.asarray(vectors), vectors.table)
    assert np.array(vectors).flags.writeable
    assert np.asarray(vectors, np.float64).dtype == np.float64


def test_a_missing_word_is_a_key_error_that_reads_as_a_sentence(vectors: Vectors):
    with pytest.raises(KeyError) as caught:
        vectors["kin"]
    assert isinstance(caught.value, OutOfVocabulary)
    assert str(caught.value) == "'kin' is not among the 5 words. Did you mean 'king'?"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (OutOfVocabulary, str(caught.value))
    with pytest.raises(ValueError, match="n is 0") as wrong:
        vectors.neighbors("king", n=0)
    assert isinstance(wrong.value, InlaidError)


def test_selected_words_are_new_vectors(vectors: Vectors):
    some = vectors.select(["woman", "king", "woman"])
    assert list(some) == ["woman", "king"]
    np.testing.assert_array_equal(some.table, vectors.table[[3, 0]])
    assert some.counts is not None
    assert some.counts.tolist() == [3, 9]
    np.testing.assert_array_equal(np.asarray(some.contexts), 2 * some.table)
    assert some.card == vectors.card
    assert list(vectors.top(2)) == ["king", "queen"]
    assert vectors.top(99) is vectors
    with pytest.raises(OutOfVocabulary):
        vectors.select(["king", "xyzzy"])
    with pytest.raises(SettingError, match="list of words"):
        vectors.select("king")
    with pytest.raises(SettingError, match="at least 1"):
        vectors.top(0)


def test_selected_words_keep_their_subwords(with_subwords: Vectors):
    some = with_subwords.select(["cats", "catss"])
    assert list(some) == ["cats", "catss"]
    np.testing.assert_array_equal(some["cats"], with_subwords["cats"])
    np.testing.assert_array_equal(some["catss"], with_subwords["catss"])
    np.testing.assert_array_equal(some["scat"], with_subwords["scat"])
    assert some.counts is not None
    assert some.counts.tolist() == [2, 0]
    assert isinstance(some.subwords, NGrams)
    remade = NGramTable.of(some.words, some.subwords).whole()
    np.testing.assert_allclose(remade, some.table, rtol=1e-6)
    assert with_subwords.top(1)["cats"].shape == (4,)


def test_closer_than_the_nearest_there_is_no_word(vectors: Vectors):
    nearest = vectors.neighbors("king", n=1)[0].word
    found = vectors.closer_than("king", nearest)
    assert len(found) == 0
    assert [str(row) for row in found.rows()] == ["no such word"]


def test_rank_and_closer_than_agree_with_neighbors(vectors: Vectors):
    found = vectors.neighbors("king", n=4)
    for place, (word, score) in enumerate(found, 1):
        assert vectors.rank("king", word) == place
        nearer = vectors.closer_than("king", word)
        assert list(nearer) == list(found)[: place - 1]
        assert vectors.similarity("king", word) == pytest.approx(score)
    assert vectors.rank("king", "woman").to_dict() == {
        "word": "king",
        "other": "woman",
        "rank": 4,
        "among": 4,
    }
    assert [word for word, _ in vectors.closer_than("king", "woman", n=1)] == [found[0].word]


def test_analogies_from_lists(vectors: Vectors):
    by_lists = vectors.analogy(positive=["king", "woman"], negative=["man"], n=2)
    assert by_lists == vectors.analogy("king + woman - man", n=2)
    assert by_lists[0].word == "queen"
    assert vectors.analogy(positive="king", n=1) == vectors.analogy("king", n=1)
    for wrong in ({}, {"formula": "king", "positive": ["man"]}):
        with pytest.raises(SettingError, match="either a formula"):
            vectors.analogy(**wrong)


def test_neighbors_unpack(vectors: Vectors):
    found = vectors.neighbors("king", n=2)
    assert dict(found) == {each.word: each.score for each in found}
    word, score = found[0]
    assert (word, score) == found[0]
    assert vectors.odd_one_out(["king", "queen", "上海"]).word == "上海"


def test_saved_by_a_method(vectors: Vectors, tmp_path: Path):
    vectors.save(tmp_path / "v.inlaid")
    assert list(inlaid.load(tmp_path / "v.inlaid")) == WORDS
    assert "save" in dir(vectors)


def test_a_representation_of_three_lines(vectors: Vectors):
    assert repr(vectors).splitlines() == [
        "Vectors: 5 words x 3 dimensions",
        "method: ppmi; beside the table: counts, contexts",
        "words: king, queen, man, woman, 上海",
    ]


def test_the_prompt_shows_what_terminals_show():
    vectors = Vectors.of(WORDS, TABLE)
    found = vectors.neighbors("king", n=2)
    lines = [f"{score:.3f}  {word}" for word, score in found]
    assert repr(found) == "\n".join(lines)
    assert repr(vectors.neighbors(["king", "man"], n=1)).split()[:2] == ["king", "man"]
    assert repr(vectors.similarity("king", "man")) == repr(float(vectors.similarity("king", "man")))
    assert "array(" not in repr(vectors.compare(vectors))
    long = vectors.similarity(WORDS * 4)
    assert len(repr(long).splitlines()) == notebook.MOST_LINES + 1
    assert repr(long).endswith(f"… {len(long) + 1 - notebook.MOST_LINES:,}")


def test_a_corpus_shows_three_lines():
    corpus = inlaid.corpus(["the cat eats fish", "the dog sleeps"], min_count=1)
    assert repr(corpus).splitlines() == [
        "Corpus: 7 tokens in 2 sentences, 6 words",
        "tokenizer: word",
        "words: the, cat, dog, eats, fish, sleeps",
    ]
    assert "the, cat" in corpus._repr_html_()


def test_embedded_texts_are_an_array():
    vectors = Vectors.of(WORDS, TABLE)
    found = vectors.embed(["king man", "queen"])
    assert np.asarray(found).shape == (2, 3)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("name", "here"),
    {"wv": "the vectors themselves", "vector_size": "vectors.dim", "key_to_index": "vectors.id"}.items(),
)
def test_what_others_call_an_attribute_is_answered(name: str, here: str, vectors: Vectors):
    with pytest.raises(AttributeError, match=re.escape(f"Here it is {here}")):
        getattr(vectors, name)


def test_what_others_call_a_function_is_answered():
    with pytest.raises(AttributeError, match=r'Here it is inlaid.train\(text, "sgns"\)'):
        inlaid.Word2Vec  # pyright: ignore[reportAttributeAccessIssue] # noqa: B018


def test_notebooks_show_what_terminals_show(tmp_path: Path):
    vectors = Vectors.of(["<b>&", *WORDS], [[1, 0, 1.1], *TABLE])
    shown = vectors.neighbors("king")._repr_html_()
    assert "&lt;b&gt;&amp;" in shown
    assert "<b>" not in shown
    results = [
        vectors,
        vectors.card,
        vectors.neighbors(["king", "man"]),
        vectors.similarity("king", "man"),
        vectors.rank("king", "man"),
        vectors.compare(vectors),
        vectors.doctor(),
        vectors.odd_one_out("king", "man", "上海"),
    ]
    for each in results:
        assert each._repr_html_().startswith("<div>")
        assert "color:" not in each._repr_html_().replace("background", "")
    assert "上海" in vectors._repr_html_()


def test_frames_need_a_library(vectors: Vectors, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="pandas or polars is not installed: run `pip install pandas`"):
        vectors.to_frame()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: Any, vectors: Vectors, monkeypatch: pytest.MonkeyPatch):
    frames = pytest.importorskip(library) if library in sys.modules else _FRAMES
    monkeypatch.setitem(sys.modules, library, frames)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == library or None)
    made = vectors.to_frame()
    if library == "pandas":
        assert list(made.index) == WORDS
    else:
        assert list(made["word"]) == WORDS


class _Frame(dict[str, Any]):
    def __init__(self, data: Any, index: Any = None, copy: bool = False) -> None:
        super().__init__(data if isinstance(data, dict) else {})
        self.index = index


_FRAMES: Any = SimpleNamespace(DataFrame=_Frame, Index=lambda words, **_: words)


# --- copies in other processes


def _asked(vectors: Vectors) -> Any:
    return vectors.table.tolist(), vectors.neighbors("king", n=2).to_dict(), vectors.get("kingly") is None


@pytest.mark.parametrize("suffix", [".inlaid", ".txt", ".bin", ".vec", ".npz"])
def test_pickles_of_files(suffix: str, vectors: Vectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(open_file, "MAPPED", 0)  # every array is memory-mapped
    format = {".bin": "word2vec", ".txt": "glove"}.get(suffix)
    vectors.save(tmp_path / f"v{suffix}", format=format)
    opened = inlaid.load(tmp_path / f"v{suffix}")
    before = _asked(opened)  # what is cached now is not in the pickle
    pickled = pickle.dumps(opened)
    assert _asked(pickle.loads(pickled)) == before
    (tmp_path / f"v{suffix}").unlink()
    assert _asked(pickle.loads(pickled)) == before


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_vectors_go_to_other_processes(method: str, with_subwords: Vectors, tmp_path: Path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    with_subwords.save(tmp_path / "v.inlaid")
    opened = inlaid.load(tmp_path / "v.inlaid")
    for each in (with_subwords, opened):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            found = pool.submit(Vectors.__getitem__, each, "catty").result()
        np.testing.assert_array_equal(found, with_subwords["catty"])


def test_joblib_writes_vectors_and_runs_methods_in_parallel(vectors: Vectors, tmp_path: Path):
    joblib: Any = pytest.importorskip("joblib", reason="joblib comes with the extra `sklearn`")
    joblib.dump(vectors, tmp_path / "v.joblib")
    assert _asked(joblib.load(tmp_path / "v.joblib")) == _asked(vectors)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(vectors.neighbors)(word, n=1) for word in WORDS[:2])
    assert found == [vectors.neighbors(word, n=1) for word in WORDS[:2]]
