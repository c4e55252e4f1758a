"""GloVe: it learns the counts, the same way each time, and says when it goes astray."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import Diverged, SettingError, SourceError
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.fit import glove
from inlaid.fit.glove import GloVe
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from tests.fit.stepping import finished


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return encode(world.sentences("en", words=20_000), Encoding())


def test_products_become_the_logarithms_of_counts(corpus: Corpus):
    training = GloVe(dim=50, epochs=60, learning_rate=0.2, x_max=5.0, zero_weight=0.0).start(corpus)
    finished(training)
    cells = cooccurrence(corpus, window=10, decay=True)
    rows = np.repeat(np.arange(cells.size), np.diff(cells.starts))
    scores = (training.state["words"][rows, 0] * training.state["contexts"][cells.columns, 0]).sum(axis=1)
    frequent = cells.counts >= 5
    assert frequent.sum() > 1000
    assert np.corrcoef(scores[frequent], np.log(cells.counts[frequent]))[0, 1] > 0.98


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_the_same_bits_for_any_number_of_workers(corpus: Corpus, workers: int, crew: Any):
    one = inlaid.train(corpus, "glove", dim=10, epochs=3)
    crew.expect(workers)
    # With little memory the counting, too, has a piece for every worker.
    many = inlaid.train(corpus, "glove", dim=10, epochs=3, workers=workers, memory=1)
    assert set(crew.together.values()) == {workers}, crew.together
    assert one.table.tobytes() == many.table.tobytes()


def test_another_seed_gives_other_vectors(corpus: Corpus):
    assert (
        inlaid.train(corpus, GloVe(dim=10, epochs=1)).table.tobytes()
        != inlaid.train(corpus, GloVe(dim=10, epochs=1, seed=2)).table.tobytes()
    )


def test_a_step_is_a_function_of_the_arrays_and_of_done(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    """Stop after some steps, start anew elsewhere with the arrays as they were, and end with the same
    bits."""
    monkeypatch.setattr(glove, "STEP", 20_000)
    settings = GloVe(dim=10, epochs=2)
    whole = settings.start(corpus)
    again = settings.start(corpus)
    steps = list[int]()
    done = 0
    while done < whole.total:
        if len(steps) == 3:
            for name, array in whole.state.items():
                again.state[name][...] = array
        step = whole.step(done)
        assert step.pairs == step.done - done
        done = step.done
        steps.append(done)
    assert len(steps) > 6
    done = steps[2]
    while done < again.total:
        done = again.step(done).done
    assert all(np.array_equal(whole.state[name], again.state[name]) for name in whole.state)


def test_the_loss_falls(corpus: Corpus):
    marks = inlaid.train(corpus, GloVe(dim=10, epochs=20)).card.outcome.marks
    losses = [mark.loss for mark in marks if mark.loss is not None]
    assert len(losses) == 20
    assert losses == sorted(losses, reverse=True)


def test_the_context_table_is_kept_or_added(corpus: Corpus):
    apart = inlaid.train(corpus, GloVe(dim=10, epochs=1, combine="input"))
    summed = inlaid.train(corpus, GloVe(dim=10, epochs=1))
    assert apart.contexts is not None
    assert summed.contexts is None
    np.testing.assert_array_equal(apart.table + apart.contexts, summed.table)


def test_unseen_pairs_of_a_small_vocabulary_are_drawn_and_weighted(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(glove, "MAX_ZEROS", 3)
    cells = cooccurrence(corpus, window=2, decay=True)
    more = glove._with_zeros(cells, 0.25, 1)
    seen = cells.dense()
    table = more.dense()
    assert (table[seen > 0] == seen[seen > 0]).all()
    assert set(np.unique(table[seen == 0])) == {0.0, -0.25}
    assert len(more) - len(cells) == pytest.approx(3 * len(cells), rel=0.05)


def test_unseen_pairs_have_logarithm_0_or_are_left_out(corpus: Corpus):
    cells = cooccurrence(corpus, window=2, decay=True)
    assert len(GloVe(window=2, zero_weight=0.0).start(corpus).tiles) == len(cells)
    values = GloVe(window=2, zero_weight=0.25).start(corpus).tiles.values
    assert ((values[:, 2] == 0) & (values[:, 3] == 0.25)).sum() > len(cells)


def test_a_rate_too_high_is_an_error_that_names_it(corpus: Corpus):
    with pytest.raises(Diverged, match="the loss became inf. Halve `learning_rate`"):
        inlaid.train(corpus, GloVe(learning_rate=10.0))


def test_nan_and_infinity_are_found(corpus: Corpus):
    training = GloVe(dim=10).start(corpus)
    training.state["words"][5, 0, 3] = np.nan
    with pytest.raises(Diverged, match="the loss became"):
        run(training, Safety(), {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"learning_rate": 0.0},
        {"epochs": 0},
        {"window": 0},
        {"x_max": 0.0},
        {"x_max": 1e300},
        {"alpha": 2.0},
    ],
)
def test_settings_outside_their_range_are_refused(wrong: dict[str, Any]):
    with pytest.raises(SettingError, match=f"{next(iter(wrong))} is"):
        GloVe(**wrong)


def test_words_that_never_co_occur_are_refused():
    with pytest.raises(SourceError, match="No word has a context"):
        inlaid.train(encode(["a", "b"], Encoding(min_count=1)), GloVe(dim=2))


def test_one_word_is_refused():
    with pytest.raises(SourceError, match="The vocabulary has one word"):
        inlaid.train(["a a a"], "glove", min_count=1)


def test_two_words_in_a_sentence_shorter_than_the_window_are_enough():
    vectors = inlaid.train(encode(["a b"], Encoding(min_count=1)), GloVe(dim=3, epochs=2))
    assert vectors.table.shape == (2, 3)


def test_settings_are_spelled_as_everywhere():
    assert {"dim", "window", "learning_rate", "epochs", "seed", "workers"} <= {
        field.name for field in dataclasses.fields(GloVe)
    }
