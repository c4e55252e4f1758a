"""`inlaid draw`: a picture by its name, its numbers, and the figure as a Figure, a PNG, an SVG or a page."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid import notebook, registry
from inlaid.config import settings_of
from inlaid.errors import MissingExtra, SettingError
from inlaid.messages import Language, Message
from inlaid.report import Report, silent
from inlaid.study import figures, pages
from inlaid.study.analysis import Row, plain
from inlaid.study.draw.picture import Numbers, Picture, speaking
from inlaid.study.draw.shapes import DARK, GREY

SUFFIXES = (".png", ".svg", ".html")
CHARACTERS = {"en": "abc·×√²ᵀ−", "zh": "中文图，。·×√²ᵀ−"}
"""Characters that stand for all that pictures write: a font that has these has the rest."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture with its numbers, ready to be drawn."""

    name: str
    picture: Picture
    numbers: Numbers
    language: Language
    file: Path | None = None

    @property
    def title(self) -> str:
        return speaking(self.language)(*self.picture.title)

    @property
    def sentences(self) -> list[str]:
        """What to see, with the numbers."""
        return self.picture.sentences(self.numbers.values, speaking(self.language))

    def table(self) -> list[tuple[str, ...]]:
        """The numbers in rows, the header first."""
        say = speaking(self.language)
        header = tuple(say(column.english, column.chinese) for column in self.numbers.table)
        rows = zip(*(column.cells for column in self.numbers.table), strict=True)
        return [header, *(tuple(map(_shown, row)) for row in rows)]

    def __repr__(self) -> str:
        return notebook.text_of(self.rows())

    def _repr_html_(self) -> str:
        try:
            return notebook.picture(self.png(), self.title)
        except MissingExtra:
            return notebook.html_of(self.rows())

    def rows(self) -> list[Row]:
        return [self.title, *self.sentences, "", *self.table(), *figures.written(self.file)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "picture": self.name,
            "title": self.title,
            "sentences": self.sentences,
            "settings": plain(self.picture),
            "numbers": plain(self.numbers.values),
            "file": None if self.file is None else str(self.file),
        }

    def figure(self) -> Any:
        """matplotlib's Figure, to be shown or changed."""
        return self._drawing(silent).figure

    def png(self, report: Report = silent) -> bytes:
        return self._drawing(report).png()

    def svg(self, report: Report = silent) -> bytes:
        return self._drawing(report).svg()

    def page(self, report: Report = silent) -> str:
        """One HTML file: the sentences, the figure, and the numbers."""
        blocks = [
            *map(pages.Text, self.sentences),
            pages.Picture(self.png(report), self.title),
            pages.Table(self.table()),
            pages.Code(self._command()),
        ]
        return pages.page(self.title, blocks, language=self.language)

    def _drawing(self, report: Report) -> figures.Drawing:
        typed = "".join(str(value) for value in plain(self.picture).values())
        text = CHARACTERS[self.language] + typed
        look = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), DARK)
        look |= {"axes.edgecolor": GREY, "font.size": 9, "axes.titlesize": 10}
        with figures.drawing(text, size=self.picture.size, look=look, report=report) as made:
            self.picture.draw(made.figure, self.numbers.values, speaking(self.language))
            made.canvas.draw()  # makes the labels of the axes, in the fonts that are set here
            return made

    def _command(self) -> str:
        """What draws it again."""
        words = ["inlaid", "draw", self.name]
        for field in dataclasses.fields(self.picture):
            value = getattr(self.picture, field.name)
            if value != field.default:
                words += _typed(field.name.replace("_", "-"), value)
        return " ".join([*words, "--lang", self.language])


def draw(
    name: str,
    output: str | Path | None = None,
    *,
    lang: Language = "en",
    overwrite: bool = False,
    report: Report = silent,
    **settings: Any,
) -> Drawn:
    """Compute a picture of the registry; with `output`, write it as .png, .svg or .html.

    >>> draw("rotary", dim=16).figure()
    """
    picture = settings_of(registry.find("picture", name), settings)
    return draw_picture(name, picture, output, lang=lang, overwrite=overwrite, report=report)


def draw_picture(
    name: str,
    picture: Picture,
    output: str | Path | None = None,
    *,
    lang: Language = "en",
    overwrite: bool = False,
    report: Report = silent,
) -> Drawn:
    """The same for settings that are made already."""
    if lang not in CHARACTERS:
        raise SettingError("lang is {found!r}; expected en or zh.", found=lang)
    path = None
    if output is not None:
        what = Message("A picture")
        path = figures.writable(Path(output), what, suffixes=SUFFIXES, overwrite=overwrite)
    made = Drawn(name, picture, picture.numbers(), lang, path)
    if path is not None:
        form = {".png": made.png, ".svg": made.svg, ".html": made.page}[path.suffix.lower()]
        figures.write(path, form(report))
    return made


def _typed(name: str, value: Any) -> list[str]:
    """A setting as it is typed."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{name}", *(shlex.quote(str(each)) for each in values)]


def _shown(value: Any) -> str:
    if isinstance(value, str | int):
        return str(value)
    number = float(value)
    return f"{number:.1e}" if 0 < abs(number) < 1e-4 else f"{number:.4g}"
