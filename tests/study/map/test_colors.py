"""Colors of maps: groups, counts and axes with known answers, a legend, and what the color-blind see."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError
from inlaid.study.map.captions import group_name, legend
from inlaid.study.map.colors import COUNTS, MOST_GROUPS, PALETTE, by_axis, by_count, by_label
from inlaid.study.map.map import Map
from inlaid.study.map.map import map as map_words
from inlaid.vectors import Vectors

GROUPS = {"zh": ("猫", "苹果", "国王"), "en": ("cat", "apple", "king")}


def planted(language: str = "en") -> Vectors:
    """Three groups of 20, 15 and 10 words; the first word of each is its center. The first words are the
    most frequent."""
    random = np.random.default_rng(1)
    words: list[str] = []
    rows: list[np.ndarray] = []
    for axis, (center, size) in enumerate(zip(GROUPS[language], (20, 15, 10), strict=True)):
        direction = np.eye(3, 12)[axis]
        words += [center, *(f"{center}{id}" for id in range(1, size))]
        rows += [direction, *(direction + 0.1 * random.standard_normal((size - 1, 12)))]
    counts = np.array([10 ** (4 - id % 4) for id in range(45)])
    return Vectors(Words.of(words), np.array(rows, np.float32), counts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_clusters_are_the_planted_groups_and_named_by_their_centers(language: Any):
    made = map_words(planted(language), method="pca", color="cluster", clusters=3)
    assert made.coloring.values.tolist() == [0] * 20 + [1] * 15 + [2] * 10
    for group, center in zip(made.coloring.groups, GROUPS[language], strict=True):
        assert group.name.split(", ")[0] == center
    shown = group_name(made.coloring.groups[0], language)
    assert shown.endswith("（20）" if language == "zh" else " (20)")


def test_fewer_points_than_clusters():
    made = map_words(planted(), ["cat", "apple", "king"], method="pca", color="cluster", clusters=8)
    assert len(made.coloring.groups) == 3


def test_counts_are_on_a_logarithmic_scale():
    made = map_words(planted(), method="pca", color="count")
    np.testing.assert_allclose(made.coloring.shares()[:4], [1, 2 / 3, 1 / 3, 0], atol=1e-9)
    assert [tick.text for tick in made.coloring.ticks()] == ["10", "100", "1,000", "10,000"]
    assert legend(made, "zh") == "词频（对数刻度）"


def test_odd_counts():
    """Words that never occurred are grey; where all occurred equally often, there is one color."""
    some = by_count(np.array([0, 1, 100]))
    assert np.isnan(some.shares()[0])
    assert some.shares()[1:].tolist() == [0, 1]
    same = by_count(np.array([7, 7]))
    assert same.shares().tolist() == [0, 0]
    assert [tick.text for tick in same.ticks()] == ["7"]
    with pytest.raises(SettingError, match="These vectors have no counts"):
        by_count(None)


def test_labels_are_in_order_and_the_rare_share_the_grey():
    rated = by_label(["10", "9", "10", "2.5"])
    assert [(group.name, group.count) for group in rated.groups] == [("2.5", 1), ("9", 1), ("10", 2)]
    assert rated.values.tolist() == [2, 1, 2, 0]
    many = [f"l{number:02}" for number in range(30)] + [f"l{number:02}" for number in range(MOST_GROUPS)]
    colored = by_label(many)
    assert len(colored.groups) == MOST_GROUPS
    assert colored.others == 30 - MOST_GROUPS
    assert np.isnan(colored.values[MOST_GROUPS:30]).all()
    looks = {(group.color, group.shape) for group in colored.groups}
    assert len(looks) == MOST_GROUPS


def test_an_axis_is_that_of_the_analysis():
    """The same numbers as `inlaid axis`, also for the words of the lists, which are left out of their own."""
    vectors = planted()
    start = ("cat", "cat1", "cat2")
    end = ("king", "king1")
    words = ["cat", "cat1", "king1", "cat9", "king9", "apple"]
    made = map_words(vectors, words, method="pca", axis_from=start, axis_to=end)
    found = vectors.axis(start, end, words=["cat9", "king9", "apple"])
    expected = {each.word: each.value for each in found.words}
    assert made.coloring.by == "axis"
    np.testing.assert_allclose(made.coloring.values, [expected[word] for word in words], atol=1e-5)
    assert made.coloring.shares()[3] < 0.2
    assert made.coloring.shares()[4] > 0.8
    assert made.coloring.ends == ("cat cat1 cat2", "king king1")


def test_half_way_is_in_the_middle_of_the_scale():
    rows = np.array([[1, 0], [0, 1], [1, 1]]) / np.sqrt([[1], [1], [2]])
    colored = by_axis(rows, rows[:1], rows[1:2], ("a", "b"), [])
    np.testing.assert_allclose(colored.shares(), [0, 1, 0.5], atol=1e-9)


def test_labels_color_a_map_without_being_asked():
    words = ["cat", "apple", "cat", "king"]
    made = map_words(planted(), words, method="pca", labels=["动物", "水果", "动物", "人"])
    assert made.names == ("cat", "apple", "king")
    assert made.labels == ("动物", "水果", "人")
    assert [point["color"] for point in made.to_dict()["words"]] == ["动物", "水果", "人"]
    assert made.to_dict()["coloring"]["by"] == "label"


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no labels": ({"color": "label"}, "To color by label, each point needs a label. Give labels="),
    "labels alone": ({"labels": ["a"]}, "Labels need words"),
    "one end": ({"axis_from": ("cat",)}, "name at least one in each of axis_from and axis_to"),
    "no ends": ({"color": "axis"}, "name at least one in each"),
    "two colors": (
        {"color": "count", "axis_from": ("cat",), "axis_to": ("king",)},
        "axis_from and axis_to are given, but the color is by count",
    ),
    "too many clusters": ({"clusters": 99}, f"clusters is 99; expected from 2 to {MOST_GROUPS}"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str):
    given, said = MISTAKES[case]
    with pytest.raises(SettingError) as caught:
        map_words(planted(), method="pca", **given)
    assert said in str(caught.value)


def test_a_label_for_each_word():
    with pytest.raises(SettingError, match="found 2 words and 1 labels"):
        map_words(planted(), ["cat", "king"], method="pca", labels=["animal"])


# --- what the color-blind see -------------------------------------------------------------------------------

SEEN: dict[str, Any] = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
"""Linear RGB as it is seen with and without each kind of cone: Machado, Oliveira and Fernandes 2009."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1, 1.08883])


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(parts: np.ndarray) -> np.ndarray:
    """CIELAB, where a distance of 2.3 is just noticed."""
    scaled = TO_XYZ @ np.clip(parts, 0, 1) / WHITE
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_the_color_blind_tell_the_groups_apart(eyes: str):
    seen = [lab(np.array(SEEN[eyes]) @ linear(color)) for color in PALETTE]
    apart = [np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)]
    assert min(apart) > 15


@pytest.mark.parametrize("background", ["#ffffff", "#16181c"])
def test_all_colors_stand_out_on_light_and_dark(background: str):
    bright = [float(TO_XYZ[1] @ linear(color)) + 0.05 for color in (background, *PALETTE, *COUNTS)]
    contrasts = [max(each / bright[0], bright[0] / each) for each in bright[1:]]
    assert min(contrasts) > 1.8


def test_counts_get_darker_step_by_step():
    """So the order is seen without any color."""
    lightness = [lab(linear(color))[0] for color in COUNTS]
    assert all(one > two + 10 for one, two in itertools.pairwise(lightness))


# --- the picture --------------------------------------------------------------------------------------------


def drawn(made: Map) -> Any:
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    return made.figure()


def test_a_legend_beside_the_frame_with_the_colors_of_the_dots():
    figure = drawn(map_words(planted(), method="pca", color="cluster", clusters=3))
    shown = figure.legends[0]
    assert [text.get_text().rpartition(" ")[2] for text in shown.get_texts()] == ["(20)", "(15)", "(10)"]
    assert [handle.get_color() for handle in shown.legend_handles] == list(PALETTE[:3])
    dots = figure.axes[0].collections
    assert [len(each.get_offsets()) for each in dots] == [20, 15, 10]
    assert shown.get_window_extent().x0 >= figure.axes[0].get_window_extent().x1


def test_a_bar_for_numbers():
    figure = drawn(map_words(planted(), method="pca", color="count"))
    frame, bar = figure.axes
    assert bar.get_ylabel() == "How often a word occurred (logarithmic)"
    assert [text.get_text() for text in bar.get_yticklabels()] == ["10", "100", "1,000", "10,000"]
    assert bar.get_window_extent().x0 >= frame.get_window_extent().x1
