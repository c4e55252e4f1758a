"""Accuracy by layer as a picture, and the page with its tables."""

from __future__ import annotations

import math
from typing import Any

from inlaid.messages import Language, catalogue, said
from inlaid.report import Report, silent
from inlaid.study import figures, pages
from inlaid.study.probe.probe import ProbedTask, Probes

STYLES: dict[str, tuple[str, str, str]] = {
    "linear": (figures.COLORS[2], "o", "linear probe"),
    "mlp": (figures.COLORS[0], "s", "probe with a hidden layer"),
}
"""Colour, marker and name of each kind of probe."""
SENTENCE = (
    "Bars are 95 % intervals by the bootstrap over the {split}s of the test; dotted lines are the control "
    "task, on which the same probe learns a random label for each word."
)


def drawn(probes: Probes, suffix: str, report: Report = silent) -> str | bytes:
    """A picture for .png, a page for .html; in Chinese where the vocabulary is."""
    language = probes.language
    if suffix == ".png":
        return picture(probes, language, report)
    return page(probes, language, report)


def picture(probes: Probes, language: Language, report: Report = silent) -> bytes:
    """One panel for each task."""
    columns = min(3, len(probes.tasks))
    rows = math.ceil(len(probes.tasks) / columns)
    text = probes.name + "".join(catalogue(language).values())
    size = (max(5.2 * columns, 6.2), 3.6 * rows + 1.3)
    below = probes.model.in_language(language)
    with figures.drawing(text, size=size, below=below, report=report) as made:
        panels = made.figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, task in zip(panels, probes.tasks, strict=False):
            _panel(axes, task, language)
        for axes in panels[len(probes.tasks) :]:
            axes.set_axis_off()
        made.figure.suptitle(
            made.label(said(language, "What the layers know: {name}", name=probes.name)), fontsize=13
        )
        handles, labels = panels[0].get_legend_handles_labels()
        made.figure.legend(
            handles, labels, loc="outside lower center", ncols=min(3, len(labels)), fontsize=9, frameon=False
        )
        return made.png()


def _panel(axes: Any, task: ProbedTask, language: Language) -> None:
    layers = list(dict.fromkeys(each.layer for each in task.scores))
    for shift, kind in enumerate(dict.fromkeys(each.probe for each in task.scores)):
        color, marker, name = STYLES[kind]
        held = [each for each in task.scores if each.probe == kind]
        places = [layers.index(each.layer) + 0.08 * shift for each in held]
        values = [each.accuracy for each in held]
        errors = [[each.accuracy - each.low for each in held], [each.high - each.accuracy for each in held]]
        axes.errorbar(
            places,
            values,
            yerr=errors,
            color=color,
            marker=marker,
            ms=5,
            capsize=2,
            lw=1.4,
            elinewidth=1,
            label=said(language, name),
        )
        label = said(language, "control task") if not shift else None
        axes.plot(places, [each.control for each in held], color=color, ls=":", lw=1.4, label=label)
    axes.axhline(task.majority, color="#868e96", lw=1, ls="--", label=said(language, "most frequent label"))
    axes.axhline(
        task.by_word, color="#2b8a3e", lw=1, ls="-.", label=said(language, "most frequent label of each word")
    )
    title = said(
        language, "{task}, {classes} labels", task=said(language, task.task), classes=len(task.classes)
    )
    axes.set_title(title, fontsize=11)
    axes.set_xticks(range(len(layers)), layers)
    axes.set_xlabel(said(language, "layer"))
    axes.set_ylabel(said(language, "accuracy"))
    axes.set_ylim(0, 1.03)
    axes.grid(axis="y", color=figures.LINE_COLOR, lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def page(probes: Probes, language: Language, report: Report = silent) -> str:
    split = said(language, probes.tasks[0].split)
    blocks: list[pages.Block] = [
        pages.Text(probes.model),
        pages.Picture(picture(probes, language, report), said(language, SENTENCE, split=split)),
        pages.Text(
            said(
                language,
                "A probe shows that something can be read from the states, not that the model uses it. A low "
                "score of a linear probe does not show that it is absent. A difference between two layers "
                "that lies within the intervals is none.",
            ),
            note=True,
        ),
    ]
    for task in probes.tasks:
        blocks += _task_blocks(task, probes.settings.seed, language)
    return pages.page(
        said(language, "What the layers know: {name}", name=probes.name), blocks, language=language
    )


def _task_blocks(task: ProbedTask, seed: int, language: Language) -> list[pages.Block]:
    about = said(
        language,
        "{task}: {classes} labels; {train:,} examples to train on, {test:,} to test on, from {split}. "
        "Source: {source}; seed {seed}.",
        task=said(language, task.task),
        classes=len(task.classes),
        train=task.train,
        test=task.test,
        split=said(language, "other words" if task.split == "word" else "other sentences"),
        source=task.source,
        seed=seed,
    )
    chance = said(
        language,
        "Chance is {majority:.3f}, the share of the most frequent label. The most frequent label of each "
        "word gives {by_word:.3f}: what a word tells without its sentence.",
        majority=task.majority,
        by_word=task.by_word,
    )
    head = ("layer", "probe", "accuracy", "95 %", "control", "selectivity", "95 %")
    cells = [
        (
            each.layer,
            said(language, each.probe),
            f"{each.accuracy:.3f}",
            f"{each.low:.3f}–{each.high:.3f}",
            f"{each.control:.3f}",
            f"{each.selectivity:+.3f}",
            f"{each.selectivity_low:+.3f} … {each.selectivity_high:+.3f}",
        )
        for each in task.scores
    ]
    return [
        pages.Heading(said(language, task.task)),
        pages.Text(about),
        pages.Text(chance),
        pages.Table([[said(language, each) for each in head], *cells]),
        pages.Text(", ".join(task.classes[:60])),
    ]
