"""Co-occurrence counts or PPMI as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from inlaid.messages import Language
from inlaid.report import Report, silent
from inlaid.study.draw.shapes import shades
from inlaid.study.figures import TEXT_COLOR, drawing, language_of
from inlaid.study.use.texts import shortened

if TYPE_CHECKING:
    from inlaid.study.explain.cooccurrence import Cooccurrence

NUMBERED = 25
"""Up to this many columns, each cell has its number."""
LONGEST = 14
"""Characters of a word."""
UPRIGHT = 3
"""Where no word is longer, as most in Chinese, the words below the columns are not turned."""
DARK = 0.68
"""From this share of the largest value on, the number of a cell is white."""
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "counts": "How often a context (column) occurs near a word (row), window {window}",
        "ppmi": "PPMI of words (rows) and contexts (columns), window {window}",
        "sentence": "the whole sentence",
    },
    "zh": {
        "counts": "词（行）与上下文（列）的共现次数，窗口 {window}",
        "ppmi": "词（行）与上下文（列）的 PPMI，窗口 {window}",
        "sentence": "为整句",
    },
}


def figure(found: Cooccurrence, *, report: Report = silent) -> Any:
    """matplotlib's Figure: a cell for each word and context, darker for larger values. Counts are colored by
    their logarithm, because a few frequent words have most of them."""
    language = language_of((*found.words, *found.contexts))
    texts = TEXTS[language]
    window = texts["sentence"] if found.window is None else found.window
    title = texts["counts" if found.ppmi is None else "ppmi"].format(window=window)
    words = [shortened(word, LONGEST) for word in found.words]
    contexts = [shortened(word, LONGEST) for word in found.contexts]
    size = (max(4.5, 2.0 + 0.46 * len(contexts)), max(2.6, 1.6 + 0.34 * len(words)))
    with drawing("".join((*words, *contexts, title, "0123456789.,")), size=size, report=report) as made:
        axes = made.figure.subplots()
        shares = _shares(found)
        axes.imshow(shares, cmap=shades(), vmin=0, vmax=1, aspect="auto")
        upright = max(map(len, contexts), default=0) <= UPRIGHT
        names = [made.label(word) for word in contexts]
        axes.set_xticks(range(len(contexts)), names, rotation=0 if upright else 90)
        axes.set_yticks(range(len(words)), [made.label(word) for word in words])
        axes.tick_params(length=0, labelsize=8.5)
        made.figure.suptitle(title, fontsize=10, color=TEXT_COLOR)
        if len(contexts) <= NUMBERED:
            _write_numbers(axes, found, shares)
        for side in axes.spines.values():
            side.set_visible(False)
        made.canvas.draw()  # makes the labels of the axes, in the fonts that are set here
        return made.figure


def _shares(found: Cooccurrence) -> np.ndarray:
    """(word, context): how dark each cell is, from 0 to 1."""
    values = np.log1p(found.counts) if found.ppmi is None else found.ppmi
    return values / max(float(values.max(initial=0)), 1e-12)


def _write_numbers(axes: Any, found: Cooccurrence, shares: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(found.values):
        if value > 0:
            text = f"{value:.1f}" if found.ppmi is not None or value != int(value) else f"{value:.0f}"
            color = "white" if shares[row, column] > DARK else TEXT_COLOR
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=color)
