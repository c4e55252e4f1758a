"""Is word2vec's second table the pseudo-inverse of its first, and so says nothing new? Measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.errors import SettingError
from inlaid.vectors import Vectors

ROW_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class PseudoInverse:
    """How far the contexts are from the pseudo-inverse of the table, both as matrices."""

    cosine: float
    """Of all their numbers: 1 if one is the other times a positive number."""
    missed: float
    """Share of the squared norm of the contexts that no multiple of the pseudo-inverse explains: 0 if it is
    one."""
    missed_by_any: float
    """The same after the best linear map of the dimensions: what no linear map of the pseudo-inverse
    explains."""


def pseudo_inverse(vectors: Vectors) -> PseudoInverse:
    """Compare the second table with the pseudo-inverse of the first.

    If it were the pseudo-inverse, `missed` would be 0. A number well above 0 says that the second table holds
    what the first does not determine.
    """
    if vectors.contexts is None:
        raise SettingError("These vectors have one table; comparing two needs vectors with both.")
    contexts = vectors.contexts if isinstance(vectors.contexts, np.ndarray) else vectors.contexts.whole()
    if contexts.shape[1] != vectors.dim:
        raise SettingError(
            "The tables have {table} and {contexts} dimensions; expected the same number.",
            table=vectors.dim,
            contexts=contexts.shape[1],
        )
    gram = np.zeros((vectors.dim, vectors.dim))
    cross = np.zeros((vectors.dim, vectors.dim))
    own = np.zeros((vectors.dim, vectors.dim))
    for start in range(0, len(vectors), ROW_BLOCK):
        block = slice(start, start + ROW_BLOCK)
        table_rows = vectors.table[block].astype(np.float64)
        context_rows = contexts[block].astype(np.float64)
        gram = gram + table_rows.T @ table_rows
        cross = cross + table_rows.T @ context_rows
        own = own + context_rows.T @ context_rows
    inverse = np.linalg.pinv(gram, hermitian=True)  # pinv(W)^T = W (W^T W)^-1: never larger than dim x dim
    size = float(np.trace(inverse))
    total = float(np.trace(own))
    if size <= 0 or total <= 0:
        raise SettingError("One of the tables is all zeros: there is nothing to compare.")
    cosine = float(np.trace(inverse @ cross)) / np.sqrt(size * total)
    explained = float(np.trace(cross.T @ inverse @ cross)) / total
    return PseudoInverse(
        cosine=float(cosine), missed=float(1 - cosine**2), missed_by_any=float(max(0.0, 1 - explained))
    )
