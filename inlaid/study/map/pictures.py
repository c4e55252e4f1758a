"""A map as a picture (PNG) or as one HTML page that needs no network; labels in a font that has their
characters."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import warnings
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid import files
from inlaid.encode.chinese import HAN
from inlaid.errors import MissingExtra, SettingError, need
from inlaid.report import Note, Report, silent
from inlaid.study.map.layout import Map

Language = Literal["zh", "en"]

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
"""Fonts with Chinese characters as the mainland writes them, as common systems have them; the first that is
there is used."""
PLAIN = "DejaVu Sans"
"""The font that matplotlib brings along."""
UNREADABLE = re.compile("Last Resort|Emoji")
"""Fonts of boxes, and fonts of coloured bitmaps, which matplotlib cannot draw."""
COLORS = ("#d9480f", "#b5a7b3", "#1c7ed6")
"""Of words whose neighbours on the map are all false, half true, all true; orange and blue differ for every
kind of eyes."""
UNKNOWN = "#adb5bd"
"""Of words that were not looked at."""
SMALL = 60
"""Up to so many words are drawn large."""
TRIED = 2_000
"""Words for whose labels room is looked for: the first ones; a picture has room for a few hundred."""
EMBEDDED = 5_000
"""Up to so many words, a page carries the true neighbours of each."""
SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where a label may stand beside its dot, best first: right (1) or left (-1), above or below."""


def draw_map(map: Map, path: str | Path, *, title: str = "", report: Report = silent) -> None:
    """Write the map to a .png or .html file, with its faithfulness under it, in the language of most of its
    words."""
    path = writable(Path(path))
    if path.suffix.lower() == ".html":
        files.write_text(path, page(map, title))
    else:
        files.write_bytes(path, picture(map, title, report))


def writable(path: Path) -> Path:
    """The path, if a map could be written there."""
    if path.suffix.lower() not in (".png", ".html"):
        raise SettingError(f"A map is written as .png or .html; found '{path.name}'.")
    files.can_write(path)
    return path


def picture(map: Map, title: str = "", report: Report = silent) -> bytes:
    """The bytes of a PNG: a dot for each word, coloured by how far its neighbours are true, and as many
    labels as have room."""
    matplotlib = need("matplotlib", extra="explore")
    colors = need("matplotlib.colors", extra="explore")
    figures = need("matplotlib.figure", extra="explore")
    backend = need("matplotlib.backends.backend_agg", extra="explore")
    language = language_of(map.words)
    fonts, lacking = _fonts("".join(map.words) + title + "".join(caption(map, language)))
    if lacking:
        shown = " ".join(sorted(lacking)[:10])
        report(
            Note(
                f"No installed font that can be drawn with has {shown}: they are boxes in the picture. The .html form shows them."
            )
        )
    unprintable = (each for each in "".join(map.words) + title if not each.isprintable())
    boxes = str.maketrans(dict.fromkeys(lacking, "□") | dict.fromkeys(unprintable, ""))
    with matplotlib.rc_context({"font.family": fonts, "text.parse_math": False}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about scripts it cannot join letters in
        figure = figures.Figure(figsize=(9, 7), dpi=120, layout="constrained")
        canvas = backend.FigureCanvasAgg(figure)  # not pyplot, which keeps figures and may look for a screen
        axes = figure.subplots()
        axes.set_title(title.translate(boxes))
        axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
        axes.margins(0.12 if len(map.words) <= SMALL else 0.04)
        axes.set_xlabel("\n".join(caption(map, language)), fontsize=8.5, color="#495057", linespacing=1.5)
        for side in axes.spines.values():
            side.set_color("#dee2e6")
        scale = colors.LinearSegmentedColormap.from_list("true", COLORS)
        scale.set_bad(UNKNOWN)
        dots = axes.scatter(
            *map.places.T,
            s=46 if len(map.words) <= SMALL else 9 if len(map.words) <= EMBEDDED else 3,
            c=np.ma.masked_invalid(map.true),
            cmap=scale,
            vmin=0,
            vmax=1,
            linewidths=0,
            plotnonfinite=True,
        )
        if map.faithfulness is not None:
            _legend(figure, axes, dots, legend(map, language))
        left = _label(canvas, axes, [word.translate(boxes) for word in map.words], map.places)
        if left:
            report(
                Note(
                    f"{left:,} of {len(map.words):,} words have no label: there was no room. The .html form shows each by pointing at it."
                )
            )
        buffer = io.BytesIO()
        figure.savefig(
            buffer, format="png", metadata={"Software": None}
        )  # no version: the same map, the same bytes
        return buffer.getvalue()


def page(map: Map, title: str = "") -> str:
    """One HTML page with everything in it: move, zoom, search, and a word's neighbours by pointing at it."""
    low = map.places.min(axis=0)
    high = map.places.max(axis=0)
    places = (map.places.astype(np.float64) - (low + high) / 2) / max(float((high - low).max()), 1e-12)
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
    empty = (resources("inlaid.study.map") / "map.html").read_text("utf-8")
    return empty.replace("/*CONTENT*/", data.replace("<", "\\u003c"))  # so no word can end the script


def language_of(words: tuple[str, ...]) -> Language:
    """zh when at least half of the words have a Chinese character."""
    chinese = re.compile(f"[{HAN}]")
    return "zh" if 2 * sum(bool(chinese.search(word)) for word in words) >= len(words) else "en"


def caption(map: Map, language: Language = "en") -> list[str]:
    """The map's own warning, in sentences: what it shows, which neighbours are false, which are missing."""
    said = CAPTIONS[language]
    it = map.faithfulness
    which = "named" if len(map.words) == map.total else map.chosen
    lines = [
        said[which].format(
            words=len(map.words), total=map.total, method=NAMES[map.layout.method], seed=map.layout.seed
        )
    ]
    if it is None:
        return [*lines, said["few"]]
    values = vars(it) | {"false": 100 * it.false, "missing": 100 * it.missing}
    sample = [said["looked_at"].format(**values)] if it.looked_at < len(map.words) else []
    missing = "missing" if it.closest > 1 else "missing_one"
    return [*lines, *(said[each].format(**values) for each in ("false", missing, "figures")), *sample]


def legend(map: Map, language: Language = "en") -> str:
    """What the colours say."""
    return CAPTIONS[language]["legend"].format(k=map.nearest.shape[1])


NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
CAPTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "named": "{words:,} words, {method}",
        "first": "The first {words:,} of {total:,} words, {method}",
        "sample": "{words:,} of {total:,} words, drawn with seed {seed}, {method}",
        "few": "Too few words to speak of neighbours.",
        "false": "False neighbours: {false:.0f} % of the {k} nearest on the map are not among the {k} nearest in the space.",
        "missing": "Missing neighbours: {missing:.0f} % of the {closest} nearest in the space are not among the {k} nearest on the map.",
        "missing_one": "Missing neighbours: {missing:.0f} % of words have their nearest in the space not among the {k} nearest on the map.",
        "figures": "Trustworthiness {trustworthiness:.2f}, continuity {continuity:.2f} (1: perfect; about 0.5: chance).",
        "looked_at": "Measured on {looked_at:,} words drawn at random; the others are grey.",
        "legend": "How many of a word's {k} nearest on the map are true",
    },
    "zh": {
        "named": "{words:,} 个词，{method}",
        "first": "{total:,} 个词中的前 {words:,} 个，{method}",
        "sample": "从 {total:,} 个词中随机抽取 {words:,} 个（种子 {seed}），{method}",
        "few": "词太少，谈不上近邻。",
        "false": "假近邻：图上最近的 {k} 个词里，{false:.0f}% 并不在空间中最近的 {k} 个之列。",
        "missing": "漏掉的近邻：空间中最近的 {closest} 个词里，{missing:.0f}% 不在图上最近的 {k} 个之列。",
        "missing_one": "漏掉的近邻：{missing:.0f}% 的词，空间中离它最近的那个词不在图上最近的 {k} 个之列。",
        "figures": "可信度 {trustworthiness:.2f}，连续度 {continuity:.2f}（1 为完美，随机约为 0.5）。",
        "looked_at": "以上由随机抽取的 {looked_at:,} 个词测得，其余的词为灰色。",
        "legend": "图上最近的 {k} 个词里有多少是真近邻",
    },
}
"""Every sentence of a map, in both languages."""


def _legend(figure: Any, axes: Any, dots: Any, text: str) -> None:
    bar = figure.colorbar(dots, ax=axes, shrink=0.5, aspect=30, pad=0.02, format="{x:.0%}")
    bar.set_label(text, fontsize=8.5, color="#495057")
    bar.ax.tick_params(labelsize=8, length=0)
    bar.outline.set_visible(False)


def _label(canvas: Any, axes: Any, words: list[str], places: np.ndarray) -> int:
    """Write labels in the order of the words where they cover neither another nor, on a small map, a dot; how
    many found no room."""
    small = len(words) <= SMALL
    canvas.draw()  # now it is known where everything stands,
    canvas.figure.set_layout_engine("none")  # and there it stays
    renderer = canvas.get_renderer()
    frame = axes.get_window_extent().extents
    gap = 9 if small else 4
    halo = [need("matplotlib.patheffects", extra="explore").withStroke(linewidth=1.5, foreground="white")]
    dots = axes.transData.transform(places)
    taken = np.concatenate([dots - gap + 2, dots + gap - 2], axis=1) if small else np.empty((0, 4))
    written = 0
    for word, dot in zip(words[:TRIED], dots, strict=False):
        label = axes.annotate(
            word,
            dot,
            xycoords="figure pixels",
            ha="center",
            va="center",
            fontsize=13 if small else 7.5,
            path_effects=halo,
        )
        extent = label.get_window_extent(renderer)
        half = np.array([extent.width, extent.height]) / 2
        centers = dot + np.array(SIDES) * (half + np.array([gap, gap / 2]))
        boxes = np.concatenate([centers - half, centers + half], axis=1)
        inside = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
        free = inside & ~((boxes[:, None, :2] < taken[:, 2:]) & (taken[:, :2] < boxes[:, None, 2:])).all(
            axis=2
        ).any(axis=-1)
        if not free.any():
            label.remove()
            continue
        best = int(free.argmax())
        label.xy = centers[best]
        label.set_position(centers[best])
        taken = np.vstack([taken, boxes[best]])
        written = written + 1
    return len(words) - written


def _fonts(text: str) -> tuple[list[str], set[str]]:
    """The installed fonts that together have the characters of the text, and those that none has, which are
    no letters."""
    manager = need("matplotlib.font_manager", extra="explore")
    lacking = {each for each in text if each.isprintable() and not each.isspace()}
    chosen = list[str]()
    installed = {font.name for font in manager.fontManager.ttflist if not UNREADABLE.search(font.name)}
    for name in (PLAIN, *(name for name in FONTS if name in installed), *sorted(installed - {PLAIN, *FONTS})):
        font = manager.get_font(manager.findfont(name))
        has = {each for each in lacking if font.get_char_index(ord(each))}
        if has:
            chosen.append(name)
            lacking -= has
        if not lacking:
            break
    letters = sorted(each for each in lacking if unicodedata.category(each).startswith("L"))
    if letters:
        raise MissingExtra(
            f"No installed font has the characters {' '.join(letters[:10])}: they would be boxes. Install one (on Debian and Ubuntu "
            "`apt install fonts-noto-cjk` for Chinese, `fonts-noto` for all scripts), or write the map as .html."
        )
    return chosen, lacking
