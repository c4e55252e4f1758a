"""The vector of a word, or of a formula of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.config import check
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.search.analogy import read_formula
from inlaid.study.search.formulas import Formula, Term
from inlaid.study.search.queries import note_words
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class VectorSettings:
    """How the vectors of a formula are added."""

    unit: bool = False
    """Scale the vector of each word to length 1 first, as `analogy` does."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class WordVector:
    """The vector of a word or a formula."""

    name: str
    values: np.ndarray
    """float32"""

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.values.astype(np.float64)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def rows(self) -> Sequence[Row]:
        head = Message(
            "{name}: {dim} dimensions, length {length:.4f}",
            name=self.name,
            dim=len(self.values),
            length=self.length,
        )
        return [head, " ".join(f"{value:.6g}" for value in self.values.tolist())]

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "length": self.length, "vector": plain(self.values)}


@analysis
def vector(
    vectors: Vectors,
    formula: str | Formula,
    settings: VectorSettings | None = None,
    *,
    report: Report = silent,
) -> WordVector:
    """The vector of a word, or of a formula of words: "king - man + woman".

    Args:
        vectors: a file of vectors
        formula: a word, or words joined by + and -, with spaces around the signs

    Examples:
        inlaid vector vectors.inlaid king
        inlaid vector vectors.inlaid "king - man" --unit --json
    """
    if isinstance(formula, str) and vectors.find(formula) is not None:
        read = Formula((Term(1.0, formula),))  # "new york" may be one word
    else:
        read = read_formula(vectors, formula, report)
    rows = np.stack([vectors[term.word] for term in read.terms]).astype(np.float64)
    note_words(vectors, [term.word for term in read.terms], report)
    if settings is not None and settings.unit:
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(sizes == 0, 1, sizes)
    weights = np.array([term.weight for term in read.terms])
    return WordVector(str(read), (weights @ rows).astype(np.float32))
