"""One vector for each text: by a model, or as the mean of word vectors."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid import places
from inlaid.config import Count, Fraction, Positive, changed_from_default, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Table
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.use.embedding_files import EmbeddedTexts, check_output, save
from inlaid.study.use.encoding import unknown_tokens
from inlaid.study.use.sif import common_components, read_components, remove_components, word_weights
from inlaid.study.use.texts import chunks, shortened, texts_of
from inlaid.vectors import Vectors

CHUNK = 4096
"""Texts embedded at a time; no more of a file are in memory."""
SHOWN = 10
"""Most texts shown in a terminal."""
ACROSS = 5
"""Components shown of each vector."""
COMPOSED = 50_000
"""Vectors of out-of-vocabulary words kept for the next texts."""
FOR_VECTORS = ("subwords", "unit", "weights", "sif", "remove_components", "components")
"""Settings that word vectors have."""
ONLY_FOR_VECTORS = ("subwords", "weights", "sif")
"""Settings that models do not have."""


@dataclass(frozen=True, kw_only=True)
class EmbedSettings:
    """How texts are embedded. A model embeds as its folder says, unless a layer or a pooling is named."""

    layer: int | None = None
    """Model: pool the hidden states after this layer; 0 is the input of the first block, -1 the last."""
    pooling: str | None = None
    """Model: cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken; several, joined by +, are
    concatenated."""
    prompt: str | None = None
    """Model: put this before every text."""
    prompt_name: str | None = None
    """Model: put the prompt of this name, which the folder has, before every text."""
    truncate: bool = False
    """Model: cut texts that are longer than the model takes; otherwise they are an error."""
    batch: Positive | None = None
    """Model: most texts computed at once; as many as are fast when not given."""
    precision: Literal["float32", "bfloat16"] | None = None
    """Model: compute in this precision; as the folder stores it when not given. bfloat16 is faster where the
    CPU or GPU has it, with vectors that differ in the third digit."""
    subwords: bool = True
    """Vectors: compose out-of-vocabulary words of their subwords, where there are any. `--no-subwords`: leave
    them out."""
    weights: Literal["mean", "sif"] = "mean"
    """Vectors: all words of a text weigh the same (mean), or frequent words weigh less (sif: a word of
    probability p weighs sif / (sif + p))."""
    sif: Fraction = 1e-3
    """Vectors: the constant of the weights sif; the smaller, the less frequent words weigh."""
    remove_components: Count = 0
    """Remove this many components that the texts given have in common: their first principal components, not
    centered. 1 with the weights sif is the method of Arora et al. 2017."""
    components: Path | None = None
    """Remove the components that this .npz has; embed wrote it for other texts, with remove_components."""
    unit: bool = False
    """Scale every vector to length 1."""

    def __post_init__(self) -> None:
        check(self)
        if self.remove_components and self.components is not None:
            raise SettingError("remove_components and components are given. Give one of them.")


@dataclass(frozen=True)
class TextWithoutVector:
    """A text that got no vector: its number, counted from 0, and why."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedded:
    """The vectors of texts, in their order. Texts without a known word are left out, and listed.

    With an output, the vectors are in the file, and `texts` and `table` have the first of them.
    """

    texts: tuple[str, ...]
    numbers: np.ndarray
    """Which text each row belongs to, counted from 0: they differ from the rows where texts are left out."""
    table: Table
    count: int
    """Texts with a vector."""
    without: tuple[TextWithoutVector, ...]
    """Texts without one; the first 100."""
    without_count: int
    output: str | None = None
    components: np.ndarray | None = None
    """What was removed from all vectors (component, dim)."""

    @property
    def dim(self) -> int:
        return self.table.shape[1]

    def __len__(self) -> int:
        return len(self.table)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.table, dtype=dtype, copy=copy)

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        if self.output is not None:
            saved = Message(
                "{path}: {count:,} texts x {dim}", path=self.output, count=self.count, dim=self.dim
            )
            rows.append(saved)
        else:
            rows += [self._row(place) for place in range(min(SHOWN, len(self.texts)))]
            if self.count > SHOWN:
                more = self.count - SHOWN
                rows.append(Message("and {more:,} more; --output saves all of them", more=more))
        return rows

    def _row(self, place: int) -> Row:
        values = self.table[place]
        components = " ".join(f"{value:+.3f}" for value in values[:ACROSS].tolist())
        dots = " …" if len(values) > ACROSS else ""
        return shortened(self.texts[place]), f"{components}{dots}", f"|{np.linalg.norm(values):.3f}|"

    def to_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "dim": self.dim,
            "texts": list(self.texts),
            "numbers": self.numbers.tolist(),
            "vectors": plain(self.table),
            "without": plain(self.without),
            "without_count": self.without_count,
            "components": None if self.components is None else plain(self.components),
            "output": self.output,
        }

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """A value for each text, in their order, for lines of JSON; a text without a vector has null."""
        found = list[dict[str, Any]]()
        for text, number, row in zip(self.texts, self.numbers.tolist(), self.table, strict=True):
            found.append({"number": number, "text": text, "vector": plain(row)})
        found += [{"number": each.number, "text": each.text, "vector": None} for each in self.without]
        yield from sorted(found, key=lambda each: each["number"])


@analysis
@local_only("field")
def embed(
    model: Vectors | AnyModel,
    texts: str | Path | Sequence[str] | Iterable[str] = (),
    settings: EmbedSettings | None = None,
    *,
    file: Path | None = None,
    field: str = "text",
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Embedded:
    """One vector for each text: by a model as its folder says, or as the mean of word vectors.

    Word vectors read texts with the tokenizer they were trained with; frequent words may weigh less (SIF).
    Words without a vector are left out, and texts without any known word are reported, never given a vector
    of zeros.

    >>> embed(vectors, ["a cat", "猫"]).table.shape
    (2, 300)

    Args:
        model: the folder of a model, or a file of word vectors
        texts: the texts
        file: a file with one text a line, or a table (csv, tsv, jsonl, parquet)
        field: the column of a table that has the texts
        output: save texts and vectors: .npz, .parquet or .inlaid, where the texts are words

    Examples:
        inlaid embed vectors.inlaid "a cat" "a dog" --weights sif
        inlaid embed model --file texts.jsonl -o texts.npz
    """
    settings = settings or EmbedSettings()
    if output is not None:
        check_output(output)
        places.check_replaceable(output, overwrite=overwrite)
    compute = by_model(model, settings) if isinstance(model, AnyModel) else by_words(model, settings, report)
    found = EmbeddedTexts(None if output is None else output.parent)
    for some in chunks(texts_of(texts, file, field, report), CHUNK):
        found.add(some, *compute.vectors(some))
        report(Progress("embedding", found.done, None, "texts"))
    compute.note(found.done, report)
    _note_without(found, report)
    whole = found.whole()
    removed = _finish(whole.table, settings)
    if output is not None:
        save(dataclasses.replace(whole, components=removed), output, report)
    kept = found.count if output is None else min(found.count, SHOWN)
    return Embedded(
        texts=tuple(whole.texts(0, kept)),
        numbers=np.array(whole.numbers[:kept]),
        table=np.array(whole.table[:kept]),
        count=found.count,
        without=tuple(TextWithoutVector(*each) for each in found.without),
        without_count=found.done - found.count,
        output=None if output is None else str(output),
        components=removed,
    )


def _finish(table: np.ndarray, settings: EmbedSettings) -> np.ndarray | None:
    """Remove the components that texts share, and scale to length 1, in place; what was removed."""
    removed = None
    if settings.components is not None:
        removed = read_components(settings.components, table.shape[1])
    elif settings.remove_components:
        removed = common_components(table, settings.remove_components)
    if removed is not None:
        remove_components(table, removed)
    if settings.unit:
        for start in range(0, len(table), CHUNK):
            rows = table[start : start + CHUNK]
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows /= np.where(lengths == 0, 1, lengths)
    return removed


def _note_without(found: EmbeddedTexts, report: Report) -> None:
    """Say how many texts have no vector; an error where none has one."""
    if not found.count and found.done == 1:
        raise SettingError(
            "The text {text!r} has no vector: it is empty, or has no word that is known.",
            text=shortened(found.without[0][1]),
        )
    if not found.count:
        raise SettingError(
            "None of the {count:,} texts has a vector: they are empty, or have no word that is known.",
            count=found.done,
        )
    if found.without:
        report(
            Note(
                "{count:,} of {total:,} texts have no known word and no vector, such as {text!r}. They are "
                "left out.",
                count=found.done - found.count,
                total=found.done,
                text=shortened(found.without[0][1]),
            )
        )


def by_model(model: Any, settings: EmbedSettings) -> _ByModel:
    """What computes the vectors of texts by a model."""
    for name in changed_from_default(settings):
        if name in ONLY_FOR_VECTORS:
            raise SettingError(
                "{name} is for word vectors; a model has no such setting. Leave it out.", name=name
            )
    return _ByModel(_in_precision(check_use(model, "embed"), settings.precision), settings)


def _in_precision(model: Any, precision: str | None) -> Any:
    """The model, computing in this precision; the one that was given stays as it is."""
    if precision is None:
        return model
    import torch

    network = copy.deepcopy(model.network).to(getattr(torch, precision))
    return dataclasses.replace(model, network=network)


def by_words(vectors: Any, settings: EmbedSettings, report: Report) -> _ByWords:
    """What computes the vectors of texts as means of word vectors."""
    if not isinstance(vectors, Vectors):
        raise SettingError(
            "Expected vectors or a model; found {found}. Load them with inlaid.load(file) or "
            "inlaid.load_model(folder).",
            found=type(vectors).__name__,
        )
    for name in changed_from_default(settings):
        if name not in FOR_VECTORS:
            raise SettingError(
                "{name} is for models; found word vectors. Leave it out.", name=name.replace("_", "-")
            )
    return _ByWords(vectors, settings, report)


class _ByModel:
    """Vectors by a model; texts of which its tokenizer knows nothing have none."""

    def __init__(self, model: Any, settings: EmbedSettings) -> None:
        self.model = model
        self.settings = settings
        self.truncated: list[Note] = []
        self.unknown_count = 0
        """Texts with something that the tokenizer does not know."""
        self.with_unknown = ""
        """The first of them."""

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """A vector for each text (text, dim), and whether it has one."""
        settings = self.settings
        known = self._known(texts)
        real = [text for text, is_known in zip(texts, known, strict=True) if is_known]
        if not real:
            return np.zeros((len(texts), self.model.config.dim), np.float32), known
        rows = self.model.embed(
            real,
            layer=-1 if settings.layer is None else settings.layer,
            pooling=None if settings.pooling is None else settings.pooling.split("+"),
            prompt=settings.prompt,
            prompt_name=settings.prompt_name,
            truncate=settings.truncate,
            batch=settings.batch,
            report=self._hear,
        )
        table = np.zeros((len(texts), rows.shape[1]), np.float32)
        table[known] = rows
        return table, known

    def _known(self, texts: Sequence[str]) -> np.ndarray:
        """Whether there is anything in each text that the model knows."""
        counts = np.array(unknown_tokens(self.model, texts)).reshape(-1, 2)
        blank = np.array([not text.strip() for text in texts], bool)
        known = (counts[:, 0] > counts[:, 1]) & ~blank
        partly = np.flatnonzero(known & (counts[:, 1] > 0))
        if len(partly) and not self.unknown_count:
            self.with_unknown = texts[int(partly[0])]
        self.unknown_count += len(partly)
        return known

    def _hear(self, event: Any) -> None:
        if isinstance(event, Note):
            self.truncated.append(event)

    def note(self, total: int, report: Report) -> None:
        """One note about all texts that were cut, and one about those with unknown characters."""
        if self.unknown_count:
            report(
                Note(
                    "{count:,} of {total:,} texts have something that the tokenizer of this model does not "
                    "know, such as {text!r}: the model reads it as an unknown token.",
                    count=self.unknown_count,
                    total=total,
                    text=shortened(self.with_unknown),
                )
            )
        if self.truncated:
            report(
                Note(
                    "{count:,} of {total:,} texts have more than {limit:,} tokens and were truncated.",
                    count=sum(each.values["count"] for each in self.truncated),
                    total=total,
                    limit=self.truncated[0].values["limit"],
                )
            )


class _ByWords:
    """The mean of word vectors, weighted or not; texts without a known word have none."""

    def __init__(self, vectors: Vectors, settings: EmbedSettings, report: Report) -> None:
        from inlaid.study.evaluate.oov import KnownWords, OOVSettings  # it imports Numba

        self.known = KnownWords(vectors, OOVSettings(subwords=settings.subwords))
        self.weights = None if settings.weights == "mean" else word_weights(vectors, settings.sif, report)

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """A vector for each text (text, dim), and whether it has one."""
        rows, counts = self.counted(texts)
        return rows, (counts[:, 0] > 0) & rows.any(axis=1)

    def counted(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """A vector for each text; its words with a vector, and all its words: (text, 2)."""
        found = self.known.counted(texts, self.weights)
        self.known.forget(COMPOSED)
        return found

    def note(self, total: int, report: Report) -> None:
        """Texts without a vector are counted by the caller."""
