"""Heads and layers by how often they know what a pronoun refers to."""

from __future__ import annotations

from inlaid.messages import Language, Listed, said
from inlaid.report import Report, silent
from inlaid.study import figures, pages
from inlaid.study.probe.layer_pictures import fonts_for, tidy
from inlaid.study.probe.referents import Referents, ReferentScore, score_row

NOTE = (
    "A head that attends to a word need not use it. A head that is best on all sentences was chosen with "
    "hindsight; the best head was chosen without the pattern that it is tested on."
)


def drawn(found: Referents, suffix: str, report: Report = silent) -> str | bytes:
    language = found.language
    png = picture(found, language, report)
    if suffix == ".png":
        return png
    header = ("", "accuracy", "95 %", "as in the world", "other pronoun")
    shown = (found.best_head, *found.probes, *found.heads)
    rows = [[said(language, header[0]), *(said(language, each) for each in header[1:])]]
    rows += [list(score_row(each)) for each in shown]
    about = said(
        language,
        "{sentences:,} sentences, half of them with the other pronoun; held out in turn: {patterns}. Chance "
        "is 0.5; seed {seed}.",
        sentences=found.sentences,
        patterns=Listed(found.patterns),
        seed=found.seed,
    )
    blocks: list[pages.Block] = [
        pages.Text(found.model),
        pages.Text(about),
        pages.Picture(png, said(language, "Whom pronouns mean")),
        pages.Text(said(language, NOTE), note=True),
        pages.Table(rows),
    ]
    if found.attention:
        blocks.append(pages.Heading(found.text or ""))
        weights = [[each.word, f"{each.weight:.3f}"] for each in found.attention]
        blocks.append(pages.Table([[said(language, "word"), said(language, "attention")], *weights]))
    return pages.page(said(language, "Whom pronouns mean"), blocks, language=language)


def picture(found: Referents, language: Language, report: Report = silent) -> bytes:
    below = found.model.in_language(language)
    with figures.drawing(fonts_for(language), size=(9.0, 4.4), below=below, report=report) as made:
        left, right = made.figure.subplots(1, 2, width_ratios=(1, 1.2))
        grid, layers = _grid(found.heads)
        shown = left.imshow(grid, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
        for layer, row in enumerate(grid):
            for head, value in enumerate(row):
                left.text(head, layer, f"{value:.2f}", ha="center", va="center", fontsize=8)
        left.set_yticks(range(layers))
        left.set_xticks(range(len(grid[0])))
        left.set_xlabel(said(language, "head"))
        left.set_ylabel(said(language, "layer"))
        left.set_title(said(language, "attention to the referent"), fontsize=10)
        made.figure.colorbar(shown, ax=left, shrink=0.8)
        places = range(len(found.probes))
        values = [each.accuracy for each in found.probes]
        errors = [
            [each.accuracy - each.low for each in found.probes],
            [each.high - each.accuracy for each in found.probes],
        ]
        right.errorbar(
            places,
            values,
            yerr=errors,
            marker="o",
            capsize=2,
            color=figures.COLORS[2],
            label=said(language, "linear probe"),
        )
        world = [each.world for each in found.probes]
        right.plot(places, world, ls=":", color=figures.COLORS[2], label=said(language, "as in the world"))
        best = found.best_head
        right.axhspan(best.low, best.high, color=figures.COLORS[0], alpha=0.15)
        right.axhline(best.accuracy, color=figures.COLORS[0], label=said(language, "best head"))
        right.axhline(0.5, color="#868e96", ls="--", label=said(language, "chance"))
        right.set_ylim(0, 1.03)
        right.set_xticks(list(places))
        right.set_xlabel(said(language, "layer"))
        right.set_ylabel(said(language, "accuracy"))
        right.legend(fontsize=8, frameon=False)
        tidy(right)
        made.figure.suptitle(said(language, "Whom pronouns mean"), fontsize=13)
        return made.png()


def _grid(heads: tuple[ReferentScore, ...]) -> tuple[list[list[float]], int]:
    """Accuracy by layer and head."""
    named = {tuple(map(int, each.who.split("."))): each.accuracy for each in heads}
    layers = 1 + max(layer for layer, _ in named)
    count = 1 + max(head for _, head in named)
    return [[named[layer, head] for head in range(count)] for layer in range(layers)], layers
