"""A model made into word vectors: each token through the model, PCA, and weights by frequency (SIF)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.config import Fraction, Positive, check
from inlaid.encode.corpus import Corpus
from inlaid.encode.dictionary import names_file, parts_of
from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Table
from inlaid.study.analysis import Row, analysis, local_only
from inlaid.study.use.sif import sif_weights, zipf
from inlaid.vectors import Card, Vectors
from inlaid.version import VERSION

CHUNK = 2048
"""Tokens that go through the model between two reports."""


@dataclass(frozen=True, kw_only=True)
class DistillSettings:
    """How the tokens of a model become vectors."""

    dim: Positive | None = 256
    """Components kept by PCA; none: no PCA, as many as the model has."""
    weights: Literal["zipf", "counts", "none"] | None = None
    """How the frequency of a token is known: from its rank (zipf), or from a corpus (counts); none: all
    tokens weigh the same. By default counts with a corpus, otherwise zipf."""
    sif: Fraction = 1e-4
    """A token of probability p weighs sif / (sif + p): the smaller, the less frequent tokens weigh."""
    top: Positive = 20_000
    """With a corpus: how many of its most frequent words are added to the tokens."""
    batch: Positive | None = None
    """Most tokens computed at once; as many as are fast when not given."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Distilled:
    """Vectors made from a model; `vectors` embeds any text with the tokenizer of the model."""

    vectors: Vectors
    tokens: int
    """Tokens of the model's tokenizer."""
    added: int
    """Words added to them."""
    kept_variance: float
    """The share of the variance of the tokens that PCA kept."""

    def to_vectors(self, names: Sequence[str], *, report: Report = silent) -> Vectors:
        return self.vectors

    def rows(self) -> list[Row]:
        about = Message(
            "{tokens:,} tokens and {added:,} words x {dim}; {share:.1%} of the variance",
            tokens=self.tokens,
            added=self.added,
            dim=self.vectors.dim,
            share=self.kept_variance,
        )
        return [about]

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "added": self.added,
            "dim": self.vectors.dim,
            "kept_variance": self.kept_variance,
            "settings": dict(self.vectors.card.settings),
        }


@analysis
@local_only("words")
def distill(
    model: AnyModel,
    settings: DistillSettings | None = None,
    *,
    words: str | Path | Sequence[str | Path] = (),
    corpus: Corpus | None = None,
    report: Report = silent,
) -> Distilled:
    """Word vectors from a model: every token of its tokenizer goes through the model by itself, then PCA and
    weights by frequency.

    The result embeds texts hundreds of times faster than the model, by the mean of the vectors of their
    tokens. Words that are several tokens, Chinese words too, can get vectors of their own.

    Args:
        model: the folder of a model
        words: words to add to the tokens: files with one a line, words, or both
        corpus: a corpus whose frequent words are added, and whose counts give the weights

    Examples:
        inlaid distill model -o small.inlaid --dim 256
        inlaid distill model -o small --format model2vec --words words.txt
    """
    settings = settings or DistillSettings()
    from inlaid.study.use.distill_vocabulary import vocabulary_for  # it imports the tokenizers library

    loaded = check_use(model, "embed")
    if loaded.tokenizer is None or loaded.reads_characters:
        raise SettingError("distill needs a model with a tokenizer.json. This model's folder has none.")
    kind = _weights_kind(settings, corpus)
    wanted = [*_listed(words), *_frequent(corpus, settings.top)]
    vocabulary = vocabulary_for(loaded.tokenizer, wanted)
    if vocabulary.unmatched:
        report(
            Note(
                "{count:,} words cannot be found in texts by the tokenizer of this model, such as {word!r}. "
                "They were left out.",
                count=len(vocabulary.unmatched),
                word=vocabulary.unmatched[0],
            )
        )
    rows = _through_model(loaded, vocabulary, settings.batch, report)
    used = vocabulary.used
    table = np.zeros((len(used), min(settings.dim or rows.shape[1], rows.shape[1])), np.float32)
    reduced, kept = principal_components(rows, settings.dim, report)
    weights = _weights(kind, settings.sif, vocabulary, corpus)
    table[used] = reduced * weights[:, None]
    card = Card(
        method="distill",
        settings={**dataclasses.asdict(settings), "weights": kind, "model": _name(loaded)},
        encoding={"spelling": vocabulary.tokenizer.mark},
        version=VERSION,
        corpus="" if corpus is None else str(corpus.manifest["hash"]),
        scores={"variance kept by PCA": round(kept, 4)},
    )
    vectors = Vectors(
        Words.of(vocabulary.words), table, card=card, tokenizer_json=vocabulary.tokenizer.to_json()
    )
    added = vocabulary.added
    return Distilled(vectors=vectors, tokens=len(vectors) - added, added=added, kept_variance=kept)


def _name(model: Any) -> str:
    return str(model.card.method)


def _weights_kind(settings: DistillSettings, corpus: Corpus | None) -> str:
    if settings.weights == "counts" and corpus is None:
        raise SettingError("weights is counts, which needs a corpus. Name one, or use zipf.")
    return settings.weights or ("zipf" if corpus is None else "counts")


def _listed(words: str | Path | Sequence[str | Path]) -> Iterator[str]:
    """The words, and those in files, one a line."""
    from inlaid.study.use.texts import texts_of

    for given in parts_of(words):
        if names_file(given):
            yield from texts_of((), Path(given), "text", silent)
        else:
            yield str(given)


def _frequent(corpus: Corpus | None, top: int) -> Iterable[str]:
    return () if corpus is None else corpus.vocabulary.words[:top]


def _through_model(model: Any, vocabulary: Any, batch: int | None, report: Report) -> Table:
    """The vectors of all rows that are used (row, dim), as the model gives them."""
    from inlaid.study.use.distill_vocabulary import Around

    around = Around.of(model.tokenizer)
    wanted = [around.put(ids) for ids, used in zip(vocabulary.ids, vocabulary.used, strict=True) if used]
    parts: list[np.ndarray] = []
    for start in range(0, len(wanted), CHUNK):
        parts.append(model.embed_ids(wanted[start : start + CHUNK], batch=batch))
        report(Progress("distilling", min(start + CHUNK, len(wanted)), len(wanted), "tokens"))
    return np.concatenate(parts)


def principal_components(rows: Table, dim: int | None, report: Report) -> tuple[np.ndarray, float]:
    """Centered rows in the coordinates of their `dim` largest principal components, and the share of the
    variance that these have."""
    if dim is None:
        return rows, 1.0
    if dim > rows.shape[1]:
        report(
            Note(
                "dim is {dim}, but the model has {found} dimensions: the vectors have {found}, too.",
                dim=dim,
                found=rows.shape[1],
            )
        )
    centered = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centered.T @ centered)
    largest = slice(None, -min(dim, len(variances)) - 1, -1)
    total = float(variances.sum())
    share = float(variances[largest].sum()) / total if total > 0 else 1.0
    return (centered @ axes[:, largest]).astype(np.float32), share


def _weights(kind: str, sif: float, vocabulary: Any, corpus: Corpus | None) -> np.ndarray:
    """A factor for each row that is used."""
    count = int(vocabulary.used.sum())
    if kind == "none":
        return np.ones(count, np.float32)
    if kind == "zipf" or corpus is None:
        return sif_weights(zipf(count), sif)
    seen = _counts(vocabulary, corpus)[vocabulary.used] + 1.0
    return sif_weights(seen / seen.sum(), sif)


def _counts(vocabulary: Any, corpus: Corpus) -> np.ndarray:
    """How often each row occurs in a corpus, whose words are read by the tokenizer one by one."""
    counts = np.zeros(len(vocabulary.used))
    words = list(corpus.vocabulary.words)
    for ids, count in zip(vocabulary.tokenizer.ids_of(words), corpus.vocabulary.counts.tolist(), strict=True):
        np.add.at(counts, ids, count)
    return counts
