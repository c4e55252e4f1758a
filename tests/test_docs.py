"""The documents say what is true: all their code and commands run, and their tree is the package.

Blocks are found by a Markdown parser, so those in lists and indented ones count too. A block is

- ```` ```python ````, or indented and valid Python: the blocks of a page run in order, as one program;
- ```` ```sh ````, or indented and starting with `inlaid` or `$`: the lines run in order, in one folder; what
  follows a `$` line is its output and is compared;
- ```` ```toml ```` or ```` ```json ````: it is parsed;
- ```` ```text ````, without a name, or indented: a formula, a tree, an output. It must not look like code.
  In the READMEs, one after ```` ```python ```` is what the program prints.

Outputs of the READMEs come from training, whose last digits depend on the processor: their words are compared
exactly and their numbers nearly. Those of other pages are compared exactly.

Commands that are not run here are listed in NOT_RUN, with who runs them.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt

from inlaid.cli import main
from inlaid.collect import world

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOT_RUN = {
    "make demo": "installs the project; .ci/run types it on a clean clone",
    "make test": "it is what runs this test",
    "python3 -m venv .venv": "the tests run in an installation",
    ". .venv/bin/activate": "the tests run in an installation",
    "pip install -c constraints.txt .[explore]": "the tests run in an installation",
    "inlaid explore": "it serves until it is stopped; tests/view starts it",
    "inlaid explore one.inlaid two.inlaid": "the same",
    "inlaid explore one.inlaid --corpus corpus --text text.txt": "the same",
    "inlaid explore en=en.vec zh=zh.vec --dictionary en-zh.txt": "the same",
    "inlaid explore models/bert --no-open": "the same",
    "inlaid corpus text.txt -o text.corpus --cluster local": "tests/cluster/test_ray.py types it",
    "uv venv": "the tests run in an installation",
    "uv pip install -c constraints.txt .[explore]": "the tests run in an installation",
}
"""Commands of the pages that are not run here, and why."""


def translations() -> list[tuple[str, str]]:
    """Sentences of the world and their translations."""
    sides = [list(world.sentences(language, words=8_000)) for language in ("zh", "en")]
    return list(zip(*sides, strict=False))[:500]


FILES: dict[str, Callable[[world.Language], str]] = {
    "text.txt": lambda language: "\n".join(world.sentences(language, words=20_000)),
    "new.txt": lambda language: "\n".join(world.sentences(language, words=5_000, seed=2)),
    "pairs.tsv": lambda _: "\n".join(map("\t".join, translations())),
    "labelled.txt": lambda _: "__label__good a good film 很好 电影\n__label__bad a bad film 太差 电影\n" * 20,
    "sgns.toml": lambda _: "dim = 50\nepochs = 3\nmin_count = 2\nlearning_rate = 0.04\n",
    "config.json": lambda _: '{"model_type": "llama"}',
}
"""Files of their own that the pages suppose readers to have."""
NOT_RUN_MARKS = ("# not run with the tests", "# 不随测试运行")
"""How a block of text with commands says, to its readers, that nothing runs them; in either language."""
SERVED = "serve.md"
"""The page whose commands and programs need a server beside them: tests/view/test_page.py runs them."""
NOT_RUN_BLOCKS = {
    "compare-and-align.md": "its figures are of 100 MB of Wikipedia; training takes minutes for each seed",
}
"""Pages, by name, that have such blocks, and why."""
COMMAND = re.compile(r"^\s*(\$ |inlaid |make (demo|test|check|bench|docs|fuzz|site|wheel)\b|pip |python3? )")
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
NOT_INSTALLED = re.compile(r"is not installed: run|没有安装 \S+：请运行")
"""What commands say, in either language, where an extra is missing."""
NUMBER = re.compile(r"\d+\.\d+|\d+(?= ?%)")
"""A measured number: with a decimal point, or in percent."""


class CodeBlock(NamedTuple):
    """A block of code of a page: its language, its text, and the line of the page before its first."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line + 1}"


class Command(NamedTuple):
    """A line to type, and the output that the page shows for it; None where it shows none."""

    line: str
    output: str | None


def read_blocks(page: Path) -> list[CodeBlock]:
    tokens = MarkdownIt("commonmark").parse(page.read_text("utf-8"))
    found = list[CodeBlock]()
    for token in tokens:
        if token.type == "fence":
            found.append(CodeBlock(page, _start(token) + 1, token.info.strip(), token.content))
        elif token.type == "code_block":
            found.append(CodeBlock(page, _start(token), _indented_language(token.content), token.content))
    return found


def _start(token: Any) -> int:
    return token.map[0]


def _indented_language(text: str) -> str:
    """An indented block does not name its language."""
    if text.startswith(("inlaid ", "$ ")):
        return "sh"
    return "python" if _is_program(text) else "text"


def _is_program(text: str) -> bool:
    """Whether this is Python that does something; `a . b` or `x` may parse, but are formulas."""
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return False
    return any(isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)) for node in ast.walk(tree))


BLOCKS = {page: read_blocks(page) for page in PAGES}


def blocks(page: Path, language: str) -> list[CodeBlock]:
    return [block for block in BLOCKS[page] if block.language == language]


def commands(page: Path) -> list[Command]:
    return [command for block in blocks(page, "sh") for command in _commands(block.text)]


def _commands(text: str) -> Iterator[Command]:
    """Each line of a block; with `$` lines in it, what follows one is its output."""
    lines = text.replace("\\\n", " ").splitlines()
    if not any(line.startswith("$ ") for line in lines):
        yield from (Command(line, None) for line in lines if line.strip() and not line.startswith("#"))
        return
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        yield Command(lines[start].removeprefix("$ "), "\n".join(lines[start + 1 : end]).rstrip())


def with_code(language: str) -> list[object]:
    found = [page for page in PAGES if blocks(page, language) and page.name != SERVED]
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in found]


@pytest.fixture
def folder(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A folder to work in, with the files of their own that the page supposes readers to have."""
    monkeypatch.chdir(tmp_path)
    language = "zh" if "zh" in page.name or page.parent.name == "zh" else "en"
    monkeypatch.setenv("INLAID_LANG", language)
    shown = page.read_text("utf-8")
    for name, write in FILES.items():
        if name in shown:
            (tmp_path / name).write_text(write(language), "utf-8")
    if "tests/tiny_models.py" in shown:
        (tmp_path / "tiny").symlink_to(request.getfixturevalue("tiny_models"))
    if page.name == "tour.md":  # small models, and not those that the user keeps
        monkeypatch.setenv("INLAID_TOUR_SIZE", "tiny")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        tmp_path.chmod(0o700)
    return tmp_path


@pytest.mark.parametrize("page", with_code("python"))
def test_python_runs(page: Path, folder: Path):
    """In a process of its own, as a reader runs it: without the tests' type checks, warnings as errors."""
    program = blocks(page, "python")
    modules = [_missing(ast.parse(textwrap.dedent(block.text))) for block in program]
    runnable = list(itertools.takewhile(lambda pair: not pair[1], zip(program, modules, strict=True)))
    code = "\n".join(textwrap.dedent(block.text) for block, _ in runnable)
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    if extras := re.findall(r"\S+ is not installed: run .*", ended.stderr):
        pytest.skip(extras[-1])
    assert ended.returncode == 0, ended.stderr
    if page in READMES:
        (shown,) = (BLOCKS[page][BLOCKS[page].index(block) + 1] for block in program)
        assert shown.language == "text"
        check_output(page, ended.stdout, shown.text)
    if len(runnable) < len(program):
        missing = modules[len(runnable)]
        pytest.skip(
            f"{missing} is not installed: {len(runnable)} of {len(program)} blocks of {page.name} ran"
        )


def _missing(tree: ast.Module) -> str:
    """The first module that a block imports and this installation does not have."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            if importlib.util.find_spec(name.partition(".")[0]) is None:
                return name
    return ""


@pytest.mark.parametrize("page", with_code("sh"))
def test_commands_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]):
    for line, output in commands(page):
        words = shlex.split(line, comments=True)
        if " ".join(words) in NOT_RUN:
            continue
        assert words[0] == "inlaid", f"{page.name}: {line!r} is not run: list it in NOT_RUN with the reason"
        capsys.readouterr()
        ended = _typed(words[1:])
        shown = capsys.readouterr()
        if ended == 2 and NOT_INSTALLED.search(shown.err):
            pytest.skip(shown.err.strip().removeprefix("error: "))
        assert ended == 0, f"{line}\n{shown.err}"
        if output is not None:
            check_output(page, shown.out, output)


def check_output(page: Path, printed: str, shown: str) -> None:
    """What a command or a program printed is what the page shows."""
    printed, shown = map(_without_end_blanks, (printed, shown))
    if page in READMES and printed != shown:
        assert NUMBER.sub("0", printed) == NUMBER.sub("0", shown)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (printed, shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.1, abs=0.02)
        return
    assert printed == shown


def test_outputs_are_compared_by_words_and_nearly_by_numbers():
    check_output(READMES[0], "0.91  queen\n29 % of 9", "0.90  queen\n30 % of 9")
    for other in ("0.70  queen\n30 % of 9", "0.90  king\n30 % of 9", "0.90  queen\n30 % of 8", "0.90  queen"):
        with pytest.raises(AssertionError):
            check_output(READMES[0], "0.91  queen\n29 % of 9", other)
    with pytest.raises(AssertionError):
        check_output(ROOT / "docs" / "search.md", "0.91", "0.90")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name == "coming-from.md"], ids=str)
def test_the_tables_of_habits_run(page: Path, folder: Path):
    """The right column, from top to bottom: commands as typed, Python as one program."""
    lines = page.read_text("utf-8").splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if re.match(r"\| [`a-z].*`", line)]
    cells = [re.fullmatch(r"`([^`]+)`", row[-1].strip()) for row in rows if len(row) == 2]
    typed = [cell[1] for cell in cells if cell]
    assert len(typed) == len(cells) > 40
    calls = [each for each in typed if not each.startswith("inlaid ")]
    assert len(typed) - len(calls) > 10
    program = "\n".join(calls)
    ended = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    for line in typed:
        if line.startswith("inlaid "):
            assert _typed(shlex.split(line)[1:]) == 0, line


def _typed(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as stop:  # --help
        return int(stop.code or 0)


def _without_end_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_hides_code(page: Path):
    """A block is run or parsed, or it is plain text; nothing that looks like code goes unrun."""
    for block in BLOCKS[page]:
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language in ("", "text"):
            typed = [line for line in block.text.splitlines() if COMMAND.match(line)]
            marked = page.name in NOT_RUN_BLOCKS and block.text.startswith(NOT_RUN_MARKS)
            assert marked or not typed, f"{block.place}: commands in a block of text are not run; use ```sh"
            assert not _is_program(block.text), f"{block.place}: Python in a block of text; use ```python"
        else:
            assert block.language in ("python", "sh"), f"{block.place}: nothing runs {block.language}"


def test_what_is_not_run_is_in_the_pages():
    typed = {
        " ".join(shlex.split(command.line, comments=True)) for page in PAGES for command in commands(page)
    }
    assert NOT_RUN.keys() <= typed
    texts = [block for page in PAGES for block in blocks(page, "text")]
    marked = {block.page.name for block in texts if block.text.startswith(NOT_RUN_MARKS)}
    assert marked == NOT_RUN_BLOCKS.keys()


@pytest.mark.parametrize(
    ("markdown", "languages"),
    [
        ("```python\nx\n```", ["python"]),
        ("- a list\n\n  ```sh\n  inlaid info x\n  ```\n", ["sh"]),
        ("1. one\n   - two\n\n         import inlaid\n", ["python"]),
        ("Text:\n\n    inlaid info x\n", ["sh"]),
        ("Text:\n\n    $ inlaid info x\n    shown\n", ["sh"]),
        ("Text:\n\n    f(x) = max(0, log x)\n", ["text"]),
        ("> quoted\n>\n> ~~~toml\n> a = 1\n> ~~~\n", ["toml"]),
    ],
)
def test_blocks_are_found_wherever_they_are(markdown: str, languages: list[str], tmp_path: Path):
    (tmp_path / "page.md").write_text(markdown, "utf-8")
    assert [block.language for block in read_blocks(tmp_path / "page.md")] == languages


def _tree() -> Any:
    """docs/tree.py, which writes what follows from the code."""
    return _script("tree")


def _script(name: str) -> Any:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(_tree().PAGES))
def test_generated_parts_are_up_to_date(name: str):
    tree = _tree()
    text = (ROOT / name).read_text("utf-8")
    assert ("<!-- world -->" in text) == name.endswith("world.md")
    assert ("<!-- analyses -->" in text) == name.endswith("search.md")
    assert ("<!-- tree -->" in text) == name.startswith("CONTRIBUTING")
    assert text == tree.written(text, tree.PAGES[name]), "the package has changed: run `make docs`"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_pages_of_the_tour_follow_from_its_content(language: str):
    tour = _script("tour")
    recorded = json.loads(tour.RECORDED.read_text("utf-8"))
    shown = tour.PAGES[language].read_text("utf-8")
    assert shown == tour.page(language, recorded), "the content has changed: run `make docs`"


def test_the_tree_shows_every_folder():
    tree = _tree().tree()
    for path in (ROOT / "inlaid").rglob("__init__.py"):
        assert f"{path.parent.name}/" in tree


def test_the_tree_shows_every_file_beside_the_folders_once():
    listed = [name for names in _tree().ROOT_FILES.values() for name in names.split()]
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "inlaid").glob("*.py"))


def test_every_module_has_a_docstring():
    for path in (ROOT / "inlaid").rglob("*.py"):
        assert path.read_text("utf-8").startswith('"""'), path


def test_both_readmes_run_the_same_commands():
    """The two languages are twins: same commands, same calls, other words."""
    typed = [[command.line.split()[:2] for command in commands(readme)] for readme in READMES]
    assert typed[0] == typed[1]


def test_every_command_of_the_readmes_shows_its_output():
    for readme in READMES:
        for line, output in commands(readme):
            assert output or " ".join(shlex.split(line)) in NOT_RUN, line


def test_every_page_has_a_twin_in_the_other_language():
    here, there = (
        {page.name: page for page in folder.glob("*.md")} for folder in (ROOT / "docs", ROOT / "docs" / "zh")
    )
    assert here.keys() == there.keys()
    for name in here:
        for language in ("python", "sh"):
            assert len(blocks(here[name], language)) == len(blocks(there[name], language)), name


def test_links_lead_somewhere_and_every_page_and_picture_is_linked():
    linked = dict[Path, set[Path]]()
    for page in PAGES:
        targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))
        linked[page] = {(page.parent / target).resolve() for target in targets}
        assert not [target for target in linked[page] if not target.exists()], page
    decisions = set((ROOT / "docs" / "decisions").glob("*.md"))
    for readme, folder in zip(READMES, (ROOT / "docs", ROOT / "docs" / "zh"), strict=True):
        index = folder / "index.md"
        assert index in linked[readme]
        assert set(folder.glob("*.md")) | decisions <= linked[index] | {index}
    assert set((ROOT / "docs" / "pictures").iterdir()) <= set().union(*linked.values())
