"""A map as a picture (PNG), or as one HTML page that needs no network."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import unicodedata
import warnings
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid import files, places
from inlaid.errors import MissingExtra, SettingError, need
from inlaid.report import Note, Report, silent
from inlaid.study.map.captions import CAPTIONS, Language, caption, language_of, legend
from inlaid.study.map.layout import Map

FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Arial Unicode MS",
)
"""Fonts with simplified Chinese characters on common systems; the first that is installed is used."""
PLAIN = "DejaVu Sans"
"""The font that comes with matplotlib."""
UNREADABLE = re.compile("Last Resort|Emoji")
"""Fonts of boxes, and fonts of coloured bitmaps, which matplotlib cannot draw."""
COLORS = ("#d9480f", "#b5a7b3", "#1c7ed6")
"""Of words whose neighbors on the map are all false, half true, all true; orange and blue differ for the
colour-blind too."""
UNKNOWN = "#adb5bd"
"""Of words that were not sampled."""
TEXT_COLOR = "#495057"
SMALL = 60
"""Up to this many words are drawn large."""
LABELLED = 2_000
"""Words that get a label if there is space: the first ones; a picture has space for a few hundred."""
EMBEDDED = 5_000
"""Up to this many words, a page contains the true neighbors of each."""
SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where a label may be placed beside its dot, best first: right (1) or left (-1), above or below."""


def draw_map(
    map: Map, path: str | Path, *, title: str = "", overwrite: bool = False, report: Report = silent
) -> None:
    """Write the map to a .png or .html file, with its quality below, in the language of most of its words.

    An earlier map is replaced; any other file only with `overwrite`.
    """
    path = writable(Path(path), overwrite=overwrite)
    if path.suffix.lower() == ".html":
        content = page(map, title).encode()
    else:
        content = picture(map, title, report)
    files.write_bytes(path, places.sealed(content))


def writable(path: Path, *, overwrite: bool = False) -> Path:
    """The path, if a map can be written there."""
    if path.suffix.lower() not in (".png", ".html"):
        raise SettingError("A map is written as .png or .html; found '{name}'.", name=path.name)
    files.can_write(path)
    places.check_replaceable(path, overwrite=overwrite)
    return path


# --- the page -----------------------------------------------------------------------------------------------


def page(map: Map, title: str = "") -> str:
    """One self-contained HTML page: pan, zoom, search, and the neighbors of the word under the pointer."""
    low = map.places.min(axis=0)
    high = map.places.max(axis=0)
    extent = max(float((high - low).max()), 1e-12)
    places = (map.places.astype(np.float64) - (low + high) / 2) / extent
    content = {
        "title": title,
        "words": list(map.words),
        "k": map.nearest.shape[1],
        "colors": [*COLORS, UNKNOWN],
        "x": np.round(places[:, 0], 5).tolist(),
        "y": np.round(places[:, 1], 5).tolist(),
        "true": [None if np.isnan(share) else round(share, 3) for share in map.true.tolist()],
        "nearest": map.nearest.tolist() if len(map.words) <= EMBEDDED else None,
        "caption": {language: caption(map, language) for language in CAPTIONS},
        "legend": {language: legend(map, language) for language in CAPTIONS},
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    template = (resources("inlaid.study.map") / "map.html").read_text("utf-8")
    return template.replace("/*CONTENT*/", data.replace("<", "\\u003c"))  # so that no word can end the script


# --- the picture --------------------------------------------------------------------------------------------


def picture(map: Map, title: str = "", report: Report = silent) -> bytes:
    """The bytes of a PNG: a dot for each word, coloured by its share of true neighbors, and as many labels
    as fit."""
    logger = logging.getLogger("matplotlib.font_manager")
    before = logger.level
    logger.setLevel(logging.ERROR)  # it would say on the terminal which weight of a font it takes instead
    try:
        return _drawn(map, title, report)
    finally:
        logger.setLevel(before)


def _drawn(map: Map, title: str, report: Report) -> bytes:
    _find_place_for_fonts()
    matplotlib = need("matplotlib", extra="explore")
    figures = need("matplotlib.figure", extra="explore")
    backend = need("matplotlib.backends.backend_agg", extra="explore")
    language = language_of(map.words)
    fonts, missing = _fonts("".join(map.words) + title + "".join(caption(map, language)))
    if missing:
        report(
            Note(
                "No installed font has {characters}: they are drawn as boxes. The .html form shows them.",
                characters=" ".join(sorted(missing)[:10]),
            )
        )
    drawable = _drawable_characters("".join(map.words) + title, missing)
    labels = [word.translate(drawable) for word in map.words]
    with matplotlib.rc_context({"font.family": fonts, "text.parse_math": False}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about scripts whose letters it cannot join
        figure = figures.Figure(figsize=(9, 7), dpi=120, layout="constrained")
        canvas = backend.FigureCanvasAgg(figure)  # not pyplot, which keeps figures and may look for a display
        axes = figure.subplots()
        axes.set_title(title.translate(drawable))
        _draw_dots(figure, axes, map, language)
        unlabelled = _draw_labels(canvas, axes, labels, map.places)
        if unlabelled:
            report(
                Note(
                    "{unlabelled:,} of {words:,} words have no label, for lack of space. "
                    "The .html form shows each under the pointer.",
                    unlabelled=unlabelled,
                    words=len(map.words),
                )
            )
        buffer = io.BytesIO()
        # The name, by which it is recognized, without a version: the same map gives the same bytes.
        figure.savefig(buffer, format="png", metadata={"Software": "Inlaid"})
        return buffer.getvalue()


def _find_place_for_fonts() -> None:
    """Without a home that can be written, give matplotlib a temporary folder: it would warn about it."""
    if "matplotlib" in sys.modules or "MPLCONFIGDIR" in os.environ:
        return
    try:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "matplotlib"
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        if Path.home().is_dir() and os.access(existing, os.W_OK):  # it makes the rest itself
            return
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        pass
    with contextlib.suppress(OSError):  # nothing can be written: let it warn
        temporary = tempfile.mkdtemp(prefix="inlaid-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        os.environ["MPLCONFIGDIR"] = temporary


def _drawable_characters(text: str, missing: set[str]) -> dict[int, str]:
    """A translation table: boxes for characters without a font, nothing for those that cannot be printed."""
    unprintable = (each for each in text if not each.isprintable())
    return str.maketrans(dict.fromkeys(missing, "□") | dict.fromkeys(unprintable, ""))


def _draw_dots(figure: Any, axes: Any, map: Map, language: Language) -> None:
    """Frame, caption, a dot for each word, and the legend of the colours."""
    colors = need("matplotlib.colors", extra="explore")
    small = len(map.words) <= SMALL
    axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axes.margins(0.12 if small else 0.04)
    axes.set_xlabel("\n".join(caption(map, language)), fontsize=8.5, color=TEXT_COLOR, linespacing=1.5)
    for side in axes.spines.values():
        side.set_color("#dee2e6")
    scale = colors.LinearSegmentedColormap.from_list("true", COLORS)
    scale.set_bad(UNKNOWN)
    dots = axes.scatter(
        *map.places.T,
        s=_dot_size(len(map.words)),
        c=np.ma.masked_invalid(map.true),
        cmap=scale,
        vmin=0,
        vmax=1,
        linewidths=0,
        plotnonfinite=True,
    )
    if map.quality is not None:
        bar = figure.colorbar(dots, ax=axes, shrink=0.5, aspect=30, pad=0.02, format="{x:.0%}")
        bar.set_label(legend(map, language), fontsize=8.5, color=TEXT_COLOR)
        bar.ax.tick_params(labelsize=8, length=0)
        bar.outline.set_visible(False)


def _dot_size(words: int) -> int:
    if words <= SMALL:
        return 46
    return 9 if words <= EMBEDDED else 3


class _LabelStyle(NamedTuple):
    """How labels are drawn."""

    fontsize: float
    gap: int
    """Pixels between a label and its dot."""
    effects: list[Any]
    """A white outline, and the text on it."""


def _draw_labels(canvas: Any, axes: Any, words: list[str], places: np.ndarray) -> int:
    """Write labels in the order of the words where they cover no other label and, on a small map, no dot; how
    many did not fit."""
    small = len(words) <= SMALL
    canvas.draw()  # computes the layout,
    canvas.figure.set_layout_engine("none")  # which labels must not change
    effects = need("matplotlib.patheffects", extra="explore")
    # Outlines that are snapped to whole pixels lose strokes: 三 would be drawn as 二.
    outline = effects.Stroke(linewidth=1.5, foreground="white", snap=False)
    text = effects.Stroke(linewidth=0, snap=False)
    style = _LabelStyle(13 if small else 7.5, 9 if small else 4, [outline, text])
    dots = axes.transData.transform(places)
    taken = np.empty((0, 4))
    if small:
        taken = np.concatenate([dots - style.gap + 2, dots + style.gap - 2], axis=1)
    written = 0
    for word, dot in zip(words[:LABELLED], dots, strict=False):
        box = _draw_label(canvas, axes, word, dot, taken, style)
        if box is not None:
            taken = np.vstack([taken, box])
            written += 1
    return len(words) - written


def _draw_label(
    canvas: Any, axes: Any, word: str, dot: np.ndarray, taken: np.ndarray, style: _LabelStyle
) -> np.ndarray | None:
    """The box of the label, in pixels; None where it does not fit on any side of its dot."""
    label = axes.annotate(
        word,
        dot,
        xycoords="figure pixels",
        ha="center",
        va="center",
        fontsize=style.fontsize,
        path_effects=style.effects,
    )
    frame = axes.get_window_extent().extents
    extent = label.get_window_extent(canvas.get_renderer())
    half = np.array([extent.width, extent.height]) / 2
    centers = dot + np.array(SIDES) * (half + np.array([style.gap, style.gap / 2]))
    boxes = np.concatenate([centers - half, centers + half], axis=1)
    inside = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    overlaps = (boxes[:, None, :2] < taken[:, 2:]) & (taken[:, :2] < boxes[:, None, 2:])
    free = inside & ~overlaps.all(axis=2).any(axis=-1)
    if not free.any():
        label.remove()
        return None
    best = int(free.argmax())
    label.xy = centers[best]
    label.set_position(centers[best])
    return boxes[best]


def _fonts(text: str) -> tuple[list[str], set[str]]:
    """Installed fonts that together have the characters of the text, and the characters that none has, which
    are not letters."""
    chosen, missing = _known_fonts(text)
    if missing and _learned_new_fonts():
        chosen, missing = _known_fonts(text)
    letters = sorted(each for each in missing if unicodedata.category(each).startswith("L"))
    if letters:
        raise MissingExtra(
            "No installed font has the characters {characters}: they would be boxes. Install one (on Debian "
            "and Ubuntu `apt install fonts-noto-cjk` for Chinese, `fonts-noto` for all scripts), or write "
            "the map as .html.",
            characters=" ".join(letters[:10]),
        )
    return chosen, missing


def _known_fonts(text: str) -> tuple[list[str], set[str]]:
    """Fonts in matplotlib's list that together have the characters of the text, and what none has."""
    manager = need("matplotlib.font_manager", extra="explore")
    missing = {each for each in text if each.isprintable() and not each.isspace()}
    chosen = list[str]()
    installed = {font.name for font in manager.fontManager.ttflist if not UNREADABLE.search(font.name)}
    preferred = [name for name in FONTS if name in installed]
    others = sorted(installed - {PLAIN, *FONTS})
    for name in (PLAIN, *preferred, *others):
        font = manager.get_font(manager.findfont(name))
        has = {each for each in missing if font.get_char_index(ord(each))}
        if has:
            chosen.append(name)
            missing -= has
        if not missing:
            break
    return chosen, missing


def _learned_new_fonts() -> bool:
    """Whether fonts were installed since matplotlib cached its list of them; if so, they are in its list now.

    Matplotlib caches the list in the user's folder and never looks again, so a font that was installed after
    the first picture would not be found.
    """
    manager = need("matplotlib.font_manager", extra="explore")
    listed = {font.fname for font in manager.fontManager.ttflist}
    installed = {str(path) for path in manager.findSystemFonts()}
    count = len(manager.fontManager.ttflist)
    for path in sorted(installed - listed):
        with contextlib.suppress(OSError, RuntimeError):  # a file that is no font, or a damaged one
            manager.fontManager.addfont(path)
    return len(manager.fontManager.ttflist) > count
