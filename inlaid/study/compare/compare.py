"""What changed between two spaces: neighbours kept, lost and gained, words that moved, and whether that is
more than chance.

Runs of one method differ too, by their seed or by the text they happened to see. Given such runs, `compare`
says which words moved further than runs do among themselves, and `stability` which neighbours of a word every
run finds.

Moved: both spaces are centred, the second is turned onto the first (orthogonal Procrustes over the common
words), and a word has moved by 1 minus the cosine of its two places. Neighbours are those of `inlaid
neighbors`, by plain cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from inlaid.config import Positive, check
from inlaid.errors import SettingError, SourceError
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Rows
from inlaid.study.compare.procrustes import procrustes, straightened
from inlaid.study.evaluate import statistics
from inlaid.study.search import ranking
from inlaid.vectors import Vectors, lengths

TAIL = 0.05
"""Share of chance movements that show how fast their tail falls; beyond what was seen it is continued."""
NOTHING = 2e-3
"""Angles below this are rounding: float32 cosines near 1 tell no smaller ones."""


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What is compared, and on how many words."""

    n: Positive = 10
    """Nearest neighbours of each word."""
    among: Positive = 100_000
    """First common words that take part, also as neighbours."""
    sample: Positive = 5000
    """Words whose neighbours are compared; where there are more, a sample."""
    seed: int = 1
    """Chooses the sample, and the draws of the intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Overlap:
    """Mean share of a word's nearest neighbours that two spaces agree on, with its 95 % interval over
    words."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Move:
    """A word and how far it moved."""

    word: str
    distance: float
    p: float | None = None
    """Chance of a false alarm among all words up to this one (Benjamini and Hochberg 1995); None without
    seeds to judge by."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two spaces side by side."""

    common: int
    only_first: int
    only_second: int
    compared: int
    """Words whose neighbours were compared."""
    overlap: Overlap
    chance: Overlap | None
    """The same between runs of the first, where there are seeds."""
    moved: tuple[Move, ...]
    """The common words that took part, those that moved most first; with seeds, the least likely by chance
    first."""


def compare(
    first: Vectors,
    second: Vectors,
    settings: Comparing | None = None,
    *,
    seeds: Sequence[Vectors] = (),
    report: Report = silent,
) -> Comparison:
    """Compare two spaces on the words both have; `seeds` are other runs of the first, two or more: they show
    what chance does."""
    settings = settings or Comparing()
    if len(seeds) == 1:
        raise SettingError(
            "One other run says little about chance. Give two or more runs of the first space, with other seeds."
        )
    spaces = [first, second, *seeds]
    steps = 2 * len(spaces) + 2
    report(Progress("comparing", 0, steps, "steps"))
    shared = len(common_words([first, second]))
    words, tables = _common_rows(spaces, settings.among, report)
    looked_at = np.sort(
        np.random.Generator(np.random.Philox(settings.seed)).permutation(len(words))[: settings.sample]
    )
    report(Progress("comparing", 1, steps, "steps"))
    near = list[np.ndarray]()
    straight = list[np.ndarray]()
    for table in tables:
        near.append(_neighbors(table, looked_at, settings.n))
        straight.append(straightened(table))
        report(Progress("comparing", 1 + 2 * len(near), steps, "steps"))
    moved = _distances(straight[0], straight[1])
    p = _adjusted(_chances([straight[0], *straight[2:]], straight[1])) if seeds else None
    report(Progress("comparing", steps, steps, "steps"))
    order = np.argsort(-moved, kind="stable") if p is None else np.lexsort((-moved, p))
    return Comparison(
        shared,
        len(first) - shared,
        len(second) - shared,
        len(looked_at),
        _overlap([(near[0], near[1])], settings.seed),
        _overlap(list(combinations([near[0], *near[2:]], 2)), settings.seed) if seeds else None,
        tuple(
            Move(words[id], float(moved[id]), None if p is None else float(p[id])) for id in order.tolist()
        ),
    )


# --- one word
# -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """A neighbour and its rank in both spaces, from 1; None where a space does not have the word."""

    word: str
    first: int | None
    second: int | None
    stable: float | None = None
    """Share of the runs of the first that have it among their nearest."""


@dataclass(frozen=True)
class Change:
    """The neighbours of one word in two spaces."""

    word: str
    kept: tuple[Ranked, ...]
    lost: tuple[Ranked, ...]
    gained: tuple[Ranked, ...]


def changes(
    first: Vectors, second: Vectors, word: str, *, n: int = 10, seeds: Sequence[Vectors] = ()
) -> Change:
    """The neighbours of a word that stayed, went and came, each space with all its words; `seeds` are other
    runs of the first."""
    around = [_Around.of(space, word, n) for space in (first, second)]
    stable = {each.word: each.share for each in stability([first, *seeds], word, n=n)} if seeds else {}

    def ranked(words: list[str]) -> tuple[Ranked, ...]:
        return tuple(
            Ranked(each, around[0].rank(each), around[1].rank(each), stable.get(each, 0.0) if seeds else None)
            for each in words
        )

    before = around[0].near
    after = around[1].near
    return Change(
        word,
        ranked([each for each in before if each in after]),
        ranked([each for each in before if each not in after]),
        ranked([each for each in after if each not in before]),
    )


@dataclass(frozen=True)
class Stable:
    """A neighbour and how dependable it is."""

    word: str
    share: float
    """Of the runs, those that have it among their nearest."""
    rank: float
    """Its mean rank in those."""


def stability(runs: Sequence[Vectors], word: str, *, n: int = 10) -> list[Stable]:
    """Every neighbour that any run gives `word`, the most dependable first."""
    if len(runs) < 2:
        raise SettingError(
            f"Stability needs two or more runs, {len(runs)} given. Train the same method with other seeds."
        )
    found: dict[str, list[int]] = {}
    for run in runs:
        for rank, id in enumerate(_neighbors(run.table, np.array([run.id(word)]), n)[0].tolist(), 1):
            found.setdefault(run.words[id], []).append(rank)
    stable = [Stable(each, len(ranks) / len(runs), sum(ranks) / len(ranks)) for each, ranks in found.items()]
    return sorted(stable, key=lambda each: (-each.share, each.rank, each.word))


@dataclass(frozen=True, eq=False)
class _Around:
    """What one space has around a word."""

    space: Vectors
    near: list[str]
    scores: np.ndarray
    """The cosine of every word; the word itself comes last."""

    @classmethod
    def of(cls, space: Vectors, word: str, n: int) -> _Around:
        id = space.id(word)
        scores = space.table @ space.table[id] / np.where(space.lengths == 0, 1, space.lengths)
        scores[id] = -np.inf
        return cls(
            space,
            [space.words[each] for each in _neighbors(space.table, np.array([id]), n)[0].tolist()],
            scores,
        )

    def rank(self, word: str) -> int | None:
        if word in self.near:
            return self.near.index(word) + 1
        id = self.space.words.find(word)
        return None if id is None else max(len(self.near), int((self.scores > self.scores[id]).sum())) + 1


# --- all words
# ----------------------------------------------------------------------------------------------------------


def common_words(spaces: Sequence[Vectors]) -> list[str]:
    """The words all spaces have, in the order of the first."""
    first = spaces[0].words
    others = [set(space.words.all_bytes()) for space in spaces[1:] if space.words != first]
    return [word.decode("utf-8") for word in first.all_bytes() if all(word in other for other in others)]


def _common_rows(spaces: Sequence[Vectors], among: int, report: Report) -> tuple[list[str], list[np.ndarray]]:
    """The first words all spaces have, and their rows in each; words that point nowhere in one are left
    out."""
    words = common_words(spaces)
    if len(words) < 3:
        raise SourceError(
            f"The spaces have {len(words)} words in common: too few to compare. Are they of the same language and case?"
        )
    words = words[:among]
    tables = [space.rows([space.id(word) for word in words]) for space in spaces]
    pointing = np.all([table.any(axis=1) for table in tables], axis=0)
    if pointing.all():
        return words, tables
    report(
        Note(
            f"{int((~pointing).sum()):,} of {len(words):,} common words have a vector of zeros in one of the spaces and are left out."
        )
    )
    words = [word for word, held in zip(words, pointing.tolist(), strict=True) if held]
    if len(words) < 3:
        raise SourceError(
            f"Only {len(words)} common words have a vector other than zeros: too few to compare."
        )
    return words, [table[pointing] for table in tables]


def _neighbors(table: Rows, ids: np.ndarray, n: int) -> np.ndarray:
    """(id, rank) ids of the nearest words, without the word itself."""
    found = ranking.best(
        table, lengths(table), table[ids], n=min(n, len(table) - 1), without=[[id] for id in ids.tolist()]
    )
    return np.array([each.ids for each in found])


def _overlap(pairs: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Overlap:
    """Each word counts once, with its mean over the pairs of spaces."""
    shares = np.mean(
        [[len({*x} & {*y}) / len(x) for x, y in zip(a.tolist(), b.tolist(), strict=True)] for a, b in pairs],
        axis=0,
    )
    drawn = statistics.interval(shares[:, None], statistics.mean, seed=seed)
    return Overlap(float(shares.mean()), drawn.low, drawn.high)


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How far each word moved once the second space is turned onto the first; the one of fewer dimensions
    gets zeros.

    Turned twice: the tenth of the words that moved furthest at first has no say in how the space is turned.
    """
    dim = max(first.shape[1], second.shape[1])
    a, b = (np.pad(table, ((0, 0), (0, dim - table.shape[1]))) for table in (first, second))
    moved = 1 - np.einsum("wd,wd->w", a, b @ procrustes(b, a), dtype=np.float64)
    near = moved <= np.quantile(moved, 0.9)
    return 1 - np.einsum("wd,wd->w", a, b @ procrustes(b[near], a[near]), dtype=np.float64)


def _angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The same as angles, whose spread over runs differs least between words that lie firmly and words that
    do not."""
    return np.arccos(np.clip(1 - _distances(first, second), -1, 1))


def _chances(runs: Sequence[np.ndarray], second: np.ndarray) -> np.ndarray:
    """For each word how likely chance alone moves it so far.

    How odd one space is to a word among several: its mean angle with the others, less the mean angle among
    the others. The oddness of `second` among the runs is held against that of every run among the rest, over
    all words; beyond the largest of those the tail is continued as an exponential, so that few runs can show
    a rare event.
    """
    apart = {(a, b): _angles(runs[a], runs[b]) for a, b in combinations(range(len(runs)), 2)}
    if max(each.max() for each in apart.values()) < NOTHING:
        raise SettingError(
            "The runs are all the same space, so they show no chance. Train them with other seeds or on other samples of text."
        )
    odd = np.mean([_angles(run, second) for run in runs], axis=0) - np.mean(list(apart.values()), axis=0)
    chance = np.sort(
        np.concatenate(
            [
                np.mean([each for pair, each in apart.items() if run in pair], axis=0)
                - np.mean([each for pair, each in apart.items() if run not in pair], axis=0)
                for run in range(len(runs))
            ]
        )
    )
    start = np.quantile(chance, 1 - TAIL)
    fall = max(float((chance[chance >= start] - start).mean()), 1e-9)
    seen = (len(chance) - np.searchsorted(chance, odd) + 1) / (len(chance) + 1)
    return np.where(odd > start, TAIL * np.exp(-(odd - start) / fall), seen)


def _adjusted(p: np.ndarray) -> np.ndarray:
    """For each word the share of false alarms among all words at least as unlikely (Benjamini and Hochberg
    1995)."""
    order = np.argsort(p, kind="stable")
    shares = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.minimum.accumulate(shares[::-1])[::-1])
    return adjusted
