"""Learned phrases: counted again, saved, and joined in other texts as they were in the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inlaid
from inlaid.cli import main
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode, open_corpus
from inlaid.encode.joining import read_phrases
from inlaid.encode.phrases import Phrases, join
from inlaid.errors import FormatError, SettingError, SourceError, WriteError

EASY: dict[str, Any] = {"min_count": 2, "threshold": 0.3}
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), min_size=1, max_size=12)


def texts(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [
        [words[id] for id in corpus.ids[start:stop]]
        for start, stop in zip(corpus.offsets, corpus.offsets[1:], strict=False)
    ]


def hash_of(make: Any) -> str:
    """The content of a corpus; a word where there is none."""
    try:
        return make().manifest["hash"]
    except SourceError:
        return "empty"


@given(SENTENCES, st.integers(1, 4), st.integers(1, 2))
@settings(deadline=None)
def test_words_are_counted_after_joining(sentences: list[list[str]], min_count: int, passes: int):
    """As if the phrases had been words of the text: what is below min_count then is out of vocabulary."""
    how = Phrases(min_count=1, threshold=0.3, passes=passes)
    try:
        corpus = encode(sentences, Encoding(min_count=min_count))
    except SourceError:
        return
    everything = join(encode(texts(corpus), Encoding(min_count=1)), how)
    expected = hash_of(lambda: encode(texts(everything), Encoding(min_count=min_count)))
    assert hash_of(lambda: join(corpus, how)) == expected


def test_a_word_that_joining_made_rare_is_dropped_and_accounted_for():
    sentences = [["new", "york"]] * 20 + [["york", "x"]] * 3 + [["x", "y"]] * 9
    corpus = encode(sentences, Encoding(min_count=5))
    joined = join(corpus, Phrases(threshold=0.1, passes=1, min_count=10))
    assert list(joined.vocabulary.words) == ["new_york", "x", "y"]
    assert (joined.vocabulary.counts >= 5).all()
    tokens = joined.manifest["tokens"]
    assert tokens["dropped"] == {"rare": 3, "joined": 20}
    assert tokens["read"] == tokens["used"] + sum(tokens["dropped"].values())
    assert joined.manifest["phrases"][0]["fallen"] == 1
    unknown = join(
        encode(sentences, Encoding(unknown="<unk>")), Phrases(threshold=0.1, passes=1, min_count=10)
    )
    assert unknown.vocabulary.counts[unknown.vocabulary.words.find("<unk>")] == 3
    assert len(unknown.vocabulary) == 4


def test_special_and_unknown_words_are_never_part_of_a_phrase():
    sentences = [["<a>", "new", f"rare{n}", "york"] for n in range(20)]
    corpus = encode(sentences, Encoding(min_count=2, special=("<a>",), unknown="<unk>"))
    joined = join(corpus, Phrases(min_count=1, threshold=0.01))
    assert texts(joined) == [["<a>", "new", "<unk>", "york"]] * 20


@pytest.fixture(scope="module", params=["zh", "en"])
def text(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(world.sentences(request.param, words=20_000)), "utf-8")
    return path


def test_saved_phrases_give_the_same_text_the_same_corpus(text: Path, tmp_path: Path):
    corpus = inlaid.corpus(text, tmp_path / "plain")
    joined = inlaid.phrases(corpus, save=tmp_path / "p.json", threshold=2.0)
    assert joined.manifest["hash"] != corpus.manifest["hash"]
    assert len(joined.ids) < len(corpus.ids)
    again = inlaid.corpus(text, phrases=tmp_path / "p.json")
    assert again.manifest["hash"] == joined.manifest["hash"]
    assert again.manifest["encoding"] == joined.manifest["encoding"]
    flags = ["--threshold", "2", "--save", str(tmp_path / "q.json")]
    assert main(["phrases", str(tmp_path / "plain"), "-o", str(tmp_path / "joined"), *flags]) == 0
    assert (tmp_path / "q.json").read_bytes() == (tmp_path / "p.json").read_bytes()
    words = ["corpus", str(text), "-o", str(tmp_path / "again"), "--phrases", str(tmp_path / "q.json")]
    assert main(words) == 0
    assert open_corpus(tmp_path / "again").manifest["hash"] == joined.manifest["hash"]
    trained = inlaid.train(text, "ppmi", dim=5, phrases=tmp_path / "p.json")
    assert trained.table.tobytes() == inlaid.train(joined, "ppmi", dim=5).table.tobytes()


def test_a_sentence_is_joined_as_it_was_in_the_corpus(text: Path, tmp_path: Path):
    """With the corpus and with its vectors, rare and fallen words included."""
    sentences = text.read_text("utf-8").splitlines()
    corpus = inlaid.corpus(text, min_count=20)
    joined = inlaid.phrases(corpus, threshold=1.0, min_count=20)
    assert joined.manifest["phrases"][0]["fallen"] > 0
    inlaid.save(inlaid.train(joined, "onehot"), tmp_path / "v.inlaid")
    vectors = inlaid.load(tmp_path / "v.inlaid")
    tokenizer = joined.tokenizer()
    found = [
        [joined.vocabulary.words.find(word) for word in tokenizer.words(each)] for each in _cut(sentences)
    ]
    known = [[id for id in ids if id is not None] for ids in found]
    assert [ids for ids in known if ids] == [
        joined.ids[start:stop].tolist()
        for start, stop in zip(joined.offsets, joined.offsets[1:], strict=False)
    ]
    embedded = inlaid.embed(vectors, sentences[:200])
    for number, row in zip(embedded.numbers, embedded.table, strict=True):
        np.testing.assert_allclose(row, vectors.table[known[number]].mean(axis=0), rtol=1e-5)


def _cut(sentences: list[str]) -> list[str]:
    return [inlaid.tokenize(each).text for each in sentences]


def test_tokenize_joins_phrases_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    corpus = encode([["new", "york", "苹果", "手机"]] * 9, Encoding(min_count=1))
    inlaid.phrases(corpus, save=tmp_path / "p.json", passes=1, **EASY)
    shown = inlaid.tokenize("In New York: 苹果手机!", phrases=tmp_path / "p.json")
    assert [(token.text, shown.text[token.start : token.end]) for token in shown.tokens] == [
        ("in", "in"),
        ("new_york", "new york"),
        ("苹果手机", "苹果手机"),
    ]
    assert main(["tokenize", "in New York", "--phrases", str(tmp_path / "p.json")]) == 0
    assert "new_york" in capsys.readouterr().out


def test_vectors_with_phrases_classify_and_describe(tmp_path: Path):
    sentences = ["new york and cats", "dogs see new york", "cats and dogs", "dogs and cats see"] * 10
    joined = inlaid.phrases(inlaid.corpus(sentences), passes=1, min_count=5, threshold=0.45)
    assert "new_york" in joined.vocabulary.words
    inlaid.save(inlaid.train(joined, "onehot"), tmp_path / "v.inlaid")
    joined.save(tmp_path / "c")
    from inlaid.classification import open_embedder

    rows, _ = open_embedder(tmp_path / "v.inlaid").embed(["New York!"])
    vectors = inlaid.load(tmp_path / "v.inlaid")
    np.testing.assert_array_equal(rows[0], vectors["new_york"])
    for path in (tmp_path / "c", tmp_path / "v.inlaid"):
        shown = inlaid.info(path)
        encoding = shown["encoding"] if shown["kind"] == "corpus" else shown["card"]["encoding"]
        assert encoding["joined_phrases"] == [joined.manifest["phrases"][0]["found"]]
    assert "new_york" not in str(vectors.card.rows())


def damaged() -> list[Any]:
    one = {"joiner": "_", "chinese_joiner": "", "first": ["a"], "second": ["b"]}
    good = {"inlaid": "phrases", "version": 1, "joined_phrases": [{"passes": [one], "fallen": []}]}
    wrong = [{**one, "first": ["a", "b"]}, {**one, "first": [1]}, {**one, "second": [""]}, {"first": []}, 3]
    records = [[{"passes": [each], "fallen": []}] for each in wrong]
    records += [3, [3], [{"passes": 3, "fallen": []}], [{"passes": [], "fallen": [1]}], [{"passes": []}]]
    return [[], {}, {**good, "version": 2}, *({**good, "joined_phrases": each} for each in records)]


@pytest.mark.parametrize("content", damaged(), ids=str)
def test_a_file_of_phrases_that_is_none_is_refused(content: Any, tmp_path: Path):
    (tmp_path / "p.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"p\.json"):
        read_phrases(tmp_path / "p.json")
    (tmp_path / "t.txt").write_text("a b\n" * 9)
    words = [
        "corpus",
        str(tmp_path / "t.txt"),
        "-o",
        str(tmp_path / "c"),
        "--phrases",
        str(tmp_path / "p.json"),
    ]
    assert main(words) == 2
    assert not (tmp_path / "c").exists()


def test_phrases_are_for_word_vectors(tmp_path: Path):
    corpus = encode([["a", "b"]] * 9, Encoding(min_count=1))
    inlaid.phrases(corpus, save=tmp_path / "p.json", **EASY)
    with pytest.raises(SettingError, match="phrases is for word vectors, and causal trains a network"):
        inlaid.train(["a b"] * 9, "causal", phrases=tmp_path / "p.json")
    with pytest.raises(SettingError, match="phrases is for word vectors; a classifier has word_ngrams"):
        inlaid.train_classifier(["a", "b"], ["x", "y"], phrases=tmp_path / "p.json")
    with pytest.raises(WriteError, match="already exists"):
        inlaid.phrases(corpus, save=tmp_path / "p.json", **EASY)
    inlaid.phrases(corpus, save=tmp_path / "p.json", overwrite=True, **EASY)
