"""A word through the layers, and the words of the logit lens, as pictures and pages."""

from __future__ import annotations

from typing import Any

from inlaid.messages import Language, catalogue, said
from inlaid.report import Report, silent
from inlaid.study import figures, pages
from inlaid.study.probe.drift import Drift
from inlaid.study.probe.lens import Lens

PALETTE = (figures.COLORS[2], figures.COLORS[0], "#2b8a3e", "#862e9c", "#e67700", "#0b7285")
LENS_NOTE = (
    "Hidden states of inner layers were never trained to be read by the output layer, so early layers may "
    "show words at random. What the lens does not show may still be there."
)


def fonts_for(language: Language, *texts: str) -> str:
    """All characters that a picture may show."""
    return "".join(texts) + "".join(catalogue(language).values())


def tidy(axes: Any) -> None:
    axes.grid(axis="y", color=figures.LINE_COLOR, lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


# --- drift --------------------------------------------------------------------------------------------------


def draw_drift(found: Drift, suffix: str, report: Report = silent) -> str | bytes:
    language = figures.language_of([found.word])
    png = _drift_picture(found, language, report)
    if suffix == ".png":
        return png
    header, *rows = (row for row in found.rows() if isinstance(row, tuple))
    return pages.page(
        said(language, "{word} through the layers", word=found.word),
        [
            pages.Text(found.model),
            pages.Picture(png, said(language, "Cosines by layer; layer 0 is the input of the first block.")),
            pages.Table([header, *rows]),
            *(pages.Text(f"{number} {each.text}") for number, each in enumerate(found.sentences, 1)),
        ],
        language=language,
    )


def _drift_picture(found: Drift, language: Language, report: Report) -> bytes:
    texts = [each.text for each in found.sentences]
    places = range(len(found.layers))
    below = found.model.in_language(language)
    with figures.drawing(
        fonts_for(language, *texts, found.word, "·"), size=(9.0, 4.8), below=below, report=report
    ) as made:
        left, right = made.figure.subplots(1, 2, sharey=True)
        for number, each in enumerate(found.sentences):
            color = PALETTE[number % len(PALETTE)]
            left.plot(places, each.from_input, color=color, marker="o", label=made.label(each.text[:30]))
            left.plot(places, each.from_before, color=color, ls=":", marker=".")
        for number, each in enumerate(found.pairs):
            color = PALETTE[number % len(PALETTE)]
            right.plot(places, each.cosines, color=color, marker="o", label=f"{each.first} · {each.second}")
        right.axhline(1, color="#868e96", ls="--", lw=1, label=said(language, "static vector"))
        left.set_title(said(language, "with its input (dotted: with the layer before)"), fontsize=10)
        right.set_title(said(language, "in two sentences"), fontsize=10)
        for axes in (left, right):
            axes.set_xticks(list(places), found.layers)
            axes.set_xlabel(said(language, "layer"))
            axes.legend(fontsize=8, frameon=False, loc="lower left")
            tidy(axes)
        lowest = min(min(each.from_input) for each in found.sentences)
        lowest = min([lowest, *(min(each.cosines) for each in found.pairs)])
        left.set_ylim(min(0.0, lowest), 1.05)
        left.set_ylabel(said(language, "cosine"))
        made.figure.suptitle(
            made.label(said(language, "{word} through the layers", word=found.word)), fontsize=13
        )
        return made.png()


# --- lens ---------------------------------------------------------------------------------------------------


def draw_lens(found: Lens, suffix: str, report: Report = silent) -> str | bytes:
    language = figures.language_of([token for token in found.tokens if not token.startswith("[")] or ["a"])
    title = said(language, "Words near the hidden states, layer by layer")
    if suffix == ".png":
        return _lens_picture(found, title, language, report)
    rows = [
        [
            token,
            *("  ".join(f"{w.token} {w.probability:.2f}" for w in layer[place]) for layer in found.layers),
        ]
        for place, token in enumerate(found.tokens)
    ]
    header = [said(language, "token"), *map(str, range(len(found.layers)))]
    return pages.page(
        title,
        [
            pages.Text(found.model),
            pages.Picture(_lens_picture(found, title, language, report), title),
            pages.Text(said(language, LENS_NOTE), note=True),
            pages.Table([header, *rows]),
        ],
        language=language,
    )


def _lens_picture(found: Lens, title: str, language: Language, report: Report) -> bytes:
    """One row for each token, one column for each layer; the darker, the likelier."""
    best = [[layer[place][0] for layer in found.layers] for place in range(len(found.tokens))]
    words = [each.token for row in best for each in row]
    height = 0.36 * len(found.tokens) + 1.6
    width = max(5.0, 1.1 * len(found.layers) + 2)
    below = found.model.in_language(language)
    with figures.drawing(
        fonts_for(language, *words, *found.tokens), size=(width, height), below=below, report=report
    ) as made:
        axes = made.figure.subplots()
        values = [[each.probability for each in row] for row in best]
        axes.imshow(values, cmap="Blues", vmin=0, vmax=1.35, aspect="auto")
        for place, row in enumerate(best):
            for layer, each in enumerate(row):
                axes.text(layer, place, made.label(each.token), ha="center", va="center", fontsize=9)
        axes.set_yticks(range(len(found.tokens)), [made.label(token) for token in found.tokens])
        axes.set_xticks(range(len(found.layers)))
        axes.set_xlabel(said(language, "layer"))
        axes.set_title(title, fontsize=11)
        axes.tick_params(length=0)
        return made.png()
