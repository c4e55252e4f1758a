"""FastText: the same bits, steps that can be resumed, rows for n-grams that occur and no others, vectors for
unseen words."""

from __future__ import annotations

import numpy as np
import pytest

import inlaid
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.ngrams import NGrams
from inlaid.errors import Diverged, OutOfVocabulary, SettingError, SourceError
from inlaid.feed import subsampled
from inlaid.fit.fasttext import CHINESE_LENGTHS, LENGTHS, Bags, FastText
from tests.fit.stepping import bits, finished


def test_a_word_is_its_own_row_then_those_of_its_ngrams(corpus: Corpus):
    words = corpus.vocabulary.words
    settings = FastText(buckets=500)
    bags = Bags.of(words, LENGTHS, settings.buckets)
    ngrams = NGrams(
        own=np.zeros((0, 1), np.float32),
        buckets=np.zeros((500, 1), np.float32),
        size=500,
        min_n=3,
        max_n=6,
    )
    for id in (0, 1, len(words) - 1):
        own, *rows = bags.ids[bags.bounds[id] : bags.bounds[id + 1]]
        assert own == id
        assert bags.kept[np.array(rows) - len(words)].tolist() == ngrams.ids(words[id]).tolist()
    assert len(bags.ids) == bags.bounds[-1]


def test_memory_is_for_the_buckets_that_occur(corpus: Corpus):
    settings = FastText(dim=20)
    training = settings.start(corpus)
    rows = 2 * len(corpus.vocabulary) + len(Bags.of(corpus.vocabulary.words, LENGTHS, settings.buckets).kept)
    assert settings.memory_for(corpus) == rows * 32 * 4
    assert sum(training.state[name].nbytes for name in ("table", "contexts")) == settings.memory_for(corpus)
    assert rows < 20_000


@pytest.mark.usefixtures("small_spans")
@pytest.mark.parametrize(
    "settings",
    [{}, {"objective": "cbow"}, {"objective": "cbow", "position_weights": True}],
)
def test_a_step_depends_on_the_tables_and_the_words_done_alone(corpus: Corpus, settings: dict[str, object]):
    method = FastText(epochs=2, dim=20, **settings)  # pyright: ignore[reportArgumentType]
    whole = method.start(corpus)
    done = 0
    while done < whole.total // 2:
        done = whole.step(done).done
    again = method.start(corpus)
    for name, array in whole.state.items():
        again.state[name][:] = array
    while done < whole.total:
        step = again.step(done)
        assert step == whole.step(done)
        done = step.done
    assert bits(whole) == bits(again)
    assert bits(whole)[0] != bits(method.start(corpus))[0]


def test_the_held_out_loss_falls(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subsampled, "HELD_OUT_EVERY", 20)
    training = FastText(epochs=3, dim=30, subsample=0.0).start(corpus)
    first = training.held_out_loss()
    finished(training)
    last = training.held_out_loss()
    assert first == pytest.approx(
        6 * np.log(2), rel=0.1
    )  # a coin for the pair and for each of its 5 negatives
    assert last is not None
    assert last < 0.8 * first
    assert last == training.held_out_loss()


def test_position_weights_learn(corpus: Corpus):
    training = finished(
        FastText(objective="cbow", position_weights=True, epochs=3, dim=20, learning_rate=0.2).start(corpus)
    )
    weights = training.state["position_weights"][:, :20]
    assert (weights[5] == 1).all()  # the center's own place is never used
    assert np.abs(np.delete(weights, 5, axis=0) - 1).max() > 0.02


def test_unseen_and_misspelt_words_are_near_what_they_are_spelt_like():
    random = np.random.default_rng(1)
    topics = [
        [f"{stem}{end}" for end in ("", "s", "er", "ing", "able", "ed")]
        for stem in ("garden", "planet", "market", "violin")
    ]
    sentences = [random.choice(topics[random.integers(4)], 8).tolist() for _ in range(1500)]
    held = {"gardening", "planets", "marketer", "violinable"}
    vectors = inlaid.train(
        [[word for word in sentence if word not in held] for sentence in sentences],
        "fasttext",
        dim=30,
        epochs=10,
    )
    for word, stem in [
        ("gardening", "garden"),
        ("planets", "planet"),
        ("marketer", "market"),
        ("violinable", "violin"),
        ("vioiln", "violin"),
    ]:
        made = vectors[word]
        near = [vectors.words[row] for row in np.argsort(-(vectors.unit @ made))[:3].tolist()]
        assert all(each.startswith(stem) for each in near), (word, near)
    with pytest.raises(OutOfVocabulary):
        vectors["ζζζζζ"]  # no n-gram of it was ever seen


def test_chinese_words_share_their_characters():
    vectors = inlaid.train(
        world.sentences("zh", words=40_000),
        "fasttext",
        dictionary=world.dictionary(),
        force_dictionary=True,
        min_n=1,
        dim=30,
    )
    assert isinstance(vectors.subwords, NGrams)
    word = next(word for word in vectors.words if len(word) == 2)
    assert vectors.subwords.vector(word[0]) is not None  # a character that occurs in a word is a row


def test_all_that_was_learned_comes_back(corpus: Corpus):
    vectors = inlaid.train(corpus, "fasttext", workers=2, epochs=1, dim=20)
    assert vectors.contexts is not None
    assert vectors.contexts.shape == vectors.table.shape == (len(corpus.vocabulary), 20)
    assert "without locks" in vectors.card.notes[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_n": 5, "max_n": 4}, "min_n is 5 and max_n 4"),
        ({"position_weights": True}, "position_weights is for objective cbow"),
        ({"buckets": 0}, "buckets"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], said: str):
    with pytest.raises(SettingError, match=said):
        FastText(**settings)  # pyright: ignore[reportArgumentType]


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(SourceError, match="No word has a context"):
        inlaid.train(encode(["a", "b", "a"], Encoding(min_count=1)), "fasttext")


def test_a_rate_that_is_too_high_is_named(corpus: Corpus):
    with pytest.raises(Diverged, match="Halve `learning_rate` \\(it is"):
        inlaid.train(corpus, "fasttext", learning_rate=1e30)


def test_a_misspelt_word_finds_the_word_it_was_meant_to_be(corpus: Corpus):
    vectors = inlaid.train(corpus, "fasttext", epochs=10, dim=30)
    max_n = max((word for word in vectors.words if word.isascii()), key=len)
    misspelt = max_n[:-2] + max_n[-1] + max_n[-2]
    assert vectors.find(misspelt) is None
    assert max_n in [each.word for each in inlaid.neighbors(vectors, misspelt, n=5)]
    assert inlaid.analogy(vectors, f"{misspelt} + {max_n}", n=1)[0].word != max_n
    with pytest.raises(OutOfVocabulary):
        inlaid.neighbors(inlaid.Vectors.of(["cat"], [[1.0]]), "dog")


@pytest.mark.parametrize(
    "settings", [{}, {"objective": "cbow"}, {"objective": "cbow", "position_weights": True}]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_frozen_words_keep_every_bit_and_new_words_learn(settings: dict[str, object], workers: int):
    old = inlaid.train(world.sentences("en", words=40_000), "fasttext", dim=20, epochs=1, buckets=5000)
    text = [line.replace("banana", "zebrafruit") for line in world.sentences("en", words=40_000, seed=2)]
    common = {"dim": 20, "epochs": 2, "buckets": 5000, "workers": workers} | settings
    new = inlaid.train(text, "fasttext", init_from=old, freeze=True, **common)
    assert new.table[: len(old)].tobytes() == old.table.tobytes()
    assert isinstance(new.contexts, np.ndarray)
    assert isinstance(old.contexts, np.ndarray)
    assert new.contexts[: len(old)].tobytes() == old.contexts.tobytes()
    assert old.subwords is not None
    assert new.subwords is not None
    for word in ("bananas", "gardening"):
        np.testing.assert_array_equal(new.subwords.vector(word), old.subwords.vector(word))
    assert np.abs(new.contexts[new.id("zebrafruit")]).max() > 0.05
    free = inlaid.train(text, "fasttext", init_from=old, **common)
    assert not np.array_equal(free.table[: len(old)], old.table)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_n": 2}, "have min_n 3, and min_n is 2 here"),
        ({"max_n": 5}, "have max_n 6, and max_n is 5 here"),
        ({"buckets": 400}, "have buckets 500, and buckets is 400 here"),
        ({"dim": 12}, "have dim 10, and dim is 12 here"),
    ],
)
def test_earlier_vectors_must_have_the_same_ngrams(settings: dict[str, object], said: str):
    text = ["the cat sat on the mat", "the dog sat on the cat"] * 20
    old = inlaid.train(text, "fasttext", dim=10, epochs=1, buckets=500)
    with pytest.raises(SettingError, match=said):
        inlaid.train(text, "fasttext", init_from=old, **({"dim": 10, "buckets": 500} | settings))


def test_vectors_without_ngrams_are_no_start():
    text = ["the cat sat on the mat", "the dog sat on the cat"] * 20
    with pytest.raises(SettingError, match="have no n-grams"):
        inlaid.train(text, "fasttext", init_from=inlaid.train(text, "sgns", dim=10, epochs=1), dim=10)


@pytest.mark.parametrize(
    ("sentence", "settings", "expected"),
    [
        ("the cat sits", {}, LENGTHS),
        ("我们 喜欢 猫 和 iphone", {}, CHINESE_LENGTHS),
        ("我们 喜欢 猫", {"min_n": 3}, (3, 3)),
        ("我们 喜欢 猫", {"max_n": 6}, (1, 6)),
        ("the cat sits", {"max_n": 2}, (2, 2)),
        ("我们 喜欢 猫", {"min_n": 2, "max_n": 4}, (2, 4)),
    ],
)
def test_lengths_of_ngrams_suit_the_text(
    sentence: str, settings: dict[str, int], expected: tuple[int, int]
) -> None:
    vectors = inlaid.train([sentence.split()] * 20, FastText(dim=5, epochs=1, **settings))
    assert isinstance(vectors.subwords, NGrams)
    assert (vectors.subwords.min_n, vectors.subwords.max_n) == expected
    # The card says what was used, so that a run can be repeated.
    assert (vectors.card.settings["min_n"], vectors.card.settings["max_n"]) == expected
