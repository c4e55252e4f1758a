"""SGNS: the same bits, steps that can be resumed, exact words and learning rates, and what it must learn."""

from __future__ import annotations

import numpy as np
import pytest

import inlaid
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import Diverged, SettingError, SourceError
from inlaid.feed import subsampled
from inlaid.fit import sgns
from inlaid.fit.sgns import SGNS
from tests.fit.stepping import bits, finished


@pytest.mark.usefixtures("small_spans")
def test_a_step_depends_on_the_tables_and_the_words_done_alone(corpus: Corpus):
    settings = SGNS(epochs=2, dim=20)
    whole = settings.start(corpus)
    done = 0
    while done < whole.total // 2:
        done = whole.step(done).done
    again = settings.start(corpus)
    for name, array in whole.state.items():
        again.state[name][:] = array
    while done < whole.total:
        step = again.step(done)
        assert step == whole.step(done)
        done = step.done
    assert bits(whole) == bits(again)


def test_seeds_differ(corpus: Corpus):
    tables = [finished(SGNS(epochs=1, dim=20, seed=seed).start(corpus)).state["table"] for seed in (1, 2)]
    assert not np.allclose(*tables, atol=0.01)


@pytest.mark.usefixtures("small_spans")
def test_steps_end_where_sentences_end_and_cover_every_word_once(corpus: Corpus):
    training = SGNS(epochs=2).start(corpus)
    done = 0
    ends = []
    while done < training.total:
        start = done % training.text.tokens
        stop = training.text.spans_after(done)[0].stop
        assert 0 < stop - start <= subsampled.SPAN
        ends.append(stop)
        done += stop - start
    assert done == 2 * len(corpus.ids)
    assert set(ends) <= set(corpus.offsets.tolist())


@pytest.mark.usefixtures("small_spans")
def test_one_endless_sentence_is_cut_and_learned_from():
    words = [word for sentence in world.sentences("en", words=10_000) for word in sentence.split()]
    training = SGNS(epochs=1, dim=20).start(encode([words], Encoding(min_count=1)))
    assert training.step(0).done == min(len(words), subsampled.SPANS * 3000)
    assert np.isfinite(finished(training).state["table"]).all()


def test_the_learning_rate_decays_linearly_to_its_final_value(corpus: Corpus):
    training = SGNS(learning_rate=0.04, epochs=2).start(corpus)
    half = training.total // 2
    whole = training.total
    assert [training.text.learning_rate_after(done) for done in (0, half, whole)] == pytest.approx(
        [0.04, 0.02, 0.04e-4], rel=1e-4
    )


def test_frequent_words_are_read_less_often_as_word2vec_does_it():
    counts = np.array([50_000, 1000, 10])
    share = counts / counts.sum()
    np.testing.assert_allclose(
        subsampled.keep_probability(counts, 1e-3), np.minimum(1, (np.sqrt(share / 1e-3) + 1) * 1e-3 / share)
    )
    np.testing.assert_array_equal(subsampled.keep_probability(counts, 0.0), 1)


def test_the_held_out_loss_of_the_same_tables_is_the_same_at_every_rate(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(subsampled, "HELD_OUT_EVERY", 20)
    slow = SGNS(epochs=1, dim=20, learning_rate=0.025).start(corpus)
    fast = SGNS(epochs=1, dim=20, learning_rate=0.1).start(corpus)
    finished(slow)
    fast.state = slow.state
    assert slow.text.shared_negatives < fast.text.shared_negatives
    assert (
        slow.held_out_loss() == fast.held_out_loss() != SGNS(epochs=1, dim=20).start(corpus).held_out_loss()
    )


def test_the_held_out_loss_falls_and_is_measured_on_what_is_never_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subsampled, "HELD_OUT_EVERY", 20)
    sentences = list(world.sentences("en", words=30_000))
    corpus = encode(
        [
            ["unseen-marker", *sentence.split()] if n % 20 == 19 else sentence.split()
            for n, sentence in enumerate(sentences)
        ],
        Encoding(min_count=1),
    )
    training = SGNS(epochs=3, dim=30).start(corpus)
    first = training.held_out_loss()
    hidden = training.state["table"][corpus.vocabulary.words.find("unseen-marker")].copy()
    finished(training)
    last = training.held_out_loss()
    assert first is not None
    assert last is not None
    assert last < first
    assert last == training.held_out_loss()
    np.testing.assert_array_equal(
        training.state["table"][corpus.vocabulary.words.find("unseen-marker")], hidden
    )


def test_a_short_text_holds_nothing_out(corpus: Corpus):
    assert SGNS().start(encode(["a b c"] * 50, Encoding(min_count=1))).held_out_loss() is None


def test_before_anything_is_learned_the_loss_is_that_of_a_coin(
    monkeypatch: pytest.MonkeyPatch, corpus: Corpus
):
    monkeypatch.setattr(subsampled, "HELD_OUT_EVERY", 20)
    sampled = SGNS(subsample=0.0).start(corpus)
    exact = SGNS(subsample=0.0, loss="softmax").start(corpus)
    assert (
        5.5 * np.log(2) < (sampled.held_out_loss() or 0) <= 6 * np.log(2) + 1e-6
    )  # 5 negatives, less those that were the center
    assert exact.held_out_loss() == pytest.approx(np.log(len(corpus.vocabulary)), rel=1e-5)


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_the_sampled_loss_learns_what_the_exact_softmax_learns(objective: str):
    random = np.random.default_rng(1)
    topics = [[f"{topic}{n}" for n in range(12)] for topic in "abcd"]
    sentences = [random.choice(topics[random.integers(4)], 8).tolist() for _ in range(1500)]
    corpus = encode(sentences, Encoding())
    common = {"objective": objective, "epochs": 10, "dim": 16, "learning_rate": 0.05, "subsample": 1.0}
    exact, sampled = (
        finished(SGNS(loss=loss, **common).start(corpus)).result() for loss in ("softmax", "sampled")
    )
    one, other = ((each.unit @ each.unit.T)[np.triu_indices(48, 1)] for each in (exact, sampled))
    assert np.corrcoef(one, other)[0, 1] > 0.9


def test_both_tables_come_back_and_several_workers_leave_a_note(corpus: Corpus):
    vectors = inlaid.train(corpus, "sgns", workers=2, epochs=1, dim=20)
    assert vectors.contexts is not None
    assert vectors.contexts.shape == vectors.table.shape == (len(corpus.vocabulary), 20)
    assert np.abs(vectors.contexts).max() > 0.1
    assert "without locks" in vectors.card.notes[0]


@pytest.mark.parametrize("rate", [10.0, 1e30])
def test_a_rate_that_is_too_high_is_named(corpus: Corpus, rate: float):
    with pytest.raises(Diverged, match="Halve `learning_rate` \\(it is"):
        inlaid.train(corpus, "sgns", learning_rate=rate)


def test_what_cannot_be_learned_from_is_refused(corpus: Corpus):
    with pytest.raises(SourceError, match="No word has a context"):
        inlaid.train(encode(["a", "b", "a"], Encoding(min_count=1)), "sgns")


def test_more_words_than_softmax_can_take_are_refused(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sgns, "SOFTMAX_LIMIT", 10)
    with pytest.raises(SettingError, match="which is for up to 10 words"):
        SGNS(loss="softmax").start(corpus)
