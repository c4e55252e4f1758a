"""The page of the explorer in a real browser, over a real server: what people do in it, and what they see."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inlaid import storage
from inlaid.vectors import Vectors
from tests import tiny_models

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'inlaid[serve]'")
pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
ROOT = Path(__file__).parents[2]
PATIENCE = 30_000
"""Milliseconds to wait for what should appear: the machines of tests are busy."""
TOPICS = {
    "fruit": ["apple", "pear", "plum", "peach", "苹果", "香蕉", "葡萄", "西瓜"],
    "city": ["paris", "london", "rome", "berlin", "北京", "上海", "广州", "深圳"],
    "animal": ["cat", "dog", "horse", "sheep", "小猫", "小狗", "老虎", "狮子"],
}
HOSTILE = ["<img src=x onerror=window.hurt=1>", "\u202eevil\u202c", "x" * 10_000, "a\nb", '"];alert(1)//']
ROYAL = {"king": (1, 1, 0), "queen": (1, 0, 1), "man": (0, 1, 0), "woman": (0, 0, 1), "国王": (1, 1, 0)}


def made(seed: int) -> Vectors:
    """Words of three topics, a royal family, and words that no one should trust."""
    random = np.random.default_rng(seed)
    words = list[str]()
    rows = list[np.ndarray]()
    for number, topic in enumerate(TOPICS.values()):
        for word in topic:
            row = random.normal(size=16) * 0.15
            row[3 + number] += 1
            words.append(word)
            rows.append(row)
    for word, axes in ROYAL.items():
        rows.append(np.concatenate([axes, random.normal(size=13) * 0.02]))
        words.append(word)
    for word in [*HOSTILE, *(f"other{number}" for number in range(60))]:
        row = random.normal(size=16) * 0.5
        row[:6] = 0
        rows.append(row)
        words.append(word)
    return Vectors.of(words, np.array(rows, np.float32))


def many(count: int = 12_000) -> Vectors:
    """More words than most numbers of a request may be."""
    table = np.random.default_rng(1).normal(size=(count, 8)).astype(np.float32)
    table[1:3] = table[0] + np.array([[0.01], [0.02]], np.float32)
    return Vectors.of(["apple", "pear", "plum", *(f"w{number}" for number in range(3, count))], table)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    storage.save(made(1), folder / "one.inlaid")
    storage.save(made(2), folder / "two.inlaid")
    storage.save(many(), folder / "many.inlaid")
    (folder / "models").mkdir()
    tiny_models.make(folder / "models")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """The explorer as people start it."""
    command = [
        sys.executable,
        "-m",
        "inlaid",
        "explore",
        "one.inlaid",
        "two.inlaid",
        "many.inlaid",
        "models/masked",
        "models/seq2seq",
        "--neighborhoods",
        "500",
    ]
    with subprocess.Popen(
        [*command, "--port", "0", "--no-open", "--lang", "en"],
        cwd=folder,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            yield re.findall(r"http://[\d.:]+/", server.stdout.readline())[0]
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None or not (ROOT / "inlaid/view/explorer/page/index.html").is_file():
        pytest.skip("needs chromium and the built page: apt-get install chromium; make page")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program, args=["--enable-unsafe-swiftshader"], chromium_sandbox=False
        )
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Opens a view; at the end no script has failed and nothing was refused by the policy."""
    context = browser.new_context(viewport={"width": 1200, "height": 760}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    wrong = list[str]()

    def visit(view: str = "", *, language: str = "en", base: str = address, **more: str) -> Any:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith((base.split("?")[0][:20], "data:", "blob:"))
                else wrong.append(asked.url)
            ),
        )
        query = "&".join(f"{name}={value}" for name, value in {"lang": language, **more}.items())
        page.goto(f"{base}?{query}#{view}")
        return page

    yield visit
    context.close()
    assert wrong == []


def ask(page: Any, text: str) -> None:
    page.get_by_role("combobox", name=re.compile("Search|搜索")).fill(text)
    page.keyboard.press("Enter")


def rows_of(page: Any, caption: str) -> list[list[str]]:
    table = page.locator("table", has_text=caption).first
    table.wait_for()
    return table.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.innerText.trim()))"
    )


def test_a_word_is_asked_for(visit: Any):
    page = visit("space=one")
    ask(page, "apple")
    page.get_by_role("heading", name="apple", exact=True).wait_for()
    found = rows_of(page, "Nearest in one")
    assert len(found) == 10
    assert {row[1] for row in found[:7]} == set(TOPICS["fruit"]) - {"apple"}
    assert page.get_by_text("Trustworthiness").is_visible()
    assert "word=apple" in page.url


def test_words_in_chinese_by_pinyin_and_those_that_are_not_there(visit: Any):
    page = visit("space=one", language="zh")
    box = page.get_by_role("combobox", name="搜索词或输入算式")
    box.press_sequentially("shangh")
    page.get_by_role("option", name="上海").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="上海").wait_for()
    found = rows_of(page, "one 全部词中最相近的")
    assert {row[1] for row in found[:7]} == set(TOPICS["city"]) - {"上海"}
    ask(page, "北京、没有的词，小猫")
    page.get_by_role("heading", name="小猫").wait_for()
    assert "没有的词" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"


def test_a_formula_and_its_path(visit: Any):
    page = visit("space=one")
    ask(page, "king - man + woman")
    page.get_by_role("cell", name="queen").wait_for()
    assert rows_of(page, "king - man + woman")[0][1] == "queen"
    ask(page, "king - nobody + woman")
    page.get_by_role("alert").wait_for()
    assert "'nobody' is not among" in page.get_by_role("alert").inner_text()


def test_an_axis_colors_the_map(visit: Any):
    page = visit("space=one&panel=axis&from=apple, pear&to=paris, rome&word=plum, berlin")
    page.get_by_role("cell", name="plum").wait_for()
    found = [row[0] for row in rows_of(page, "From one end")]
    assert found.index("plum") < found.index("berlin")
    page.locator(".legend .scale").wait_for()


def test_what_is_on_the_map_by_keyboard_alone(visit: Any):
    """Tab to the map, move it, ask for the word in the middle; and the table twin lists what is in view."""
    page = visit("space=one&layout=pca")
    page.get_by_role("application").focus()
    for key in ("+", "+", "ArrowLeft", "0", "+"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Words in view, as a table").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Words in view, as a table").wait_for()
    words = page.locator("aside tbody button")
    words.first.wait_for()
    first = words.first.inner_text()
    words.first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=first, exact=True).wait_for()


def test_a_lasso_makes_a_selection_with_a_name_and_a_link(visit: Any):
    page = visit("space=one&layout=pca")
    page.get_by_role("button", name="Select with a lasso").click()
    box = page.get_by_role("application").bounding_box()
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    page.mouse.move(x - 180, y - 180)
    page.mouse.down()
    for dx, dy in ((180, -180), (180, 180), (-180, 180)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.get_by_role("heading", name="Selection").wait_for()
    page.get_by_label("Name of the selection").fill("middle")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name=re.compile("^middle")).wait_for()
    again = visit(page.url.partition("#")[2])
    again.locator("aside tbody tr").first.wait_for()
    assert again.locator("aside caption").inner_text() == page.locator("aside caption").inner_text()


def test_two_spaces(visit: Any):
    page = visit("view=compare&space=one&other=two&word=apple")
    page.get_by_role("heading", name="Neighbors of apple").wait_for()
    tags = page.locator(".tag.kept")
    tags.first.wait_for()
    assert tags.count() >= 7
    page.get_by_role("heading", name="What changed").wait_for()
    page.get_by_role("button", name="One map, morphing").click()
    slider = page.get_by_role("slider", name="From the first map to the second")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_url(re.compile("morph=1"))


def test_attention_of_a_text(visit: Any):
    page = visit("view=model&model=masked&text=我喜欢吃___")
    page.get_by_role("heading", name="Tokens").wait_for()
    page.get_by_role("button", name="Grid of heads").click()
    page.get_by_role("button", name="Layer 0, Head 0").click()
    page.wait_for_url(re.compile("head=0"))
    page.get_by_text("The same as a table").click()
    assert page.locator("details tbody tr").count() > 2
    page.get_by_role("tab", name="Predictions by layer").click()
    page.get_by_role("cell", name=re.compile("苹果 50")).first.wait_for()
    page.get_by_role("tab", name="Path through the layers").click()
    page.get_by_role("application", name="Path through the layers").wait_for()


def test_a_translation_step_by_step(visit: Any):
    page = visit("view=model&model=seq2seq&panel=translation&text=好 久 不 见")
    page.get_by_text(re.compile(r"Step 1 of \d+")).wait_for()
    page.get_by_text("Likeliest next tokens").wait_for()
    page.get_by_text("What this step attends to in the source").wait_for()


def test_why_two_words_are_near(visit: Any):
    page = visit("space=one&word=apple")
    page.get_by_role("button", name="Why is pear near?").click()
    page.get_by_text("Dimensions that contribute most").wait_for()
    page.get_by_text("Start with --corpus").wait_for()


def test_copies_and_downloads(visit: Any):
    page = visit("space=one&word=king")
    page.get_by_role("heading", name="king", exact=True).wait_for()
    page.wait_for_url(re.compile("camera="))
    copied = {}
    for name in ("link", "as Python", "as command"):
        page.get_by_role("button", name="Copy or download").click()
        page.get_by_role("button", name=f"Copy {name}", exact=True).click()
        page.get_by_text("Copied", exact=True).wait_for()
        copied[name] = page.evaluate("navigator.clipboard.readText()")
    assert copied["link"] == page.url
    assert 'vectors.neighbors(["king"], n=10)' in copied["as Python"]
    assert copied["as command"] == "inlaid neighbors one.inlaid king -n 10"
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"\xef\xbb\xbfword")):
        page.get_by_role("button", name="Copy or download").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Download {kind}").click()
        assert Path(saved.value.path()).read_bytes().startswith(start)


def test_hostile_words_are_harmless(visit: Any):
    page = visit("space=one&layout=pca")
    page.get_by_role("application").wait_for()
    for word in HOSTILE:
        page.evaluate(
            "word => { location.hash = new URLSearchParams({space: 'one', word: `\"${word}\"`}) }", word
        )
        page.wait_for_timeout(150)
    ask(page, HOSTILE[0].split()[0])
    page.get_by_role("alert").first.wait_for()
    page.get_by_role("button", name="Words in view, as a table").click()
    page.locator("aside tbody tr").first.wait_for()
    assert page.evaluate("window.hurt") is None
    assert "\u202e" not in page.locator("body").inner_text()
    assert len(page.locator("aside").inner_text()) < 20_000


def test_a_browser_without_webgl_sees_the_map(visit: Any):
    page = visit("space=one&layout=pca", flat="1")
    page.get_by_role("application").wait_for()
    page.wait_for_timeout(300)
    drawn = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(each => each > 0)"
    assert page.locator("canvas.points").evaluate(drawn)


@pytest.mark.parametrize(
    "view",
    [
        "space=one&word=apple",
        "view=compare&space=one&other=two&word=apple",
        "view=model&model=masked&text=我喜欢吃___",
        "view=model&model=seq2seq&panel=translation&text=好 久 不 见",
    ],
)
@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "zh")])
def test_accessible(visit: Any, view: str, theme: str, language: str):
    """axe finds no violation of WCAG 2.1 A and AA."""
    script = ROOT / "web/node_modules/axe-core/axe.min.js"
    page = visit(view, theme=theme, language=language)
    page.locator("table").first.wait_for()
    page.wait_for_timeout(500)
    page.evaluate(script.read_text("utf-8"))
    found = page.evaluate(
        "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })"
    )
    problems = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]
    assert problems == []


def test_the_exported_file_works_without_a_server(visit: Any, folder: Path):
    from inlaid.cli import main

    exported = folder / "page.html"
    words = ["explore", f"one={folder / 'one.inlaid'}", f"masked={folder / 'models/masked'}"]
    assert main([*words, "--sentence", "我喜欢吃___", "--export", str(exported), "--lang", "en"]) == 0
    page = visit("space=one&word=apple", base=exported.as_uri())
    page.get_by_role("heading", name="apple", exact=True).wait_for()
    found = rows_of(page, "Nearest in one")
    assert {row[1] for row in found[:7]} == set(TOPICS["fruit"]) - {"apple"}
    inside = visit("view=model&model=masked&text=我喜欢吃___", base=exported.as_uri())
    inside.get_by_role("heading", name="Tokens").wait_for()
    inside.get_by_role("button", name="Grid of heads").wait_for()
    ask(page, "king - man + woman")
    page.get_by_role("alert").wait_for()
    assert "Run `inlaid explore`" in page.get_by_role("alert").inner_text()


def test_true_and_false_neighbors_are_on_a_map_of_many_words(visit: Any):
    """More words than a number of other requests may ask for: the map asks among all of them."""
    page = visit("space=many&layout=pca&word=apple")
    page.get_by_role("heading", name="apple", exact=True).wait_for()
    found = rows_of(page, "Nearest in many")
    assert [row[1] for row in found[:2]] == ["pear", "plum"]
    assert {row[3] for row in found} <= {"near", "far"}
    page.get_by_text("Look near on this map, but are not").wait_for()


def test_links_restore_how_attention_is_drawn(visit: Any):
    page = visit("view=model&model=masked&text=我喜欢吃___")
    page.get_by_role("button", name="Matrix").click()
    page.get_by_role("button", name="Tokens", exact=True).click()
    page.locator("label", has_text="Layer").locator("select").select_option("0")
    page.wait_for_url(
        re.compile("look=matrix&units=tokens|units=tokens.*look=matrix|look=matrix.*units=tokens")
    )
    again = visit(page.url.partition("#")[2])
    pressed = again.locator("[aria-pressed=true]")
    again.get_by_role("region", name="Matrix").wait_for()
    assert {"Matrix", "Tokens"} <= set(pressed.all_inner_texts())
    assert again.locator("label", has_text="Layer").locator("select").input_value() == "0"


@pytest.mark.parametrize(
    ("view", "command", "python"),
    [
        (
            "view=model&model=masked&text=我喜欢吃___&layer=0&head=0",
            "inlaid attend models/masked 我喜欢吃___ --layer 0 --head 0",
            'inlaid.attend(model, "我喜欢吃___", layer=0, head=0)',
        ),
        (
            "view=model&model=masked&panel=lens&text=我喜欢吃___",
            "inlaid lens models/masked 我喜欢吃___ -n 5",
            'inlaid.lens(model, "我喜欢吃___", n=5)',
        ),
        ("space=one&layout=pca", "inlaid map one.inlaid --method pca", 'vectors.map(method="pca")'),
        (
            "space=one&word=apple&why=pear",
            "inlaid explain one.inlaid apple pear",
            'vectors.explain("apple", "pear")',
        ),
        (
            "view=compare&space=one&other=two&word=apple",
            "inlaid changes one.inlaid two.inlaid apple -n 10",
            'first.changes(second, "apple", n=10)',
        ),
    ],
)
def test_what_is_copied_is_what_is_shown_and_runs(
    visit: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, view: str, command: str, python: str
):
    from inlaid.cli import main

    page = visit(view)
    page.locator("table, canvas").first.wait_for()
    page.wait_for_timeout(500)
    copied = list[str]()
    for name in ("as Python", "as command"):
        page.get_by_role("button", name="Copy or download").click()
        page.get_by_role("button", name=f"Copy {name}", exact=True).click()
        page.get_by_text("Copied", exact=True).wait_for()
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    assert copied[0].splitlines()[-1] == python
    assert copied[1] == command
    monkeypatch.chdir(folder)
    exec(copied[0], {})
    assert main(shlex.split(command)[1:]) == 0


@pytest.mark.parametrize(
    "view",
    [
        "view=compare&space=one&other=two&word=apple",
        "view=model&model=masked&text=我喜欢吃___",
        "view=model&model=masked&look=grid&text=我喜欢吃___",
        "view=model&model=masked&panel=lens&text=我喜欢吃___",
        "view=model&model=masked&panel=path&text=我喜欢吃___",
        "view=model&model=seq2seq&panel=translation&text=好 久 不 见",
    ],
)
def test_every_view_is_a_picture_a_drawing_and_a_table(visit: Any, view: str):
    page = visit(view)
    page.locator("table").first.wait_for()
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"\xef\xbb\xbf")):
        page.wait_for_timeout(500)
        page.get_by_role("button", name="Copy or download").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Download {kind}").click()
        data = Path(saved.value.path()).read_bytes()
        assert data.startswith(start)
        if kind == "PNG":  # not a pixel for each weight
            assert int.from_bytes(data[16:20], "big") >= 300


def test_a_selection_is_kept_by_the_browser(visit: Any):
    page = visit("space=one&layout=pca&panel=selection&chosen=apple%0Apear")
    page.get_by_label("Name of the selection").fill("fruit")
    page.get_by_role("button", name="Save").click()
    again = visit("space=one&layout=pca&panel=selection")
    again.get_by_role("button", name=re.compile("^fruit")).click()
    again.get_by_role("cell", name="pear").wait_for()


def test_a_notebook_shows_the_map_in_a_frame_of_its_own(browser: Any):
    """The frame has no origin: nothing of the notebook can be reached, and nothing can be stored."""
    shown = made(1).explore(top=60)._repr_html_()
    page = browser.new_page()
    wrong = list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content(f"<!doctype html><title>notebook</title>{shown}")
    inside = page.frame_locator("iframe")
    inside.get_by_role("combobox", name=re.compile("Search|搜索")).fill("apple")
    page.keyboard.press("Enter")
    inside.get_by_role("heading", name="apple", exact=True).wait_for(timeout=PATIENCE)
    inside.locator("tbody tr").nth(9).wait_for(timeout=PATIENCE)
    assert wrong == []
    page.close()
