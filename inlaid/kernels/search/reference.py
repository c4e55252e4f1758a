"""Scores of words for queries in plain NumPy: the specification."""

from __future__ import annotations

import numpy as np


def dots(table: np.ndarray, factors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Every query times every row of the table, each row times its factor: (query, word)."""
    return (queries.astype(np.float64) @ table.astype(np.float64).T) * factors


def code_dots(codes: np.ndarray, factors: np.ndarray, query: np.ndarray) -> np.ndarray:
    """One query of int8 times every row of int8, in whole numbers, each row times its factor."""
    return (codes.astype(np.int64) @ query.astype(np.int64)) * factors
