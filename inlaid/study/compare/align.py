"""One space aligned to another by a bilingual dictionary; both vocabularies in one space.

The mapping is orthogonal Procrustes over the pairs of the dictionary, each space length-normalized and
mean-centered. Refinement iterates from there: frequent words that are mutual nearest neighbors by CSLS join
the dictionary, and Procrustes is solved again (Conneau et al. 2018). For translation alone, whitening and
re-weighting follow (Artetxe, Labaka and Agirre 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.config import Count, Fraction, Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Table
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.compare.bilingual import By, Precision, Retrieval, mutual_neighbors, precision
from inlaid.study.compare.dictionaries import Pairs, source_first, split, training_ids
from inlaid.study.compare.joint import joint_space
from inlaid.study.compare.procrustes import NormalizedSpace, procrustes, reweighted
from inlaid.study.search.found import Neighbor, NeighborLists, Neighbors
from inlaid.vectors import Card, Vectors

PairRows = tuple[np.ndarray, np.ndarray]
"""Rows of the source words of some pairs, and rows of their translations."""
CONVERGED = 1.01
"""Refinement continues while an iteration finds more pairs than this times those of the one before."""
PAIRS_PER_DIMENSION = 2
"""Pairs for each dimension that re-weighting needs to estimate how well they agree along it."""


@dataclass(frozen=True, kw_only=True)
class AlignSettings:
    """How one space is aligned to another."""

    held_out: Fraction = 0.2
    """Share of the dictionary's words held out for testing, where there is no test dictionary."""
    refine: Count = 5
    """Refinement iterations at most; it stops when no more pairs are found. 0: Procrustes over the dictionary
    alone."""
    frequent: Positive = 10_000
    """First words of each space among which refinement looks for pairs (those of rare words are mostly
    wrong), and CSLS for neighbors."""
    among: Positive = 200_000
    """Look for translations among this many first words of the target."""
    reweight: bool = True
    """Translate by whitening and re-weighting where there are enough pairs; the joint space is orthogonal
    Procrustes in either case. `--no-reweight`: translate by orthogonal Procrustes alone."""
    n: Positive = 10
    """How many translations of each word to show."""
    seed: Seed = 1
    """Seed of the held-out words and of the bootstrap intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Alignment:
    """Two spaces, one mapped onto the other."""

    source: Vectors
    """Normalized, and mapped by orthogonal Procrustes."""
    target: Vectors
    """Normalized."""
    retrieval: Retrieval
    """What translates: re-weighted, or as `source` and `target`."""
    rotation: Table
    """The orthogonal matrix."""
    pairs: int
    """Training pairs of the dictionary."""
    refinement: tuple[int, ...]
    """Pairs that each iteration of refinement found."""
    precision: tuple[Precision, ...]
    words: NeighborLists
    """Translations of the words that were asked for."""

    def translate(self, words: Sequence[str], *, n: int = 10, by: By = "csls") -> NeighborLists:
        """For each source word its `n` most likely translations; scores by CSLS only give the order."""
        found = self.retrieval.best([self.source.id(word) for word in words], n=n, by=by)
        lists = [
            Neighbors(
                word,
                tuple(
                    Neighbor(self.target.words[id], score)
                    for id, score in zip(each.ids.tolist(), each.scores.tolist(), strict=True)
                ),
            )
            for word, each in zip(words, found, strict=True)
        ]
        return NeighborLists(tuple(lists))

    def joint(self, labels: tuple[str, str] = ("source", "target"), *, report: Report = silent) -> Vectors:
        """Both vocabularies in one space, frequent words first; its rows are computed on demand.

        A word that both have keeps its name on the side where it ranks higher (in the target, if equal); on
        the other side it gets a label: `water` of an English space stays `water`, that of Chinese text
        becomes `zh:water`.
        """
        return joint_space(self.source, self.target, labels, self._card(labels), report)

    def to_vectors(self, names: Sequence[str], *, report: Report = silent) -> Vectors:
        """What `--output` saves: the joint space, labelled with the names of the files."""
        return self.joint((names[0], names[1]), report=report)

    def rows(self) -> list[Row]:
        learned = Message("learned from {pairs:,} pairs", pairs=self.pairs)
        if self.refinement:
            learned = Message(
                "learned from {pairs:,} pairs; refinement found {found:,}",
                pairs=self.pairs,
                found=self.refinement[-1],
            )
        rows: list[Row] = [learned]
        if self.precision:
            rows.append(
                (
                    Message("mapping"),
                    Message("by"),
                    Message("precision at"),
                    Message("share right"),
                    Message("95 %"),
                    Message("tested"),
                )
            )
        for each in self.precision:
            interval = Message("{low:.3f} to {high:.3f}", low=each.low, high=each.high)
            tested = Message("{used:,} of {total:,}", used=each.used, total=each.total)
            rows.append((each.mapping, each.by, str(each.at), f"{each.value:.3f}", interval, tested))
        if self.words:
            rows += self.words.rows()
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "refinement": list(self.refinement),
            "precision": plain(self.precision),
            "words": {each.query: plain(each.neighbors) for each in self.words},
        }

    def _card(self, labels: tuple[str, str]) -> Card:
        source = self.source.card
        target = self.target.card
        steps = [step for card in (source, target) for step in card.encoding.get("normalize", ())]
        return Card(
            method="align",
            encoding={"normalize": list(dict.fromkeys(steps))},
            version=target.version,
            settings={
                "labels": list(labels),
                "source": source.method,
                "target": target.method,
                "pairs": self.pairs,
            },
            scores={f"precision@{each.at}, {each.mapping}, {each.by}": each.value for each in self.precision},
        )


@analysis
def align(
    source: Vectors,
    target: Vectors,
    dictionary: Path | Pairs,
    settings: AlignSettings | None = None,
    *,
    test: Path | Pairs | None = None,
    words: Sequence[str] = (),
    report: Report = silent,
) -> Alignment:
    """Align one space to another by a dictionary, measure translation, and save both as one space.

    A dictionary that fits better the other way round is read so.

    >>> align(zh, en, Path("zh-en.txt")).translate(["猫"], n=1)

    Args:
        source: a file of vectors, such as Chinese
        target: another of the same dimension, such as English
        dictionary: a word and its translation on each line, or CC-CEDICT; either way round
        test: a dictionary to test on; words that the training dictionary has are dropped
        words: translate these words of the source

    Examples:
        inlaid align zh.inlaid en.inlaid dictionary.txt -o aligned.inlaid
        inlaid align zh.inlaid en.inlaid dictionary.txt --words 苹果 国王
    """
    settings = settings or AlignSettings()
    if source.dim != target.dim:
        raise SettingError(
            "The spaces have {source} and {target} dimensions; an orthogonal mapping needs the same. "
            "Train both with one dim.",
            source=source.dim,
            target=target.dim,
        )
    pairs = source_first(dictionary, source, target, report)
    test_pairs = source_first(test, source, target, report) if test else test
    training, tested = split(pairs, test_pairs, settings.held_out, settings.seed)
    ids = training_ids(source, target, training, tested)
    if len(ids) < source.dim:
        report(
            Note(
                "The mapping is learned from {pairs:,} pairs; fewer than the {dim} dimensions do not "
                "determine it.",
                pairs=len(ids),
                dim=source.dim,
            )
        )
    aligner = _Aligner(NormalizedSpace.of(source), NormalizedSpace.of(target), settings, tested, report)
    alignment = aligner.aligned(ids)
    if not words:
        return alignment
    return replace(alignment, words=alignment.translate(words, n=settings.n))


@dataclass(frozen=True, eq=False)
class _Aligner:
    """Two normalized spaces and how they are aligned."""

    source: NormalizedSpace
    target: NormalizedSpace
    settings: AlignSettings
    tested: Pairs
    report: Report

    def aligned(self, ids: np.ndarray) -> Alignment:
        """Procrustes over these pairs of ids, refinement, and re-weighting; each with its precision."""
        rows = (self.source.rows(ids[:, 0]), self.target.rows(ids[:, 1]))
        refinement = list[int]()
        rotation = procrustes(*rows)
        orthogonal = self._mapped(rotation)
        scores = self._precision(orthogonal, "procrustes")
        if self.settings.refine:
            rows, refinement = self._refined(rows)
            rotation = procrustes(*rows)
            orthogonal = self._mapped(rotation)
            scores += self._precision(orthogonal, "refinement")
        best = orthogonal
        if self.settings.reweight and len(rows[0]) >= PAIRS_PER_DIMENSION * rotation.shape[0]:
            best = self._mapped(*reweighted(*rows))
            scores += self._precision(best, "reweighting")
        return Alignment(
            source=orthogonal.source,
            target=orthogonal.target,
            retrieval=best,
            rotation=rotation,
            pairs=len(ids),
            refinement=tuple(refinement),
            precision=tuple(scores),
            words=NeighborLists(()),
        )

    def _mapped(self, source_mapping: Table, target_mapping: Table | None = None) -> Retrieval:
        return Retrieval(
            _vectors(replace(self.source, mapping=source_mapping)),
            _vectors(replace(self.target, mapping=target_mapping)),
            among=self.settings.among,
            csls_words=self.settings.frequent,
            report=self.report,
        )

    def _precision(self, retrieval: Retrieval, mapping: Any) -> list[Precision]:
        return precision(retrieval, self.tested, mapping, seed=self.settings.seed)

    def _refined(self, dictionary: PairRows) -> tuple[PairRows, list[int]]:
        """The rows of the dictionary and of frequent words that are mutual nearest neighbors, and how many
        pairs each iteration found."""
        rotation = procrustes(*dictionary)
        rows = dictionary
        found_counts = list[int]()
        source_rows = self._frequent_rows(self.source)
        target_rows = self._frequent_rows(self.target)
        for iteration in range(self.settings.refine):
            found = mutual_neighbors(source_rows @ rotation, target_rows, report=self.report)
            found_counts.append(len(found))
            rows = (
                np.concatenate([dictionary[0], source_rows[found[:, 0]]]),
                np.concatenate([dictionary[1], target_rows[found[:, 1]]]),
            )
            rotation = procrustes(*rows)
            converged = len(found_counts) > 1 and len(found) <= CONVERGED * found_counts[-2]
            done = self.settings.refine if converged else iteration + 1
            figures = {"pairs": float(len(rows[0]))}
            self.report(Progress("refining", done, self.settings.refine, "iterations", figures))
            if converged:
                break
        return rows, found_counts

    def _frequent_rows(self, side: NormalizedSpace) -> np.ndarray:
        return side.rows(np.arange(min(self.settings.frequent, len(side.space))))


def _vectors(side: NormalizedSpace) -> Vectors:
    return Vectors(side.space.words, side, side.space.counts, side.space.card)
