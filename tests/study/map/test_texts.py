"""Maps of texts: labelled rows of every kind of file, long and hostile texts, and the page in a browser."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.errors import SettingError
from inlaid.report import Event, Note
from inlaid.study.map import page as pages
from inlaid.study.map.map import Map
from inlaid.study.map.page import page
from inlaid.study.map.texts import map_texts
from inlaid.vectors import Vectors

WORDS = {"en": ["cat", "dog", "cow", "apple", "pear", "plum"], "zh": ["猫", "狗", "牛", "苹果", "梨", "李子"]}
LABELS = {"en": ["animal", "fruit"], "zh": ["动物", "水果"]}
LONG = "the cat " + "and so on, <b>&amp; ever</b> " * 350
"""More than 10,000 characters, with markup."""
TURNED = "\u202ecat\u202c \u2066dog\u200f\u0007"
"""Marks that turn the direction of writing, and a control character."""


def space(language: str = "en") -> Vectors:
    rows = np.repeat(np.eye(2, 8), 3, axis=0) + 0.1 * np.random.default_rng(1).standard_normal((6, 8))
    return Vectors.of(WORDS[language], rows)


def rows_of(language: str) -> list[tuple[str, str]]:
    """Twelve texts of two words of one kind each, and that kind."""
    found: list[tuple[str, str]] = []
    for kind, label in enumerate(LABELS[language]):
        words = WORDS[language][3 * kind : 3 * kind + 3]
        found += [(f"{one} {two}", label) for one in words for two in words if one != two]
    return found


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    if path.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in rows]
        path.write_text("\n".join(lines), "utf-8")
    elif path.suffix == ".txt":
        path.write_text("".join(f"__label__{label} {text}\n" for text, label in rows), "utf-8")
    elif path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra `parquet`")
        parquet = pytest.importorskip("pyarrow.parquet")
        texts, labels = zip(*rows, strict=True)
        parquet.write_table(arrow.table({"text": texts, "label": labels}), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(
                [("text", "label"), *rows]
            )
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".txt"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_labelled_rows_of_every_kind_of_file(suffix: str, language: str, tmp_path: Path):
    rows = rows_of(language)
    made = map_texts(
        space(language), file=write(tmp_path / f"t{suffix}", rows), method="pca", label_field="label"
    )
    assert made.names == tuple(text for text, _ in rows)
    assert made.labels == tuple(label for _, label in rows)
    assert made.coloring.by == "label"
    left = made.places[:6, 0]
    right = made.places[6:, 0]
    assert left.max() < right.min() or right.max() < left.min()
    assert made.to_dict()["texts"][0]["text"] == rows[0][0]


def test_texts_without_a_known_word_are_left_out_with_their_labels():
    heard: list[Event] = []
    texts = ["cat dog", "zzz", "apple", "plum pear"]
    made = map_texts(space(), texts, method="pca", labels=list("abcd"), report=heard.append)
    assert made.names == ("cat dog", "apple", "plum pear")
    assert made.labels == ("a", "c", "d")
    assert any(isinstance(event, Note) and "1 of 4 texts have no known word" in event.text for event in heard)


def test_a_sample_of_the_texts():
    texts = [text for text, _ in rows_of("en")]
    drawn, again = (map_texts(space(), texts, method="pca", top=5, sample=True, seed=3) for _ in range(2))
    assert drawn.names == again.names
    assert (drawn.chosen, drawn.total, len(drawn.names)) == ("sample", 12, 5)
    first = map_texts(space(), texts, method="pca", top=5)
    assert first.names == tuple(texts[:5])


def test_an_axis_between_texts():
    made = map_texts(space(), ["cat", "plum", "dog cow"], method="pca", axis_from=("dog",), axis_to=("pear",))
    shares = made.coloring.shares()
    assert shares[0] < 0.3
    assert shares[1] > 0.7
    assert shares[2] < 0.3
    with pytest.raises(SettingError, match="'zzz' has no known word"):
        map_texts(space(), ["cat", "plum"], method="pca", axis_from=("dog", "zzz"), axis_to=("pear",))


def test_by_a_model(tiny_models: Path):
    model = inlaid.load_model(tiny_models / "sentence")
    texts = ["我喜欢", "我喜", "苹果", "吃苹果", "吃米饭"]
    made = map_texts(model, texts, method="pca", color="cluster", clusters=2, pooling="mean")
    expected = model.embed(texts, pooling=["mean"])
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    assert made.nearest[:, 0].tolist() == (unit @ unit.T - 2 * np.eye(5)).argmax(axis=1).tolist()
    assert [group.name for group in made.coloring.groups] == ["", ""]  # clusters of texts have numbers


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "labels twice": ({"texts": ["cat"], "label_field": "label"}, "label_field is for the labels in a file"),
    "too few labels": ({"texts": ["cat", "dog"], "labels": ["a"]}, "found 2 texts and 1 labels"),
    "no counts": ({"texts": ["cat", "dog"], "color": "count", "method": "pca"}, "no counts"),
    "for models": ({"texts": ["cat", "dog"], "layer": 2}, "layer is for models; found word vectors"),
    "nothing": ({}, "There is no text."),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str):
    given, said = MISTAKES[case]
    with pytest.raises(SettingError) as caught:
        map_texts(space(), **given)
    assert said in str(caught.value)


# --- pages and pictures -------------------------------------------------------------------------------------


def hostile() -> Map:
    texts = [
        LONG,
        TURNED,
        "</script><script>alert(1)</script> cat",
        "مرحبا cat",
        "apple\u2028\nplum",
        "plum 🍎",
    ]
    labels = ["<img src=x onerror=alert(1)>", "\u202ebad", "a" * 5000, "a", "a", "a"]
    return map_texts(space(), texts, method="pca", labels=labels)


def test_hostile_texts_are_data(opened: Any):
    shown = opened(hostile(), "ever</b>")
    assert "<img" not in shown
    assert "alert" in shown  # as text
    whole = re.search(r'<blockquote dir="auto">(.*?)</blockquote>', shown, re.DOTALL)
    assert whole
    assert whole[1].count("&lt;b&gt;&amp;amp; ever&lt;/b&gt;") == 350  # all of it
    button = re.search(r'<button dir="auto" title="(.*?)" type="button">(.*?)</button>', shown, re.DOTALL)
    assert button
    assert len(button[1]) > 5000
    assert len(button[2]) < 150
    assert button[2].endswith("…")


def test_labels_of_the_canvas_have_no_marks_that_turn_them(opened: Any):
    shown = opened(hostile(), "dog")
    button = re.search(r'<button dir="auto" title="(.*?)" type="button">(.*?)</button>', shown, re.DOTALL)
    assert button
    assert button[2] == "cat dog"


def test_the_legend_and_the_folded_panel(opened: Any):
    texts, labels = zip(*rows_of("zh"), strict=True)
    made = map_texts(space("zh"), list(texts), method="pca", labels=list(labels))
    shown = opened(made)
    groups = re.search(r'<div id="groups">(.*?)</div>', shown, re.DOTALL)
    assert groups
    assert re.findall(r"</i>(.*?)</button>", groups[1]) == ["动物 (6)", "水果 (6)"]
    assert "<details><summary>How far to trust this map</summary>" in shown
    chinese = opened(made, language="zh")
    assert "<details><summary>这张图的可信程度</summary>" in chinese
    assert "动物（6）" in chinese
    assert "搜索文本" in chinese


def test_very_many_characters_are_cut_with_a_note(content: Any, monkeypatch: pytest.MonkeyPatch):
    made = hostile()
    monkeypatch.setattr(pages, "CHARACTERS", 600)
    heard: list[Event] = []
    names = content(page(made, report=heard.append))["names"]
    assert names[0] == f"{LONG[:99]}…"
    assert names[3] == "مرحبا cat"
    assert heard == [
        Note("The page has the first 100 characters of each text, so that a browser can open it.")
    ]


def test_hostile_texts_in_a_picture():
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    figure = hostile().figure()
    figure.canvas.draw()
    texts = [each.get_text() for each in (*figure.axes[0].texts, *figure.legends[0].get_texts())]
    assert texts
    assert max(map(len, texts)) < 50
    assert not any("\u202e" in text or "\n" in text for text in texts)


def test_a_picture_of_many_texts_has_a_legend_and_no_parts_of_sentences():
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    texts = [text for text, _ in rows_of("zh")] * 6
    figure = map_texts(space("zh"), texts, method="pca", labels=["甲", "乙"] * 36).figure()
    assert not figure.axes[0].texts
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["乙（36）", "甲（36）"]
