"""Figures: matplotlib with a font for every script, drawn without a display, and the files they go to.

with drawing(text="我喜欢吃苹果", size=(6, 4), report=report) as made:
    axes = made.figure.subplots()
    ...
    content = made.png()
write(path, content)
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import logging
import os
import re
import shutil
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid import files, places
from inlaid.encode.chinese import HAN
from inlaid.errors import MissingExtra, SettingError, need
from inlaid.messages import Language, Listed, Message, asked_language
from inlaid.report import Note, Report, silent

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
"""Low, middle and high: orange and blue differ for the colour-blind too."""
TEXT_COLOR = "#495057"
LINE_COLOR = "#dee2e6"
PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of pictures: pixels, and two formats of vectors."""
SAVING = {"text.parse_math": False, "svg.hashsalt": "inlaid"}
"""Settings of matplotlib that count when a figure is saved: the same figure gives the same bytes."""


def language_of(texts: Sequence[str]) -> Language:
    """The language of a picture of these texts: what --lang asks for, otherwise zh when at least half of the
    texts contain a Chinese character."""
    asked = asked_language()
    if asked is not None:
        return asked
    chinese = re.compile(f"[{HAN}]")
    count = sum(bool(chinese.search(text)) for text in texts)
    return "zh" if 2 * count >= len(texts) else "en"


# --- files --------------------------------------------------------------------------------------------------


def writable(
    path: Path, what: Message, *, suffixes: Sequence[str] = (".png", ".html"), overwrite: bool = False
) -> Path:
    """The path, if it has one of the suffixes and a picture or a page can be written there.

    `what` starts the sentence of the error: "A map".
    """
    if path.suffix.lower() not in suffixes:
        raise SettingError(
            "{what} is written as {suffixes}; found '{name}'.",
            what=what,
            suffixes=Message("{first} or {last}", first=Listed(suffixes[:-1]), last=suffixes[-1]),
            name=path.name,
        )
    files.can_write(path)
    places.check_replaceable(path, overwrite=overwrite)
    return path


def write(path: Path, content: str | bytes) -> None:
    """Write a picture or a page, with the seal by which it may be replaced later."""
    files.write_bytes(path, places.sealed(content.encode() if isinstance(content, str) else content))


def written(path: Path | str | None) -> list[str | Message]:
    """The last rows of a result whose picture or page was written; none where it was not."""
    return [] if path is None else ["", Message("written to {path}", path=path)]


# --- drawing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawing:
    """A figure under construction."""

    figure: Any
    """matplotlib's Figure."""
    canvas: Any
    drawable: dict[int, str]

    def label(self, text: str) -> str:
        """The text as it can be drawn: boxes for characters without a font, none that cannot be printed."""
        return text.translate(self.drawable)

    def png(self) -> bytes:
        """The picture in pixels."""
        return saved(self.figure, ".png")

    def svg(self) -> bytes:
        """The picture in vectors."""
        return saved(self.figure, ".svg")


def saved(figure: Any, suffix: str) -> bytes:
    """A figure as the bytes of a file. Its metadata has our name, by which it is recognized, but no version
    and no date: the same figure gives the same bytes. Letters of an SVG are outlines, so that it looks the
    same without the fonts."""
    form = suffix.lower().removeprefix(".")
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": "Inlaid"},
        "svg": {"Creator": "Inlaid", "Date": None},
        "pdf": {"Creator": "Inlaid", "Producer": None, "CreationDate": None},
    }
    buffer = io.BytesIO()
    with _quiet_fonts(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about scripts whose letters it cannot join
        with need("matplotlib", extra="explore").rc_context(SAVING):
            figure.savefig(buffer, format=form, metadata=metadata[form])
    if form == "svg":
        return buffer.getvalue().replace(b"<svg ", places.SVG_MARK + b"\n<svg ", 1)
    return buffer.getvalue()


@functools.cache
def _figure_type() -> Any:
    """matplotlib's Figure, which notebooks show although pyplot does not know it."""

    class Figure(need("matplotlib.figure", extra="explore").Figure):
        def _repr_png_(self) -> bytes:
            return saved(self, ".png")

    return Figure


@contextlib.contextmanager
def drawing(
    text: str,
    *,
    size: tuple[float, float] = (9, 7),
    dpi: int = 120,
    look: Mapping[str, Any] | None = None,
    below: str = "",
    report: Report = silent,
) -> Iterator[Drawing]:
    """A figure of `size` inches in fonts that have all characters of `text`, which is everything it shows.

    `look` are settings of matplotlib (rcParams) for colors and sizes; `below` is a line under the picture,
    such as the model that it is of.
    """
    text += below
    with _quiet_fonts():
        _find_place_for_fonts()
        matplotlib = need("matplotlib", extra="explore")
        backend = need("matplotlib.backends.backend_agg", extra="explore")
        fonts, missing = _fonts(text)
        if missing:
            report(
                Note(
                    "No installed font has {characters}: they are drawn as boxes. The .html form shows them.",
                    characters=" ".join(sorted(missing)[:10]),
                )
            )
        with (
            matplotlib.rc_context({**(look or {}), **SAVING, "font.family": fonts}),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # about scripts whose letters it cannot join
            figure = _figure_type()(figsize=size, dpi=dpi, layout="constrained")
            # Not pyplot, which keeps figures and may look for a display.
            made = Drawing(figure, backend.FigureCanvasAgg(figure), _drawable_characters(text, missing))
            if below:
                figure.supxlabel(made.label(below), x=0.01, ha="left", fontsize=7.5, color=TEXT_COLOR)
            yield made


@contextlib.contextmanager
def _quiet_fonts() -> Iterator[None]:
    """Without this, matplotlib says on the terminal which weight of a font it takes instead."""
    logger = logging.getLogger("matplotlib.font_manager")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


# --- fonts --------------------------------------------------------------------------------------------------


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
            ".html.",
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
