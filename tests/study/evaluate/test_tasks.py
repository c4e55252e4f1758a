"""Every kind of task on a space whose answers are known, in both languages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.evaluate.scores import Score
from inlaid.study.evaluate.tasks import (
    Analogies,
    Categories,
    Outliers,
    SentencePairs,
    Task,
    Texts,
    WordPairs,
    categories_of,
    outliers_of,
)
from inlaid.vectors import Vectors

KINDS = (
    ["cat", "dog", "cow", "horse", "pig", "goat", "sheep", "duck", "hen"],
    ["红", "黄", "蓝", "绿", "白", "黑", "紫", "灰", "橙"],
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
)
RANDOM = np.random.default_rng(1)
VECTORS = Vectors.of(
    [word for kind in KINDS for word in kind],
    np.repeat(np.eye(3, 20), 9, axis=0) + 0.05 * RANDOM.standard_normal((27, 20)),
)
WORDS = list(VECTORS.words)


def cosine(a: str, b: str) -> float:
    one = VECTORS[a].astype(float)
    two = VECTORS[b].astype(float)
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


PAIRS = tuple((WORDS[a], WORDS[b]) for a in range(27) for b in range(a) if (a + b) % 7 == 0)
TASKS: dict[str, Task] = {
    "pairs": WordPairs("pairs", "en", PAIRS, tuple(cosine(a, b) ** 3 for a, b in PAIRS)),
    "categories": Categories("categories", "en", tuple(WORDS), tuple("abc"[n // 9] for n in range(27))),
    "outliers": Outliers(
        "outliers", "en", tuple((*kind[:8], KINDS[n - 1][0]) for n, kind in enumerate(KINDS))
    ),
    "sentences": SentencePairs(
        "sentences",
        "zh",
        (("红，黄。", "蓝"), ("cat one", "dog two"), ("cat", "two"), ("红", "cat")),
        (1.0, 1.0, 0.0, 0.0),
    ),
    "texts": Texts(
        "texts",
        "en",
        tuple((str(n), f"{kind[k]} {kind[k + 1]}") for n, kind in enumerate(KINDS) for k in range(4)),
        tuple((str(n), " ".join(kind[5:])) for n, kind in enumerate(KINDS)),
    ),
}


def score(task: Task, vectors: Vectors = VECTORS, **settings: Any) -> Score:
    return evaluate(vectors, [task], **settings)[0]


@pytest.mark.parametrize("name", TASKS)
def test_a_space_that_has_the_answer_gets_full_marks(name: str):
    assert score(TASKS[name]).value == pytest.approx(1)


@pytest.mark.parametrize("name", TASKS)
def test_scale_and_rotation_change_nothing(name: str):
    rotation = np.linalg.qr(RANDOM.standard_normal((20, 20)))[0]
    noisy = VECTORS.table + 0.3 * RANDOM.standard_normal(VECTORS.table.shape)
    one, two = (score(TASKS[name], Vectors.of(WORDS, table)) for table in (noisy, 100 * noisy @ rotation))
    assert dataclasses.asdict(one)["value"] == pytest.approx(two.value)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), nan_ok=True)


def shuffled(task: Any) -> Any:
    """The same items in another order; columns that belong together stay together."""
    fields = {
        "pairs": ("pairs", "scores"),
        "categories": ("words", "categories"),
        "outliers": ("sets",),
        "texts": ("test",),
    }
    names = fields.get(task.name, ("pairs", "scores"))
    order = np.random.default_rng(3).permutation(len(getattr(task, names[0]))).tolist()
    moved = {name: tuple(getattr(task, name)[n] for n in order) for name in names}
    if task.name == "texts":
        moved["train"] = task.train[::-1]
    return dataclasses.replace(task, **moved)


@pytest.mark.parametrize("name", TASKS)
def test_the_order_of_items_changes_nothing(name: str):
    noisy = Vectors.of(WORDS, VECTORS.table + 0.3 * RANDOM.standard_normal(VECTORS.table.shape))
    one = score(TASKS[name], noisy)
    two = score(shuffled(TASKS[name]), noisy)
    for mine, other in zip((one, *one.others), (two, *two.others), strict=True):
        assert (mine.value, mine.low, mine.high) == pytest.approx(
            (other.value, other.low, other.high), nan_ok=True
        )


@pytest.mark.parametrize("name", TASKS)
def test_unknown_items_are_left_out_or_wrong(name: str):
    few = Vectors.of(WORDS[:18], VECTORS.table[:18])
    skipped = score(TASKS[name], few)
    wrong = score(TASKS[name], few, oov="wrong")
    assert skipped.used == wrong.used < skipped.total or name == "sentences"
    assert (skipped.denominator, wrong.denominator) == (skipped.used, wrong.total)
    assert wrong.value <= skipped.value


ROYAL = {"king": [2, 1, 0], "queen": [2, 0, 1], "man": [0, 1, 0], "woman": [0, 0, 1], "far": [-1, -1, -1]}
QUESTIONS = Analogies(
    "royal",
    "en",
    (
        ("man", "king", "woman", "queen"),
        ("king", "man", "queen", "woman"),
        ("man", "woman", "king", "far"),
        ("man", "x", "king", "y"),
    ),
    ("up", "down", "odd", "odd"),
)


def test_analogies_have_a_total_a_macro_mean_and_sections():
    found = score(QUESTIONS, Vectors.of(list(ROYAL), list(ROYAL.values())))
    assert (found.metric, found.value, found.used, found.total) == ("3CosAdd", pytest.approx(2 / 3), 3, 4)
    parts = {(each.metric, each.section): each.value for each in found.others}
    assert parts["3CosAdd macro", ""] == pytest.approx(2 / 3)
    assert [parts["3CosAdd", section] for section in ("up", "down", "odd")] == [1, 1, 0]
    assert ("3CosMul", "") in parts


def test_a_section_nobody_knows_is_not_defined_and_does_not_spoil_the_macro_mean():
    task = dataclasses.replace(QUESTIONS, sections=("up", "up", "odd", "lost"))
    found = score(task, Vectors.of(list(ROYAL), list(ROYAL.values())))
    parts = {(each.metric, each.section): each for each in found.others}
    assert parts["3CosAdd macro", ""].value == pytest.approx(0.5)
    assert np.isnan(parts["3CosAdd", "lost"].value)
    assert parts["3CosAdd", "lost"].used == 0


def test_case_is_folded_for_answers_too():
    """`Woman` and `woman` are one word: neither may be the answer to a question about woman, either is right
    as d."""
    table = {
        "man": [0, 1, 0],
        "king": [2, 1, 0],
        "woman": [0, 0, 1],
        "Woman": [2.1, 0, 1],
        "Queen": [2, 0, 1.1],
        "queen": [0, 0, -1],
    }
    task = Analogies("case", "en", (("MAN", "King", "woman", "QUEEN"),), ("",))
    vectors = Vectors.of(list(table), list(table.values()))
    assert score(task, vectors, fold_case=True).value == 1
    with pytest.raises(Exception, match="know no word"):
        score(task, vectors)


def test_one_pair_and_equal_scores_are_undefined_but_counted():
    one = WordPairs("one", "en", (("cat", "dog"), ("x", "y")), (1.0, 2.0))
    assert np.isnan(score(one).value)
    assert (score(one).used, score(one).total) == (1, 2)
    flat = WordPairs("flat", "en", (("cat", "dog"), ("cat", "one"), ("one", "two")), (1.0, 1.0, 1.0))
    assert np.isnan(score(flat).value)


def test_a_grade_is_ranked_and_a_yes_or_no_is_classified():
    graded = SentencePairs(
        "graded", "en", (("cat", "dog"), ("cat one", "dog"), ("cat", "one")), (5.0, 2.5, 0.0)
    )
    assert (score(graded).metric, score(graded).value) == ("spearman", pytest.approx(1))
    assert score(TASKS["sentences"]).metric == "AUC"


def test_categories_and_outliers_out_of_analogies():
    cities = [f"城{n}" for n in range(10)]
    asked = tuple((a, f"{a}剧", b, f"{b}剧") for a in cities for b in cities if a != b)
    categories = categories_of(Analogies("ca", "zh", asked, ("geography",) * len(asked)))
    assert (len(categories.words), len(set(categories.categories)), categories.language) == (20, 2, "zh")
    outliers = outliers_of(categories)
    assert len(outliers.sets) == 20
    assert all(words[-1].endswith("剧") != words[0].endswith("剧") for words in outliers.sets)
