"""fastText's kernels against their specification, and the means of rows against theirs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from inlaid.kernels import random
from inlaid.kernels.compile import kernel
from inlaid.kernels.fasttext import cpu, reference
from inlaid.kernels.fasttext.cpu import CBOW, CBOW_POSITIONS, Bags, SubwordTables
from inlaid.kernels.sgns import reference as sgns_reference
from inlaid.kernels.sgns.cpu import LOSS, PAIRS, SKIPGRAM, Config
from inlaid.kernels.sgns.reference import Schedule, Tables
from inlaid.kernels.sgns.stream import Text, empty_stream, subsample
from inlaid.kernels.simd import bags
from inlaid.kernels.simd.rows import aligned_table

SCHEDULE = Schedule(0.05, 0.01)


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
        generator = np.random.default_rng(case.words)
        sentences = [
            generator.zipf(1.4, generator.integers(1, case.longest + 1)) % case.words for _ in range(60)
        ]
        ids = np.concatenate(sentences).astype(np.int32)
        offsets = np.cumsum([0, *map(len, sentences)])
        counts = np.bincount(ids, minlength=case.words)
        keep = (sgns_reference.keep_probability(counts, 0.05) * 0xFFFFFFFF).astype(np.uint32)
        key = random.key_of(5, 1)
        self.case = case
        self.noise = random.alias_table(counts**0.5)
        stream = empty_stream(len(ids), case.window)
        text = Text(ids, 0, offsets, keep, case.window, 7)
        self.stream = stream._replace(length=subsample(text, 0, len(ids), 0, key, stream))
        self.plain = sgns_reference.subsample(ids, offsets, 7, key, keep, case.window)
        self.sampling = sgns_reference.Sampling(key, self.noise, case.tile, 16, 5)
        self.rows = case.words + 60
        self.plain_bags = [
            np.array([word, *generator.integers(case.words, self.rows, generator.integers(0, 9))])
            for word in range(case.words)
        ]
        self.bags = packed(self.plain_bags)

    def tables(self) -> SubwordTables:
        sizes = (self.rows, self.case.words, 2 * self.case.window + 1, 0)
        tables = SubwordTables(*(aligned_table(size, self.case.dim) for size in sizes))
        for n, table in enumerate(tables):
            random.uniform(random.key_of(n, 0), table[:, : self.case.dim], 0.5)
        tables.position_weights[:, : self.case.dim] += 1
        return tables

    def train(
        self, objective: int, schedule: Schedule = SCHEDULE, bags: Bags | None = None
    ) -> tuple[SubwordTables, np.ndarray]:
        tables = self.tables()
        sums = np.zeros(2)
        config = Config(objective, self.case.tile, 16, 5 / 16, self.case.window)
        cpu.train_stream(self.stream, tables, bags or self.bags, self.noise, schedule, config, sums)
        return tables, sums


def packed(bags: list[np.ndarray]) -> Bags:
    bounds = np.cumsum([0, *map(len, bags)])
    ids = np.concatenate(bags).astype(np.int32)
    return Bags(bounds, ids, bounds, ids)


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
    reference.skipgram(world.plain, Tables(*plain[:2]), world.plain_bags, world.sampling, SCHEDULE)
    tables, _ = world.train(SKIPGRAM)
    _agree(tables[:2], plain[:2], world.tables()[:2])


def test_cbow_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference.cbow(
        world.plain, Tables(*plain[:2]), world.plain_bags, world.sampling, SCHEDULE, world.case.window
    )
    tables, _ = world.train(CBOW)
    _agree(tables[:2], plain[:2], world.tables()[:2])


def test_cbow_with_position_weights_equals_the_specification(world: World):
    plain = _plain_tables(world)
    reference.cbow(
        world.plain,
        Tables(*plain[:2]),
        world.plain_bags,
        world.sampling,
        SCHEDULE,
        world.case.window,
        plain[2],
    )
    tables, _ = world.train(CBOW_POSITIONS)
    _agree(tables[:3], plain[:3], world.tables()[:3])


def test_position_weights_of_one_are_plain_cbow():
    world = World(CASES["usual"])
    plain = _plain_tables(world)
    center = next(n for n in range(world.stream.length) if len(world.plain.contexts(n)) > 3)
    means = {n: plain[0][world.plain_bags[word]].mean(axis=0) for n, word in enumerate(world.plain.words)}
    found = [
        reference.hidden_of(world.plain, center, means, world.plain_bags, weights)
        for weights in (None, np.ones_like(plain[2]))
    ]
    np.testing.assert_allclose(found[0], found[1])
    rows = np.concatenate([world.plain_bags[world.plain.words[n]] for n in world.plain.contexts(center)])
    np.testing.assert_allclose(
        found[0], plain[0][rows].mean(axis=0)
    )  # the mean of all rows of all contexts, as in fastText


@pytest.mark.parametrize("objective", [SKIPGRAM, CBOW, CBOW_POSITIONS])
def test_measuring_changes_nothing(world: World, objective: int):
    tables, sums = world.train(objective, Schedule(0.0, 0.0))
    assert sums[PAIRS] > 0
    assert 0.5 < sums[LOSS] / sums[PAIRS] / np.log(2) < 12
    for one, before in zip(tables, world.tables(), strict=True):
        np.testing.assert_array_equal(one, before)


def test_a_word_of_one_row_is_trained_as_in_skipgram(world: World):
    alone = packed([np.array([word]) for word in range(world.case.words)])
    tables, _ = world.train(SKIPGRAM, bags=alone)
    plain = _plain_tables(world)[:2]
    sgns_reference.skipgram(world.plain, Tables(*plain), world.sampling, SCHEDULE)
    _agree(tables[:2], plain, world.tables()[:2])


@kernel
def _mean_rows(table, ids, begin, count, means, initial, slot):
    bags.mean_rows(table, ids, begin, count, means, initial, slot)


@kernel
def _add_to_rows(table, ids, begin, count, means, initial, slot):
    bags.add_to_rows(table, ids, begin, count, means, initial, slot)


@pytest.mark.parametrize("dim", [16, 100, 250])
def test_bags_compute_what_their_plain_versions_say(dim: int):
    random = np.random.default_rng(3)
    ids = np.array([8, 3, 5, 3, 0], np.int32)
    for fast, plain in ((_mean_rows, bags.mean_rows_plain), (_add_to_rows, bags.add_to_rows_plain)):
        tables = [aligned_table(9, dim) for _ in range(3)]
        for table in tables:
            table[:] = random.standard_normal(table.shape)
        expected = [table.copy() for table in tables]
        fast(tables[0], ids, 1, 4, tables[1], tables[2], 6)
        plain(expected[0], ids, 1, 4, expected[1], expected[2], 6)
        for one, other in zip(tables, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
