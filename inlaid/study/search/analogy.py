"""Analogies: the words nearest to a sum of words, "king - man + woman"."""

from __future__ import annotations

from collections.abc import Sequence

from inlaid.errors import SettingError
from inlaid.messages import option
from inlaid.report import Note, Report, silent
from inlaid.study.analysis import analysis
from inlaid.study.search.formulas import Formula, Term, parse, reads_alone
from inlaid.study.search.found import Neighbors
from inlaid.study.search.neighbors import SearchSettings, search
from inlaid.study.search.queries import asked_by_formula
from inlaid.vectors import Vectors


@analysis
def analogy(
    vectors: Vectors,
    formula: str | Formula = "",
    settings: SearchSettings | None = None,
    *,
    positive: Sequence[str] = (),
    negative: Sequence[str] = (),
    report: Report = silent,
) -> Neighbors:
    """The words nearest to a sum of words, without the words of the formula: "king - man + woman".

    Unit vectors are added. The sum is a formula, or two lists of words: those that are added and those that
    are subtracted. A word out of the vocabulary is answered through its subwords, where the vectors have
    them. `inlaid.study.search.formulas` has the grammar.

    >>> analogy(vectors, "king - man + woman", n=1)[0].word
    'queen'
    >>> analogy(vectors, positive=["king", "woman"], negative=["man"], n=1)[0].word
    'queen'

    Args:
        vectors: a file of vectors
        formula: words joined by + and -, with spaces around the signs; also 2 * word, parentheses,
            "new york" in quotes
        positive: words that are added, instead of a formula
        negative: words that are subtracted, instead of a formula

    Examples:
        inlaid analogy vectors.inlaid "king - man + woman"
        inlaid analogy vectors.inlaid --positive king woman --negative man -n 3
    """
    read = _of_lists(formula, positive, negative) or read_formula(vectors, formula, report)
    return search(vectors, [asked_by_formula(vectors, read, report)], settings or SearchSettings())[0]


def _of_lists(formula: str | Formula, positive: Sequence[str], negative: Sequence[str]) -> Formula | None:
    """The formula that two lists of words mean; None where there are none."""
    if bool(formula) == bool(len(positive) + len(negative)):
        raise SettingError(
            'Expected either a formula such as "king - man + woman", or lists of words as {positive} and '
            "{negative}.",
            positive=option("positive"),
            negative=option("negative"),
        )
    if formula:
        return None
    added = [positive] if isinstance(positive, str) else positive
    subtracted = [negative] if isinstance(negative, str) else negative
    return Formula((*(Term(1.0, word) for word in added), *(Term(-1.0, word) for word in subtracted)))


def read_formula(vectors: Vectors, formula: str | Formula, report: Report) -> Formula:
    """A formula as typed; where signs without spaces were taken as signs, a note says how it was read."""
    if isinstance(formula, Formula):
        return formula
    read = parse(formula, vectors.__contains__)
    if not reads_alone(formula, read):
        report(Note("Read as {formula}.", formula=str(read)))
    return read
