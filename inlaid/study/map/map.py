"""`inlaid map`: words on a plane, written as a picture or a page, and how far to trust it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Listed, Message, shown_language
from inlaid.report import Note, Report, silent
from inlaid.shapes import Places
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.map import colors
from inlaid.study.map.captions import caption
from inlaid.study.map.colors import Coloring, Member
from inlaid.study.map.layout import MOST, MapSettings, lay_out, with_method
from inlaid.study.map.pictures import draw_map, figure, shown_in_notebook, writable
from inlaid.study.map.quality import MapQuality, measure_map
from inlaid.study.search.queries import note_words
from inlaid.study.use.texts import shortened
from inlaid.vectors import Vectors, lengths

Kind = Literal["word", "text"]
Chosen = Literal["named", "first", "sample"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Map:
    """Words or texts on a plane, and how far to trust it."""

    names: tuple[str, ...]
    """What each point is: a word, or a whole text."""
    kind: Kind
    places: Places
    settings: MapSettings
    """With the method that was used."""
    chosen: Chosen
    """Why these points: they were named, they come first, or they were drawn at random."""
    total: int
    """Words of the vectors, or texts."""
    quality: MapQuality | None
    """None where there are too few points to have neighbors."""
    true: np.ndarray
    """(point,): share of a point's neighbors on the map that are true; NaN where it was not sampled."""
    nearest: np.ndarray
    """(point, k): the true nearest among the points of the map, nearest first; -1 where it was not
    sampled."""
    coloring: Coloring
    labels: tuple[str, ...] = ()
    """One for each point, where there are labels."""
    output: Path | None = None
    """The file it was written to."""

    def rows(self) -> list[Row]:
        first: Row
        first, *others = caption(self, shown_language())
        if self.output is not None:
            first = Message("{path}: {size}", path=self.output, size=first)
        return [first, *(f"  {line}" for line in others)]

    def to_dict(self) -> dict[str, Any]:
        columns = zip(self.names, self.places.tolist(), self.true.tolist(), self._colored(), strict=True)
        points = [
            {self.kind: name, "x": x, "y": y, "true": None if math.isnan(true) else true, "color": color}
            for name, (x, y), true, color in columns
        ]
        return {
            "file": None if self.output is None else str(self.output),
            "chosen": self.chosen,
            "total": self.total,
            "settings": plain(self.settings),
            "quality": plain(self.quality),
            "coloring": self.coloring.to_dict(),
            f"{self.kind}s": points,
        }

    def _colored(self) -> list[Any]:
        """What the color of each point shows: its label, the number of its cluster from 1, or a number."""
        if self.coloring.by == "label":
            return list(self.labels)
        if self.coloring.by == "cluster":
            return (self.coloring.values.astype(int) + 1).tolist()
        return plain(self.coloring.values)

    def figure(self, title: str = "", *, report: Report = silent) -> Any:
        """The picture as matplotlib's Figure, to be shown or changed."""
        return figure(self, title, report=report)

    def _repr_html_(self) -> str:
        return shown_in_notebook(self)


@analysis
@local_only("workers")
def map(
    vectors: Vectors,
    words: Sequence[str] = (),
    settings: MapSettings | None = None,
    *,
    labels: Sequence[str] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Map:
    """Lay words out on a plane, and say how far to trust it; written as a picture or a page.

    Only directions count, as for neighbors: every vector is normalized to length 1 first.

    >>> map(vectors, ["cat", "dog", "apple", "orange"], method="pca").figure()

    Args:
        vectors: a file of vectors
        words: the words to draw; the first of the file when none is named
        labels: one for each word that is named, to color them by
        output: what to write: a .png, .svg or .pdf, or an .html that works without a network

    Examples:
        inlaid map vectors.inlaid --top 500 -o map.html
        inlaid map vectors.inlaid king queen apple --method pca -o map.svg
    """
    settings = settings or MapSettings()
    path = None if output is None else writable(Path(output), overwrite=overwrite)
    if words:
        named = list(dict.fromkeys(words))
        labels = _labels_by_word(words, labels)
        check_number(len(named))
        table = np.stack([vectors[word] for word in named])
        counts = _counts(vectors, named)
        note_words(vectors, named, report)
    else:
        if labels:
            raise SettingError("Labels need words: name the word that each belongs to.")
        ids = chosen_ids(len(vectors), settings)
        named = [vectors.words[id] for id in ids.tolist()]
        table = vectors.rows(ids)
        counts = None if vectors.counts is None else np.asarray(vectors.counts)[ids]
    points = Points(
        names=named,
        kind="word",
        table=table,
        chosen=chosen_how(len(vectors), settings, named=bool(words)),
        total=len(vectors),
        labels=labels,
        counts=counts,
        vectors_of=lambda listed: np.stack([vectors[word] for word in listed]),
    )
    made = make_map(points, settings, report)
    return written(made, path, overwrite=overwrite, report=report)


def _labels_by_word(words: Sequence[str], labels: Sequence[str]) -> list[str]:
    """The labels of the words, each word once."""
    if not labels:
        return []
    if len(labels) != len(words):
        raise SettingError(
            "Expected a label for each word; found {words:,} words and {labels:,} labels.",
            words=len(words),
            labels=len(labels),
        )
    return list({word: str(label) for word, label in zip(words, labels, strict=True)}.values())


def _counts(vectors: Vectors, words: Sequence[str]) -> np.ndarray | None:
    """How often each word occurred; 0 for words composed of subwords."""
    if vectors.counts is None:
        return None
    ids = [vectors.words.find(word) for word in words]
    return np.array([0 if id is None else vectors.counts[id] for id in ids])


# --- what maps of words and of texts share ------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Points:
    """What is to be laid out."""

    names: Sequence[str]
    kind: Kind
    table: np.ndarray
    """(point, dim)"""
    chosen: Chosen
    total: int
    labels: Sequence[str] = ()
    counts: np.ndarray | None = None
    vectors_of: Callable[[Sequence[str]], np.ndarray]
    """The vectors of the words of an axis (word, dim)."""

    def kept(self, held: np.ndarray) -> Points:
        """Some of the points."""
        ids = np.flatnonzero(held).tolist()
        return dataclasses.replace(
            self,
            names=[self.names[id] for id in ids],
            table=self.table[held],
            labels=[self.labels[id] for id in ids] if self.labels else (),
            counts=None if self.counts is None else self.counts[held],
        )


def make_map(points: Points, settings: MapSettings, report: Report = silent) -> Map:
    """Lay out points with a direction, measure the map, and color it."""
    points = _without_zeros(points, report)
    settings = with_method(settings, len(points.names), report)
    unit = _unit(points.table)
    coloring = _coloring(points, unit, settings)
    places = lay_out(unit, settings, report)
    measured = measure_map(unit, places, seed=settings.seed, report=report)
    return Map(
        names=tuple(points.names),
        kind=points.kind,
        places=places,
        settings=settings,
        chosen=points.chosen,
        total=points.total,
        quality=measured.quality,
        true=measured.true,
        nearest=measured.nearest,
        coloring=coloring or colors.by_trust(measured.true),
        labels=tuple(points.labels),
    )


def _coloring(points: Points, unit: np.ndarray, settings: MapSettings) -> Coloring | None:
    """What the colors show; None for trust, which is known only when the points have their places."""
    by = settings.color
    if by == "axis" or settings.axis_from:
        start = _axis_rows(points, settings.axis_from)
        end = _axis_rows(points, settings.axis_to)
        ends = (shortened(" ".join(settings.axis_from), 30), shortened(" ".join(settings.axis_to), 30))
        return colors.by_axis(unit, start, end, ends, _members(points, settings))
    if by == "label" or (by is None and points.labels):
        return colors.by_label(points.labels)
    if by == "cluster":
        names = points.names if points.kind == "word" else ()
        return colors.by_cluster(unit, names, settings.clusters, seed=settings.seed)
    if by == "count":
        return colors.by_count(points.counts)
    return None


def _members(points: Points, settings: MapSettings) -> list[Member]:
    """The points that are words of the axis."""
    at = {name: point for point, name in enumerate(points.names)}
    start = [Member(at[word], "from", n) for n, word in enumerate(settings.axis_from) if word in at]
    end = [Member(at[word], "to", n) for n, word in enumerate(settings.axis_to) if word in at]
    return [*start, *end]


def _axis_rows(points: Points, words: Sequence[str]) -> np.ndarray:
    """The unit vectors of one end of an axis."""
    rows = points.vectors_of(words)
    zero = np.flatnonzero(lengths(rows) == 0).tolist()
    if zero:
        raise SettingError(
            "'{word}' has a zero vector, which has no place on an axis. Leave it out.", word=words[zero[0]]
        )
    return _unit(rows)


def written(made: Map, path: Path | None, *, overwrite: bool, report: Report) -> Map:
    """The map, written to a file if there is one."""
    if path is None:
        return made
    draw_map(made, path, overwrite=overwrite, report=report)
    return dataclasses.replace(made, output=path)


def check_number(points: int) -> None:
    if points > MOST:
        raise SettingError(
            "{points:,} points are too many for a map: at most {most:,} can be drawn.",
            points=points,
            most=MOST,
        )


def chosen_ids(total: int, settings: MapSettings) -> np.ndarray:
    """The first, or a random sample of all."""
    count = min(settings.top, total)
    if settings.sample and count < total:
        random = np.random.Generator(np.random.Philox(settings.seed))
        return np.sort(random.choice(total, count, replace=False))
    return np.arange(count)


def chosen_how(total: int, settings: MapSettings, *, named: bool) -> Chosen:
    if named:
        return "named"
    return "sample" if settings.sample and total > settings.top else "first"


def _unit(table: np.ndarray) -> np.ndarray:
    return (table / lengths(table)[:, None]).astype(np.float32)


def _without_zeros(points: Points, report: Report) -> Points:
    """The points with a direction."""
    nonzero = lengths(points.table) > 0
    zeros = [points.names[id] for id in np.flatnonzero(~nonzero).tolist()]
    if not zeros:
        return points
    named = Listed([*(f"'{shortened(name)}'" for name in zeros[:5]), *(["..."] if len(zeros) > 5 else [])])
    report(
        Note(
            "{zeros:,} of {total:,} points have a zero vector, which has no direction; left out: {shown}",
            zeros=len(zeros),
            total=len(points.names),
            shown=named,
        )
    )
    return points.kept(nonzero)
