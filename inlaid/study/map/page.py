"""A map as one HTML page that needs no network."""

from __future__ import annotations

from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any

import numpy as np

from inlaid.report import Note, Report, silent
from inlaid.study.map.captions import CAPTIONS, caption, grey_name, group_name, legend
from inlaid.study.map.colors import UNKNOWN, Coloring
from inlaid.study.pages import json_data

if TYPE_CHECKING:
    from inlaid.study.map.map import Map

EMBEDDED = 5_000
"""Up to this many points, a page contains the true neighbors of each."""
CHARACTERS = 10_000_000
"""Characters of all texts in a page; where there are more, each text is cut."""


def page(map: Map, title: str = "", report: Report = silent) -> str:
    """One self-contained HTML page: pan, zoom, search, and the neighbors of the point under the pointer."""
    low = map.places.min(axis=0)
    high = map.places.max(axis=0)
    extent = max(float((high - low).max()), 1e-12)
    places = (map.places.astype(np.float64) - (low + high) / 2) / extent
    content = {
        "title": title,
        "kind": map.kind,
        "names": _names(map, report),
        "k": map.nearest.shape[1],
        "x": np.round(places[:, 0], 5).tolist(),
        "y": np.round(places[:, 1], 5).tolist(),
        "true": _numbers(map.true),
        "nearest": map.nearest.tolist() if len(map.names) <= EMBEDDED else None,
        "color": _color(map.coloring),
        "labels": list(map.labels),
        "caption": {language: caption(map, language) for language in CAPTIONS},
        "legend": {language: legend(map, language) for language in CAPTIONS},
        "groups": {language: _groups(map, language) for language in CAPTIONS},
    }
    template = (resources("inlaid.study.map") / "map.html").read_text("utf-8")
    return template.replace("/*CONTENT*/", json_data(content))


def _names(map: Map, report: Report) -> list[str]:
    """The words or texts, each cut where all of them would make a page too large for a browser."""
    if sum(len(name) for name in map.names) <= CHARACTERS:
        return list(map.names)
    most = CHARACTERS // len(map.names)
    cut = [name if len(name) <= most else f"{name[: most - 1]}…" for name in map.names]
    report(
        Note(
            "The page has the first {most:,} characters of each text, so that a browser can open it.",
            most=most,
        )
    )
    return cut


def _color(coloring: Coloring) -> dict[str, Any]:
    """Either groups, each with a color and a shape, or a scale with a share of it for each point."""
    shown: dict[str, Any] = {"by": coloring.by, "unknown": UNKNOWN}
    if coloring.groups:
        shown["groups"] = [{"color": each.color, "shape": each.shape} for each in coloring.groups]
        shown["values"] = [None if np.isnan(value) else int(value) for value in coloring.values.tolist()]
        return shown
    ticks = coloring.ticks()
    shown["scale"] = list(coloring.colors)
    shown["values"] = _numbers(coloring.shares())
    shown["ends"] = list(coloring.ends) if coloring.by == "axis" else [ticks[0].text, ticks[-1].text]
    return shown


def _groups(map: Map, language: Any) -> list[str]:
    """The lines of the legend; the last is about grey points, where there are any."""
    lines = [group_name(each, language) for each in map.coloring.groups]
    grey = grey_name(map, language)
    return [*lines, grey] if grey else lines


def _numbers(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(value, 3) for value in values.tolist()]
