"""fastText's kernels against their plain definitions, and the means of rows against theirs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from inlaid.kernels import random as draw
from inlaid.kernels.compile import kernel
from inlaid.kernels.fasttext import cpu as fasttext_cpu
from inlaid.kernels.fasttext import reference as reference_fasttext
from inlaid.kernels.sgns import cpu as sgns_cpu
from inlaid.kernels.sgns import reference as reference_sgns
from inlaid.kernels.sgns import tile as tile_cpu
from inlaid.kernels.simd import bags
from inlaid.kernels.simd.rows import table_of

RATES = (0.05, 0.01)


@dataclass(frozen=True)
class Case:
    words: int
    window: int
    tile: int
    dim: int
    longest: int


CASES = {
    "usual": Case(50, 5, 16, 20, 12),
    "window beyond sentences": Case(40, 30, 16, 130, 9),
    "small tiles": Case(50, 2, 4, 112, 12),
    "fewer words than negatives": Case(3, 5, 8, 16, 12),
    "hardly any pairs": Case(20, 5, 16, 64, 2),
}


class World:
    """A random text of words that share rows, some of them twice."""

    def __init__(self, case: Case) -> None:
        random = np.random.default_rng(case.words)
        sentences = [random.zipf(1.4, random.integers(1, case.longest + 1)) % case.words for _ in range(60)]
        ids = np.concatenate(sentences).astype(np.int32)
        offsets = np.cumsum([0, *map(len, sentences)])
        counts = np.bincount(ids, minlength=case.words)
        keep = (reference_sgns.keep_share(counts, 0.05) * 0xFFFFFFFF).astype(np.uint32)
        key = draw.key_of(5, 1)
        self.case = case
        self.noise = draw.noise_table(counts**0.5)
        self.stream = np.zeros((4, len(ids) + sgns_cpu.SPARE + case.window), np.int32)
        self.kept = sgns_cpu.thin(ids, offsets, 0, len(ids), 0, 7, key, keep, case.window, self.stream)
        self.plain = reference_sgns.thin(ids, offsets, 7, key, keep, case.window)
        self.sampling = reference_sgns.Sampling(key, self.noise, case.tile, 16, 5)
        self.rows = case.words + 60
        self.plain_bags = [
            np.array([word, *random.integers(case.words, self.rows, random.integers(0, 9))])
            for word in range(case.words)
        ]
        self.bags = (
            np.cumsum([0, *map(len, self.plain_bags)]),
            np.concatenate(self.plain_bags).astype(np.int32),
        )

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sizes = (self.rows, self.case.words, 2 * self.case.window + 1)
        tables = tuple(table_of(size, self.case.dim) for size in sizes)
        for n, table in enumerate(tables):
            draw.uniform(draw.key_of(n, 0), table[:, : self.case.dim], 0.5)
        tables[2][:, : self.case.dim] += 1
        return tables  # pyright: ignore[reportReturnType]

    def train(
        self, objective: int, rates: tuple[float, float] = RATES
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        tables = self.tables()
        sums = np.zeros(2)
        sizes = objective, self.case.tile, 16, self.case.window
        fasttext_cpu.train(
            self.stream,
            self.kept,
            tables,
            self.bags * 2,
            tables[1][:0],
            self.noise,
            np.array([*rates, 5 / 16]),
            sizes,
            sums,
        )
        return tables, sums


@pytest.fixture(scope="module", params=CASES)
def world(request: pytest.FixtureRequest) -> World:
    return World(CASES[request.param])


def _plain_tables(world: World) -> list[np.ndarray]:
    return [table.astype(np.float64) for table in world.tables()]


def _agree(ours: tuple[np.ndarray, ...], plain: list[np.ndarray], start: tuple[np.ndarray, ...]) -> None:
    for one, other, before in zip(ours, plain, start, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)
        assert np.abs(one - before).max() > 0.005


def test_skipgram_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference_fasttext.skipgram(world.plain, plain[:2], world.plain_bags, world.sampling, RATES)
    tables, _ = world.train(tile_cpu.SKIPGRAM)
    _agree(tables[:2], plain[:2], world.tables()[:2])


def test_cbow_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference_fasttext.cbow(
        world.plain, plain[:2], world.plain_bags, world.sampling, RATES, world.case.window
    )
    tables, _ = world.train(fasttext_cpu.PLAIN)
    _agree(tables[:2], plain[:2], world.tables()[:2])


def test_cbow_with_weighed_places_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference_fasttext.cbow(
        world.plain, plain[:2], world.plain_bags, world.sampling, RATES, world.case.window, plain[2]
    )
    tables, _ = world.train(fasttext_cpu.WEIGHTED)
    _agree(tables, plain, world.tables())


def test_places_that_all_weigh_one_are_plain_cbow_at_first():
    world = World(CASES["usual"])
    plain = _plain_tables(world)
    center = next(n for n in range(world.kept) if len(world.plain.contexts(n)) > 3)
    means = {n: plain[0][world.plain_bags[word]].mean(axis=0) for n, word in enumerate(world.plain.words)}
    found = [
        reference_fasttext._hidden(world.plain, center, means, world.plain_bags, places)
        for places in (None, np.ones_like(plain[2]))
    ]
    np.testing.assert_allclose(found[0], found[1])
    rows = np.concatenate([world.plain_bags[world.plain.words[n]] for n in world.plain.contexts(center)])
    np.testing.assert_allclose(
        found[0], plain[0][rows].mean(axis=0)
    )  # the mean of all rows of all contexts, as in fastText


@pytest.mark.parametrize("objective", [tile_cpu.SKIPGRAM, fasttext_cpu.PLAIN, fasttext_cpu.WEIGHTED])
def test_measuring_changes_nothing(world: World, objective: int):
    tables, sums = world.train(objective, (0.0, 0.0))
    assert sums[1] > 0
    assert 0.5 < sums[0] / sums[1] / np.log(2) < 12
    for one, before in zip(tables, world.tables(), strict=True):
        np.testing.assert_array_equal(one, before)


def test_a_word_that_is_only_itself_learns_as_skipgram_does(world: World):
    tables = world.tables()
    sums = np.zeros(2)
    alone = np.arange(world.case.words + 1), np.arange(world.case.words, dtype=np.int32)
    sizes = (tile_cpu.SKIPGRAM, world.case.tile, 16, world.case.window)
    pace = np.array([*RATES, 5 / 16])
    fasttext_cpu.train(
        world.stream, world.kept, tables, alone * 2, tables[1][:0], world.noise, pace, sizes, sums
    )
    plain = [table.astype(np.float64) for table in world.tables()[:2]]
    reference_sgns.skipgram(world.plain, plain, world.sampling, RATES)
    _agree(tables[:2], plain, world.tables()[:2])


@kernel
def _mean_rows(table, ids, begin, count, news, olds, place):
    bags.mean_rows(table, ids, begin, count, news, olds, place)


@kernel
def _add_to_rows(table, ids, begin, count, news, olds, place):
    bags.add_to_rows(table, ids, begin, count, news, olds, place)


@pytest.mark.parametrize("dim", [16, 100, 250])
def test_bags_do_what_their_plain_twins_say(dim: int):
    random = np.random.default_rng(3)
    ids = np.array([8, 3, 5, 3, 0], np.int32)
    for fast, plain in ((_mean_rows, bags.mean_rows_plain), (_add_to_rows, bags.add_to_rows_plain)):
        tables = [table_of(9, dim) for _ in range(3)]
        for table in tables:
            table[:] = random.standard_normal(table.shape)
        expected = [table.copy() for table in tables]
        fast(tables[0], ids, 1, 4, tables[1], tables[2], 6)
        plain(expected[0], ids, 1, 4, expected[1], expected[2], 6)
        for one, other in zip(tables, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
