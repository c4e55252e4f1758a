"""Smooth inverse frequency (SIF): weights of words by their frequency, and the removal of the components that
all texts share (Arora et al. 2017)."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.report import Note, Report
from inlaid.vectors import Vectors

ROWS = 8192
"""Rows of a table, which may be in a file, that are in memory at a time."""
COMPONENTS = "components"
"""The array of an npz that has the removed components."""


def zipf(count: int) -> np.ndarray:
    """The probability of each of `count` words in the order of their frequency, where it is not known: that
    of rank r is proportional to 1 / (r + 1), with ranks from 1."""
    shares = 1 / np.arange(2, count + 2)
    return shares / shares.sum()


def sif_weights(probabilities: np.ndarray, sif: float) -> np.ndarray:
    """sif / (sif + p) for each probability p, float32; sif 0 gives every word the weight 1."""
    if sif == 0:
        return np.ones(len(probabilities), np.float32)
    return (sif / (sif + probabilities)).astype(np.float32)


def word_weights(vectors: Vectors, sif: float, report: Report) -> np.ndarray:
    """The weight of each word: from its count, or from its rank where the vectors have no counts."""
    counts = vectors.counts
    if counts is not None and counts.any():
        return sif_weights(counts / counts.sum(dtype=np.float64), sif)
    report(
        Note(
            "These vectors have no counts: the frequency of a word is estimated from its rank r as "
            "1 / (r + 1) (Zipf), which expects frequent words first."
        )
    )
    return sif_weights(zipf(len(vectors)), sif)


def common_components(table: np.ndarray, count: int) -> np.ndarray:
    """The `count` first right singular vectors of a table (row, dim), not centered: (count, dim) float32."""
    if count >= len(table) or count >= table.shape[1]:
        raise SettingError(
            "remove_components is {count}; expected less than the {texts:,} texts and the {dim} dimensions, "
            "otherwise nothing is left of them. Remove fewer, or embed more texts.",
            count=count,
            texts=len(table),
            dim=table.shape[1],
        )
    products = np.zeros((table.shape[1], table.shape[1]))
    for start in range(0, len(table), ROWS):
        rows = table[start : start + ROWS].astype(np.float64)
        products += rows.T @ rows
    _, axes = np.linalg.eigh(products)
    return axes[:, : -count - 1 : -1].T.astype(np.float32)


def remove_components(table: np.ndarray, components: np.ndarray) -> None:
    """Take from every row, in place, its projection on the components, which are orthogonal and of length
    1."""
    for start in range(0, len(table), ROWS):
        rows = table[start : start + ROWS]
        rows -= (rows @ components.T) @ components


def read_components(path: Path, dim: int) -> np.ndarray:
    """The components that an .npz of embedded texts has."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = arrays[COMPONENTS]
    except OSError as error:
        raise SourceError(
            "Cannot read {path}: {reason}.", path=path, reason=error.strerror or error
        ) from None
    except (KeyError, ValueError, zipfile.BadZipFile, IndexError):
        raise FormatError(
            "{path} has no array '{name}'. Expected an .npz that embed wrote with remove_components.",
            path=path,
            name=COMPONENTS,
        ) from None
    if found.ndim != 2 or found.shape[1] != dim or found.dtype.kind != "f" or not np.isfinite(found).all():
        raise FormatError(
            "{path}: expected components of {dim} numbers each, found an array of shape {shape}. Use those "
            "of texts that were embedded with the same vectors.",
            path=path,
            dim=dim,
            shape=found.shape,
        )
    return found.astype(np.float32)
