"""The senses of a word in a text: its occurrences clustered, beside the natural spread of other words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.collect.truth import Usage
from inlaid.config import Positive, Range, Seed, check
from inlaid.encode.dictionary import words_of
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Progress, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.probe.clusters import choose_clusters, k_means, profiles, separation, unit_rows
from inlaid.study.probe.occurrences import TextSample, sample_text
from inlaid.study.probe.states import fitting, states_of
from inlaid.study.use.texts import shortened
from inlaid.vectors import Vectors

FEWEST = 8
"""Occurrences that a word needs, so that its mean vector and its spread say something."""
REFERENCES = 60
"""Other words whose spread is measured: those of the most similar frequency. Function words spread less."""
TYPES = 2000
"""Words that occurrences are described by, at most."""
LEVEL = 0.05
FEWEST_REFERENCES = 19
"""With fewer other words, no word can be among the 5 % that fall apart most."""
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
class Cluster:
    """Some occurrences of a word that are alike."""

    share: float
    """Of all occurrences."""
    count: int
    sentences: tuple[str, ...]
    """The most typical."""
    nearest: tuple[str, ...]
    """Words of the text that these occurrences are nearest to."""
    contexts: tuple[str, ...]
    """Words that are more frequent in these sentences than in those of the other clusters."""


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
        rows: list[Row] = [summary(self), verdict(self), ""]
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
    found = _clustered(_spaces(loaded, sample, report), sample, settings, report)
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


@dataclass(frozen=True, eq=False)
class _Spaces:
    """What occurrences are compared with, layer by layer."""

    usages: tuple[Usage, ...]
    table: np.ndarray
    """Of the word: (occurrence, layer, dim)."""
    references: list[np.ndarray]
    """Of other words: (occurrence, layer, dim) each."""
    names: list[str]
    """The words that occurrences are described by."""
    types: np.ndarray
    """Their mean vectors: (word, layer, dim)."""
    center: np.ndarray
    """The mean over all words: (layer, dim)."""

    own: list[int]
    """The place of each reference among the names."""

    def profile(self, table: np.ndarray, layer: int, without: int | None = None) -> np.ndarray:
        """Which words occurrences are near. No word is described by itself: `without` is its place."""
        types = self.types[:, layer]
        if without is not None:
            types = np.delete(types, without, axis=0)
        return profiles(table[:, layer], types, self.center[layer])


def _spaces(model: Any, sample: TextSample, report: Report) -> _Spaces:
    others = sample.others
    usages = [*sample.usages, *(usage for _, usage in others)]
    texts = list(dict.fromkeys(each.sentence for each in usages))
    fits = dict(zip(texts, fitting(model, texts, report), strict=True))
    states = states_of(model, usages, report)
    known = states.known & np.array([fits[each.sentence] for each in usages])
    table = states.table.astype(np.float64)
    count = len(sample.usages)
    own = np.flatnonzero(known[:count])
    if len(own) < FEWEST:
        raise SettingError(
            "'{word}' has {count} occurrences that the model can read; expected at least {fewest}. Give a "
            "larger text.",
            word=sample.word,
            count=len(own),
            fewest=FEWEST,
        )
    places: dict[str, list[int]] = {}
    for place, (word, _) in enumerate(others, count):
        if known[place]:
            places.setdefault(word, []).append(place)
    places.pop(sample.word.lower(), None)
    counts = Counter({word: len(held) for word, held in places.items() if len(held) >= FEWEST})
    names = [word for word, _ in counts.most_common(TYPES)]
    if len(names) < FEWEST_REFERENCES:
        raise SettingError(
            "The text has {count} other words with {fewest} occurrences; expected at least {expected}, to "
            "compare with. Give a larger text.",
            count=len(names),
            fewest=FEWEST,
            expected=FEWEST_REFERENCES,
        )
    types = np.stack([table[places[word]].mean(axis=0) for word in names])
    expected = max(FEWEST, sample.found * len({each.sentence for _, each in others}) / sample.total)
    near = sorted(names, key=lambda word: abs(np.log(counts[word] / expected)))
    chosen = near[:REFERENCES]
    references = [table[places[word][: len(own)]] for word in chosen]
    numbers = {word: number for number, word in enumerate(names)}
    kept = tuple(sample.usages[place] for place in own.tolist())
    center = table[known].mean(axis=0)
    return _Spaces(kept, table[own], references, names, types, center, [numbers[word] for word in chosen])


def _clustered(spaces: _Spaces, sample: TextSample, settings: SensesSettings, report: Report) -> Senses:
    layers = spaces.table.shape[1]
    every = [(spaces.table, None), *zip(spaces.references, spaces.own, strict=True)]
    found = np.zeros((len(every), layers))
    for number, (table, own) in enumerate(every):
        for layer in range(layers):
            found[number, layer] = separation(spaces.profile(table, layer, own), seed=settings.seed)
        report(Progress("spread of words", number + 1, len(every), "words"))
    others = found[1:]
    scores = (found - others.mean(axis=0)) / np.maximum(others.std(axis=0), 1e-6)
    # Layer 0 has the word and its position, and nothing of the sentence.
    layer = 1 + int(scores[0, 1:].argmax()) if settings.layer is None else settings.layer % layers
    ranked = scores[:, 1:].max(axis=1) if settings.layer is None else scores[:, layer]
    p = float((ranked >= ranked[0]).mean())
    profile = spaces.profile(spaces.table, layer)
    labels = np.zeros(len(profile), int)
    if settings.clusters is not None:
        labels = k_means(np.sqrt(profile), min(settings.clusters, len(profile)), seed=settings.seed)
    elif p <= LEVEL:
        labels = choose_clusters(profile, most=settings.most, seed=settings.seed)
    return Senses(
        word=sample.word,
        found=sample.found,
        occurrences=len(profile),
        clusters=tuple(_clusters(profile, labels, spaces, settings)),
        layer=layer,
        p=p,
        layers=tuple(_layer(number, found[:, number], spaces) for number in range(layers)),
        references=len(spaces.references),
        places=tuple(map(tuple, _plane(profile).tolist())),
        numbers=tuple(labels.tolist()),
        texts=tuple(each.sentence for each in spaces.usages),
        settings=settings,
    )


def _layer(layer: int, found: np.ndarray, spaces: _Spaces) -> LayerSeparation:
    cosines = [_mean_cosine(each[:, layer], spaces.center[layer]) for each in spaces.references]
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


def _clusters(
    profile: np.ndarray, labels: np.ndarray, spaces: _Spaces, settings: SensesSettings
) -> list[Cluster]:
    made = list[Cluster]()
    for number in np.unique(labels).tolist():
        held = np.flatnonzero(labels == number)
        mean = profile[held].mean(axis=0)
        near = np.argsort(-mean, kind="stable")[:8]
        distances = ((np.sqrt(profile[held]) - np.sqrt(profile[held]).mean(axis=0)) ** 2).sum(axis=1)
        typical = held[np.argsort(distances, kind="stable")]
        texts = dict.fromkeys(spaces.usages[place].sentence.strip() for place in typical.tolist())
        made.append(
            Cluster(
                share=len(held) / len(profile),
                count=len(held),
                sentences=tuple(list(texts)[: settings.n]),
                nearest=tuple(spaces.names[place] for place in near.tolist()),
                contexts=_contexts(labels == number, spaces),
            )
        )
    return made


def _contexts(inside: np.ndarray, spaces: _Spaces, most: int = 8) -> tuple[str, ...]:
    """Words of the sentences of a cluster by the log of how much more frequent they are than elsewhere."""
    if inside.all():
        return ()
    known = set(spaces.names)
    held = [Counter[str](), Counter[str]()]
    for usage, is_inside in zip(spaces.usages, inside.tolist(), strict=True):
        held[int(is_inside)].update({word.lower() for word in Word().words(usage.sentence)} & known)
    total = (int((~inside).sum()), int(inside.sum()))
    ratios = {
        word: np.log((count + 0.5) / (total[1] + 1)) - np.log((held[0][word] + 0.5) / (total[0] + 1))
        for word, count in held[1].items()
        if count > 1
    }
    best = sorted(ratios, key=lambda word: (-ratios[word] * np.sqrt(held[1][word]), word))
    return tuple(word for word in best if ratios[word] > 0)[:most]


def _plane(profile: np.ndarray) -> np.ndarray:
    """The first two principal components; each sign is such that the largest value is positive."""
    roots = np.sqrt(profile)
    centered = roots - roots.mean(axis=0)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    plane = left[:, :2] * values[:2]
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), range(plane.shape[1])])
    return plane * np.where(signs == 0, 1, signs)
