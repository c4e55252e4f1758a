"""What the page of the explorer asks for: columns, maps, completion, colors, and the exported file."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("fastapi")

from inlaid.errors import SettingError, UnknownName
from inlaid.vectors import Vectors
from inlaid.view.explorer.columns import columns
from inlaid.view.explorer.completion import Completion
from inlaid.view.explorer.export import canonical
from inlaid.view.explorer.layouts import pca_places, rotated_onto
from inlaid.view.explorer.state import Explorer, Shown
from inlaid.view.spaces import Spaces

WORDS = ["国王", "国家", "king", "King's", "國際", "kind", "重庆", "queen", "锅"]


def decoded(data: bytes) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Columns as the page reads them."""
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    start = -(-(4 + length) // 4) * 4
    types = {"f4": "<f4", "u4": "<u4", "i4": "<i4", "u1": "u1"}
    arrays = {
        each["name"]: np.frombuffer(data, types[each["type"]], each["length"], start + each["at"])
        for each in header["columns"]
    }
    return header, arrays


@pytest.fixture
def explorer() -> Explorer:
    random = np.random.default_rng(1)
    first = random.normal(size=(60, 8)).astype(np.float32)
    first[7] = 0
    words = [*WORDS, *(f"w{number}" for number in range(51))]
    second = Vectors.of(words[::-1], first[::-1] @ np.linalg.qr(random.normal(size=(8, 8)))[0].astype("f4"))
    spaces = Spaces.of({"one": Vectors.of(words, first), "two": second})
    return Explorer(spaces, Shown(neighborhoods=60))


def test_columns_come_back():
    header, arrays = decoded(columns({"a": np.arange(3, dtype="u1"), "b": np.array([1.5], "f4")}, k="词"))
    assert header["k"] == "词"
    assert arrays["a"].tolist() == [0, 1, 2]
    assert arrays["b"].tolist() == [1.5]


def test_completion_in_both_scripts_and_by_pinyin():
    completion = Completion(WORDS)
    words = lambda typed: [each.word for each in completion.suggestions(typed)]  # noqa: E731
    assert words("国") == words("國") == ["国王", "国家", "國際"]
    assert words("KIN") == ["king", "King's", "kind"]
    assert words("guow") == ["国王"]
    assert words("gj") == ["国家", "國際"]
    assert words("guo") == ["国王", "国家", "國際", "锅"]
    assert words("chongq") == ["重庆"]  # not zhong: the reading depends on the word
    assert words("king")[0] == "king"
    assert words("") == words("zzz") == []


def test_pca_in_blocks_is_that_of_the_whole(explorer: Explorer):
    vectors = explorer.of_vectors["one"]
    places = pca_places(vectors, 60)
    unit = vectors.unit[np.arange(60) != 7].astype(np.float64)
    centered = unit - unit.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    expected = centered @ axes[:2].T
    found = places[np.arange(60) != 7]
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-5)
    assert np.isnan(places[7]).all()  # a zero vector has no place


def test_a_turned_map_comes_back():
    random = np.random.default_rng(2)
    target = random.normal(size=(40, 2)).astype(np.float32)
    angle = 1.1
    turned = (
        target @ np.array([[np.cos(angle), -np.sin(angle)], [-np.sin(angle), -np.cos(angle)]]) * 3 + 5
    ).astype("f4")
    ids = np.arange(40)
    np.testing.assert_allclose(rotated_onto(turned, target, (ids, ids)), target, atol=1e-4)


def test_words_and_places_fit_each_other(explorer: Explorer):
    _, words = decoded(explorer.words("one"))
    ends = words["ends"].tolist()
    text = words["bytes"].tobytes()
    assert [text[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)][:9] == WORDS
    _, places = decoded(explorer.places("one", "pca"))
    assert len(places["places"]) == 2 * len(ends)
    assert np.nanmax(np.abs(places["places"])) <= 1 + 1e-6


def test_the_same_space_turned_lies_on_the_map_of_the_first(explorer: Explorer):
    """Cosines are the same in both, so PCA differs only by signs, and the morph has nothing to move."""
    _, one = decoded(explorer.places("one", "pca"))
    _, two = decoded(explorer.places("two", "pca", onto="one"))
    first = one["places"].reshape(-1, 2)[two["first"]]
    second = two["places"].reshape(-1, 2)[two["second"]]
    seen = np.isfinite(first[:, 0])
    np.testing.assert_allclose(second[seen], first[seen], atol=1e-3)


def test_maps_are_measured(explorer: Explorer):
    explorer.layout("one", "tsne")
    found = {each["method"]: each for each in explorer.layouts["one"].statuses()}
    assert found["tsne"]["state"] == "ready"
    assert 0 <= found["tsne"]["quality"]["false"] <= 1
    header, arrays = decoded(explorer.color("one", "trust-tsne"))
    assert len(arrays["values"]) == 60
    assert header["legend"]["by"] == "trust"


def test_colors(explorer: Explorer):
    header, arrays = decoded(explorer.color("one", "cluster"))
    colors = [each["color"] for each in header["legend"]["groups"]]
    assert len(set(colors)) == len(colors)
    assert set(arrays["values"].tolist()) <= set(range(len(colors)))
    counted = np.bincount(arrays["values"].astype(int), minlength=len(colors))
    assert [each["count"] for each in header["legend"]["groups"]] == counted.tolist()
    _, script = decoded(explorer.color("one", "script"))
    assert script["values"][0] == script["values"][4] != script["values"][2]
    _, axis = decoded(explorer.color("one", "axis", ["king"], ["国家"]))
    assert axis["values"][2] < 0.5 < axis["values"][1]


def test_clusters_are_counted_among_all_words(explorer: Explorer, monkeypatch: pytest.MonkeyPatch):
    """Also where only the first words are clustered."""
    monkeypatch.setattr("inlaid.view.explorer.colors.CLUSTERED", 20)
    header, _ = decoded(explorer.color("one", "cluster"))
    assert sum(each["count"] for each in header["legend"]["groups"]) == 60


def test_what_there_is_not(explorer: Explorer):
    with pytest.raises(UnknownName, match="No space is called"):
        explorer.words("three")
    with pytest.raises(UnknownName, match="cannot be colored"):
        explorer.color("one", "mood")
    with pytest.raises(SettingError, match="at least one on each side"):
        explorer.color("one", "axis", ["king"], [])


def test_requests_have_the_same_keys_as_in_the_page():
    assert canonical({"b": [1, "国"], "a": None}) == '{"a":null,"b":[1,"国"]}'
