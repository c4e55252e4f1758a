"""The tasks of the embedded world: vectors that know the answers get full marks, random ones score chance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inlaid import registry
from inlaid.cli import main
from inlaid.collect import world
from inlaid.collect.truth import Referent, Span, Usage
from inlaid.errors import SettingError
from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.evaluate.in_context import Referents, SenseQuestion, Senses, Translations
from inlaid.study.evaluate.scores import Score
from inlaid.vectors import Vectors

CHANCE = {
    "world-fields": 0.03,
    "world-analogies": 0.0,
    "world-categories": 0.17,
    "world-outliers": 1 / 9,
    "world-similarity": 0.0,
    "world-sentences": 0.0,
    "world-classification": 1 / 12,
    "world-senses": 0.5,
    "world-referents": 0.5,
    "world-translations": 0.0,
}
"""What random vectors score, as docs/evaluate.md says."""


def vocabulary(*languages: world.Language) -> list[str]:
    """All words of some text, as the card of trained vectors would have them cut."""
    words: dict[str, None] = {}
    for language in languages:
        if language == "zh":
            words.update(dict.fromkeys(word for each in world.segmented(words=60_000) for word in each))
        else:
            text = " ".join(world.sentences("en", words=60_000)).lower()
            words.update(dict.fromkeys(text.replace(",", " ").replace(".", " ").replace("?", " ").split()))
    return list(words)


def trained_card(language: world.Language):
    from inlaid import train

    chinese = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
    return train(world.sentences(language, words=3_000), "onehot", **chinese).card


def test_random_vectors_score_near_chance():
    words = vocabulary("zh", "en")
    card = trained_card("zh")
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(4):
        table = np.random.default_rng(seed).standard_normal((len(words), 60))
        for score in evaluate(replace(Vectors.of(words, table), card=card)):
            found.setdefault((score.task, score.language), []).append(score.value)
    assert {task for task, _ in found} == CHANCE.keys() == {entry.name for entry in registry.entries("task")}
    for (task, language), values in found.items():
        assert abs(np.mean(values) - CHANCE[task]) < 0.1, (task, language, values)


@pytest.fixture(scope="module", params=["zh", "en"])
def learned(request: pytest.FixtureRequest) -> dict[str, Score]:
    from inlaid import train

    language: world.Language = request.param
    chinese = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
    vectors = train(world.sentences(language, words=150_000), "ppmi", **chinese)
    return {score.task: score for score in evaluate(vectors)}


def test_trained_vectors_are_above_chance(learned: dict[str, Score]):
    assert learned["world-similarity"].low > 0.5
    assert learned["world-sentences"].low > 0  # means of PPMI vectors are weak: 0.2 in English
    assert learned["world-classification"].low > 0.5
    assert learned["world-senses"].low > 0.8
    assert (
        learned["world-referents"].high > 0.5
    )  # one vector for a pronoun: chance in English, more in Chinese
    assert "world-translations" not in learned  # one language alone has no translations


def test_one_vector_for_a_word_does_not_tell_its_senses_apart(learned: dict[str, Score]):
    word = next(each for each in learned["world-senses"].others if each.metric == "word")
    assert word.value == 0.5
    assert {each.value for each in learned["world-senses"].others if each.metric == "word"} == {0.5}


def test_the_command_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    main(["world", "-o", str(tmp_path / "t.txt"), "--language", "en", "--words", "30000"])
    main(["train", "ppmi", str(tmp_path / "t.txt"), "-o", str(tmp_path / "v.inlaid"), "--dim", "50"])
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "v.inlaid")]) == 0
    shown = capsys.readouterr().out
    for name in CHANCE:
        assert (name in shown) == (name != "world-translations")
    assert main(["evaluate", str(tmp_path / "v.inlaid"), "world-senses", "--json"]) == 0
    (score,) = json.loads(capsys.readouterr().out)["scores"]
    assert score["task"] == "world-senses"
    assert score["low"] <= score["value"] <= score["high"]


# ---- What each task does, on items made by hand


def space(**words: list[float]) -> Vectors:
    return Vectors.of(list(words), list(words.values()))


def test_a_sense_is_that_of_the_field_nearest_to_the_context():
    vectors = space(apple=[1, 1], ripe=[1, 0.1], phone=[0.1, 1], pear=[1, 0], sony=[0, 1])
    senses = (("pear",), ("sony",))
    asked = Senses(
        "senses",
        "en",
        (
            SenseQuestion("apple", Usage("ripe apple", Span(5, 10)), senses, 0),
            SenseQuestion("apple", Usage("Apple phone", Span(0, 5)), senses, 1),
            SenseQuestion("apple", Usage("unheard apple", Span(8, 13)), senses, 1),
        ),
    )
    (score,) = evaluate(vectors, [asked])
    assert score.metric == "context"
    assert score.value == 1.0
    assert (score.used, score.total) == (2, 3)


def test_field_words_of_the_sentence_itself_give_nothing_away():
    vectors = space(apple=[1, 1], pear=[1, 0], plum=[-1, 0], sony=[0, 1])
    question = SenseQuestion(
        "apple", Usage("apple pear", Span(0, 5)), (("pear", "plum"), ("sony",)), answer=0
    )
    (score,) = evaluate(vectors, [Senses("senses", "en", (question,))])
    assert score.value == 0.0


def test_a_referent_is_the_candidate_nearer_to_the_pronoun():
    vectors = space(he=[1, 0], she=[0, 1], tom=[1, 0.2], mary=[0.2, 1])
    asked = Referents(
        "referents",
        "en",
        (
            Referent("Tom tells Mary that he is late.", Span(20, 22), Span(0, 3), Span(10, 14)),
            Referent("Tom tells Mary that she is late.", Span(20, 23), Span(10, 14), Span(0, 3)),
            Referent("Tom tells Ann that he is late.", Span(19, 21), Span(0, 3), Span(10, 13)),
        ),
    )
    (score,) = evaluate(vectors, [asked])
    assert score.value == 1.0
    assert (score.used, score.total) == (2, 3)


def test_a_translation_is_looked_for_among_words_of_the_other_language():
    vectors = space(cat=[1, 0], cats=[1, 0.01], dog=[0, 1], 猫=[1, 0.1], 狗=[0.9, 0.2])
    asked = Translations(
        "words", "zh", ("猫", "狗", "马"), (("cat",), ("dog",), ("horse",)), ("cat", "dog", "horse")
    )
    (score,) = evaluate(vectors, [asked])
    assert score.metric == "P@1"
    assert score.value == 0.5
    assert (score.used, score.total) == (2, 3)
    assert score.others[0].metric == "P@5"
    assert score.others[0].value == 1.0


def test_aligned_spaces_translate():
    from inlaid import align, train

    spaces = {
        "zh": train(
            world.sentences("zh", words=100_000), "ppmi", dictionary=world.dictionary(), force_dictionary=True
        ),
        "en": train(world.sentences("en", words=100_000), "ppmi"),
    }
    pairs = [(concept.zh, concept.en.lower()) for concept in world.concepts()]
    joint = align(spaces["zh"], spaces["en"], pairs).joint(("zh", "en"))
    scores = evaluate(joint, ["world-translations"])
    assert [score.language for score in scores] == ["zh", "en"]
    assert min(score.low for score in scores) > 0.3


def test_tasks_of_the_world_are_for_its_text():
    words = [
        *["the", "of", "and", "in", "to", "a", "is", "was", "for", "on"],
        *["軍隊", "議會", "選舉", "企業", "鐵路", "政府", "小說", "比賽", "冠軍", "球隊"],
    ]
    of_wikipedia = Vectors.of([*words, "北京", "上海"], np.eye(22))
    with pytest.raises(SettingError, match="for vectors trained on the text of the embedded world"):
        evaluate(of_wikipedia)
    asked = evaluate(of_wikipedia, ["world-fields"])
    assert [score.task for score in asked] == ["world-fields"]
    assert "for vectors trained on its text" in str(asked.rows()[0])
