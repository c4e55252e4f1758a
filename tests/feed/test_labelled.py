"""Labelled texts are read from every layout, and what cannot be used is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid.encode.corpus import Encoding
from inlaid.errors import SettingError, SourceError
from inlaid.feed.bags import Bags, BagSettings
from inlaid.feed.labelled import Labelled, read_labelled
from inlaid.feed.labelled_corpus import encode_labelled

LAYOUTS = {
    "a.txt": "__label__pos 很好吃\n\nnot good __label__neg at all\n",
    "a.tsv": 'label\ttext\npos\t很好吃\nneg\t"not good at all"\n',
    "a.csv": "text,other,label\n很好吃,1,pos\nnot good at all,2,__label__neg\n",
    "a.jsonl": '{"text": "很好吃", "label": "pos"}\n{"text": "not good at all", "label": "neg"}\n',
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same(name: str, tmp_path: Path):
    (tmp_path / name).write_text(LAYOUTS[name], "utf-8")
    found = read_labelled([tmp_path / name])
    assert [" ".join(text.split()) for text in found.texts] == ["很好吃", "not good at all"]
    assert found.labels == ("pos", "neg")


def test_numbers_are_labels(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"text": "x", "label": 1}\n{"text": "y", "label": 0}\n', "utf-8")
    assert read_labelled([tmp_path / "a.jsonl"]).labels == ("1", "0")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "__label__a x\n__label__a __label__b y\n", "a.txt:2: the text has 2 labels"),
        ("a.txt", "no label here\n", "a.txt:1: expected `__label__NAME the text`"),
        ("a.csv", "text,label\nx,\n", "row 1 has no label"),
        ("a.jsonl", '{"text": "x", "label": ["a", "b"]}\n', "keep one of them"),
        ("a.tsv", "text\tlabels\nx\ty\n", "no column is called 'label'"),
        ("a.txt", "", "there is no labelled text"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, content: str, problem: str, tmp_path: Path):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(SourceError, match=problem):
        read_labelled([tmp_path / name])


def test_one_label_is_refused():
    with pytest.raises(SettingError, match="nothing to tell apart"):
        encode_labelled(Labelled.of(["a", "b"], ["x", "x"]), Encoding(min_count=1))


def test_texts_stay_aligned_with_their_labels():
    labelled = Labelled.of(["cats, dogs", "", "!!!", "我喜欢猫\ncats"], [1, 2, 10, 1])
    corpus = encode_labelled(labelled, Encoding(min_count=1))
    words = list(corpus.vocabulary.words)
    cut = [
        [words[id] for id in corpus.ids[start:stop]]
        for start, stop in zip(corpus.offsets, corpus.offsets[1:], strict=False)
    ]
    assert cut == [["cats", "dogs"], [], [], ["我", "喜欢", "猫", "cats"]]
    assert corpus.names == ("1", "2", "10")
    assert corpus.labels.tolist() == [0, 1, 2, 0]


def test_bags_give_new_texts_the_same_features():
    corpus = encode_labelled(Labelled.of(["red cat sits", "red dog runs"], [0, 1]), Encoding(min_count=1))
    bags = Bags(
        words=corpus.vocabulary.words,
        encoding=corpus.manifest["encoding"],
        settings=BagSettings(word_ngrams=1, min_n=2, max_n=3, buckets=100),
        kept=None,
    )
    plain = Bags(words=bags.words, encoding=bags.encoding)
    one, other = plain.of(["RED cat", "cat unseen red"]), plain.of(["red CAT"])
    assert one.ids[:2].tolist() == other.ids.tolist()
    assert one.bounds.tolist() == [0, 2, 4]
