"""Layouts: places of words on a plane; PCA at once, t-SNE and UMAP in the background, with their quality."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.errors import InlaidError
from inlaid.messages import Message
from inlaid.report import Event, Progress
from inlaid.study.analysis import plain
from inlaid.study.map.layout import FEWEST, MapSettings, lay_out
from inlaid.study.map.quality import measure_map
from inlaid.vectors import Vectors, lengths

Method = Literal["pca", "tsne", "umap"]
State = Literal["waiting", "running", "ready", "failed", "missing"]
METHODS: tuple[Method, ...] = ("pca", "tsne", "umap")
LIBRARIES = {"tsne": ("openTSNE", "explore"), "umap": ("umap", "umap")}
"""What t-SNE and UMAP need: the module, and the extra of the package that has it."""
ROWS = 1 << 14
MEASURED = 20_000
"""Words among which a layout is measured: the first ones, which files list by frequency."""
PAIRS = 20_000_000
"""Pairs of words compared for it."""


class Stopped(Exception):
    """The explorer is closed: what works in the background ends at its next report."""


@dataclass
class Layout:
    """One layout of one space, finished or not."""

    method: Method
    state: State = "waiting"
    done: int = 0
    total: int | None = None
    stage: str = ""
    places: np.ndarray | None = None
    """(point, 2) f4 within [-1, 1]; NaN for words without a direction."""
    trust: np.ndarray | None = None
    """(point,) f4: the share of a point's neighbors that are true; NaN where it was not measured."""
    quality: dict[str, Any] | None = None
    problem: Message | Exception | None = None

    def status(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "points": 0 if self.places is None else len(self.places),
            "quality": self.quality,
            "problem": None if self.problem is None else str(self.problem),
        }


class Layouts:
    """The layouts of one space: the first of `most` words by PCA, of `neighborhoods` by the others."""

    def __init__(self, vectors: Vectors, *, most: int, neighborhoods: int, seed: int = 1) -> None:
        self.vectors = vectors
        self.most = min(most, len(vectors))
        self.neighborhoods = min(neighborhoods, len(vectors))
        self.seed = seed
        self.stopped = threading.Event()
        self.by_method = {method: Layout(method) for method in METHODS}
        for method, (module, extra) in LIBRARIES.items():
            layout = self.by_method[method]
            if self.neighborhoods < FEWEST:
                layout.state = "missing"
                layout.problem = Message("There are too few words for this map.")
            elif importlib.util.find_spec(module) is None:
                layout.state = "missing"
                layout.problem = Message(
                    "{module} is not installed: run `pip install 'inlaid[{extra}]'`.",
                    module=module,
                    extra=extra,
                )

    def statuses(self) -> list[dict[str, Any]]:
        return [layout.status() for layout in self.by_method.values()]

    def make(self, method: Method) -> Layout:
        """Lay the words out, once; the state says how far that is."""
        layout = self.by_method[method]
        if layout.state != "waiting":
            return layout
        layout.state = "running"
        try:
            self._lay_out(layout)
        except Stopped:
            layout.state = "waiting"
        except (InlaidError, MemoryError, ArithmeticError, ValueError) as error:
            layout.problem = error
            layout.state = "failed"
        return layout

    def _lay_out(self, layout: Layout) -> None:
        def report(event: Event) -> None:
            if self.stopped.is_set():
                raise Stopped
            if isinstance(event, Progress):
                layout.stage = event.stage
                layout.done = event.done
                layout.total = event.total

        if layout.method == "pca":
            places = pca_places(self.vectors, self.most)
        else:
            places = self._near(layout.method, report)
        layout.places = _in_square(places)
        layout.state = "ready"  # it can be looked at while it is measured
        self._measure(layout, report)

    def _near(self, method: Method, report: Callable[[Event], None]) -> np.ndarray:
        """The places of t-SNE or UMAP; words without a direction get none."""
        table = np.asarray(self.vectors.rows(np.arange(self.neighborhoods)))
        sizes = lengths(table)
        has_direction = sizes > 0
        unit = (table[has_direction] / sizes[has_direction, None]).astype(np.float32)
        places = np.full((len(table), 2), np.nan, np.float32)
        places[has_direction] = lay_out(unit, MapSettings(method=method, seed=self.seed), report)
        return places

    def _measure(self, layout: Layout, report: Callable[[Event], None]) -> None:
        assert layout.places is not None
        count = min(MEASURED, len(layout.places))
        seen = np.flatnonzero(np.isfinite(layout.places[:count, 0]))
        table = np.asarray(self.vectors.rows(seen))
        unit = (table / lengths(table)[:, None]).astype(np.float32)
        found = measure_map(unit, layout.places[seen], pairs=PAIRS, seed=self.seed, report=report)
        trust = np.full(len(layout.places), np.nan, np.float32)
        trust[seen] = found.true
        layout.trust = trust
        layout.quality = None if found.quality is None else {**plain(found.quality), "among": len(seen)}


def pca_places(vectors: Vectors, count: int) -> np.ndarray:
    """(count, 2): unit vectors on their two directions of largest variance, a block of rows at a time: a
    million words need no second table."""
    total = np.zeros(vectors.dim)
    products = np.zeros((vectors.dim, vectors.dim))
    number = 0
    for start in range(0, count, ROWS):
        unit = _unit(vectors, start, min(start + ROWS, count))
        unit = unit[np.isfinite(unit[:, 0])]
        total += unit.sum(axis=0)
        products += unit.T @ unit
        number += len(unit)
    mean = total / max(number, 1)
    _, axes = np.linalg.eigh(products / max(number, 1) - np.outer(mean, mean))
    axes = axes[:, : -3 if vectors.dim > 1 else None : -1]
    places = np.zeros((count, 2), np.float32)
    for start in range(0, count, ROWS):
        stop = min(start + ROWS, count)
        places[start:stop, : axes.shape[1]] = (_unit(vectors, start, stop) - mean) @ axes
    furthest = np.nan_to_num(places)[np.nanargmax(np.abs(np.nan_to_num(places)), axis=0), [0, 1]]
    return places * np.where(furthest < 0, -1, 1).astype(np.float32)


def _unit(vectors: Vectors, start: int, stop: int) -> np.ndarray:
    """Unit rows in float64; NaN for zero vectors."""
    rows = np.asarray(vectors.rows(np.arange(start, stop)), np.float64)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes == 0, np.nan, sizes)


def _in_square(places: np.ndarray) -> np.ndarray:
    """Within [-1, 1] in both directions, with one scale for both."""
    low = np.nanmin(places, axis=0)
    high = np.nanmax(places, axis=0)
    extent = max(float((high - low).max()), 1e-12)
    return ((places - (low + high) / 2) * (2 / extent)).astype(np.float32)


def rotated_onto(places: np.ndarray, target: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """A layout turned, mirrored and scaled so that the points of `pairs` come close to those of another one:
    neither direction nor size of a map means anything."""
    ours = places[pairs[0]].astype(np.float64)
    theirs = target[pairs[1]].astype(np.float64)
    seen = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    ours = ours[seen]
    theirs = theirs[seen]
    if len(ours) < 2:
        return places
    ours_centered = ours - ours.mean(axis=0)
    theirs_centered = theirs - theirs.mean(axis=0)
    left, _, right = np.linalg.svd(ours_centered.T @ theirs_centered)
    # As wide as the other, not the least-squares scale, which shrinks a map to a dot where the two disagree.
    scale = np.linalg.norm(theirs_centered) / max(float(np.linalg.norm(ours_centered)), 1e-12)
    turned = (places - ours.mean(axis=0)) @ (left @ right) * scale + theirs.mean(axis=0)
    return turned.astype(np.float32)
