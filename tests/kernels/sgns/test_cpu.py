"""Skip-gram and CBOW kernels against their plain definitions, and those against the formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from inlaid.kernels import random as draw
from inlaid.kernels.sgns import cpu as sgns_cpu
from inlaid.kernels.sgns import pairs as meetings
from inlaid.kernels.sgns import reference as reference_sgns
from inlaid.kernels.sgns import softmax as softmax_cpu
from inlaid.kernels.sgns import tile as tile_cpu
from inlaid.kernels.simd.rows import table_of

RATES = (0.05, 0.01)


@dataclass(frozen=True)
class Case:
    words: int
    window: int
    shared: int
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
    """A random text, thinned twice: by the kernel and by the specification."""

    def __init__(self, case: Case) -> None:
        random = np.random.default_rng(case.words)
        sentences = [random.zipf(1.4, random.integers(1, case.longest + 1)) % case.words for _ in range(60)]
        self.ids = np.concatenate(sentences).astype(np.int32)
        self.case = case
        self.offsets = np.cumsum([0, *map(len, sentences)])
        counts = np.bincount(self.ids, minlength=case.words)
        self.keep = (reference_sgns.keep_share(counts, 0.05) * 0xFFFFFFFF).astype(np.uint32)
        self.key = draw.key_of(5, 1)
        self.noise = draw.noise_table(counts**0.75)
        self.stream = np.zeros((4, len(self.ids) + sgns_cpu.SPARE + case.window), np.int32)
        self.kept = sgns_cpu.thin(
            self.ids, self.offsets, 0, len(self.ids), 0, 7, self.key, self.keep, case.window, self.stream
        )
        self.plain = reference_sgns.thin(self.ids, self.offsets, 7, self.key, self.keep, case.window)
        self.sampling = reference_sgns.Sampling(self.key, self.noise, case.tile, case.shared, 5)
        self.pace = np.array([*RATES, 5 / case.shared])

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        tables = table_of(self.case.words, self.case.dim), table_of(self.case.words, self.case.dim)
        for n, table in enumerate(tables):
            draw.uniform(draw.key_of(n, 0), table[:, : self.case.dim], 0.5)
        return tables

    def sizes(self, objective: int) -> tuple[int, int, int, int]:
        return objective, self.case.tile, self.case.shared, self.case.window

    def train(
        self, objective: int, pace: np.ndarray | None = None, frozen: int = 0
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        tables = self.tables()
        sums = np.zeros(2)
        pace = self.pace if pace is None else pace
        kept = tuple(table[:frozen].copy() for table in tables)
        sgns_cpu.train(self.stream, self.kept, *tables, kept, self.noise, pace, self.sizes(objective), sums)
        return tables, sums


@pytest.fixture(scope="module", params=CASES)
def world(request: pytest.FixtureRequest) -> World:
    return World(CASES[request.param])


def nothing_frozen(tables: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return tables[0][:0], tables[1][:0]


def _plain_tables(world: World) -> list[np.ndarray]:
    return [table.astype(np.float64) for table in world.tables()]


def _agree(
    ours: tuple[np.ndarray, ...], plain: list[np.ndarray], start: tuple[np.ndarray, np.ndarray]
) -> None:
    for one, other, before in zip(ours, plain, start, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(one - before).max() > 0.01


def test_the_same_words_stay_with_the_same_windows(world: World):
    assert 0 < world.kept < len(world.ids)
    for row, expected in ((meetings.WORD, "words"), (meetings.LOW, "low"), (meetings.HIGH, "high")):
        np.testing.assert_array_equal(world.stream[row, : world.kept], getattr(world.plain, expected))


def test_windows_stay_in_their_sentence_and_held_out_sentences_are_not_there(world: World):
    sentence = np.searchsorted(world.offsets, world.plain.positions, "right") - 1
    assert not (sentence % 7 == 6).any()
    assert (sentence[world.plain.low] == sentence).all()
    assert (sentence[world.plain.high - 1] == sentence).all()


def test_a_block_in_the_middle_thins_as_the_whole_does(world: World):
    cut = int(world.offsets[30])
    stream = world.stream.copy()
    kept = sgns_cpu.thin(
        world.ids, world.offsets, cut, len(world.ids), 30, 7, world.key, world.keep, world.case.window, stream
    )
    np.testing.assert_array_equal(
        stream[meetings.WORD, :kept], world.plain.words[world.plain.positions >= cut]
    )


def test_skipgram_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference_sgns.skipgram(world.plain, plain, world.sampling, RATES)
    _agree(world.train(tile_cpu.SKIPGRAM)[0], plain, world.tables())


@pytest.mark.parametrize("objective", [tile_cpu.CBOW_MEAN, tile_cpu.CBOW_SUM])
def test_cbow_equals_the_specification(world: World, objective: int):
    plain = _plain_tables(world)
    reference_sgns.cbow(world.plain, plain, world.sampling, RATES, objective == tile_cpu.CBOW_MEAN)
    _agree(world.train(objective)[0], plain, world.tables())


@pytest.mark.parametrize("objective", [tile_cpu.SKIPGRAM, tile_cpu.CBOW_MEAN, tile_cpu.CBOW_SUM])
def test_frozen_rows_keep_their_bits_and_the_others_equal_the_specification(world: World, objective: int):
    plain = _plain_tables(world)
    frozen = 2
    if objective == tile_cpu.SKIPGRAM:
        reference_sgns.skipgram(world.plain, plain, world.sampling, RATES, frozen)
    else:
        mean = objective == tile_cpu.CBOW_MEAN
        reference_sgns.cbow(world.plain, plain, world.sampling, RATES, mean, frozen)
    ours, _ = world.train(objective, frozen=frozen)
    _agree(ours, plain, world.tables())
    for one, before in zip(ours, world.tables(), strict=True):
        assert one[:frozen].tobytes() == before[:frozen].tobytes()


def test_the_loss_is_that_of_the_specification_and_measuring_changes_nothing(world: World):
    pace = np.array([0.0, 0.0, 5 / world.case.shared])
    tables, sums = world.train(tile_cpu.SKIPGRAM, pace)
    loss, pairs = reference_sgns.sampled_loss(world.plain, _plain_tables(world), world.sampling)
    assert sums[1] == pairs
    assert sums[0] == pytest.approx(loss, rel=1e-4)
    for one, before in zip(tables, world.tables(), strict=True):
        np.testing.assert_array_equal(one, before)


def test_a_table_with_a_nan_gives_a_nan_for_loss():
    world = World(CASES["usual"])
    tables = world.tables()
    sums = np.zeros(2)
    tables[0][world.stream[meetings.WORD, 0]] = np.nan
    sgns_cpu.train(
        world.stream,
        world.kept,
        *tables,
        nothing_frozen(tables),
        world.noise,
        world.pace,
        world.sizes(tile_cpu.SKIPGRAM),
        sums,
    )
    assert np.isnan(sums[0])
    assert np.isnan(tables[1]).any()


def test_softmax_equals_the_specification(world: World):
    plain = _plain_tables(world)
    tables = world.tables()
    sums = np.zeros(2)
    loss, pairs = reference_sgns.softmax(world.plain, plain, RATES)
    room = np.empty(len(tables[0]), np.float32), np.empty((2, tables[0].shape[1]), np.float32)
    softmax_cpu.softmax(world.stream, world.kept, *tables, world.pace, tile_cpu.SKIPGRAM, sums, *room)
    _agree(tables, plain, world.tables())
    assert sums[1] == pairs
    assert sums[0] == pytest.approx(loss, rel=1e-4)


def test_shared_negatives_have_the_expected_gradient_of_negatives_drawn_for_each_pair():
    world = World(CASES["usual"])
    group = range(20, 24)
    (words, contexts) = _plain_tables(world)
    counts = np.bincount(world.ids, minlength=world.case.words) ** 0.75
    counts /= counts.sum()
    pairs = [
        (word, center)
        for center in range(world.kept)
        for word in group
        if word in world.plain.contexts(center)
    ]
    expected = np.zeros_like(contexts)
    for word, center in pairs:  # of 5 words drawn by the noise for this pair, those that are not the center
        x = words[world.plain.words[word]]
        away = 5 * counts * reference_sgns.sigmoid(contexts @ x)
        away[world.plain.words[center]] = 0
        expected -= np.outer(away, x)
    drawn = np.zeros_like(contexts)
    rounds = 3000
    for n in range(rounds):
        negatives = draw.noise_words(world.key, 10_000 + n, world.case.shared, world.noise)
        others, labels, weights = reference_sgns.skipgram_meetings(
            world.plain, group, negatives, 5 / world.case.shared
        )
        slopes = weights * (
            labels[:, None] - reference_sgns.sigmoid(contexts[others] @ words[world.plain.words[group]].T)
        )
        np.add.at(drawn, others[labels == 0], slopes[labels == 0] @ words[world.plain.words[group]])
    assert len(pairs) > 5
    np.testing.assert_allclose(drawn / rounds, expected, atol=0.03 * np.abs(expected).max())
