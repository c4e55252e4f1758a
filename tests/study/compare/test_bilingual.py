"""Translations retrieved between two vocabularies: precision, CSLS, mutual nearest neighbors."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.report import Event, Progress
from inlaid.study.compare import bilingual
from inlaid.study.compare.bilingual import Retrieval, mean_similarities, mutual_neighbors, precision
from inlaid.vectors import Vectors


def test_precision_counts_known_words_and_any_translation():
    table = np.eye(4, dtype=np.float32)
    source = Vectors.of(["a", "b", "c", "d"], table)
    target = Vectors.of(["A", "B", "C", "D"], table[[0, 1, 3, 2]])
    pairs = [("a", "A"), ("b", "X"), ("b", "B"), ("c", "C"), ("d", "X"), ("x", "A")]
    found = precision(Retrieval(source, target), pairs, at=(1, 4))
    assert [(each.by, each.at, each.used, each.total) for each in found[:2]] == [
        ("cosine", 1, 3, 5),
        ("cosine", 4, 3, 5),
    ]
    assert found[0].value == pytest.approx(2 / 3)
    assert found[0].low <= found[0].value <= found[0].high
    assert found[1].value == 1
    assert precision(Retrieval(source, target), [("x", "A")]) == []


def test_csls_passes_over_a_hub():
    """The hub is the nearest of every query by cosine; by CSLS each finds its own."""
    random = np.random.default_rng(1)
    rows = random.standard_normal((50, 30)) + 0.8
    own = rows + 1.5 * random.standard_normal(rows.shape)
    hub = Vectors.of([*(f"v{n}" for n in range(50)), "hub"], np.vstack([own, rows.mean(axis=0)]))
    found = precision(
        Retrieval(Vectors.of([f"w{n}" for n in range(50)], rows), hub, k=10),
        [(f"w{n}", f"v{n}") for n in range(50)],
        at=(1,),
    )
    assert found[1].value > found[0].value + 0.2


def test_mean_similarity_is_a_mean_of_cosines():
    rows, others = np.random.default_rng(1).standard_normal((2, 30, 5)).astype(np.float32)
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (rows, others)]
    expected = np.sort(unit[0] @ unit[1].T, axis=1)[:, -3:].mean(axis=1)
    np.testing.assert_allclose(mean_similarities(rows, others, 3), expected, atol=1e-6)


def test_mean_similarities_in_blocks_with_progress(monkeypatch: pytest.MonkeyPatch):
    rows, others = np.random.default_rng(1).standard_normal((2, 30, 5)).astype(np.float32)
    whole = mean_similarities(rows, others, 3)
    events = list[Event]()
    monkeypatch.setattr(bilingual, "QUERY_BLOCK", 7)
    np.testing.assert_array_equal(mean_similarities(rows, others, 3, events.append), whole)
    assert [event.done for event in events if isinstance(event, Progress)] == [1, 2, 3, 4, 5, 5]


def test_mutual_pairs_agree_with_all_pairs_written_out():
    here, there = np.random.default_rng(1).standard_normal((2, 40, 6)).astype(np.float32)
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (here, there)]
    cosines = unit[0] @ unit[1].T
    csls = (
        2 * cosines
        - np.sort(cosines, axis=1)[:, -10:].mean(axis=1)[:, None]
        - np.sort(cosines, axis=0)[-10:].mean(axis=0)
    )
    best = csls.argmax(axis=1)
    back = csls.argmax(axis=0)
    assert mutual_neighbors(here, there).tolist() == [
        [n, int(best[n])] for n in range(40) if back[best[n]] == n
    ]
