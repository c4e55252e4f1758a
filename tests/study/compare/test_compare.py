"""Spaces that differ in a known way: not at all, in two words, in their vocabulary; and what cannot be
compared."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from inlaid import pipeline
from inlaid.collect import world
from inlaid.errors import OutOfVocabulary, SettingError, SourceError
from inlaid.report import Event, Note, Progress, silent
from inlaid.study.compare.changes import Ranked, changes, stability
from inlaid.study.compare.compare import CompareSettings, compare
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.vectors import Vectors

SWAPPED = {"beijing": "father", "paris": "brother", "tokyo": "uncle"}


def space(rows: np.ndarray, prefix: str = "w") -> Vectors:
    return Vectors.of([f"{prefix}{n}" for n in range(len(rows))], rows)


def made(seed: int, swapped: dict[str, str] | None = None) -> Vectors:
    """Vectors of a text of the world; some words may have changed places in it."""
    both = {word: other for pair in (swapped or {}).items() for word, other in (pair, pair[::-1])}
    words = re.compile(rf"\b({'|'.join(both) or '(?!)'})\b", re.IGNORECASE)
    text = [
        words.sub(lambda found: both[found[0].lower()], line)
        for line in world.sentences("en", words=25_000, seed=seed)
    ]
    return pipeline.train(text, "ppmi", dim=30, report=silent)


@pytest.fixture(scope="module")
def runs() -> list[Vectors]:
    return [made(seed) for seed in range(1, 7)]


# --- movement
# ------------------------------------------------------------------------------------------------------------


def test_runs_of_one_method_give_few_false_alarms(runs: list[Vectors]):
    alarms = 0
    words = 0
    for shift in range(len(runs)):
        first, second, *seeds = runs[shift:] + runs[:shift]
        found = compare(first, second, seeds=seeds)
        alarms += sum(each.p is not None and each.p < 0.05 for each in found.moved)
        words += len(found.moved)
        assert found.chance is not None
        assert found.overlap.value == pytest.approx(found.chance.value, abs=0.03)
    assert words > 3000
    assert alarms < 0.005 * words


def test_words_that_changed_places_are_found(runs: list[Vectors]):
    planted = {*SWAPPED, *SWAPPED.values()}
    found = compare(runs[0], made(9, SWAPPED), seeds=runs[1:4])
    significant = {each.word for each in found.moved if each.p is not None and each.p < 0.05}
    assert planted <= significant
    assert {each.word for each in found.moved[:6]} == planted
    assert len(significant - planted) <= 2
    assert found.significant == len(significant)
    assert all(
        one.p <= other.p for one, other in pairwise(found.moved) if one.p is not None and other.p is not None
    )


def test_a_rotated_space_has_not_changed():
    random = np.random.default_rng(1)
    rows = random.standard_normal((200, 10))
    rotation = np.linalg.qr(random.standard_normal((10, 10)))[0]
    found = compare(space(rows), space(3 * rows @ rotation))
    assert found.overlap.value == found.overlap.high == 1
    assert found.overlap.low > 0.98
    assert max(each.distance for each in found.moved) < 1e-5
    assert found.moved[0].p is None
    assert found.chance is None


def test_the_word_that_moved_comes_first():
    rows = np.random.default_rng(1).standard_normal((200, 10))
    other = rows.copy()
    other[42] = -rows[42]
    found = compare(space(rows), space(other))
    assert found.moved[0].word == "w42"
    assert found.moved[0].distance > 1.8
    assert found.moved[1].distance < 0.1


def test_unrelated_spaces_share_what_chance_shares():
    random = np.random.default_rng(1)
    found = compare(space(random.standard_normal((500, 20))), space(random.standard_normal((500, 20))))
    assert found.overlap.value == pytest.approx(10 / 499, abs=0.006)


def test_dimensions_and_vocabularies_may_differ():
    rows = np.random.default_rng(1).standard_normal((100, 12)) * np.r_[np.ones(6), np.full(6, 0.01)]
    first = space(rows)
    second = Vectors.of([*(f"w{n}" for n in range(20, 100)), "new"], np.vstack([rows[20:, :6], np.ones(6)]))
    found = compare(first, second, CompareSettings(sample=50))
    assert (found.common, found.only_first, found.only_second, found.compared) == (80, 20, 1, 50)
    assert found.overlap.value > 0.95
    assert max(each.distance for each in found.moved) < 0.01


def test_p_values_are_adjusted_by_benjamini_and_hochberg():
    np.testing.assert_allclose(
        benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])), [0.04, 0.16 / 3, 0.16 / 3, 0.5]
    )


# --- one word
# ------------------------------------------------------------------------------------------------------------


def on_a_circle(degrees: dict[str, float]) -> Vectors:
    return Vectors.of(
        list(degrees), [[np.cos(np.radians(each)), np.sin(np.radians(each))] for each in degrees.values()]
    )


def test_neighbors_kept_lost_and_gained():
    first = on_a_circle({"sun": 0, "moon": 10, "star": 20, "sky": 30, "old": 5})
    second = on_a_circle({"sun": 0, "moon": 25, "star": 90, "sky": 20, "new": 10})
    found = changes(first, second, "sun", n=3)
    assert found.kept == (Ranked("moon", 2, 3),)
    assert found.lost == (Ranked("old", 1, None), Ranked("star", 3, 4))
    assert found.gained == (Ranked("new", None, 1), Ranked("sky", 4, 2))


def test_neighbors_that_all_runs_find():
    runs = [on_a_circle({"sun": 0, "moon": 10, "star": 20, "sky": place}) for place in (5, 15, 90)]
    found = stability("sun", runs, n=2)
    assert [(each.word, each.share, each.rank) for each in found] == [
        ("moon", 1.0, 4 / 3),
        ("sky", 2 / 3, 1.5),
        ("star", 1 / 3, 2.0),
    ]
    shown = changes(runs[0], runs[2], "sun", n=2, seeds=runs[1:])
    assert shown.kept == (Ranked("moon", 2, 1, 1.0),)
    assert shown.gained == (Ranked("star", 3, 2, 1 / 3),)


# --- what cannot be compared
# ---------------------------------------------------------------------------------------------


def rows(words: int = 20) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((words, 5))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (space(rows()), space(rows(), "v"), "have 0 words in common"),
        (space(rows(1)), space(rows()), "have 1 words in common"),
        (space(np.ones((20, 5))), space(rows()), "All 20 words of a space have the same direction"),
        (space(np.zeros((20, 5))), space(rows()), "Only 0 common words have a vector other than zero"),
    ],
)
def test_what_cannot_be_compared_is_an_error(first: Vectors, second: Vectors, said: str):
    with pytest.raises(SourceError, match=said):
        compare(first, second)


def test_zero_rows_are_left_out_with_a_note():
    zeros = rows()
    zeros[3] = 0
    events: list[Event] = []
    found = compare(space(rows()), space(zeros), report=events.append)
    assert [event.text[:26] for event in events if isinstance(event, Note)] == ["1 of 20 common words have "]
    assert "w3" not in {each.word for each in found.moved}
    last = [event for event in events if isinstance(event, Progress)][-1]
    assert last.done == last.total


def test_too_few_runs():
    with pytest.raises(SettingError, match="One other run"):
        compare(space(rows()), space(rows()), seeds=[space(rows())])
    with pytest.raises(SettingError, match="same space"):
        compare(space(rows()), space(rows()), seeds=[space(rows())] * 2)
    with pytest.raises(SettingError, match="two or more runs"):
        stability("w1", [space(rows())])
    with pytest.raises(OutOfVocabulary, match="x1"):
        changes(space(rows()), space(rows()), "x1")
