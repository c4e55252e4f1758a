"""PPMI beside the sparse SVD of SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import inlaid
from inlaid.collect import world
from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.fit import ppmi
from inlaid.fit.ppmi import PPMI

sparse = pytest.importorskip("scipy.sparse", reason="SciPy comes with the extra `peers`")
linalg = pytest.importorskip("scipy.sparse.linalg", reason="SciPy comes with the extra `peers`")


def test_singular_values_and_vectors_agree(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ppmi, "DENSE", 0)
    corpus = encode(
        world.sentences("zh", words=50_000), Encoding(dictionary=world.dictionary(), force_dictionary=True)
    )
    method = PPMI(dim=30, singular_exponent=1.0)
    cells = cooccurrence(corpus, window=method.window)
    values, _ = method._associations(cells)
    left, strength, _ = linalg.svds(
        sparse.csr_matrix((values, cells.columns, cells.starts)).astype(np.float64), k=30, random_state=1
    )
    table = inlaid.train(corpus, method).table
    np.testing.assert_allclose(np.linalg.norm(table, axis=0), np.sort(strength)[::-1], rtol=2e-3)
    theirs = left * strength
    assert np.linalg.norm(table @ table.T - theirs @ theirs.T) / np.linalg.norm(theirs @ theirs.T) < 0.02
