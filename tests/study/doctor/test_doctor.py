"""A good space of the embedded world gives no alarm; every planted defect is found."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from inlaid import storage
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import FormatError, SettingError
from inlaid.report import silent
from inlaid.study.doctor.doctor import doctor
from inlaid.study.doctor.findings import DoctorSettings, Finding
from inlaid.study.doctor.geometry_checks import frequency_share
from inlaid.vectors import Vectors


@pytest.fixture(params=["english", "chinese"])
def sound(request: pytest.FixtureRequest) -> tuple[Vectors, Corpus]:
    return request.getfixturevalue(request.param)


def found(vectors: Vectors, check: str) -> Finding | None:
    return next((each for each in doctor(vectors).findings if each.check == check), None)


def round_space(words: int = 1000, dim: int = 20, seed: int = 1) -> Vectors:
    return Vectors.of(
        [f"w{id}" for id in range(words)], np.random.default_rng(seed).standard_normal((words, dim))
    )


def damaged(vectors: Vectors, rows: np.ndarray) -> Vectors:
    return dataclasses.replace(vectors, stored=rows.astype(np.float32))


def test_the_world_has_nothing_serious(sound: tuple[Vectors, Corpus]):
    diagnosis = doctor(sound[0], corpus=sound[1])
    assert diagnosis.serious == ()
    assert str(diagnosis.verdict).startswith("Nothing")
    assert not any(each.check == "missing in corpus" for each in diagnosis.findings)


def test_an_isotropic_space_has_no_findings():
    diagnosis = doctor(round_space())
    assert diagnosis.findings == ()
    assert str(diagnosis.verdict) == "Nothing found."
    assert (diagnosis.words, diagnosis.dim, diagnosis.sampled) == (1000, 20, 1000)


def test_zeros_and_copies():
    vectors = round_space()
    rows = vectors.table.copy()
    rows[3:5] = 0
    rows[10:80] = rows[500]
    seen = {each.check: each for each in doctor(damaged(vectors, rows)).findings}
    assert (seen["zeros"].figure, seen["zeros"].severity, seen["zeros"].examples) == (
        2,
        "warning",
        ("w3", "w4"),
    )
    assert (seen["duplicates"].figure, seen["duplicates"].severity) == (71, "serious")
    assert seen["duplicates"].examples == ("w10 = w11 = w12",)
    rows = vectors.table.copy()
    rows[7] = rows[8]
    few = found(damaged(vectors, rows), "duplicates")
    assert few is not None
    assert (few.figure, few.severity) == (2, "warning")


def test_a_handful_among_thousands_is_a_note():
    vectors = round_space(3000)
    rows = vectors.table.copy()
    rows[5] = 0
    rows[100] = np.random.default_rng(2).uniform(-0.5 / 20, 0.5 / 20, 20)
    rows[8] = rows[7]
    seen = {each.check: each.severity for each in doctor(damaged(vectors, rows)).findings}
    assert seen == {"zeros": "note", "untrained": "note", "duplicates": "note"}


def test_the_geometry_of_few_words_is_not_checked():
    """With no more words than dimensions size is the finding; of twenty words, frequency always explains a
    lot."""
    random = np.random.default_rng(1)
    few = Vectors.of([f"w{id}" for id in range(20)], random.standard_normal((20, 300)) + 1)
    assert [each.check for each in doctor(few).findings] == ["size"]


def test_near_copies_are_not_exact_ones():
    vectors = round_space()
    rows = vectors.table.copy()
    rows[:300] = 2 * rows[300:600] + 1e-3
    seen = {each.check: each for each in doctor(damaged(vectors, rows)).findings}
    assert "duplicates" not in seen
    assert seen["near duplicates"].figure == pytest.approx(0.6)
    assert seen["near duplicates"].severity == "serious"


def test_anisotropic_vectors():
    vectors = round_space()
    anisotropic = found(damaged(vectors, vectors.table + 2), "anisotropy")
    assert anisotropic is not None
    assert anisotropic.severity == "serious"
    assert anisotropic.figure > 0.7


def test_hubs():
    random = np.random.default_rng(1)
    rows = random.standard_normal((1500, 300)) + 0.5
    rows[7] = 0.5
    hub = found(Vectors.of([f"w{id}" for id in range(1500)], rows), "hubs")
    assert hub is not None
    assert hub.severity == "serious"
    assert hub.examples[0] == "w7"


def test_frequency():
    """A direction that says how frequent a word is, and little else."""
    vectors = round_space()
    rows = vectors.table.copy()
    rows[:, 0] = np.linspace(-8, 8, 1000)
    biased = found(damaged(vectors, rows), "frequency")
    assert biased is not None
    assert biased.severity == "serious"
    assert frequency_share(vectors) < 0.02
    assert biased.figure == pytest.approx(frequency_share(damaged(vectors, rows)))
    assert found(vectors, "frequency") is None


def test_lengths():
    vectors = round_space()
    normal = found(damaged(vectors, vectors.unit), "lengths")
    assert normal is not None
    assert normal.severity == "note"
    assert "length 1" in str(normal.message)
    longer = found(damaged(vectors, vectors.unit * np.linspace(9, 1, 1000)[:, None]), "lengths")
    assert longer is not None
    assert longer.figure == pytest.approx(1)
    assert "Frequent words have the longer" in str(longer.message)


@pytest.mark.parametrize("scale", [0.5, 1.0])
@pytest.mark.parametrize("dim", [20, 300])
def test_rows_that_were_never_trained(scale: float, dim: int):
    """As word2vec and fastText first draw them; trained ones are left alone."""
    vectors = round_space(1000, dim)
    rows = vectors.table.copy()
    rows[100:200] = np.random.default_rng(2).uniform(-scale / dim, scale / dim, (100, dim))
    seen = found(damaged(vectors, rows), "untrained")
    assert seen is not None
    assert seen.figure >= 97
    assert seen.severity == "serious"
    assert set(seen.examples) <= {f"w{id}" for id in range(100, 200)}


def test_size_and_dead_dimensions():
    small = found(round_space(10, 20), "size")
    assert small is not None
    assert small.severity == "serious"
    assert (found(round_space(60, 20), "size") or small).severity == "warning"
    vectors = round_space()
    rows = vectors.table.copy()
    rows[:, 3:5] = 1
    dead = found(damaged(vectors, rows), "constant")
    assert dead is not None
    assert dead.figure == 2


def test_one_word_and_two_words_and_constant_rows():
    assert [each.check for each in doctor(Vectors.of(["a"], [[1, 2]])).serious] == ["size"]
    assert doctor(Vectors.of(["a", "b"], [[1, 2], [2, 1]])).serious[0].check == "size"
    seen = {
        each.check for each in doctor(Vectors.of([f"w{id}" for id in range(50)], np.ones((50, 3)))).serious
    }
    assert {"duplicates", "anisotropy"} <= seen


def test_nan_is_refused_before_any_question():
    with pytest.raises(FormatError, match="'b' .row 1. holds NaN"):
        Vectors.of(["a", "b"], [[1, 2], [np.nan, 1]])


def test_a_corpus_says_which_words_are_missing():
    corpus = encode(["the cat sits on the mat"] * 5 + ["a rare word"], Encoding(min_count=1))
    vectors = Vectors.of(["the", "mat", "on", "dog"], np.eye(4))
    seen = {each.check: each for each in doctor(vectors, corpus=corpus).findings}
    assert seen["missing in corpus"].figure == pytest.approx(13 / 33)
    assert seen["missing in corpus"].severity == "serious"
    assert seen["missing in corpus"].examples[:2] == ("cat", "sits")


def test_large_spaces_are_sampled_with_a_seed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("inlaid.study.doctor.row_checks.SCORES", 1000)
    vectors = round_space(3000)
    diagnosis = doctor(vectors, settings=DoctorSettings(sample=200, seed=3))
    assert (diagnosis.sampled, diagnosis.settings.seed) == (200, 3)
    assert diagnosis == doctor(vectors, settings=DoctorSettings(sample=200, seed=3))


def test_serious_findings_come_first():
    vectors = round_space()
    rows = vectors.unit.copy()
    rows[:60] = rows[200]
    severities = [each.severity for each in doctor(damaged(vectors, rows)).findings]
    assert severities == sorted(severities, key=["serious", "warning", "note"].index)
    assert str(doctor(damaged(vectors, rows)).verdict).startswith("Found 1 serious, ")


def test_too_few_words_for_a_regression():
    with pytest.raises(SettingError, match="too few"):
        frequency_share(Vectors.of(["a", "b"], np.eye(2)))


@pytest.mark.parametrize(
    "path",
    ["pretrained_glove/glove.6B.50d.top30k.txt.xz", "pretrained_synonyms_zh_word2vec/words.top20k.bin.xz"],
)
def test_well_known_spaces_give_no_alarm(data: Path, path: str):
    """Every tenth word, rare ones too."""
    whole = storage.load(data / path, report=silent)
    vectors = Vectors.of(list(whole.words)[::10], whole.table[::10])
    assert {each.check for each in doctor(vectors).findings if each.severity != "note"} <= {
        "markup"
    }  # <br> does occur in one of them
