"""The occurrences of a word on a plane, and how far it falls apart by layer."""

from __future__ import annotations

from inlaid.messages import Language, Listed, said
from inlaid.report import Report, silent
from inlaid.study import figures, pages
from inlaid.study.probe.layer_pictures import PALETTE, fonts_for, tidy
from inlaid.study.probe.senses import Senses, summary, verdict

NOTE = (
    "Clusters are contexts that the model treats alike; whether they are senses is for a reader to say. "
    "Words with one sense fall apart, too, by grammar and topic: that is why other words are beside it."
)


def drawn(found: Senses, suffix: str, report: Report = silent) -> str | bytes:
    language = figures.language_of([found.word])
    png = picture(found, language, report)
    if suffix == ".png":
        return png
    return pages.page(
        said(language, "Senses of {word}", word=found.word), _blocks(found, png, language), language=language
    )


def _blocks(found: Senses, png: bytes, language: Language) -> list[pages.Block]:
    blocks: list[pages.Block] = [
        pages.Text(found.model),
        pages.Text(summary(found)),
        pages.Text(verdict(found)),
        pages.Picture(
            png,
            said(
                language,
                "Left: each occurrence by the first two principal components of the words it is near. Right: "
                "how far the word falls apart into two, beside {count} other words of the text (line: "
                "median, band: up to their 95 % quantile).",
                count=found.references,
            ),
        ),
        pages.Text(said(language, NOTE), note=True),
    ]
    for number, cluster in enumerate(found.clusters, 1):
        head = said(language, "Cluster {number}: {count} occurrences", number=number, count=cluster.count)
        blocks.append(pages.Heading(head))
        blocks.append(pages.Text(said(language, "Nearest words: {words}", words=Listed(cluster.nearest))))
        if cluster.contexts:
            around = said(language, "Frequent around it: {words}", words=Listed(cluster.contexts))
            blocks.append(pages.Text(around))
        blocks += [pages.Text(f"· {text}") for text in cluster.sentences]
    header = (
        "layer",
        "separation",
        "other words",
        "95 % of them",
        "cosine, this word",
        "cosine, other words",
    )
    rows = [
        (
            str(each.layer),
            f"{each.separation:.3f}",
            f"{each.usual:.3f}",
            f"{each.high:.3f}",
            f"{each.same:.3f}",
            f"{each.other:.3f}",
        )
        for each in found.layers
    ]
    static = (said(language, "static vector"), "0.000", "0.000", "0.000", "1.000", "1.000")
    blocks.append(pages.Table([[said(language, each) for each in header], static, *rows]))
    return blocks


def picture(found: Senses, language: Language, report: Report = silent) -> bytes:
    names = ["  ".join((cluster.contexts or cluster.nearest)[:5]) for cluster in found.clusters]
    shown = fonts_for(language, found.word, *names)
    below = found.model.in_language(language)
    with figures.drawing(shown, size=(10.0, 5.0), below=below, report=report) as made:
        left, right = made.figure.subplots(1, 2)
        for number, name in enumerate(names):
            held = [place for place, each in zip(found.places, found.numbers, strict=True) if each == number]
            columns = zip(*held, strict=True)
            label = f"{number + 1}: {made.label(name)}"
            left.scatter(*columns, s=26, alpha=0.75, color=PALETTE[number % len(PALETTE)], label=label)
        title = said(language, "occurrences, layer {layer}", layer=found.layer)
        left.set_title(title, fontsize=10)
        left.set(xticks=[], yticks=[])
        left.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02))
        layers = [each.layer for each in found.layers]
        right.fill_between(
            layers,
            0,
            [each.high for each in found.layers],
            color="#e9ecef",
            label=said(language, "95 % of them"),
        )
        usual = [each.usual for each in found.layers]
        right.plot(layers, usual, color="#868e96", label=said(language, "other words"))
        own = [each.separation for each in found.layers]
        right.plot(layers, own, color=figures.COLORS[0], marker="o", label=made.label(found.word))
        right.axhline(0, color="black", lw=1, ls="--", label=said(language, "static vector"))
        right.set_xticks(layers)
        right.set_xlabel(said(language, "layer"))
        right.set_ylabel(said(language, "separation"))
        right.legend(fontsize=8, frameon=False)
        tidy(right)
        made.figure.suptitle(made.label(said(language, "Senses of {word}", word=found.word)), fontsize=13)
        return made.png()
