"""2-D maps: PCA, t-SNE, UMAP; the same for the same seed, each with its quality.

No plane holds a space of a hundred dimensions. So every map comes with its quality: how many of the
neighbors it shows are false, and how many of the closest it does not show.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Range, check
from inlaid.errors import SettingError, SourceError, need
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Places, Rows
from inlaid.study.analysis import analysis
from inlaid.study.map.quality import MapQuality, measure_map
from inlaid.study.search.queries import note_words
from inlaid.vectors import Vectors, lengths

FEWEST = 4
"""Words that t-SNE and UMAP need."""
MOST = 100_000
"""Words on a map at most: more take hours, and cannot be read."""
EXACT = 5_000
"""Up to this many words t-SNE uses exact neighbors and Barnes-Hut; above, approximate neighbors and
interpolation."""
ITERATIONS = (250, 500)
"""Iterations of t-SNE: with early exaggeration, then without."""
EVERY = 50
"""Iterations between two progress events."""


@dataclass(frozen=True, kw_only=True)
class MapSettings:
    """How words are laid out on a plane."""

    method: Literal["pca", "tsne", "umap"] = "tsne"
    """pca: the two directions of largest variance; tsne (needs the extra `explore`) and umap (the extra
    `umap`): keep neighborhoods, not distances."""
    top: Annotated[int, Range(1, MOST)] = 2_000
    """How many words are drawn when none is named: the first, which files list by frequency."""
    sample: bool = False
    """Draw that many from all words at random, by the seed, instead of the first."""
    perplexity: Annotated[float, Range(1)] = 30.0
    """t-SNE: about how many neighbors hold a word in place; lowered, with a note, where there are too few
    words."""
    neighbors: Annotated[int, Range(2)] = 15
    """UMAP: the same."""
    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """The same seed gives the same map, to the bit."""
    workers: Annotated[int, Range(1)] = 1
    """t-SNE: threads. Another number of threads gives another map; only one thread guarantees the same map
    for the same seed."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Map:
    """Words on a plane, and how far to trust it."""

    words: tuple[str, ...]
    places: Places
    settings: MapSettings
    chosen: Literal["named", "first", "sample"]
    """Why these words: they were named, they come first, or they were drawn at random."""
    total: int
    """Words of the vectors."""
    quality: MapQuality | None
    """None where there are too few words to have neighbors."""
    true: np.ndarray
    """(word,): share of a word's neighbors on the map that are true; NaN where it was not sampled."""
    nearest: np.ndarray
    """(word, k): the true nearest among the words of the map, nearest first; -1 where it was not sampled."""


@analysis
def map_words(
    vectors: Vectors,
    words: Sequence[str] = (),
    settings: MapSettings | None = None,
    *,
    report: Report = silent,
) -> Map:
    """Lay words out on a plane: those named, or the first of the vectors.

    Only directions count, as for neighbors: every vector is normalized to length 1 first.

    >>> map_words(vectors, ["cat", "dog", "apple", "orange"], method="pca")
    """
    settings = settings or MapSettings()
    if words:
        named = _named(words)
        table = np.stack([vectors[word] for word in named])
        note_words(vectors, named, report)
    else:
        ids = _chosen_ids(vectors, settings)
        named = [vectors.words[id] for id in ids.tolist()]
        table = vectors.rows(ids)
    kept, table = _without_zeros(named, table, report)
    unit = (table / lengths(table)[:, None]).astype(np.float32)
    _check_size(unit, settings)
    places = METHODS[settings.method](unit, settings, report)
    measured = measure_map(unit, places, seed=settings.seed, report=report)
    return Map(
        words=tuple(kept),
        places=places,
        settings=settings,
        chosen=_choice(vectors, words, settings),
        total=len(vectors),
        quality=measured.quality,
        true=measured.true,
        nearest=measured.nearest,
    )


def _named(words: Sequence[str]) -> list[str]:
    named = list(dict.fromkeys(words))
    if len(named) > MOST:
        raise SettingError(
            "{words:,} words are too many for a map: at most {most:,} can be drawn.",
            words=len(named),
            most=MOST,
        )
    return named


def _chosen_ids(vectors: Vectors, settings: MapSettings) -> np.ndarray:
    """The first words, or a random sample of all."""
    count = min(settings.top, len(vectors))
    if settings.sample and count < len(vectors):
        random = np.random.Generator(np.random.Philox(settings.seed))
        return np.sort(random.choice(len(vectors), count, replace=False))
    return np.arange(count)


def _choice(
    vectors: Vectors, words: Sequence[str], settings: MapSettings
) -> Literal["named", "first", "sample"]:
    if words:
        return "named"
    return "sample" if settings.sample and len(vectors) > settings.top else "first"


def _without_zeros(words: list[str], table: np.ndarray, report: Report) -> tuple[list[str], np.ndarray]:
    """The words with a direction, and their rows."""
    nonzero = lengths(table) > 0
    zeros = [word for word, held in zip(words, nonzero.tolist(), strict=True) if not held]
    if zeros:
        shown = ", ".join(f"'{word}'" for word in zeros[:5])
        report(
            Note(
                "{zeros:,} of {total:,} words have a zero vector, which has no direction; left out: {shown}",
                zeros=len(zeros),
                total=len(words),
                shown=shown if len(zeros) <= 5 else f"{shown} ...",
            )
        )
    return [word for word, held in zip(words, nonzero.tolist(), strict=True) if held], table[nonzero]


def _check_size(unit: Rows, settings: MapSettings) -> None:
    if len(unit) < 2:
        raise SourceError(
            "A map needs at least 2 words with a vector that is not zero; found {found}.", found=len(unit)
        )
    if settings.method != "pca" and len(unit) < FEWEST:
        raise SettingError(
            "A map by {method} needs at least {fewest} words; found {found}. Name more, or use the method "
            "pca.",
            method=settings.method,
            fewest=FEWEST,
            found=len(unit),
        )
    if np.abs(unit - unit[0]).max() < 1e-6:  # float32 rounding of equal directions
        raise SourceError("All these vectors have the same direction: every word would be at one point.")


def _pca(unit: Rows, settings: MapSettings, report: Report) -> Places:
    """The two directions of largest variance. The sign of an axis is arbitrary: the furthest word gets a
    positive coordinate."""
    centered = unit.astype(np.float64) - unit.mean(axis=0, dtype=np.float64)
    wide = centered.shape[1] > len(centered)
    values, axes = np.linalg.eigh(centered @ centered.T if wide else centered.T @ centered)
    values = np.maximum(values[:-3:-1], 0)
    axes = axes[:, :-3:-1]
    places = axes * np.sqrt(values) if wide else centered @ axes
    places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    furthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    return (places * np.where(furthest < 0, -1, 1)).astype(np.float32)


def _tsne(unit: Rows, settings: MapSettings, report: Report) -> Places:
    """t-SNE by openTSNE, initialized with PCA, which keeps the global arrangement and needs no random
    start."""
    tsne = need("openTSNE", extra="explore")
    perplexity = min(settings.perplexity, (len(unit) - 1) / 3)
    if perplexity < settings.perplexity:
        report(
            Note(
                "A perplexity of {wanted:g} needs {needed:.0f} words; with {words}, {used:.1f} was used.",
                wanted=settings.perplexity,
                needed=3 * settings.perplexity + 1,
                words=len(unit),
                used=perplexity,
            )
        )
    calls = 0

    def progress(
        _: int, error: float, __: Any
    ) -> None:  # its own count starts again after early exaggeration
        nonlocal calls
        calls += 1
        figures = {"error": float(error)}
        report(Progress("t-SNE", calls * EVERY, sum(ITERATIONS), "iterations", figures))

    start = _pca(unit, settings, report).astype(np.float64)
    exact = len(unit) <= EXACT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tsne.TSNE(
            perplexity=perplexity,
            metric="euclidean",
            initialization=start / start[:, 0].std() * 1e-4,
            random_state=settings.seed,
            n_jobs=settings.workers,
            neighbors="exact" if exact else "annoy",
            negative_gradient_method="bh" if exact else "fft",
            early_exaggeration_iter=ITERATIONS[0],
            n_iter=ITERATIONS[1],
            callbacks=progress,
            callbacks_every_iters=EVERY,
        ).fit(unit.astype(np.float64))
    return np.asarray(made, np.float32)


def _umap(unit: Rows, settings: MapSettings, report: Report) -> Places:
    """UMAP on one thread: only then is it reproducible."""
    neighbors = min(settings.neighbors, len(unit) - 1)
    if neighbors < settings.neighbors:
        report(
            Note(
                "{words} words have fewer than {wanted} neighbors each; {used} were used.",
                words=len(unit),
                wanted=settings.neighbors,
                used=neighbors,
            )
        )
    report(Progress("UMAP", 0, None, "iterations"))
    with warnings.catch_warnings():  # about missing dependencies at import, the one thread, and few words
        warnings.simplefilter("ignore")
        maker = need("umap", extra="umap").UMAP(
            n_neighbors=neighbors,
            metric="euclidean",
            random_state=settings.seed,
            n_jobs=1,
            init="spectral" if len(unit) >= 20 else "random",
        )
        return np.asarray(maker.fit_transform(unit), np.float32)


METHODS: dict[str, Callable[[Rows, MapSettings, Report], Places]] = {
    "pca": _pca,
    "tsne": _tsne,
    "umap": _umap,
}
