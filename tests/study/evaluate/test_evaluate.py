"""Scores on vectors whose answers are known: all right, all wrong, some missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.errors import SettingError, SourceError, UnknownName
from inlaid.report import Event, Note, Progress
from inlaid.study.evaluate.evaluate import evaluate, summarize
from inlaid.study.evaluate.scores import flattened
from inlaid.vectors import Vectors


def field_vectors(language: world.Language, *, share: float = 1.0) -> Vectors:
    """Every concept's vector is its field's axis, and a little of its own."""
    words: dict[str, np.ndarray] = {}
    fields = sorted({concept.field for concept in world.concepts()})
    for number, concept in enumerate(world.concepts()):
        vector = np.zeros(len(fields) + 1)
        vector[fields.index(concept.field)] = 1
        vector[-1] = number / 1e4
        words.setdefault((concept.zh if language == "zh" else concept.en).lower(), vector)
    kept = sorted(words)[: int(len(words) * share)]
    return Vectors.of(kept, [words[word] for word in kept])


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_space_made_of_fields_scores_full_marks(language: world.Language):
    score = next(
        each for each in evaluate(field_vectors(language), ["world-fields"]) if each.language == language
    )
    assert score.value > 0.99  # a word of two fields has been given one of them
    assert score.low <= score.value <= score.high
    assert score.used == score.total


def test_coverage_counts_what_is_known():
    score = next(
        each for each in evaluate(field_vectors("zh", share=0.5), ["world-fields"]) if each.language == "zh"
    )
    assert score.used == score.total // 2


def test_random_vectors_score_near_nothing():
    whole = field_vectors("en")
    noise = Vectors(
        whole.words, np.random.default_rng(1).standard_normal((len(whole), 50)).astype(np.float32)
    )
    scores = {each.task: each for each in evaluate(noise) if each.language == "en"}
    assert scores["world-fields"].high < 0.2
    assert scores["world-analogies"].high < 0.1


def test_planted_analogies_are_solved_exactly():
    """Every word is the sum of its parts, so b - a + c is d to the last digit."""
    truth = world.truth("en")
    relations = sorted({each.relation for each in truth.analogies})
    pairs = sorted(
        {(each.relation, a, b) for each in truth.analogies for a, b in ((each.a, each.b), (each.c, each.d))}
    )
    random = np.random.default_rng(1)
    offset = {relation: random.standard_normal(300) for relation in relations}
    words: dict[str, np.ndarray] = {}
    for relation, a, b in pairs:
        words.setdefault(a, random.standard_normal(300))
        words.setdefault(b, words[a] + offset[relation])
    scores = evaluate(Vectors.of(list(words), np.array(list(words.values()))), ["world-analogies"])
    assert next(each for each in scores if each.language == "en").value > 0.9


def test_vectors_that_know_nothing_are_refused():
    with pytest.raises(SourceError, match="know no word of world-fields or world-analogies"):
        evaluate(Vectors.of(["xyzzy"], [[1.0]]), ["world-fields", "world-analogies"])


def test_an_unknown_task_is_refused():
    with pytest.raises(UnknownName, match="No task is called 'world-field'. Did you mean 'world-fields'?"):
        evaluate(Vectors.of(["cat"], [[1.0]]), ["world-field"])


@pytest.mark.parametrize("language", ["zh", "en"])
def test_fields_are_categories_and_show_outliers(language: world.Language):
    scores = {each.task: each for each in evaluate(field_vectors(language)) if each.language == language}
    assert scores["world-categories"].value > 0.9  # plural forms, for example, have no vector here
    assert scores["world-outliers"].value > 0.9


def noisy(language: world.Language, amount: float, seed: int = 1) -> Vectors:
    whole = field_vectors(language)
    noise = np.random.default_rng(seed).standard_normal(whole.table.shape).astype(np.float32)
    return Vectors(whole.words, whole.table + np.float32(amount) * noise)


def test_a_better_model_is_found_better_on_what_both_know():
    half = field_vectors("en", share=0.5)
    worse = Vectors(half.words, noisy("en", 0.6).table[: len(half)])
    found = evaluate(noisy("en", 0.2), ["world-fields"], against=worse)
    assert [each.language for each in found] == ["en"]
    assert found[0].first > found[0].second
    assert found[0].difference == pytest.approx(found[0].first - found[0].second)
    assert found[0].p < 0.01 < found[0].low
    assert found[0].used == found[0].total // 2


def test_a_model_does_not_differ_from_itself():
    for each in evaluate(noisy("zh", 0.3), against=noisy("zh", 0.3)):
        assert (each.difference, each.low, each.high, each.p) == (0, 0, 0, 1)


def test_models_with_nothing_in_common_are_refused():
    with pytest.raises(SourceError, match="know no word of"):
        evaluate(field_vectors("zh"), against=field_vectors("en"))


def test_runs_are_summarised_by_their_mean():
    runs = [evaluate(noisy("en", 0.4, seed), ["world-fields", "world-categories"]) for seed in (1, 2, 3)]
    for summary in summarize(runs):
        values = [next(each.value for each in flattened(run) if each.task == summary.task) for run in runs]
        assert summary.values == tuple(values)
        assert summary.mean == pytest.approx(np.mean(values))
        assert summary.low < summary.mean < summary.high
    assert np.isnan(summarize(runs[:1])[0].low)


def test_runs_with_nothing_in_common_are_refused():
    with pytest.raises(SettingError, match="no score in common"):
        summarize([evaluate(field_vectors("zh")), evaluate(field_vectors("en"))])
    with pytest.raises(SettingError, match="no score in common"):
        summarize([])


def test_names_paths_and_tasks_may_be_mixed(tmp_path: Path):
    (tmp_path / "pairs.txt").write_text("cat\tdog\t3\ncat\tcar\t1\n猫\t狗\t2\n", "utf-8")
    scores = evaluate(
        field_vectors("en"), [tmp_path / "pairs.txt", "world-fields", str(tmp_path / "pairs.txt")]
    )
    assert [each.task for each in scores] == ["world-fields", "pairs", "pairs"]
    assert (scores[1].used, scores[1].total, scores[1].kind) == (2, 3, "word similarity")


def test_a_task_nobody_knows_is_left_out_with_a_note(tmp_path: Path):
    (tmp_path / "pairs.txt").write_text("xyzzy\tplugh\t3\n")
    events: list[Event] = []
    evaluate(field_vectors("en"), ["world-fields", str(tmp_path / "pairs.txt")], report=events.append)
    assert any(
        "pairs (en): none of its 1 items is known" in each.text for each in events if isinstance(each, Note)
    )
    with pytest.raises(SourceError, match="know no word of pairs"):
        evaluate(field_vectors("en"), [tmp_path / "pairs.txt"])
    with pytest.raises(SourceError, match="know no word of pairs"):
        evaluate(field_vectors("en"), [tmp_path / "pairs.txt"], oov="wrong")


def test_progress_ends_at_its_total():
    events: list[Event] = []
    evaluate(field_vectors("en"), report=events.append)
    last = {each.stage: each for each in events if isinstance(each, Progress)}
    assert set(last) == {"evaluating", "solving analogies"}
    assert all(each.done == each.total for each in last.values())


def test_a_path_where_a_list_belongs_is_refused():
    with pytest.raises(SettingError, match="expected a list"):
        evaluate(field_vectors("en"), "world-fields")


def test_the_seed_moves_the_interval_and_not_the_value():
    one, two = (evaluate(noisy("en", 0.4), ["world-similarity"], seed=seed)[0] for seed in (1, 2))
    assert one.value == two.value
    assert (one.low, one.high) != (two.low, two.high)
    assert one == evaluate(noisy("en", 0.4), ["world-similarity"], seed=1)[0]


def test_tasks_of_words_do_without_numba():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import inlaid\n"
        "words = ['king', 'queen', 'boy', 'girl', 'cat']\n"
        "vectors = inlaid.Vectors.of(words, [[2, 1], [2, 0], [1, 1], [1, 0], [0, 3]])\n"
        "print(len(inlaid.evaluate(vectors, ['world-similarity', 'world-fields'])))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
