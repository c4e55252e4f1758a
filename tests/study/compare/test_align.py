"""Spaces that are rotated copies of each other, the embedded world in two languages, and what cannot be
aligned."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from inlaid import pipeline, storage
from inlaid.collect import world
from inlaid.errors import SettingError, SourceError
from inlaid.report import Event, Note, Progress, silent
from inlaid.study.compare.align import Alignment, AlignSettings, align
from inlaid.study.search.analogy import analogy
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Card, Vectors

DIM = 20


def rotated_copy(
    words: int = 300, noise: float = 0.0, dim: int = DIM
) -> tuple[Vectors, Vectors, list[tuple[str, str]]]:
    """A space and the same space rotated, with noise, and renamed: w0 is v0, and so on."""
    random = np.random.default_rng(1)
    table = random.standard_normal((words, dim))
    rotation = np.linalg.qr(random.standard_normal((dim, dim)))[0]
    other = table @ rotation + noise * random.standard_normal((words, dim))
    source, target = (
        Vectors.of([f"{letter}{n}" for n in range(words)], rows)
        for letter, rows in (("w", table), ("v", other))
    )
    return source, target, [(f"w{n}", f"v{n}") for n in range(words)]


@pytest.fixture(scope="module")
def spaces() -> dict[str, Vectors]:
    return dict(pipeline.demo(words=50_000, report=silent))


@pytest.fixture(scope="module")
def bilingual(spaces: dict[str, Vectors]) -> Alignment:
    return align(spaces["zh"], spaces["en"], [(concept.zh, concept.en) for concept in world.concepts()])


def scores(alignment: Alignment) -> dict[tuple[str, str, int], float]:
    return {(each.mapping, each.by, each.at): each.value for each in alignment.precision}


def test_a_planted_rotation_is_found():
    source, target, pairs = rotated_copy()
    made = align(source, target, pairs)
    assert set(scores(made).values()) == {1.0}
    assert made.precision[0].used == made.precision[0].total == 60
    assert made.pairs == 240
    np.testing.assert_allclose(made.source.table, made.target.table, atol=1e-4)
    assert [each[0].word for each in made.translate(["w7", "w250"], n=1)] == ["v7", "v250"]


def test_refinement_finds_what_few_pairs_leave_open():
    source, target, pairs = rotated_copy(words=600, noise=0.2)
    made = align(source, target, pairs[:15], test=pairs[100:])
    found = scores(made)
    assert found["procrustes", "csls", 1] < 0.8
    assert found["refinement", "csls", 1] > 0.95
    assert made.refinement[-1] > 500


def test_reweighting_translates_better_and_leaves_the_joint_space_as_it_is():
    """Half of the dimensions of the target are noise: along these the pairs do not agree."""
    source, clean, pairs = rotated_copy(words=800)
    rows = clean.table.copy()
    rows[:, : DIM // 2] = 2 * np.random.default_rng(2).standard_normal((800, DIM // 2))
    target = dataclasses.replace(clean, stored=rows)
    made, plain = (
        align(source, target, pairs, AlignSettings(reweight=reweight)) for reweight in (True, False)
    )
    found = scores(made)
    assert found["reweighting", "csls", 1] > found["refinement", "csls", 1] + 0.1
    assert "reweighting" not in {each.mapping for each in plain.precision}
    np.testing.assert_array_equal(made.joint().table, plain.joint().table)


def test_a_joint_space_is_written_without_a_table_of_its_own(tmp_path: Path):
    made = align(*rotated_copy())
    joint = made.joint(("left", "right"))
    storage.save(joint, tmp_path / "joint.inlaid")
    assert "table" not in vars(joint)
    back = storage.load(tmp_path / "joint.inlaid")
    assert list(back.words) == list(joint.words)
    np.testing.assert_array_equal(back.table, joint.table)
    # One row and all rows are products of other shapes, which round differently on some CPUs.
    np.testing.assert_allclose(joint["w7"], made.source["w7"], rtol=1e-5)
    np.testing.assert_allclose(joint["v7"], made.target["v7"], rtol=1e-5)


def test_held_out_words_are_never_learned_from():
    """Synonyms on the other side are left out too: with w0..w9 all meaning v0, asking one hides them all."""
    source, target, pairs = rotated_copy(words=100)
    pairs = [(f"w{n}", f"v{n // 10 * 10}") for n in range(50)] + pairs[50:]
    made = align(source, target, pairs, AlignSettings(refine=0))
    asked = {pair[0] for pair in pairs} if made.precision[0].total == 20 else set()
    assert asked
    assert made.pairs < 80


def test_a_test_dictionary_asks_only_what_was_not_learned():
    source, target, pairs = rotated_copy(words=100)
    made = align(source, target, pairs[:60], test=pairs[40:])
    assert made.pairs == 60
    assert made.precision[0].total == 40


def test_orthogonal_matrices_keep_inner_products_and_symmetric_ones_do_not(
    spaces: dict[str, Vectors], bilingual: Alignment
):
    rotation = bilingual.rotation.astype(np.float64)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(len(rotation)), atol=1e-5)
    rows = spaces["zh"].table[:200].astype(np.float64)
    inner = rows @ rows.T
    np.testing.assert_allclose((rows @ rotation) @ (rows @ rotation).T, inner, atol=1e-4)
    symmetric = (rotation + rotation.T) / 2
    assert np.abs((rows @ symmetric) @ (rows @ symmetric).T - inner).max() > 0.1 * np.abs(inner).max()


def test_the_world_in_two_languages(bilingual: Alignment):
    found = scores(bilingual)
    assert found["refinement", "csls", 1] > 0.5
    assert found["refinement", "csls", 10] > 0.9
    joint = bilingual.joint(("zh", "en"))
    found = [each.word for each in neighbors(joint, "男人", n=5)]
    assert next(word for word in found if word.isascii()) == "man"
    assert "男人" in [each.word for each in analogy(joint, "女人 - woman + man", n=1)]
    assert len(joint) == len(bilingual.source) + len(bilingual.target)
    assert set(joint.words[:4]) == {*bilingual.source.words[:2], *bilingual.target.words[:2]}


def test_a_joint_space_keeps_words_apart_that_both_have():
    source, target, _ = rotated_copy(words=30)
    same = [*source.words[:28], "dna", "left:dna"]
    other = [*target.words[:28], "dna", "extra"]
    source, target = (
        dataclasses.replace(side, words=type(side.words).of(words))
        for side, words in ((source, same), (target, other))
    )
    encoded = dataclasses.replace(source, card=Card(encoding={"normalize": ["lower"]}))
    joint = align(encoded, target, [(f"w{n}", f"v{n}") for n in range(28)]).joint(("left", "right"))
    assert {"left::dna", "dna", "left:dna", "w0", "v0", "extra"} <= set(joint.words)
    assert "W0" in joint
    np.testing.assert_allclose(joint["w3"], joint["v3"], atol=1e-4)


# --- what cannot be aligned, or only in part
# ------------------------------------------------------------------------------


def heard(*given, **named) -> list[str]:
    events: list[Event] = []
    align(*given, **named, report=events.append)
    assert any(isinstance(event, Progress) for event in events)
    return [event.text for event in events if isinstance(event, Note)]


def test_a_reversed_dictionary_is_recognized():
    source, target, pairs = rotated_copy()
    assert heard(source, target, pairs) == []
    said = heard(source, target, [(answer, word) for word, answer in pairs])
    assert said == ["The dictionary is read from right to left: 300 of its pairs fit that way, 0 as written."]


def test_few_pairs_give_a_note():
    source, target, pairs = rotated_copy()
    assert "fewer than the 20 dimensions" in heard(source, target, pairs[:10])[0]
    assert align(source, target, pairs[:1], AlignSettings(held_out=0.0)).precision == ()


def test_dictionary_words_are_normalized_as_the_corpus_was():
    source, target, pairs = rotated_copy()
    source = dataclasses.replace(source, card=Card(encoding={"normalize": ["lower"]}))
    assert align(source, target, [(word.upper(), answer) for word, answer in pairs]).pairs == 240


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (
            lambda s, t, _: (s, t, [("x", "y"), ("猫", "cat")]),
            SourceError,
            "None of the 2 pairs of the dictionary .x y, 猫 cat",
        ),
        (lambda s, t, p: (s, t, p[:1]), SourceError, "No pair of the dictionary is left"),
        (lambda _, t, p: (rotated_copy(dim=7)[0], t, p), SettingError, "7 and 20 dimensions"),
        (
            lambda _, t, p: (Vectors.of(["w0"], np.ones((1, DIM))), t, p),
            SourceError,
            "All 1 words of a space have the same direction",
        ),
        (
            lambda s, t, p: (s, Vectors.of(list(t.words), np.full((300, DIM), 0.3)), p),
            SourceError,
            "All 300 words",
        ),
        (
            lambda s, t, p: (s, Vectors.of(list(t.words), np.zeros((300, DIM))), p),
            SourceError,
            "All 300 words",
        ),
    ],
)
def test_what_cannot_be_aligned_is_an_error(change, error: type[Exception], said: str):
    settings = AlignSettings(held_out=1.0) if "left" in said else AlignSettings(held_out=0.0)
    with pytest.raises(error, match=said):
        align(*change(*rotated_copy()), settings)


def test_rows_of_zeros_translate_nothing():
    source, target, pairs = rotated_copy()
    tables = [side.table.copy() for side in (source, target)]
    for table in tables:
        table[:20] = 0
    source, target = (
        dataclasses.replace(side, stored=table) for side, table in zip((source, target), tables, strict=True)
    )
    made = align(source, target, pairs[40:])
    assert set(scores(made).values()) == {1.0}
    assert max(made.refinement) <= 280
    zeros = {f"v{n}" for n in range(20)}
    assert zeros.isdisjoint(
        each.word for found in made.translate([f"w{n}" for n in range(30, 60)], n=10) for each in found
    )
