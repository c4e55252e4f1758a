"""The tour as a user meets it: typed, as a page, as a notebook, with and without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inlaid import places as owned
from inlaid.cli import main
from inlaid.commands.terminal import places
from inlaid.errors import MissingExtra, SettingError
from inlaid.report import silent
from inlaid.tour import content, models, questions, rendering
from inlaid.tour.models import GENERATIONS, NETWORKS, Models
from inlaid.tour.questions import QUESTIONS, answer, answers, side_by_side
from inlaid.tour.showing import Runner

EXACT = (
    "0.011 0.036 0.942 0.011",
    "0.3374 -0.1778 -0.1690",
    "0.3367 0.1288 0.2345",
    "-0.0395 0.1529 0.3742",
    "0.6903 -0.3430 0.7576",
    "0.6000 0.1000 0.0000",
    "(8, 4, 256) + (4, 256) = (8, 4, 256)",
    "like 2 0 0 1 1 1 0",
    "512 768 96",
    "6 / 8",
)
"""Numbers that tutorials have, as the tour shows them."""


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_whole_tour_in_a_terminal(
    language: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("torch")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["tour", "--lang", language]) == 0
    shown = capsys.readouterr().out
    numbers = " ".join(shown.split())
    for number in EXACT:
        assert number in numbers
    assert max(map(places, shown.splitlines())) <= 80
    for chapter in content.tour("zh" if language == "zh" else "en").chapters:
        assert chapter.title in shown
    assert ("看什么：" in shown) == (language == "zh")


def test_a_page_is_written_and_replaced_only_if_nobody_edited_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("torch")
    page = tmp_path / "page.html"
    typed = ["tour", "--lang", "zh", "--chapter", "onehot", "-o", str(page)]
    assert main(typed) == 0
    text = page.read_text("utf-8")
    assert '<html lang="zh">' in text
    assert "http" not in text.replace("http-equiv", "")
    assert owned.is_ours(page)
    assert main(typed) == 0
    page.write_text(text + "edited", "utf-8")
    assert main(typed) == 2
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["zh", "en"])
def test_jupyter_executes_a_notebook(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In a kernel, from top to bottom, in the language of the notebook on a system in the other one."""
    pytest.importorskip("torch")
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    path = tmp_path / "tour.ipynb"
    assert main(["tour", "--lang", language, "-o", str(path)]) == 0
    book = json.loads(path.read_text("utf-8"))
    assert book["nbformat"] == 4
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    monkeypatch.setenv("LC_ALL", "C" if language == "zh" else "zh_CN.UTF-8")
    execute = "import sys; from nbclient.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", execute, "--inplace", "--timeout=300", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"stream"}
    shown = "".join("".join(output["text"]) for output in outputs if output["name"] == "stdout")
    assert "0.011 0.036 0.942 0.011" in shown
    assert ("常见的说法" in shown) == (language == "zh")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--chapter", "oneshot"], "Did you mean 'onehot'?"),
        (["-o", "tour.pdf"], ".html"),
        (["--lang", "fr"], "zh"),
        (["--size", "huge"], "tiny"),
        (["-o", "nowhere/tour.html"], "no folder"),
    ],
)
def test_mistakes_are_one_sentence(
    typed: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    assert main(["tour", *typed]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error


def test_every_generation_answers_every_question(tiny: Models):
    pytest.importorskip("torch")
    for generation in GENERATIONS:
        found = answers(tiny, generation)
        assert [each.question for each in found.answers] == list(QUESTIONS)
        assert all(str(each.text) for each in found.answers)
    by_generation = side_by_side(tiny, "senses")
    assert [each.generation for each in by_generation.answers] == list(GENERATIONS)
    assert [each.able for each in by_generation.answers] == [name in NETWORKS for name in GENERATIONS]
    json.dumps(by_generation.to_dict())


def test_what_follows_from_the_method_is_so_at_any_size(tiny: Models):
    assert answer(tiny, "onehot", "similarity").able is False
    assert answer(tiny, "sgns", "unseen").text == questions.NO_VECTOR
    assert answer(tiny, "fasttext", "unseen").able
    assert str(answer(tiny, "ppmi", "order").text).endswith("cosine 1.000")
    assert [answer(tiny, name, "translation").able for name in ("sgns", "glove")] == [False, False]


def test_without_torch_networks_say_what_to_install(tiny: Models, monkeypatch: pytest.MonkeyPatch):
    def missing(module: str, *, extra: str) -> None:
        raise MissingExtra(
            "{module} is not installed: run `pip install 'inlaid[{extra}]'`", module=module, extra=extra
        )

    monkeypatch.setattr(sys.modules["inlaid.tour.models"], "need", missing)
    monkeypatch.setitem(sys.modules, "torch", None)
    chapters = {each.name: each for each in content.tour(tiny.language).chapters}
    runner = Runner(tiny)
    for name in ("masked", "embedding", "bilm"):
        played = rendering.play_chapter(chapters[name], runner)
        shown = [row for block in played.blocks if block.output for row in block.output.rows]
        assert any("pip install 'inlaid[neural]'" in str(row) for row in shown)
    assert "0.6000" in str(rendering.play_chapter(chapters["embedding"], runner).blocks[-1].output)


def test_an_unknown_size_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INLAID_TOUR_SIZE", "huge")
    with pytest.raises(SettingError, match="'huge'; expected one of: full, tiny"):
        models("zh", report=silent)


def test_unknown_generations_and_questions_are_refused(tiny: Models):
    with pytest.raises(SettingError, match="word2vec"):
        answers(tiny, "word2vec")
    with pytest.raises(SettingError, match="colour"):
        side_by_side(tiny, "colour")


def test_the_size_follows_the_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INLAID_TOUR_SIZE", "full")
    assert models("en", report=silent).size == "full"
    monkeypatch.delenv("INLAID_TOUR_SIZE")
    assert models("en", report=silent).size == "full"
