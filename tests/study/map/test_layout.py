"""Maps: the same bits for the same seed, planted groups kept together, and a clear outcome for every odd
input."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from inlaid.errors import InlaidError, MissingExtra, OutOfVocabulary, SettingError, SourceError, UnknownName
from inlaid.report import Event, Note, Progress
from inlaid.study.map import layout as maps
from inlaid.study.map.map import Map
from inlaid.study.map.map import map as map_words
from inlaid.vectors import Vectors

METHODS = ["pca", "tsne", "umap"]


def needed(method: str) -> None:
    if method != "pca":
        pytest.importorskip(
            {"tsne": "openTSNE", "umap": "umap"}[method], reason=f"{method} comes with an extra"
        )


def groups(each: int = 20, dim: int = 30) -> Vectors:
    """Three groups of words, w0 to w19, w20 to w39, w40 to w59, each around a direction of its own."""
    random = np.random.default_rng(1)
    rows = np.repeat(np.eye(3, dim), each, axis=0) + 0.1 * random.standard_normal((3 * each, dim))
    return Vectors.of([f"w{id}" for id in range(3 * each)], rows)


def notes(vectors: Vectors, *given: Any, **settings: Any) -> tuple[Map, list[str]]:
    heard: list[Event] = []
    made = map_words(vectors, *given, report=heard.append, **settings)
    return made, [event.text for event in heard if isinstance(event, Note)]


@pytest.mark.filterwarnings("default")  # a module that warns as it is loaded is no fault of the map
@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_twice_and_groups_stay_together(method: str, recwarn: pytest.WarningsRecorder):
    needed(method)
    recwarn.clear()
    one, again = (map_words(groups(), method=method, perplexity=8.0) for _ in range(2))
    assert one.places.tobytes() == again.places.tobytes()
    apart = ((one.places[:, None] - one.places[None]) ** 2).sum(axis=2) + np.diag([np.inf] * 60)
    assert (apart.argmin(axis=1) // 20 == np.arange(60) // 20).all()
    assert one.quality is not None
    assert one.quality.trustworthiness > 0.8
    assert (one.nearest // 20 == np.arange(60)[:, None] // 20).all()
    assert not recwarn.list


def test_the_way_of_many_words_is_the_same_twice_too(monkeypatch: pytest.MonkeyPatch):
    needed("tsne")
    monkeypatch.setattr(maps, "EXACT", 10)
    monkeypatch.setattr(maps, "ITERATIONS", (50, 50))
    one, again = (map_words(groups(), perplexity=8.0) for _ in range(2))
    assert one.places.tobytes() == again.places.tobytes()


def test_progress_reaches_its_end():
    needed("tsne")
    heard: list[Event] = []
    map_words(groups(), perplexity=8.0, report=heard.append)
    done = [
        (event.done, event.total) for event in heard if isinstance(event, Progress) and event.stage == "t-SNE"
    ]
    assert done == [(iterations, 750) for iterations in range(50, 751, 50)]
    assert heard[-1] == Progress("comparing neighbors", 60, 60, "words")


def test_which_words():
    vectors = groups()
    assert map_words(vectors, method="pca", top=7).names == tuple(f"w{id}" for id in range(7))
    drawn, again, other = (
        map_words(vectors, method="pca", top=7, sample=True, seed=seed) for seed in (1, 1, 2)
    )
    assert drawn.names == again.names != other.names
    assert (drawn.chosen, drawn.total, len(set(drawn.names))) == ("sample", 60, 7)
    assert map_words(vectors, method="pca", sample=True).chosen == "first"  # all of them: nothing was drawn
    assert map_words(vectors, ["w3", "w1", "w3"], method="pca").names == ("w3", "w1")


def test_length_does_not_count():
    rows = np.random.default_rng(1).standard_normal((20, 5))
    words = [f"w{id}" for id in range(20)]
    one, two = (
        map_words(Vectors.of(words, rows * lengths), method="pca")
        for lengths in (1, np.logspace(-3, 3, 20)[:, None])
    )
    np.testing.assert_allclose(one.places, two.places, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 2, 3, 400])
def test_pca_of_any_dim(dim: int):
    rows = np.random.default_rng(1).standard_normal((10, dim))
    made = map_words(Vectors.of([f"w{id}" for id in range(10)], rows), method="pca")
    assert made.places.shape == (10, 2)
    assert np.isfinite(made.places).all()
    assert made.places[:, 0].std() >= made.places[:, 1].std()


def test_few_words():
    vectors = groups()
    two = map_words(vectors, ["w1", "w50"], method="pca")
    assert two.quality is None
    three = map_words(vectors, ["w1", "w2", "w50"], method="pca")
    assert three.quality is not None
    assert three.quality.k == 1
    needed("tsne")
    made, said = notes(vectors, ["w1", "w2", "w50", "w51"])
    assert said == ["A perplexity of 30 needs 91 points; with 4, 1.0 was used."]
    assert np.isfinite(made.places).all()


def test_umap_of_few_words():
    needed("umap")
    made, said = notes(groups(), ["w1", "w2", "w50", "w51"], method="umap")
    assert said == ["4 points have fewer than 15 neighbors each; 3 were used."]
    assert np.isfinite(made.places).all()


@pytest.mark.parametrize("method", METHODS)
def test_words_with_the_same_vector(method: str):
    needed(method)
    rows = np.repeat(np.random.default_rng(1).standard_normal((6, 4)), 4, axis=0)
    made = map_words(
        Vectors.of([f"w{id}" for id in range(24)], rows), method=method, perplexity=3.0, neighbors=3
    )
    assert np.isfinite(made.places).all()


def test_zeros_are_left_out_and_named():
    made, said = notes(Vectors.of(["a", "b", "nothing", "c"], [[1, 0], [0, 1], [0, 0], [1, 1]]), method="pca")
    assert made.names == ("a", "b", "c")
    assert said == ["1 of 4 points have a zero vector, which has no direction; left out: 'nothing'"]


SPACE = Vectors.of(["cat", "dog", "cow", "猫咪", "sky"], [[1, 0], [2, 0], [3, 0], [0, 1], [0, 0]])
MISTAKES: dict[str, tuple[list[str], dict[str, Any], type[InlaidError], str]] = {
    "one word": (
        ["cat"],
        {"method": "pca"},
        SourceError,
        "at least 2 points with a vector that is not zero; found 1",
    ),
    "only zeros": (["sky"], {"method": "pca"}, SourceError, "found 0"),
    "three words": (
        ["cat", "dog", "猫咪"],
        {"method": "tsne"},
        SettingError,
        "tsne needs at least 4 points; found 3. Name more, or use the method pca",
    ),
    "umap too": (["cat", "dog", "猫咪"], {"method": "umap"}, SettingError, "umap needs at least 4"),
    "one direction": (["cat", "dog", "cow"], {"method": "pca"}, SourceError, "have the same direction"),
    "unknown": (["cat", "dgo"], {}, OutOfVocabulary, "'dgo' is not among the 5 words. Did you mean 'dog'?"),
    "unknown zh": (["猫", "cat"], {}, OutOfVocabulary, "Did you mean '猫咪'?"),
    "perplexity": ([], {"perplexity": 0.5}, SettingError, "perplexity is 0.5; expected at least 1"),
    "top": ([], {"top": 1_000_000}, SettingError, "from 1 to 100000"),
    "setting": ([], {"perplexty": 5.0}, UnknownName, "Did you mean 'perplexity'?"),
    "too many": (
        [f"w{id}" for id in range(100_001)],
        {},
        SettingError,
        "100,001 points are too many for a map",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str):
    words, settings, kind, said = MISTAKES[case]
    with pytest.raises(kind) as caught:
        map_words(SPACE, words, **settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("method", "module", "extra"), [("tsne", "openTSNE", "explore"), ("umap", "umap", "umap")]
)
def test_a_missing_extra_is_named(method: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtra, match=rf"{module} is not installed: run `pip install 'inlaid\[{extra}\]'`"
    ):
        map_words(groups(), method=method)


def test_the_method_is_one_that_is_installed(monkeypatch: pytest.MonkeyPatch):
    needed("tsne")
    assert map_words(groups(), top=20).settings.method == "tsne"
    made, said = notes(groups(), ["w1", "w2", "w50"])
    assert (made.settings.method, said) == ("pca", [])  # too few for t-SNE
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    made, said = notes(groups())
    assert made.settings.method == "pca"
    assert said == [
        "The map is by PCA, because t-SNE is not installed; it shows neighborhoods better. Run "
        "`pip install 'inlaid[explore]'`, or choose pca to leave out this note."
    ]
    assert notes(groups(), method="pca")[1] == []
