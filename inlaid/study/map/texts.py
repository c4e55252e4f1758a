"""`inlaid map-texts`: texts on a plane, colored by their labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inlaid.errors import SettingError
from inlaid.feed.labelled import Labelled, read_labelled
from inlaid.neural.kinds import AnyModel
from inlaid.report import Report, silent
from inlaid.study.analysis import analysis, local_only
from inlaid.study.map.layout import MapSettings
from inlaid.study.map.map import Map, Points, chosen_how, chosen_ids, make_map, written
from inlaid.study.map.pictures import writable
from inlaid.study.use.embed import EmbedSettings, embed
from inlaid.study.use.texts import texts_of
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class MapTextsSettings(MapSettings):
    """How texts are read, embedded and laid out."""

    field: str = "text"
    """The column of a table that has the texts."""
    label_field: str | None = None
    """The column of a table that has the labels. Lines of fastText have theirs in the text: any name will
    do."""
    layer: int | None = None
    """Model: pool the hidden states after this layer; 0 is the input of the first block, -1 the last."""
    pooling: str | None = None
    """Model: cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken; several, joined by +, are
    concatenated."""
    truncate: bool = False
    """Model: cut texts that are longer than the model takes; otherwise they are an error."""

    def embedding(self) -> EmbedSettings:
        return EmbedSettings(layer=self.layer, pooling=self.pooling, truncate=self.truncate)


@analysis
@local_only("field", "label_field", "workers")
def map_texts(
    model: Vectors | AnyModel,
    texts: str | Path | Sequence[str] | Iterable[str] = (),
    settings: MapTextsSettings | None = None,
    *,
    file: Path | None = None,
    labels: Sequence[str] = (),
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Map:
    """Lay texts out on a plane, and say how far to trust it; written as a picture or a page.

    A model embeds texts as its folder says; of word vectors, a text has the mean.

    >>> map_texts(vectors, file=Path("reviews.csv"), label_field="rating").figure()

    Args:
        model: the folder of a model, or a file of word vectors
        texts: the texts
        file: a file with one text a line, or a table (csv, tsv, jsonl, parquet)
        labels: one for each text, to color them by; --label-field reads them from the file instead
        output: what to write: a .png, .svg or .pdf, or an .html that works without a network

    Examples:
        inlaid map-texts vectors.inlaid --file texts.tsv -o texts.html
        inlaid map-texts model - -o texts.png < texts.txt
    """
    settings = settings or MapTextsSettings()
    path = None if output is None else writable(Path(output), overwrite=overwrite)
    read, read_labels = _read(texts, file, labels, settings, report)
    ids: list[int] = chosen_ids(len(read), settings).tolist()
    found = embed(model, [read[id] for id in ids], settings.embedding(), report=report)
    kept: list[int] = [ids[number] for number in found.numbers.tolist()]
    points = Points(
        names=found.texts,
        kind="text",
        table=found.table,
        chosen=chosen_how(len(read), settings, named=False),
        total=len(read),
        labels=[read_labels[id] for id in kept] if read_labels else (),
        vectors_of=lambda listed: _axis_vectors(model, listed, settings),
    )
    made = make_map(points, settings, report)
    return written(made, path, overwrite=overwrite, report=report)


def _read(
    texts: object, file: Path | None, labels: Sequence[str], settings: MapTextsSettings, report: Report
) -> tuple[Sequence[str], Sequence[str]]:
    """The texts and, where there are any, their labels."""
    if settings.label_field is None:
        read = list(texts_of(texts, file, settings.field, report))
        return read, Labelled.of(read, labels).labels if labels else ()
    if file is None or labels:
        raise SettingError("label_field is for the labels in a file: name a file, and no labels beside it.")
    found = read_labelled([file], field=settings.field, label_field=settings.label_field, report=report)
    return found.texts, found.labels


def _axis_vectors(model: Vectors | AnyModel, texts: Sequence[str], settings: MapTextsSettings) -> np.ndarray:
    """The vectors of the texts at one end of an axis; all must have one."""
    found = embed(model, list(texts), settings.embedding())
    for each in itertools.islice(found.without, 1):
        raise SettingError(
            "{text!r} has no known word, and so no place on an axis. Leave it out.", text=each.text
        )
    return found.table
