"""2-D maps: PCA, t-SNE, UMAP; the same for the same seed, each with its quality.

No plane holds a space of a hundred dimensions. So every map comes with its quality: how many of the
neighbors it shows are false, and how many of the closest it does not show.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Range, check
from inlaid.errors import SettingError, SourceError, need
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Places, Rows
from inlaid.study.map.colors import MOST_GROUPS, ColorBy

FEWEST = 4
"""Points that t-SNE and UMAP need."""
MOST = 100_000
"""Points on a map at most: more take hours, and cannot be read."""
EXACT = 5_000
"""Up to this many points t-SNE uses exact neighbors and Barnes-Hut; above, approximate neighbors and
interpolation."""
ITERATIONS = (250, 500)
"""Iterations of t-SNE: with early exaggeration, then without."""
EVERY = 50
"""Iterations between two progress events."""


@dataclass(frozen=True, kw_only=True)
class MapSettings:
    """How points are laid out on a plane, and what their colors show."""

    method: Literal["pca", "tsne", "umap"] | None = None
    """pca: the two directions of largest variance; tsne (needs the extra `explore`) and umap (the extra
    `umap`): keep neighborhoods, not distances. When not given, tsne where it is installed, otherwise pca."""
    color: ColorBy | None = None
    """trust: the share of a point's neighbors that are true; cluster: k-means of the vectors; count: how
    often a word occurred (needs counts); label: groups (needs labels); axis: between two lists of words
    (needs axis_from and axis_to). When not given, axis or label where there is one, otherwise trust."""
    clusters: Annotated[int, Range(2, MOST_GROUPS)] = 8
    """Color by cluster: how many clusters."""
    axis_from: tuple[str, ...] = ()
    """Color by axis: words at one end."""
    axis_to: tuple[str, ...] = ()
    """Color by axis: words at the other end."""
    top: Annotated[int, Range(1, MOST)] = 2_000
    """How many points are drawn when none is named: the first, which files of vectors list by frequency."""
    sample: bool = False
    """Draw that many from all at random, by the seed, instead of the first."""
    perplexity: Annotated[float, Range(1)] = 30.0
    """t-SNE: about how many neighbors hold a point in place; lowered, with a note, where there are too few
    points."""
    neighbors: Annotated[int, Range(2)] = 15
    """UMAP: the same."""
    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """The same seed gives the same map, to the bit."""
    workers: Annotated[int, Range(1)] = 1
    """t-SNE: threads. Another number of threads gives another map; only one thread guarantees the same map
    for the same seed."""

    def __post_init__(self) -> None:
        check(self)
        listed = bool(self.axis_from) + bool(self.axis_to)
        if listed == 1 or (self.color == "axis" and not listed):
            raise SettingError(
                "An axis leads from some words to others: name at least one in each of axis_from and axis_to."
            )
        if listed and self.color not in (None, "axis"):
            raise SettingError(
                "axis_from and axis_to are given, but the color is by {color}. Leave one of them out.",
                color=self.color,
            )


def lay_out(unit: Rows, settings: MapSettings, report: Report = silent) -> Places:
    """A place on the plane for every unit vector. The method is named (see `with_method`)."""
    assert settings.method is not None
    _check_size(unit, settings.method)
    return METHODS[settings.method](unit, settings, report)


def with_method(settings: MapSettings, points: int, report: Report = silent) -> MapSettings:
    """The settings with a method: t-SNE where none is named, or PCA where t-SNE is not installed or there are
    too few points for it, which is noted."""
    if settings.method is not None:
        return settings
    if points < FEWEST:
        return replace(settings, method="pca")
    if importlib.util.find_spec("openTSNE") is None:
        report(
            Note(
                "The map is by PCA, because t-SNE is not installed; it shows neighborhoods better. Run "
                "`pip install 'inlaid[explore]'`, or choose pca to leave out this note."
            )
        )
        return replace(settings, method="pca")
    return replace(settings, method="tsne")


def _check_size(unit: Rows, method: str) -> None:
    if len(unit) < 2:
        raise SourceError(
            "A map needs at least 2 points with a vector that is not zero; found {found}.", found=len(unit)
        )
    if method != "pca" and len(unit) < FEWEST:
        raise SettingError(
            "A map by {method} needs at least {fewest} points; found {found}. Name more, or use the method "
            "pca.",
            method=method,
            fewest=FEWEST,
            found=len(unit),
        )
    if np.abs(unit - unit[0]).max() < 1e-6:  # float32 rounding of equal directions
        raise SourceError("All these vectors have the same direction: everything would be at one point.")


def _pca(unit: Rows, settings: MapSettings, report: Report) -> Places:
    """The two directions of largest variance. The sign of an axis is arbitrary: the furthest point gets a
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
                "A perplexity of {wanted:g} needs {needed:.0f} points; with {points}, {used:.1f} was used.",
                wanted=settings.perplexity,
                needed=3 * settings.perplexity + 1,
                points=len(unit),
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
                "{points} points have fewer than {wanted} neighbors each; {used} were used.",
                points=len(unit),
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
