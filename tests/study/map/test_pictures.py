"""Pictures and pages of maps: fonts, labels, words that would break a page, and the page in a browser."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.errors import MissingExtra, SettingError, WriteError
from inlaid.report import Event, Note, Report, silent
from inlaid.study import figures
from inlaid.study.figures import language_of
from inlaid.study.map import colors, pictures
from inlaid.study.map import page as pages
from inlaid.study.map.captions import caption
from inlaid.study.map.map import Map
from inlaid.study.map.map import map as map_words
from inlaid.study.map.page import page
from inlaid.study.map.pictures import draw_map
from inlaid.vectors import Vectors

NASTY = [
    "</script>",
    "<!--",
    "<b>",
    '"',
    "'",
    "\\",
    "&amp;",
    "$x^2$",
    "/*CONTENT*/",
    "🐱",
    "مرحبا",
    "שלום",
    "\u2028",
    "a\nb",
    "猫",
]


def of(words: list[str], seed: int = 1) -> Map:
    rows = np.random.default_rng(seed).standard_normal((len(words), 8))
    return map_words(Vectors.of(words, rows), words, method="pca")


def picture(made: Map, report: Report = silent) -> bytes:
    return figures.saved(made.figure(report=report), ".png")


# --- pictures
# -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def matplotlib() -> Any:
    return pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")


@pytest.fixture
def chinese_font(matplotlib: Any) -> None:
    try:
        figures._fonts("猫")
    except MissingExtra:
        pytest.skip("no font with Chinese characters is installed (fonts-noto-cjk)")


def pixels(data: bytes) -> np.ndarray:
    import io

    from matplotlib import image

    return image.imread(io.BytesIO(data), format="png")


def test_the_same_map_the_same_bytes(matplotlib: Any):
    made = of(["cat", "dog", "cow", "sky", "sea"])
    one = picture(made)
    again = picture(made)
    assert one == again
    assert one.startswith(b"\x89PNG")
    assert pixels(one).shape == (840, 1080, 4)


def test_each_character_is_drawn_as_itself(chinese_font: None):
    """Boxes would all look the same: a picture of 猫 must not be that of 狗 in the same place."""
    pages = [picture(of([word, "a", "b", "c"])) for word in ("猫", "狗", "橙")]
    assert len(set(pages)) == 3


def test_small_labels_keep_all_strokes(chinese_font: None):
    """Snapped to whole pixels, 土 was drawn as 丨."""
    many = [f"{number}" for number in range(pictures.SMALL + 1)]
    blank, one, three = (pixels(picture(of([word, *many]))) for word in ("\u200b", "丨", "土"))
    assert np.abs(three - blank).sum() > 1.5 * np.abs(one - blank).sum()


def test_the_search_for_fonts_is_silent(
    matplotlib: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Matplotlib says which weight of a font it takes instead, where its list of fonts is stale."""
    logger = logging.getLogger("matplotlib.font_manager")
    find = figures._fonts

    def noisy(text: str) -> Any:
        logger.warning("findfont: Failed to find font weight normal")
        return find(text)

    monkeypatch.setattr(figures, "_fonts", noisy)
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler(sys.stderr)])
    picture(of(["cat", "dog", "cow"]))
    assert "findfont" not in capsys.readouterr().err
    assert logger.level != logging.ERROR


def test_characters_without_a_font(matplotlib: Any, monkeypatch: pytest.MonkeyPatch):
    from matplotlib import font_manager

    plain = [font for font in font_manager.fontManager.ttflist if font.name == figures.PLAIN]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", plain)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with pytest.raises(
        MissingExtra,
        match="No installed font has the characters 猫: they would be boxes. Install one .*fonts-noto-cjk",
    ):
        picture(of(["猫", "cat", "dog"]))
    heard: list[Event] = []
    picture(of(["🦣", "cat", "dog"]), report=heard.append)
    assert heard == [Note("No installed font has 🦣: they are drawn as boxes. The .html form shows them.")]


def test_a_font_installed_after_matplotlib_cached_its_list_is_found(
    chinese_font: None, monkeypatch: pytest.MonkeyPatch
):
    from matplotlib import font_manager

    expected = picture(of(["猫", "a", "b", "c"]))
    stale = [font for font in font_manager.fontManager.ttflist if font.name == figures.PLAIN]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", stale)
    assert picture(of(["猫", "a", "b", "c"])) == expected


def test_words_of_every_kind_can_be_drawn(chinese_font: None):
    assert picture(of(NASTY)).startswith(b"\x89PNG")


def test_labels_do_not_overlap(matplotlib: Any, monkeypatch: pytest.MonkeyPatch):
    from matplotlib.axes import Axes

    labels: list[Any] = []
    annotate = Axes.annotate
    monkeypatch.setattr(
        Axes, "annotate", lambda *given, **named: labels.append(annotate(*given, **named)) or labels[-1]
    )
    heard: list[Event] = []
    picture(of([f"word{id}" for id in range(500)]), report=heard.append)
    boxes = np.array([label.get_window_extent().extents for label in labels if label.axes is not None])
    assert 50 < len(boxes) < 500
    meet = (
        (boxes[:, None, :2] < boxes[None, :, 2:] - 0.01) & (boxes[None, :, :2] < boxes[:, None, 2:] - 0.01)
    ).all(axis=2)
    assert meet.sum() == len(boxes)  # each with itself
    assert heard == [
        Note(
            f"{500 - len(boxes)} of 500 points have no label, for lack of space. "
            "The .html form shows each under the pointer."
        )
    ]


def test_colours_say_which_words_to_trust(matplotlib: Any):
    made = of(["a", "b", "c", "d", "e", "f", "g"])
    views = [
        pixels(picture(dataclasses.replace(made, coloring=colors.by_trust(np.full(7, share)))))
        for share in (0.0, 1.0, np.nan)
    ]
    for view, color in zip(views, (*figures.COLORS[::2], colors.UNKNOWN), strict=True):
        wanted = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
        dots = np.abs(view[:, :900, :3] - wanted).max(axis=2) < 0.02  # the legend is to the right
        assert dots.sum() > 7 * 50


@pytest.mark.parametrize("suffix", figures.PICTURES)
@pytest.mark.parametrize("words", [["cat", "dog", "cow", "sky"], ["猫", "狗", "牛", "天"]], ids=["en", "zh"])
def test_every_kind_of_file_is_the_same_twice_and_may_be_replaced(
    suffix: str, words: list[str], chinese_font: None, tmp_path: Path
):
    path = tmp_path / f"map{suffix}"
    draw_map(of(words), path)
    first = path.read_bytes()
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF-"}[suffix])
    draw_map(of(words), path)
    assert path.read_bytes() == first
    path.write_bytes(first + b" ")
    with pytest.raises(WriteError, match="nothing in it shows that Inlaid wrote it"):
        draw_map(of(words), path)


def test_labels_stay_beside_their_dots_at_another_resolution(matplotlib: Any):
    """As in SVG and PDF, which have 72 points an inch."""
    figure = of(["cat", "dog", "cow", "sky"]).figure()
    axes = figure.axes[0]

    def offsets() -> np.ndarray:
        figure.canvas.draw()
        dots = axes.transData.transform(axes.collections[0].get_offsets())
        labels = [text.get_window_extent().get_points().mean(axis=0) for text in axes.texts]
        return (np.array(labels) - dots) / figure.dpi

    before = offsets()
    figure.set_dpi(72)
    np.testing.assert_allclose(offsets(), before, atol=0.02)


def test_a_figure_of_its_own_that_notebooks_show(matplotlib: Any):
    made = of(["cat", "dog", "cow"])
    before = dict(matplotlib.rcParams)
    figure = made.figure("Three words")
    assert figure.axes[0].get_title() == "Three words"
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert made._repr_html_().startswith('<img src="data:image/png;base64,')
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_a_notebook_without_matplotlib(monkeypatch: pytest.MonkeyPatch):
    made = of(["cat", "dog", "cow"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "3 words, PCA" in made._repr_html_()


# --- captions


def test_captions_in_both_languages():
    made = of([f"w{id}" for id in range(40)])
    assert made.quality is not None
    english = caption(made, "en")
    chinese = caption(made, "zh")
    assert english[0] == "40 words, PCA"
    assert english[1].startswith(
        f"False neighbors: {100 * made.quality.false:.0f} % of the 10 nearest on the map"
    )
    assert chinese[0] == "40 个词，PCA"
    assert len(english) == len(chinese) == 4
    assert (
        "the nearest in the vector space is not among the 2 nearest on the map"
        in caption(of(list("abcde")))[2]
    )
    assert caption(of(["a", "b"]))[1] == "Too few words to measure neighbors."


def test_the_language_of_most_words():
    assert language_of(("猫", "狗", "NBA")) == "zh"
    assert language_of(("cat", "dog", "猫")) == "en"


# --- pages ------------------------------------------------------------------------------------------------


def test_no_word_breaks_the_page(content: Any):
    found = content(page(of(NASTY), title="</script><script>alert(1)</script>"))
    assert found["names"] == NASTY
    assert found["title"] == "</script><script>alert(1)</script>"


def test_the_page_asks_nobody_for_anything():
    text = page(of(["cat", "dog", "cow"]))
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(", text)
    assert "default-src 'none'" in text


def test_large_pages_carry_no_neighbors(content: Any, monkeypatch: pytest.MonkeyPatch):
    made = of([f"w{id}" for id in range(30)])
    assert content(page(made))["nearest"] == made.nearest.tolist()
    monkeypatch.setattr(pages, "EMBEDDED", 29)
    assert content(page(made))["nearest"] is None
    unknown = dataclasses.replace(made, true=np.full(30, np.nan))
    assert content(page(unknown))["true"] == [None] * 30


def test_files(content: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = of(["cat", "dog", "cow"])
    draw_map(made, tmp_path / "map.HTML")
    assert content((tmp_path / "map.HTML").read_text("utf-8"))["names"] == ["cat", "dog", "cow"]
    with pytest.raises(SettingError, match="A map is written as .png, .svg, .pdf or .html; found 'map.gif'"):
        draw_map(made, tmp_path / "map.gif")
    with pytest.raises(WriteError, match="there is no folder"):
        draw_map(made, tmp_path / "nowhere" / "map.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        MissingExtra, match=r"matplotlib is not installed: run `pip install 'inlaid\[explore\]'`"
    ):
        draw_map(made, tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()


# --- in a browser
# -------------------------------------------------------------------------------------------------------


def test_the_page_opens_and_finds_a_word(opened: Any, tmp_path: Path):
    words = ["猫", "狗", "熊猫", "king", "queen", "orange"]
    made = of(words)
    shown = opened(made, "猫")
    assert "<title>A map</title>" in shown
    labels = re.search(r'data-labels="(\d+)"', shown)
    assert labels
    assert int(labels[1]) >= 3
    assert re.findall(r'<button dir="auto" type="button">(.*?)</button>', shown) == ["猫", "熊猫"]
    assert '<h2 dir="auto">猫</h2>' in shown
    near = [words[id] for id in made.nearest[0]]
    first = re.search(r"Nearest in the vector space</h3><ul>(.*?)</ul>", shown)
    assert first
    assert re.findall(r'<bdi class="\w+" dir="auto">(.*?)</bdi>', first[1]) == near
    false = [words[id] for id in shown_near(made, 0) if words[id] not in near]
    second = re.search(r"Nearest on the map</h3><ul>(.*?)</ul>", shown)
    assert second
    assert re.findall(r'<bdi class="false" dir="auto">(.*?)</bdi>', second[1]) == false


def shown_near(made: Map, id: int) -> list[int]:
    apart = ((made.places - made.places[id]) ** 2).sum(axis=1)
    apart[id] = np.inf
    return np.argsort(apart)[: made.nearest.shape[1]].tolist()


def test_words_that_look_like_code_stay_words(opened: Any, tmp_path: Path):
    shown = opened(of(NASTY), "</script>")
    assert '<h2 dir="auto">&lt;/script&gt;</h2>' in shown
    nobody = opened(of(NASTY), "zebra")
    assert "No matching word." in nobody
    assert "<h2" not in nobody


def test_something_is_to_be_seen(opened: Any, tmp_path: Path, matplotlib: Any):
    """Dots in the colours of the legend, letters in ink."""
    made = of([f"w{id}" for id in range(300)])
    opened(made, wanted=f"--screenshot={tmp_path / 'view.png'}")
    view = pixels((tmp_path / "view.png").read_bytes())[:, :, :3]
    middle = view[100:450, 200:800]
    assert (np.ptp(middle, axis=2) > 0.2).sum() > 300  # coloured
    assert ((middle < 0.35).all(axis=2)).sum() > 300  # ink


def test_without_a_home_nothing_is_warned_about_and_nothing_is_left(matplotlib: Any, tmp_path: Path):
    code = "from inlaid.study import figures; figures._find_place_for_fonts(); import matplotlib"
    environment = {**os.environ, "HOME": "/proc/none", "XDG_CONFIG_HOME": "", "TMPDIR": str(tmp_path)}
    environment.pop("MPLCONFIGDIR", None)
    environment["PYTHONPATH"] = str(Path(inlaid.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert ended.stderr == ""
    assert os.listdir(tmp_path) == []
