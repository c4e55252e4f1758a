"""Text to ids: exactly what the plain definition says, and back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlay.collect import world
from inlay.encode.corpus import Corpus, Encoding, encode, open_corpus
from inlay.errors import FormatError, SettingError, SourceError, UnknownName, WriteError


def decoded(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [[words[id] for id in corpus.ids[a:b]] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]


@given(st.lists(st.lists(st.sampled_from("abcdef猫狗"), max_size=8), min_size=1, max_size=12), st.integers(1, 3))
def test_ids_are_the_tokens_that_are_frequent_enough(sentences: list[list[str]], min_count: int):
    counts = Counter(token for sentence in sentences for token in sentence)
    kept = [[token for token in sentence if counts[token] >= min_count] for sentence in sentences]
    kept = [sentence for sentence in kept if sentence]
    if not kept:
        with pytest.raises(SourceError):
            encode(sentences, Encoding(min_count=min_count))
        return
    corpus = encode(sentences, Encoding(min_count=min_count))
    assert decoded(corpus) == kept
    assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True)) == {
        word: count for word, count in counts.items() if count >= min_count
    }
    tokens = corpus.manifest["tokens"]
    assert tokens["read"] == sum(counts.values()) == tokens["used"] + sum(tokens["dropped"].values())


def test_normalisation_and_both_languages():
    corpus = encode(["The cat. THE 猫 喜欢 the CAT!"], Encoding(min_count=1))
    assert decoded(corpus) == [["the", "cat", "the", "猫", "喜欢", "the", "cat"]]


def test_a_generator_is_read_like_a_list():
    sentences = ["the cat", "the dog"]
    assert decoded(encode((each for each in sentences), Encoding(min_count=1))) == decoded(encode(sentences, Encoding(min_count=1)))


def test_a_saved_corpus_comes_back(tmp_path: Path):
    corpus = encode(world.sentences("both", words=3000), Encoding(dictionary=world.dictionary()))
    corpus.save(tmp_path / "c")
    opened = open_corpus(tmp_path / "c")
    np.testing.assert_array_equal(opened.ids, corpus.ids)
    np.testing.assert_array_equal(opened.offsets, corpus.offsets)
    assert opened.vocabulary.words == corpus.vocabulary.words
    assert opened.manifest == corpus.manifest
    with pytest.raises(WriteError, match="exists already"):
        corpus.save(tmp_path / "c")


def test_the_same_text_gives_the_same_hash_and_other_text_another():
    hashes = [encode(text, Encoding(min_count=1)).manifest["hash"] for text in (["a b"], iter(["a b"]), ["a", "b"])]
    assert hashes[0] == hashes[1] != hashes[2]


def test_files_are_named_with_their_hashes(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes("\ufeffthe cat\r\nthe dog\n".encode())
    corpus = encode(tmp_path / "a.txt", Encoding(min_count=1))
    assert decoded(corpus) == [["the", "cat"], ["the", "dog"]]
    assert corpus.manifest["inputs"][0]["name"] == "a.txt"
    assert corpus.manifest["inputs"][0]["size"] == 20


def test_a_list_of_file_names_is_not_taken_for_text(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the cat")
    with pytest.raises(SourceError, match="Pass Path objects"):
        encode([str(tmp_path / "a.txt")], Encoding(min_count=1))
    assert len(encode([tmp_path / "a.txt", tmp_path], Encoding(min_count=1)).ids) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "No words were found"),
        (["", "  "], "No words were found"),
        (["...", "，。"], "No words were found"),
        (["a b c"], "less than 5 times"),
    ],
)
def test_text_without_words_is_refused(text: list[str], message: str):
    with pytest.raises(SourceError, match=message):
        encode(text)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"the cat\nthe \xff dog\n")
    with pytest.raises(SourceError, match=r"a.txt:2: byte 5 of the line is not UTF-8"):
        encode(tmp_path / "a.txt")


def test_wrong_settings_are_refused():
    with pytest.raises(UnknownName, match="No tokenizer is called 'wrod'. Did you mean 'word'?"):
        Encoding(tokenizer="wrod")
    with pytest.raises(UnknownName, match="No normalizer"):
        Encoding(normalize=("upper",))
    with pytest.raises(SettingError, match="dictionary goes with the word tokenizer"):
        Encoding(tokenizer="char", dictionary=("a",))
    with pytest.raises(SettingError, match="min_count is 0"):
        Encoding(min_count=0)


def test_a_folder_without_a_corpus_is_refused(tmp_path: Path):
    with pytest.raises(FormatError, match="is not a corpus"):
        open_corpus(tmp_path)
