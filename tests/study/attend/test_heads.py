"""Heads by name: right for those set by hand, none for random networks, and chance where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid
from inlaid.collect import world
from inlaid.neural.checkpoint import save_model
from inlaid.study.attend.named_heads import CLOSEST, HEADER
from inlaid.study.attend.pair_heads import NEXT, READ, Translated, alignments, measured_cross
from inlaid.study.attend.patterns import NAMES, Link, measured_links
from inlaid.study.attend.relations import relations
from inlaid.study.attend.weights import PART_NAMES

from .conftest import WORDS, random_model


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random words, some of them twice."""
    rng = Random(1)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = [" ".join(WORDS[int(rng.random() * 40)] for _ in range(6 + n % 7)) for n in range(40)]
    path.write_text("\n".join(lines))
    return path


def names_of(found: Any) -> dict[tuple[int, int], set[str]]:
    names: dict[tuple[int, int], set[str]] = {}
    for each in found.named:
        names.setdefault((each.layer, each.head), set()).add(each.name)
    return names


def test_heads_set_by_hand_get_the_right_names(made_by_hand: Any, text: Path):
    found = inlaid.heads(made_by_hand, text=str(text), sentences=30)
    assert names_of(found) == {
        (0, 0): {"previous token"},
        (0, 1): {"same word", "itself"},
        (1, 0): {"induction"},
    }
    for each in found.named:
        assert each.interval.low <= each.score <= each.interval.high
        assert each.score > 0.9 or each.name == "itself"
        assert each.chance < 0.35
        assert each.adjusted_p < 1e-6
        assert each.examples


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_few_heads_of_random_networks_get_a_name(kind: str, text: Path):
    """benchmarks/world_attention.py asks 100 networks; here are some, also with sharp attention."""
    named = total = 0
    for seed in range(6):
        model = random_model(kind, seed=seed, scale=1.0 if seed < 3 else 20.0)
        found = inlaid.heads(model, text=str(text), sentences=20, seed=seed)
        named += len(names_of(found))
        total += found.layers * found.heads
    assert named <= 0.05 * total


def links_of(distance_of_attention: Any, rng: np.random.Generator) -> list[Link]:
    found = []
    for _ in range(40):
        length = 12
        query = int(rng.integers(6, length))
        key = int(rng.integers(0, query - 1))
        rows = np.full((1, 1, 1, length), 0.02)
        rows[0, 0, 0, distance_of_attention(query, key)] = 1 - 0.02 * (length - 1)
        found.append(Link("", "", rows, np.array([query]), 0, np.array([length - 1]), key - query))
    return found


def test_a_link_is_told_from_a_fixed_distance_and_a_fixed_place():
    """A head that follows the key is found; one that looks two words back, or at the first word, is not, no
    matter how often it hits."""
    rng = np.random.default_rng(1)
    follows = measured_links("object to verb", "zh", links_of(lambda _, key: key, rng))
    assert follows is not None
    assert follows.p[0, 0] < 1e-6
    assert follows.above[0, 0] > 0.6
    for other in (lambda query, _: query - 2, lambda *_: 0):
        found = measured_links("object to verb", "zh", links_of(other, rng))
        assert found is not None
        assert found.p[0, 0] > 0.01
        assert found.above[0, 0] < 0.1


def test_p_values_of_heads_that_know_nothing_are_spread_evenly():
    rng = np.random.default_rng(2)
    values = []
    for _ in range(200):
        found = measured_links("object to verb", "", links_of(lambda *_: int(rng.integers(0, 12)), rng))
        assert found is not None
        values.append(found.p[0, 0])
    assert np.mean(np.array(values) < 0.05) <= 0.09


@pytest.mark.parametrize("language", world.LANGUAGES)
def test_the_relations_of_the_world_link_the_right_words(language: Any):
    found = relations(language, 30, seed=1)
    assert set(found) == {"object to verb", "pronoun to referent", "word to category", "contrast"}
    pronouns = {"他", "她", "he", "she"}
    for name, linked in found.items():
        assert len(linked) >= 20, name
        distances = {each.key.start - each.query.start for each in linked}
        assert len(distances) > 3, name
        for each in linked:
            query = each.sentence[slice(*each.query)]
            key = each.sentence[slice(*each.key)].lower()
            if name == "pronoun to referent":
                assert query in pronouns
            if name == "word to category":
                assert key in ("水果", "河流", "fruit", "rivers")
            if name == "contrast":
                assert (query, key) in (("但", "虽然"), ("still", "although"))


def test_patterns_without_a_name_show_the_closest_head(made_by_hand: Any, text: Path, tmp_path: Path):
    page = tmp_path / "heads.html"
    found = inlaid.heads(made_by_hand, text=str(text), sentences=30, output=page)
    patterns = {each.pattern for each in found.measured}
    closest = {each.name: each for each in found.closest}
    assert set(closest) == patterns - {each.name for each in found.named}
    for measured in found.measured:
        if measured.pattern in closest:
            head = closest[measured.pattern]
            assert head.above == pytest.approx(measured.above.max())
            assert head.score == pytest.approx(measured.score[head.layer, head.head])
    shown = [row[2] for row in found.rows() if isinstance(row, tuple) and len(row) == len(HEADER)]
    assert {str(NAMES[name]) for name in closest} <= {str(name) for name in shown}
    assert str(CLOSEST) in page.read_text("utf-8")


def test_typed(typed: Any, made_by_hand: Any, text: Path, tmp_path: Path):
    save_model(made_by_hand, tmp_path / "hand")
    shown = typed("heads", tmp_path / "hand", "--text", text, "--sentences", 20)
    assert "previous token" in shown
    assert "3 of 4 heads have a name" in shown
    found = json.loads(typed("heads", tmp_path / "hand", "--text", text, "--sentences", 20, "--json"))
    assert found["share_named"] == 0.75
    assert {each["pattern"] for each in found["patterns"]} >= {"previous token", "induction"}
    assert "no file" in typed("heads", tmp_path / "hand", "--text", "nowhere.txt", code=2)
    assert "can read no sentence" in typed("heads", "seq2seq", code=2)


@pytest.mark.parametrize(("locale", "language"), [("zh_CN.UTF-8", "zh"), ("C", "en")])
def test_a_page_of_both_languages_is_in_that_of_the_locale(
    typed: Any,
    made_by_hand: Any,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    locale: str,
    language: str,
):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    monkeypatch.setenv("LC_ALL", locale)
    save_model(made_by_hand, tmp_path / "hand")
    page = tmp_path / "heads.html"
    shown = typed("heads", tmp_path / "hand", "--text", text, "--sentences", 20, "-o", page)
    written = {"en": f"written to {page}", "zh": f"已写入 {page}"}
    assert shown.splitlines()[-1] == written[language]
    assert f'<html lang="{language}">' in page.read_text("utf-8")


@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_pictures(made_by_hand: Any, text: Path, tmp_path: Path, suffix: str):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    path = tmp_path / f"heads{suffix}"
    inlaid.heads(made_by_hand, text=str(text), sentences=20, output=path)
    assert path.stat().st_size > 1000


def reading_of(words: list[str], special: list[int]) -> Any:
    from inlaid.study.attend.reading import Reading

    marked = np.array([place in special for place in range(len(words))])
    ids = list(range(len(words)))
    return Reading(
        " ".join(words),
        ids,
        [0] * len(words),
        tuple(words),
        tuple(words),
        np.arange(len(words)),
        marked,
        ((0, 0),) * len(words),
    )


def test_words_of_the_world_are_aligned_with_their_translations():
    found = alignments(["小明", "喜欢", "苹果", "</s>"], ["<s>", "Xiaoming", "likes", "apples"])
    assert (1, 0) in found
    assert (3, 2) in found
    assert alignments(["苹果", "和", "苹果"], ["<s>", "apples"]) == []


def test_cross_attention_to_the_translation_of_the_next_word_gets_this_name():
    """Head 0 attends to the source of the word that comes next, head 1 always to the first token."""
    rng = Random(1)
    fruits = [
        ("苹果", "apple"),
        ("香蕉", "banana"),
        ("葡萄", "grape"),
        ("西瓜", "watermelon"),
        ("梨", "pear"),
    ]
    sentences = []
    for _ in range(40):
        chosen = rng.sample(fruits, 1)[0]
        before = ["的"] * int(rng.random() * 5)
        after = ["了"] * int(rng.random() * 5)
        source = reading_of([*before, chosen[0], *after, "</s>"], [len(before) + len(after) + 1])
        words = ["the"] * (1 + int(rng.random() * 5))
        target = reading_of(["<s>", *words, chosen[1], "too"], [0])
        weights = np.full((1, 2, len(target.words), len(source.words)), 0.01)
        weights[0, 0, len(words), len(before)] = 1
        weights[0, 1, :, 0] = 1
        weights /= weights.sum(-1, keepdims=True)
        sentences.append(Translated(source, target, {"cross": weights}))
    found = {measured.pattern: measured for measured in measured_cross(sentences, aligned=True, seed=1)}
    following = found[NEXT]
    assert following.above[0, 0] > 0.7
    assert following.p[0, 0] < 1e-6
    assert following.above[0, 1] < 0.1
    assert found[READ].above[0, 0] < 0.1
    assert found["first token"].above[0, 1] > 0.7


@pytest.mark.parametrize("part", ["decoder", "cross"])
def test_the_decoder_of_a_seq2seq(typed: Any, tmp_path: Path, part: str):
    rng = Random(1)
    text = tmp_path / "text.txt"
    words = ["我", "你", "打", "好", "久", "不", "见"]
    text.write_text("\n".join(" ".join(rng.sample(words, 4)) for _ in range(30)), "utf-8")
    shown = typed("heads", "seq2seq", "--text", text, "--sentences", 20, "--part", part)
    assert f"{PART_NAMES[part]}: " in shown
    found = json.loads(typed("heads", "seq2seq", "--text", text, "--sentences", 20, "--part", part, "--json"))
    assert found["part"] == part
    assert "first token" in {each["pattern"] for each in found["patterns"]}
    assert "it has: decoder" in typed("heads", "decoder", "--part", "cross", code=2)
