"""The senses of a word in a text: its occurrences clustered, beside the natural spread of other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.config import Positive, Range, Seed, check
from inlaid.encode.dictionary import words_of
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.model_line import model_line
from inlaid.study.probe.clusters import choose_clusters, clusters_of, unit_rows
from inlaid.study.probe.occurrences import TextSample, sample_text
from inlaid.study.probe.sense_clusters import Cluster, described, plane
from inlaid.study.probe.sense_spaces import FEWEST, Spaces, spaces_of
from inlaid.study.use.texts import shortened
from inlaid.vectors import Vectors

LEVEL = 0.05
WIDTH = 70


@dataclass(frozen=True, kw_only=True)
class SensesSettings:
    """How occurrences are sampled and clustered."""

    n: Positive = 3
    """Typical sentences of each cluster."""
    most: Annotated[int, Range(2)] = 5
    """Clusters at most."""
    clusters: Annotated[int, Range(2)] | None = None
    """Cut into this many clusters, whatever other words do."""
    layer: int | None = None
    """Cluster the hidden states of this layer; the one that separates best when not given."""
    occurrences: Annotated[int, Range(FEWEST)] = 200
    """Occurrences of the word at most, drawn at random."""
    others: Positive = 1500
    """Other sentences of the text: their words give the natural spread and the nearest words."""
    seed: Seed = 1
    """Seed of the samples and of the clusters."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class LayerSeparation:
    """How far the occurrences fall apart into two after one layer, beside other words."""

    layer: int
    separation: float
    """The variance of the profiles between two clusters: 0 if all occurrences are alike, 0.5 if two halves
    are near different words."""
    usual: float
    """The median of the other words."""
    high: float
    """The 95 % quantile of the other words."""
    same: float
    """The mean cosine of two occurrences of the word, relative to the mean of all words."""
    other: float
    """The same of two occurrences of one other word, on average."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Senses:
    """What the occurrences of a word fall into."""

    model: Message
    word: str
    found: int
    """Sentences with the word in the text."""
    occurrences: int
    """Those that were looked at."""
    clusters: tuple[Cluster, ...]
    layer: int
    p: float
    """The share of the other words, and this one, that fall apart as far in their best layer."""
    layers: tuple[LayerSeparation, ...]
    references: int
    """Other words that were compared."""
    places: tuple[tuple[float, float], ...]
    """Each occurrence on a plane, by the first two principal components of its profile."""
    numbers: tuple[int, ...]
    """The cluster of each occurrence."""
    texts: tuple[str, ...]
    """The sentence of each occurrence."""
    settings: SensesSettings
    output: str | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model, summary(self), verdict(self), ""]
        for number, cluster in enumerate(self.clusters, 1):
            head = Message(
                "cluster {number}: {count} of {total} occurrences",
                number=number,
                count=cluster.count,
                total=self.occurrences,
            )
            rows.append(head)
            rows.append(Message("  near: {words}", words=" ".join(cluster.nearest)))
            if cluster.contexts:
                rows.append(Message("  around it: {words}", words=" ".join(cluster.contexts)))
            rows += [f"  {shortened(text, WIDTH)}" for text in cluster.sentences]
            rows.append("")
        spread = (Message("separation"), Message("other words"), Message("95 % of them"))
        rows.append((Message("layer"), *spread, Message("same word"), Message("other word")))
        rows.append((Message("static"), "0.000", "0.000", "0.000", "1.000", "1.000"))
        for each in self.layers:
            numbers = (each.separation, each.usual, each.high, each.same, each.other)
            rows.append((str(each.layer), *(f"{value:.3f}" for value in numbers)))
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


def summary(found: Senses) -> Message:
    return Message(
        "{word}: {occurrences:,} of {found:,} sentences with it, seed {seed}",
        word=found.word,
        occurrences=found.occurrences,
        found=found.found,
        seed=found.settings.seed,
    )


def verdict(found: Senses) -> Message:
    """Whether the word falls apart further than others do."""
    here = found.layers[found.layer]
    if found.p > LEVEL:
        return Message(
            "It does not fall apart further than other words: in layer {layer} the separation is "
            "{value:.2f}, that of {references} other words {usual:.2f} (95 %: up to {high:.2f}); p = {p:.3f}."
            " That alone shows no second sense.",
            layer=here.layer,
            value=here.separation,
            references=found.references,
            usual=here.usual,
            high=here.high,
            p=found.p,
        )
    return Message(
        "It falls apart further than other words: in layer {layer} the separation is {value:.2f}, that of "
        "{references} other words {usual:.2f} (95 %: up to {high:.2f}); p = {p:.3f}.",
        layer=here.layer,
        value=here.separation,
        references=found.references,
        usual=here.usual,
        high=here.high,
        p=found.p,
    )


@analysis
@local_only("dictionary")
def senses(
    model: Vectors | AnyModel,
    word: str,
    settings: SensesSettings | None = None,
    *,
    corpus: Path,
    dictionary: str | Path | Sequence[str | Path] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Senses:
    """The senses of a word in a text: its occurrences clustered, beside the spread of other words.

    Each occurrence is described by the words whose mean vectors it is near. If it falls apart into two
    further than 95 % of the other words of the text do, it is cut into the number of clusters with the
    largest silhouette; otherwise it is one cluster. The layer is the one where it exceeds other words most.

    >>> senses(model, "苹果", corpus=Path("text.txt"))

    Args:
        model: the folder of a model
        word: the word; English is compared in lower case
        corpus: a file of text, or the folder of a corpus
        dictionary: words for the segmenter of Chinese: files with one a line, words, or both
        output: draw the occurrences and the layers, as .png, or as a page with the sentences, as .html

    Examples:
        inlaid senses model apple --corpus text.txt
        inlaid senses model 苹果 --corpus text.txt -o senses.html
    """
    settings = settings or SensesSettings()
    loaded = _contextual(model)
    if not word.strip():
        raise SettingError("The word is empty. Write one.")
    if settings.layer is not None:
        loaded.layer_number(settings.layer)
    if output is not None:
        figures.writable(output, Message("A picture of senses"), overwrite=overwrite)
    sample = sample_text(
        corpus,
        word,
        words_of(dictionary, AUTO),
        most=settings.occurrences,
        others=settings.others,
        seed=settings.seed,
        report=report,
    )
    found = _clustered(model_line(loaded), spaces_of(loaded, sample, report), sample, settings, report)
    if output is not None:
        from inlaid.study.probe.senses_pictures import drawn

        found = replace(found, output=str(output))
        figures.write(output, drawn(found, output.suffix.lower(), report))
    return found


def _contextual(model: Any) -> Any:
    if not isinstance(model, AnyModel):
        raise SettingError(
            "Word vectors have one vector for a word, the same in every sentence, so they cannot tell senses "
            "apart. Give the folder of a model."
        )
    return check_use(model, "embed")


def _clustered(
    model: Message, spaces: Spaces, sample: TextSample, settings: SensesSettings, report: Report
) -> Senses:
    found = spaces.separations(seed=settings.seed, report=report)
    layer, p = _chosen_layer(found, settings.layer)
    profile = spaces.profile(spaces.table, layer)
    labels = np.zeros(len(profile), int)
    if settings.clusters is not None:
        labels = clusters_of(np.sqrt(profile), min(settings.clusters, len(profile)), seed=settings.seed)
    elif p <= LEVEL:
        labels = choose_clusters(profile, most=settings.most, seed=settings.seed)
    return Senses(
        model=model,
        word=sample.word,
        found=sample.found,
        occurrences=len(profile),
        clusters=tuple(described(profile, labels, spaces, settings.n)),
        layer=layer,
        p=p,
        layers=tuple(_layer(number, found[:, number], spaces) for number in range(spaces.layers)),
        references=len(spaces.references),
        places=tuple(map(tuple, plane(profile).tolist())),
        numbers=tuple(labels.tolist()),
        texts=tuple(each.sentence for each in spaces.usages),
        settings=settings,
    )


def _chosen_layer(found: np.ndarray, asked: int | None) -> tuple[int, float]:
    """The layer in which the word exceeds other words most, or that which is asked for; and the share of all
    words, this one included, that exceed others as far."""
    others = found[1:]
    scores = (found - others.mean(axis=0)) / np.maximum(others.std(axis=0), 1e-6)
    if asked is not None:
        layer = asked % found.shape[1]
        ranked = scores[:, layer]
    else:  # layer 0 has the word and its position, and nothing of the sentence
        layer = 1 + int(scores[0, 1:].argmax())
        ranked = scores[:, 1:].max(axis=1)
    return layer, float((ranked >= ranked[0]).mean())


def _layer(layer: int, found: np.ndarray, spaces: Spaces) -> LayerSeparation:
    cosines = [_mean_cosine(each.table[:, layer], spaces.center[layer]) for each in spaces.references]
    return LayerSeparation(
        layer=layer,
        separation=float(found[0]),
        usual=float(np.median(found[1:])),
        high=float(np.quantile(found[1:], 0.95)),
        same=_mean_cosine(spaces.table[:, layer], spaces.center[layer]),
        other=float(np.mean(cosines)),
    )


def _mean_cosine(rows: np.ndarray, center: np.ndarray) -> float:
    """Of two different rows."""
    units = unit_rows(rows - center)
    count = len(units)
    return float(((units.sum(axis=0) ** 2).sum() - count) / (count * (count - 1)))
