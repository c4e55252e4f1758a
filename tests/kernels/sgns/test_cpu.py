"""Skip-gram and CBOW kernels against their specification, and the specification against the formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from inlaid.kernels import random
from inlaid.kernels.sgns import cpu, reference, softmax
from inlaid.kernels.sgns.cpu import CBOW_MEAN, CBOW_SUM, LOSS, PAIRS, SKIPGRAM, Config
from inlaid.kernels.sgns.reference import Schedule, Tables
from inlaid.kernels.sgns.stream import Text, empty_stream, subsample
from inlaid.kernels.simd.rows import aligned_table

SCHEDULE = Schedule(0.05, 0.01)


@dataclass(frozen=True)
class Case:
    words: int
    window: int
    shared_negatives: int
    tile: int
    dim: int
    longest: int


CASES = {
    "usual": Case(50, 5, 16, 16, 20, 12),
    "window beyond sentences": Case(40, 30, 16, 16, 100, 9),
    "few negatives": Case(50, 5, 8, 8, 20, 12),
    "many negatives": Case(50, 2, 32, 4, 33, 12),
    "fewer words than negatives": Case(3, 5, 16, 8, 16, 12),
    "hardly any pairs": Case(20, 5, 16, 16, 64, 2),
}


class World:
    """A random text, subsampled twice: by the kernel and by the specification."""

    def __init__(self, case: Case) -> None:
        generator = np.random.default_rng(case.words)
        sentences = [
            generator.zipf(1.4, generator.integers(1, case.longest + 1)) % case.words for _ in range(60)
        ]
        self.case = case
        self.ids = np.concatenate(sentences).astype(np.int32)
        self.offsets = np.cumsum([0, *map(len, sentences)])
        counts = np.bincount(self.ids, minlength=case.words)
        keep = (reference.keep_probability(counts, 0.05) * 0xFFFFFFFF).astype(np.uint32)
        self.key = random.key_of(5, 1)
        self.noise = random.alias_table(counts**0.75)
        self.text = Text(self.ids, 0, self.offsets, keep, case.window, 7)
        stream = empty_stream(len(self.ids), case.window)
        self.stream = stream._replace(length=subsample(self.text, 0, len(self.ids), 0, self.key, stream))
        self.plain = reference.subsample(self.ids, self.offsets, 7, self.key, keep, case.window)
        self.sampling = reference.Sampling(self.key, self.noise, case.tile, case.shared_negatives, 5)

    def tables(self) -> Tables:
        tables = Tables(*(aligned_table(self.case.words, self.case.dim) for _ in range(2)))
        for n, table in enumerate(tables):
            random.uniform(random.key_of(n, 0), table[:, : self.case.dim], 0.5)
        return tables

    def config(self, objective: int) -> Config:
        weight = self.sampling.negative_weight
        return Config(objective, self.case.tile, self.case.shared_negatives, weight, self.case.window)

    def train(
        self, objective: int, schedule: Schedule = SCHEDULE, frozen: int = 0
    ) -> tuple[Tables, np.ndarray]:
        tables = self.tables()
        sums = np.zeros(2)
        kept = first_rows(tables, frozen)
        cpu.train_stream(self.stream, tables, kept, self.noise, schedule, self.config(objective), sums)
        return tables, sums


def first_rows(tables: Tables, count: int) -> Tables:
    return Tables(tables.vectors[:count].copy(), tables.contexts[:count].copy())


@pytest.fixture(scope="module", params=CASES)
def world(request: pytest.FixtureRequest) -> World:
    return World(CASES[request.param])


def _plain_tables(world: World) -> Tables:
    return Tables(*(table.astype(np.float64) for table in world.tables()))


def _agree(ours: Tables, plain: Tables, start: Tables) -> None:
    for one, other, before in zip(ours, plain, start, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(one - before).max() > 0.01


def test_the_stream_equals_the_specification(world: World):
    count = world.stream.length
    assert 0 < count < len(world.ids)
    assert count == len(world.plain.words)
    np.testing.assert_array_equal(world.stream.words[:count], world.plain.words)
    np.testing.assert_array_equal(world.stream.low[:count], world.plain.low)
    np.testing.assert_array_equal(world.stream.high[:count], world.plain.high)


def test_windows_stay_in_their_sentence_and_held_out_sentences_are_not_there(world: World):
    sentence = np.searchsorted(world.offsets, world.plain.positions, "right") - 1
    assert not (sentence % 7 == 6).any()
    assert (sentence[world.plain.low] == sentence).all()
    assert (sentence[world.plain.high - 1] == sentence).all()


def test_a_span_in_the_middle_is_subsampled_as_the_whole_is(world: World):
    cut = int(world.offsets[30])
    stream = empty_stream(len(world.ids), world.case.window)
    kept = subsample(world.text, cut, len(world.ids), 30, world.key, stream)
    np.testing.assert_array_equal(stream.words[:kept], world.plain.words[world.plain.positions >= cut])


def test_skipgram_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference.skipgram(world.plain, plain, world.sampling, SCHEDULE)
    _agree(world.train(SKIPGRAM)[0], plain, world.tables())


@pytest.mark.parametrize("objective", [CBOW_MEAN, CBOW_SUM])
def test_cbow_equals_the_specification(world: World, objective: int):
    plain = _plain_tables(world)
    reference.cbow(world.plain, plain, world.sampling, SCHEDULE, objective == CBOW_MEAN)
    _agree(world.train(objective)[0], plain, world.tables())


@pytest.mark.parametrize("objective", [SKIPGRAM, CBOW_MEAN, CBOW_SUM])
def test_frozen_rows_keep_their_bits_and_the_others_equal_the_specification(world: World, objective: int):
    plain = _plain_tables(world)
    frozen = 2
    kept = first_rows(plain, frozen)
    if objective == SKIPGRAM:
        reference.skipgram(world.plain, plain, world.sampling, SCHEDULE, kept)
    else:
        reference.cbow(world.plain, plain, world.sampling, SCHEDULE, objective == CBOW_MEAN, kept)
    ours, _ = world.train(objective, frozen=frozen)
    _agree(ours, plain, world.tables())
    for one, before in zip(ours, world.tables(), strict=True):
        assert one[:frozen].tobytes() == before[:frozen].tobytes()


def test_the_loss_is_that_of_the_specification_and_measuring_changes_nothing(world: World):
    tables, sums = world.train(SKIPGRAM, Schedule(0.0, 0.0))
    loss, pairs = reference.sampled_loss(world.plain, _plain_tables(world), world.sampling)
    assert sums[PAIRS] == pairs
    assert sums[LOSS] == pytest.approx(loss, rel=1e-4)
    for one, before in zip(tables, world.tables(), strict=True):
        np.testing.assert_array_equal(one, before)


def test_a_table_with_a_nan_gives_a_nan_for_loss():
    world = World(CASES["usual"])
    tables = world.tables()
    sums = np.zeros(2)
    tables.vectors[world.stream.words[0]] = np.nan
    config = world.config(SKIPGRAM)
    cpu.train_stream(world.stream, tables, first_rows(tables, 0), world.noise, SCHEDULE, config, sums)
    assert np.isnan(sums[LOSS])
    assert np.isnan(tables.contexts).any()


@pytest.mark.parametrize("objective", [SKIPGRAM, CBOW_MEAN, CBOW_SUM])
def test_softmax_equals_the_specification(world: World, objective: int):
    plain = _plain_tables(world)
    tables = world.tables()
    sums = np.zeros(2)
    if objective == SKIPGRAM:
        loss, pairs = reference.softmax(world.plain, plain, SCHEDULE)
    else:
        loss, pairs = reference.softmax_cbow(world.plain, plain, SCHEDULE, objective == CBOW_MEAN)
    softmax.train_softmax(world.stream, tables, SCHEDULE, objective, sums)
    _agree(tables, plain, world.tables())
    assert sums[PAIRS] == pairs
    assert sums[LOSS] == pytest.approx(loss, rel=1e-4)


def test_shared_negatives_have_the_expected_gradient_of_negatives_drawn_for_each_pair():
    world = World(CASES["usual"])
    group = range(20, 24)
    vectors, contexts = _plain_tables(world)
    counts = np.bincount(world.ids, minlength=world.case.words) ** 0.75
    counts /= counts.sum()
    pairs = [
        (word, center)
        for center in range(world.stream.length)
        for word in group
        if word in world.plain.contexts(center)
    ]
    expected = np.zeros_like(contexts)
    for word, center in pairs:  # 5 noise words each; those that are the center do not count
        x = vectors[world.plain.words[word]]
        away = 5 * counts * reference.sigmoid(contexts @ x)
        away[world.plain.words[center]] = 0
        expected -= np.outer(away, x)
    drawn = np.zeros_like(contexts)
    times = 3000
    rows = world.plain.words[group]
    for n in range(times):
        negatives = random.noise_words(world.key, 10_000 + n, world.case.shared_negatives, world.noise)
        found = reference.skipgram_pairs(world.plain, group, negatives, 5 / world.case.shared_negatives)
        gradients = reference.gradients_of(Tables(vectors, contexts), rows, found)
        negative = found.labels == 0
        np.add.at(drawn, found.targets[negative], gradients[negative] @ vectors[rows])
    assert len(pairs) > 5
    np.testing.assert_allclose(drawn / times, expected, atol=0.03 * np.abs(expected).max())
