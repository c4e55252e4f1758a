"""Out-of-vocabulary words that have vectors are scored; the scores over the vocabulary stay what they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inlaid.cli import main
from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.study.evaluate.scores import Score
from inlaid.study.evaluate.tasks import Analogies, Categories, Outliers, SentencePairs, Task, Texts, WordPairs
from inlaid.vectors import Vectors

ANGLES = {"cat": 0, "dog": 10, "car": 90, "bus": 105, "red": 180, "blue": 200}
UNSEEN = {"cats": 3, "dogs": 14, "cars": 93, "buses": 108, "reds": 183, "blues": 203}


def direction(degrees: float) -> np.ndarray:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], np.float32)


class Plurals:
    """Composes the words of UNSEEN."""

    def vector(self, word: str) -> np.ndarray | None:
        if word == "zeros":
            return np.zeros(2, np.float32)
        return direction(UNSEEN[word]) if word in UNSEEN else None


PLAIN = Vectors.of([*ANGLES], [direction(each) for each in ANGLES.values()])
COMPOSING = replace(PLAIN, subwords=Plurals())

PAIRS = WordPairs(
    "pairs",
    "en",
    (("cat", "dog"), ("cat", "car"), ("car", "bus"), ("cats", "dog"), ("cats", "blues"), ("cat", "nothing")),
    (9.0, 3.0, 8.5, 8.8, 1.0, 5.0),
)
ANALOGIES = Analogies(
    "analogies",
    "en",
    (
        ("cat", "car", "dog", "bus"),
        ("car", "red", "bus", "blue"),
        ("cats", "cars", "dogs", "car"),
        ("cats", "car", "dogs", "buses"),
    ),
    ("seen", "seen", "unseen", "unseen"),
)
GROUPS = Categories(
    "groups",
    "en",
    ("cat", "dog", "cats", "car", "bus", "cars", "zeros", "nothing"),
    ("animal", "animal", "animal", "vehicle", "vehicle", "vehicle", "animal", "animal"),
)
OUTLIERS = Outliers("odd", "en", (("cat", "dog", "red"), ("cats", "dogs", "reds"), ("cat", "nothing", "red")))
SENTENCES = SentencePairs(
    "sentences",
    "en",
    (("a cat", "the dog"), ("cats", "dogs"), ("cars", "reds"), ("cat", "blues"), ("cat", "nothing")),
    (5.0, 4.5, 2.0, 1.0, 3.0),
)
TEXTS = Texts(
    "texts",
    "en",
    (("animal", "cat dog"), ("vehicle", "car bus"), ("animal", "cats"), ("vehicle", "cars")),
    (("animal", "dogs"), ("vehicle", "bus"), ("vehicle", "nothing")),
)
ALL: list[Task] = [PAIRS, ANALOGIES, GROUPS, OUTLIERS, SENTENCES, TEXTS]
COVERAGE = {"pairs": (3, 5, 6), "analogies": (2, 3, 4), "groups": (4, 6, 8), "odd": (1, 2, 3)}
"""Items in the vocabulary, scored, and in all."""


def flat(score: Score) -> dict[tuple[str, str], Score]:
    return {(each.metric, each.section): replace(each, others=()) for each in (score, *score.others)}


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_scores_over_the_vocabulary_are_those_without_subwords(task: Task):
    plain = flat(evaluate(PLAIN, [task])[0])
    composing = flat(evaluate(COMPOSING, [task])[0])
    for (metric, section), score in plain.items():
        found = composing[f"{metric} in vocabulary", section]
        assert repr(replace(found, metric=metric)) == repr(score)  # NaN is not equal to itself
    assert len(composing) == 2 * len(plain)
    without = evaluate(COMPOSING, [task], subwords=False)
    assert repr(without) == repr(evaluate(PLAIN, [task]))


@pytest.mark.parametrize("task", [task for task in ALL if task.name in COVERAGE], ids=lambda task: task.name)
def test_both_coverages(task: Task):
    score = evaluate(COMPOSING, [task])[0]
    assert (score.in_vocabulary, score.used, score.total) == COVERAGE[task.name]
    assert score.denominator == score.used


def test_scores_over_all_words_are_those_of_a_vocabulary_that_has_them():
    """Analogies aside: there, the vocabulary is also what answers are chosen from."""
    every = ANGLES | UNSEEN
    whole = Vectors.of([*every], [direction(each) for each in every.values()])
    for task in (PAIRS, GROUPS, OUTLIERS, SENTENCES, TEXTS):
        expected = evaluate(whole, [task])[0]
        found = evaluate(COMPOSING, [task])[0]
        same = (found.value, found.low, found.high, found.used) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.used), nan_ok=True
        )
        assert same, task.name


def test_words_of_a_question_are_composed_and_answers_are_of_the_vocabulary():
    score = evaluate(COMPOSING, [ANALOGIES], sections=True)[0]
    assert score.value == 1.0
    found = flat(score)
    assert found["3CosAdd", "unseen"].used == 1  # buses cannot be an answer
    assert ("3CosAdd macro in vocabulary", "") in found


def test_words_without_any_vector_count_as_wrong_where_that_is_asked():
    score = evaluate(COMPOSING, [OUTLIERS], oov="wrong")[0]
    assert (score.used, score.denominator, score.value) == (2, 3, pytest.approx(2 / 3))


def test_a_word_beyond_top_is_not_composed():
    known = KnownWords(replace(COMPOSING, subwords=Plurals()), OOVSettings(top=2))
    assert known.all_ids(["cat", "car", "cars", "nothing"]).tolist() == [0, -1, 2, -1]
    np.testing.assert_array_equal(known.rows(np.array([2, 0])), [direction(93), direction(0)])


def test_the_table_shows_scores_over_the_vocabulary_where_they_differ():
    rows = [tuple(map(str, row)) for row in evaluate(COMPOSING, [PAIRS, OUTLIERS]).rows()]
    assert rows[0][-2:] == ("in vocabulary", "scored")
    shown = {(row[0], row[2]): row[-2:] for row in rows[1:]}
    assert shown["pairs", "spearman"] == ("3 of 6", "5 of 6")
    assert shown["pairs", "spearman in vocabulary"] == ("3 of 6", "3 of 6")
    seen = WordPairs("seen", "en", PAIRS.pairs[:3], PAIRS.scores[:3])
    assert [str(row[2]) for row in evaluate(COMPOSING, [seen]).rows()[1:]] == ["spearman", "pearson"]


def test_two_models_are_compared_on_all_words_and_on_the_vocabulary():
    turned = replace(COMPOSING, stored=-COMPOSING.table)
    found = {each.metric: each for each in evaluate(COMPOSING, [PAIRS], against=turned)}
    assert found["spearman"].used == 5
    assert found["spearman in vocabulary"].used == 3
    plain = {each.metric: each for each in evaluate(PLAIN, [PAIRS], against=PLAIN)}
    assert [*plain] == ["spearman", "pearson"]
    mixed = {each.metric: each for each in evaluate(COMPOSING, [PAIRS], against=PLAIN)}
    assert [mixed[name].used for name in ("spearman", "spearman in vocabulary")] == [3, 3]


def test_fasttext_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = tmp_path / "text.txt"
    text.write_text("国王 和 王后 住在 城堡\n公交 汽车 停在 车站\n" * 20, "utf-8")
    task = tmp_path / "pairs.txt"
    task.write_text("国王\t王后\t9\n国王\t汽车\t1\n女国王\t王后\t8\n小汽车\t国王\t2\n", "utf-8")
    out = tmp_path / "ft.inlaid"
    few = ["--dim", "8", "--epochs", "2", "--buckets", "500", "--tokenizer", "whitespace", "--min-n", "1"]
    assert main(["train", "fasttext", str(text), "-o", str(out), *few]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(out), str(task), "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["scores"][0]
    assert (score["in_vocabulary"], score["used"], score["total"]) == (2, 4, 4)
    others = {each["metric"]: each for each in score["others"]}
    assert others["spearman in vocabulary"]["used"] == 2
    assert main(["evaluate", str(out), str(task)]) == 0
    assert "2 of 4         4 of 4" in capsys.readouterr().out
    assert main(["evaluate", str(out), str(task), "--no-subwords", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["scores"][0]
    assert (score["in_vocabulary"], score["used"]) == (2, 2)
