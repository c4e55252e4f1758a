"""fastText's files beside fastText itself and gensim: the same vectors for known and unseen words, both
ways."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.encode.ngrams import NGrams
from inlaid.vectors import Vectors

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    fasttext = pytest.importorskip("fasttext", reason="fasttext comes with the extra `peers`")
    gensim = pytest.importorskip("gensim.models.fasttext", reason="gensim comes with the extra `peers`")

UNSEEN = [
    "unseen",
    "猫咪喜欢",
    "неувиденный",
    "x",
    "🙂🙂",
    "Donaudampfschiff",
    "机器学习模型",
    "e\u0301te\u0301",
    "</t>",
]


def agree(vectors: Vectors, theirs: Any, *, exact: bool = True) -> None:
    """Every known word, by row and as a table, and unseen words; bit for bit unless rows were compressed."""
    words = list(vectors.words)
    expected = np.array([theirs.get_word_vector(word) for word in words])
    np.testing.assert_allclose(vectors.table, expected, rtol=0, atol=0 if exact else 1e-6)
    np.testing.assert_array_equal(vectors.rows([0, len(words) - 1]), vectors.table[[0, -1]])
    assert isinstance(vectors.subwords, NGrams)
    for word in UNSEEN:
        if word not in vectors.words:
            made = vectors.subwords.vector(word)
            np.testing.assert_allclose(
                np.zeros(vectors.dim) if made is None else made,
                theirs.get_word_vector(word),
                rtol=0,
                atol=1e-6,
            )
            if made is not None:
                assert vectors[word].tobytes() == made.tobytes()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chinese and English, cut into words. With fewer than 11 threads fastText 0.9.3 starts from memory it
    never set."""
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    random = np.random.default_rng(4)
    words = [
        "the",
        "cat",
        "sees",
        "a",
        "dog",
        "today",
        "猫",
        "喜欢",
        "狗",
        "今天",
        "人工智能",
        "学习",
        "北京",
        "café",
        "naïve",
        "c++",
    ]
    words += [f"第{number}章" for number in range(150)] + [f"w{number}" for number in range(150)]
    path.write_text("\n".join(" ".join(random.choice(words, 12)) for _ in range(500)), "utf-8")
    return path


@pytest.mark.parametrize("name", ["crime-and-punishment", "toy-model", "toy-model-pretrained"])
def test_real_models_agree(data: Path, name: str):
    path = data / "pretrained_gensim_test" / f"{name}.bin"
    vectors = inlaid.load(path)
    peer = gensim.load_facebook_vectors(str(path))
    agree(vectors, fasttext.load_model(str(path)))
    assert list(vectors.words) == peer.index_to_key
    like = [
        row for row, word in enumerate(vectors.words) if word != "</s>"
    ]  # gensim gives </s> n-grams, fastText does not
    np.testing.assert_allclose(vectors.table[like], peer.vectors[like], atol=1e-6)
    for word in UNSEEN[:2]:
        np.testing.assert_allclose(vectors[word], peer[word], atol=1e-6)
    assert vectors.counts is not None
    assert vectors.counts.tolist() == [peer.get_vecattr(word, "count") for word in vectors.words]
    full = gensim.load_facebook_model(str(path))
    np.testing.assert_array_equal(vectors.contexts.whole(), full.syn1neg)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]


def test_a_model_older_than_the_magic_number_agrees_with_gensim(data: Path):
    path = data / "pretrained_gensim_test" / "lee_fasttext.bin"
    vectors = inlaid.load(path)
    peer = gensim.load_facebook_vectors(str(path))
    np.testing.assert_allclose(vectors.table, [peer[word] for word in vectors.words], atol=1e-6)
    np.testing.assert_allclose(vectors["unheardof"], peer["unheardof"], atol=1e-6)
    with (data / "pretrained_gensim_test" / "lee_fasttext.vec").open(encoding="utf-8") as file:
        printed = {line.split(" ")[0]: np.array(line.split(" ")[1:11], float) for line in list(file)[1:]}
    assert "</s>" in printed  # had n-grams then
    for word, row in printed.items():
        np.testing.assert_allclose(vectors[word], row, atol=6e-5)


def test_a_compressed_model_with_few_buckets_agrees(data: Path):
    path = data / "pretrained_fasttext_lid" / "lid.176.ftz"
    agree(inlaid.load(path), fasttext.load_model(str(path)), exact=False)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "skipgram"},
        {"model": "cbow", "minn": 1, "maxn": 3},
        {"model": "skipgram", "minn": 0, "maxn": 2, "loss": "hs"},
        {"model": "skipgram", "minn": 2, "maxn": 5, "loss": "softmax"},
    ],
    ids=["skipgram", "cbow", "tree", "softmax"],
)
def test_chinese_and_english_models_agree_and_go_back(corpus: Path, tmp_path: Path, settings: dict[str, Any]):
    theirs = fasttext.train_unsupervised(
        str(corpus), dim=8, epoch=1, bucket=500, thread=12, verbose=0, minCount=2, **settings
    )
    theirs.save_model(str(tmp_path / "theirs.bin"))
    vectors = inlaid.load(tmp_path / "theirs.bin")
    assert "猫" in vectors
    assert list(vectors.words) == theirs.get_words()
    agree(vectors, theirs)
    if settings.get("loss") == "hs":
        assert vectors.contexts is None
    else:
        np.testing.assert_array_equal(vectors.contexts.whole(), theirs.get_output_matrix())  # pyright: ignore
    inlaid.save(vectors, tmp_path / "ours.bin", format="fasttext")
    agree(vectors, fasttext.load_model(str(tmp_path / "ours.bin")))
    inlaid.save(vectors, tmp_path / "ours.inlaid")
    agree(inlaid.load(tmp_path / "ours.inlaid"), theirs)


def test_supervised_models_agree_compressed_and_not(corpus: Path, tmp_path: Path):
    lines = corpus.read_text("utf-8").splitlines()
    labelled = [
        f"__label__{number % 300} {line}" for number, line in enumerate(lines)
    ]  # compressing takes at least 256 of everything
    (tmp_path / "labels.txt").write_text("\n".join(labelled), "utf-8")
    theirs = fasttext.train_supervised(
        str(tmp_path / "labels.txt"),
        dim=10,
        epoch=1,
        bucket=2000,
        minn=2,
        maxn=4,
        wordNgrams=2,
        thread=12,
        verbose=0,
    )
    theirs.save_model(str(tmp_path / "labels.bin"))
    notes: list[object] = []
    vectors = inlaid.load(tmp_path / "labels.bin", report=notes.append)
    assert "300 labels" in str(notes)
    assert vectors.contexts is None
    agree(vectors, theirs)
    for name, options in {
        "plain": {},
        "norm": {"qnorm": True},
        "both": {"qnorm": True, "qout": True},
        "cut": {"cutoff": 600},
    }.items():
        theirs = fasttext.load_model(str(tmp_path / "labels.bin"))
        theirs.quantize(
            input=str(tmp_path / "labels.txt"), dsub=3, verbose=0, **options
        )  # 10 = 3 + 3 + 3 + 1: a narrower last part
        theirs.save_model(str(tmp_path / f"{name}.ftz"))
        agree(inlaid.load(tmp_path / f"{name}.ftz"), theirs, exact=False)


def test_vectors_without_ngrams_are_loaded_by_both(tmp_path: Path):
    vectors = Vectors.of(["cat", "猫", "c++"], np.random.default_rng(1).standard_normal((3, 7)))
    inlaid.save(vectors, tmp_path / "v.bin", format="fasttext")
    theirs = fasttext.load_model(str(tmp_path / "v.bin"))
    peer = gensim.load_facebook_vectors(str(tmp_path / "v.bin"))
    assert theirs.get_words() == ["cat", "猫", "c++"]
    for word in vectors.words:
        np.testing.assert_array_equal(theirs.get_word_vector(word), vectors[word])
        np.testing.assert_array_equal(peer[word], vectors[word])
    assert not theirs.get_word_vector("unseen").any()


@pytest.mark.parametrize(
    "settings", [{}, {"objective": "cbow", "min_n": 1, "max_n": 3}], ids=["skipgram", "cbow"]
)
def test_what_we_train_fasttext_loads_unseen_words_too(
    corpus: Path, tmp_path: Path, settings: dict[str, Any]
):
    vectors = inlaid.train(
        corpus, "fasttext", tokenizer="whitespace", dim=12, epochs=2, buckets=3000, **settings
    )
    notes: list[object] = []
    inlaid.save(vectors, tmp_path / "ours.bin", format="fasttext", report=notes.append)
    assert "buckets have no row" in str(notes)
    theirs = fasttext.load_model(str(tmp_path / "ours.bin"))
    back = inlaid.load(tmp_path / "ours.bin")
    assert theirs.get_words() == list(vectors.words)
    np.testing.assert_allclose(
        [theirs.get_word_vector(word) for word in vectors.words], vectors.table, rtol=0, atol=1e-6
    )
    np.testing.assert_array_equal(theirs.get_output_matrix(), vectors.contexts)
    agree(back, theirs)
    assert isinstance(vectors.subwords, NGrams)
    assert vectors.subwords.kept is not None
    for word in ["catt", "第151章", "人工智能学习", "w1500", "todays"]:
        ids = vectors.subwords.ids(word)
        share = np.isin(
            ids, vectors.subwords.kept
        ).mean()  # fastText divides by all n-grams, we by those that were ever seen
        assert share > 0
        np.testing.assert_allclose(theirs.get_word_vector(word), vectors[word] * share, rtol=0, atol=1e-6)
