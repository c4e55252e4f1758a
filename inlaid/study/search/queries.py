"""What a search is asked: words, vectors and sums of words as unit rows, and the ids they must not find."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.subwords.spelling import WORDPIECE
from inlaid.errors import OutOfVocabulary, SettingError
from inlaid.messages import Advice, Listed, Message
from inlaid.report import Note, Report
from inlaid.study.search.formulas import Formula, parse
from inlaid.vectors import LONGEST_SHOWN, Vectors

Query = str | np.ndarray
"""A word or a vector."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One query, ready to be searched."""

    name: str
    """What the user typed."""
    row: np.ndarray
    """float32, of length 1."""
    ids: tuple[int, ...]
    """Rows of the words in the query, which it must not find; a vector has none."""


def asked_for(vectors: Vectors, query: Query, report: Report) -> Asked:
    """The unit row of a word or a vector."""
    if isinstance(query, np.ndarray):
        return _of_vector(vectors, query)
    if not isinstance(query, str):
        raise SettingError("A query is a word or a NumPy vector; found {kind}.", kind=type(query).__name__)
    id = vectors.find(query)
    if id is None:
        _point_to_analogy(vectors, query, report)
    row = vectors[query] if id is None else vectors.table[id]  # from its subwords, or OutOfVocabulary
    if id is None or vectors.mark:
        note_words(vectors, [query], report)
    return Asked(query, pointing(row, query), own_ids(vectors, query) if id is None else (id,))


def _point_to_analogy(vectors: Vectors, query: str, report: Report) -> None:
    """Where an out-of-vocabulary word reads as a formula, raise OutOfVocabulary with what to type; vectors
    with subwords answer it as one word, and a note says so."""
    if not _is_formula(vectors, query):
        return
    advice = Advice(
        typed=Message("inlaid analogy FILE {query}", query=shlex.quote(query)),
        called=Message("analogy(vectors, {query!r})", query=query),
    )
    if vectors.composed(query) is None:
        raise OutOfVocabulary(
            "'{query}' is not among the {words:,} words. It reads as a formula: `{advice}` finds the words "
            "nearest to its sum.",
            query=query,
            words=len(vectors),
            advice=advice,
        )
    report(
        Note(
            "'{query}' is taken as one word. It reads as a formula: `{advice}` finds the words nearest to "
            "its sum.",
            query=query,
            advice=advice,
        )
    )


def _is_formula(vectors: Vectors, query: str) -> bool:
    """Whether a query reads as a sum of words; one too long to be shown was not typed as a formula."""
    if len(query) > LONGEST_SHOWN:
        return False
    try:
        return len(parse(query, vectors.__contains__).terms) > 1
    except SettingError:
        return False


def asked_by_formula(vectors: Vectors, formula: Formula, report: Report) -> Asked:
    """The weighted sum of unit vectors. Unit vectors as in Mikolov et al. 2013: otherwise the longest
    decides."""
    weights = np.array([term.weight for term in formula.terms])
    words = [term.word for term in formula.terms]
    row = weights @ unit_rows(vectors, words)
    note_words(vectors, words, report)
    ids = tuple(id for word in words for id in own_ids(vectors, word))
    return Asked(str(formula), pointing(row, str(formula)), ids)


def own_ids(vectors: Vectors, word: str) -> tuple[int, ...]:
    """The row of a word or, out of the vocabulary, those of the tokens that its vector is the mean of."""
    id = vectors.find(word)
    if id is not None:
        return (id,)
    pieces = [] if vectors.subwords is not None else vectors.pieces(word)
    return tuple(id for piece in pieces if (id := vectors.words.find(piece)) is not None)


def unit_rows(vectors: Vectors, words: Sequence[str]) -> np.ndarray:
    """Vectors of words in float64, scaled to length 1; a vector of zeros stays zeros."""
    ids = [vectors.find(word) for word in words]
    found = [vectors[word] if id is None else vectors.table[id] for word, id in zip(words, ids, strict=True)]
    rows = np.stack(found).astype(np.float64)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes == 0, 1, sizes)


def pointing(row: np.ndarray, name: str) -> np.ndarray:
    """The row as float32 of length 1. float64 in between keeps the direction of very long and very short
    rows."""
    wide = row.astype(np.float64)
    largest = np.abs(wide).max(initial=0)
    if largest == 0:
        raise SettingError(
            "'{name}' is a vector of zeros: it has no direction, so nothing is nearest to it.", name=name
        )
    wide /= largest
    return (wide / np.linalg.norm(wide)).astype(np.float32)


def note_words(vectors: Vectors, words: Sequence[str], report: Report) -> None:
    """Say which vectors were made from subwords (a typo would go unnoticed otherwise), and which of several
    tokens a word was read as."""
    composed = [_with_pieces(vectors, word) for word in words if word not in vectors]
    if composed:
        report(Note("Out of vocabulary, vector made from subwords: {words}.", words=Listed(composed)))
    if not vectors.mark:
        return
    for word in dict.fromkeys(words):
        found, *others = vectors.forms(word) or [word]
        for other in others[:1]:
            typed = other if vectors.forms(other)[0] == other else WORDPIECE + other
            report(
                Note(
                    "'{word}' is read as the token '{found}'. '{other}' is another token: type '{typed}' to "
                    "ask for it.",
                    word=word,
                    found=found,
                    other=other,
                    typed=typed,
                )
            )


def _with_pieces(vectors: Vectors, word: str) -> str:
    """A word and the tokens its vector is the mean of; the n-grams of fastText would be too many to list."""
    pieces = [] if vectors.subwords is not None else vectors.pieces(word)
    return f"{word} ({len(pieces)} tokens: {' '.join(pieces)})" if pieces else word


def _of_vector(vectors: Vectors, query: np.ndarray) -> Asked:
    if query.shape != (vectors.dim,):
        raise SettingError(
            "The query has shape {shape}; these vectors have {dim} dimensions.",
            shape=query.shape,
            dim=vectors.dim,
        )
    if not np.isfinite(query).all():
        raise SettingError("The query holds NaN or infinity; nothing is near to that.")
    return Asked("vector", pointing(query, "vector"), ())
