"""2-D maps: PCA, t-SNE, UMAP; the same for the same seed, each with what it distorts.

No plane holds a space of a hundred dimensions. So every map comes with its faithfulness: how many of the
neighbours it shows are false, and how many of the closest it does not show.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Range, check, settings_of
from inlaid.errors import SettingError, SourceError, need
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Places, Rows
from inlaid.study.map.faithfulness import Faithfulness, faithfulness
from inlaid.vectors import Vectors, lengths

FEWEST = 4
"""Words that t-SNE and UMAP need."""
MOST = 100_000
"""Words on a map at most: more take hours, and nobody can read them."""
EXACT = 5_000
"""Up to so many words t-SNE computes with exact neighbours and a tree; beyond, with approximate ones and a
grid."""
ROUNDS = (250, 500)
"""Rounds of t-SNE: first with neighbours pulled together harder, so that groups find their place, then as
they are."""
EVERY = 50
"""Rounds between two events."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How words are laid out on a plane."""

    method: Literal["pca", "tsne", "umap"] = "tsne"
    """pca: the two directions of largest spread; tsne and umap: neighbourhoods are kept, distances are
    not."""
    top: Annotated[int, Range(1, MOST)] = 2_000
    """How many words are drawn when none are named: the first, which files list by frequency."""
    sample: bool = False
    """Draw that many from all the words at random, by the seed, instead of the first."""
    perplexity: Annotated[float, Range(1)] = 30.0
    """t-SNE: with about how many neighbours a word is held together; lowered, and said so, where there are
    too few words."""
    neighbors: Annotated[int, Range(2)] = 15
    """UMAP: the same."""
    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """The same seed gives the same map, to the bit."""
    workers: Annotated[int, Range(1)] = 1
    """t-SNE: threads. Another number of threads is another map; that the same seed gives the same is only
    promised for one."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class Map:
    """Words on a plane, and how far to trust it."""

    words: tuple[str, ...]
    places: Places
    layout: Layout
    chosen: Literal["named", "first", "sample"]
    """Why these words: they were named, they come first, or they were drawn at random."""
    total: int
    """Words of the vectors."""
    faithfulness: Faithfulness | None
    """None where there are too few words to speak of neighbours."""
    true: np.ndarray
    """(word,): the share of a word's neighbours on the map that are true; NaN where it was not looked at."""
    nearest: np.ndarray
    """(word, k): the true nearest among the words of the map, nearest first; -1 where it was not looked
    at."""


def map_words(
    vectors: Vectors, words: Sequence[str] = (), *, report: Report = silent, **settings: Any
) -> Map:
    """Lay words out on a plane: those named, or the first of the vectors. Settings are those of `Layout`.

    Only directions count, as for neighbours: every vector is given length 1 first.

    >>> map_words(vectors, ["cat", "dog", "apple", "orange"], method="pca")
    """
    layout = settings_of(Layout, settings)
    chosen, table = _chosen(vectors, words, layout, report)
    size = lengths(table)
    unit = (table / size[:, None]).astype(np.float32)
    _refuse(unit, layout)
    places = METHODS[layout.method](unit, layout, report)
    measured = faithfulness(unit, places, seed=layout.seed, report=report)
    why = "named" if words else "sample" if layout.sample and len(vectors) > layout.top else "first"
    return Map(
        tuple(chosen), places, layout, why, len(vectors), measured.figures, measured.true, measured.nearest
    )


def _chosen(vectors: Vectors, words: Sequence[str], layout: Layout, report: Report) -> tuple[list[str], Rows]:
    """The words to draw and their vectors; a vector of zeros points nowhere and is left out."""
    if words:
        named = list(dict.fromkeys(words))
        if len(named) > MOST:
            raise SettingError(f"{len(named):,} words are too many for a map: at most {MOST:,} can be drawn.")
        table = np.stack([vectors[word] for word in named])
    else:
        ids = np.arange(min(layout.top, len(vectors)))
        if layout.sample and len(ids) < len(vectors):
            random = np.random.Generator(np.random.Philox(layout.seed))
            ids = np.sort(random.choice(len(vectors), len(ids), replace=False))
        named = [vectors.words[id] for id in ids.tolist()]
        table = vectors.rows(ids)
    points = lengths(table) > 0
    empty = [word for word, some in zip(named, points.tolist(), strict=True) if not some]
    if empty:
        shown = ", ".join(f"'{word}'" for word in empty[:5]) + (" ..." if len(empty) > 5 else "")
        report(
            Note(
                f"{len(empty):,} of {len(named):,} words have a vector of zeros, which points nowhere; left out: {shown}"
            )
        )
    return [word for word, some in zip(named, points.tolist(), strict=True) if some], table[points]


def _refuse(unit: Rows, layout: Layout) -> None:
    if len(unit) < 2:
        raise SourceError(f"A map needs at least 2 words with a vector that is not zero; found {len(unit)}.")
    if layout.method != "pca" and len(unit) < FEWEST:
        raise SettingError(
            f"A map by {layout.method} needs at least {FEWEST} words; found {len(unit)}. Name more, or use the method pca."
        )
    if np.abs(unit - unit[0]).max() < 1e-6:  # what float32 leaves of equal directions
        raise SourceError("All these vectors point the same way: every word would lie on one spot.")


def _pca(unit: Rows, layout: Layout, report: Report) -> Places:
    """The two directions of largest spread. An axis has no sign of its own: the furthest word lies on its
    positive side."""
    spread = unit.astype(np.float64) - unit.mean(axis=0, dtype=np.float64)
    wide = spread.shape[1] > len(spread)
    values, axes = np.linalg.eigh(spread @ spread.T if wide else spread.T @ spread)
    values = np.maximum(values[:-3:-1], 0)
    axes = axes[:, :-3:-1]
    places = axes * np.sqrt(values) if wide else spread @ axes
    places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    furthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    return (places * np.where(furthest < 0, -1, 1)).astype(np.float32)


def _tsne(unit: Rows, layout: Layout, report: Report) -> Places:
    """t-SNE as openTSNE computes it, from the PCA map: so the whole keeps its arrangement, and chance has no
    part in it."""
    tsne = need("openTSNE", extra="explore")
    calls = 0
    perplexity = min(layout.perplexity, (len(unit) - 1) / 3)
    if perplexity < layout.perplexity:
        needed = f"{3 * layout.perplexity + 1:.0f}"
        report(
            Note(
                f"A perplexity of {layout.perplexity:g} needs {needed} words; with {len(unit)}, {perplexity:.1f} was used."
            )
        )

    def said(_: int, error: float, __: Any) -> None:  # it counts from 0 again when the first phase is over
        nonlocal calls
        calls += 1
        report(Progress("t-SNE", calls * EVERY, sum(ROUNDS), "rounds", {"error": float(error)}))

    start = _pca(unit, layout, report).astype(np.float64)
    few = len(unit) <= EXACT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tsne.TSNE(
            perplexity=perplexity,
            metric="euclidean",
            initialization=start / start[:, 0].std() * 1e-4,
            random_state=layout.seed,
            n_jobs=layout.workers,
            neighbors="exact" if few else "annoy",
            negative_gradient_method="bh" if few else "fft",
            early_exaggeration_iter=ROUNDS[0],
            n_iter=ROUNDS[1],
            callbacks=said,
            callbacks_every_iters=EVERY,
        ).fit(unit.astype(np.float64))
    return np.asarray(made, np.float32)


def _umap(unit: Rows, layout: Layout, report: Report) -> Places:
    """UMAP on one thread, which alone is the same for the same seed."""
    neighbors = min(layout.neighbors, len(unit) - 1)
    if neighbors < layout.neighbors:
        report(Note(f"{len(unit)} words have no {layout.neighbors} neighbours each; {neighbors} were used."))
    report(Progress("UMAP", 0, None, "rounds"))
    with (
        warnings.catch_warnings()
    ):  # it warns of what it lacks as it is loaded, of the one thread and of few words
        warnings.simplefilter("ignore")
        maker = need("umap", extra="umap").UMAP(
            n_neighbors=neighbors,
            metric="euclidean",
            random_state=layout.seed,
            n_jobs=1,
            init="spectral" if len(unit) >= 20 else "random",
        )
        return np.asarray(maker.fit_transform(unit), np.float32)


METHODS: dict[str, Callable[[Rows, Layout, Report], Places]] = {"pca": _pca, "tsne": _tsne, "umap": _umap}
