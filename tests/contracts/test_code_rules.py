"""What the code rules forbid occurs nowhere in the package."""

from __future__ import annotations

import ast
import functools
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "inlaid"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LINES = 60
PARAMETERS = 8
WIDTH = 110

MAY_HAVE_MORE_PARAMETERS = {
    "kernels/optimizer/gpu.py": {"_add_places", "_sum_run", "_lengths", "_adam"},
    "kernels/simd/bags.py": {"mean", "add"},
    "kernels/simd/rows.py": {"update"},
    "neural/attention.py": {"__init__"},
    "neural/bag.py": {"__init__", "from_pretrained"},
    "neural/embedding.py": {"__init__"},
    "neural/stack.py": {"forward"},
}
"""Layers that replace those of torch take the same parameters, and a network is asked for each thing by its
name. Triton kernels take pointers and sizes one by one; they cannot take a tuple of them. LLVM intrinsics get
the typing context, then arrays, rows and columns as separate values, explained in their docstrings."""

Rule = Callable[[Path, ast.Module], Iterator[int]]
"""The lines of a file that break it."""


def long_functions(path: Path, tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno + 1 > LINES:
            yield node.lineno


def many_parameters(path: Path, tree: ast.Module) -> Iterator[int]:
    allowed = set[str]()
    if path.is_relative_to(PACKAGE):
        allowed = MAY_HAVE_MORE_PARAMETERS.get(path.relative_to(PACKAGE).as_posix(), allowed)
    for node in ast.walk(tree):
        if not isinstance(node, FUNCTIONS) or node.name in allowed:
            continue
        arguments = node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if len([name for name in names if name not in ("self", "cls")]) > PARAMETERS:
            yield node.lineno


def parallel_assignments(path: Path, tree: ast.Module) -> Iterator[int]:
    """`a, b, c = 1, 2, 3`: three thoughts in one statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            targets = [each for each in node.targets if isinstance(each, ast.Tuple)]
            if any(len(target.elts) >= 3 for target in targets):
                yield node.lineno


def nested_conditionals(path: Path, tree: ast.Module) -> Iterator[int]:
    """`a if x else b if y else c`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            parts = (node.test, node.body, node.orelse)
            if any(isinstance(part, ast.IfExp) for part in parts):
                yield node.lineno


def wide_lines(path: Path, tree: ast.Module) -> Iterator[int]:
    with tokenize.open(path) as file:
        for number, line in enumerate(file, 1):
            if len(line.rstrip("\n")) > WIDTH:
                yield number


def lines_not_formatted(path: Path, tree: ast.Module) -> Iterator[int]:
    """A comment that keeps the formatter away, so that more fits on a line."""
    with tokenize.open(path) as file:
        for number, line in enumerate(file, 1):
            if re.search(r"#\s*fmt:\s*(skip|off)", line):
                yield number


def words_in_rows(path: Path, tree: ast.Module) -> Iterator[int]:
    """Words in the `rows` of a result that are in no message: a catalogue cannot translate them. What returns
    a `Row` or a `Cell` is part of them; rows of tables, in `fit`, are other rows."""
    for function in ast.walk(tree):
        if not isinstance(function, FUNCTIONS) or not _shows_rows(function):
            continue
        nodes = list(ast.walk(function))
        translated = {id(each) for node in nodes if _is_message(node) for each in ast.walk(node)}
        keys = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
        keys |= {id(each) for node in nodes if isinstance(node, ast.Compare) for each in ast.walk(node)}
        keys |= {id(node.value) for node in function.body[:1] if isinstance(node, ast.Expr)}
        keys |= {id(each) for node in nodes for each in _names_in_code(node)}
        for node in nodes:
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            if id(node) not in translated | keys and re.search("[A-Za-z]{2}", node.value):
                yield node.lineno


def formatted_rows(path: Path, tree: ast.Module) -> Iterator[int]:
    """`str(Message("score"))` in rows: a message is formatted when it is shown, in the reader's language."""
    for function in ast.walk(tree):
        if not isinstance(function, FUNCTIONS) or not _shows_rows(function):
            continue
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "str"
                and any(map(_is_message, node.args))
            ):
                yield node.lineno


def _shows_rows(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    returned = "" if function.returns is None else ast.unparse(function.returns)
    return re.search(r"\b(Row|Cell)\b", returned) is not None


def _names_in_code(node: ast.AST) -> Iterator[ast.AST]:
    """The name in `hasattr(value, "rows")`, the algorithm in `np.argsort(values, kind="stable")`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
        yield from node.args
    if isinstance(node, ast.keyword) and node.arg == "kind":
        yield node.value


def _is_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "Message"


def json_outside_untrusted(path: Path, tree: ast.Module) -> Iterator[int]:
    """`json.loads` raises RecursionError for what is nested deeply; `untrusted.parse_json` knows that. The
    catalogue that `messages` reads is our own."""
    for node in ast.walk(tree):
        if path.name in ("untrusted.py", "messages.py"):
            return
        if isinstance(node, ast.ImportFrom) and node.module == "json":
            yield node.lineno
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.load", "json.loads"):
            yield node.lineno


RULES: tuple[Rule, ...] = (
    words_in_rows,
    formatted_rows,
    long_functions,
    many_parameters,
    parallel_assignments,
    nested_conditionals,
    wide_lines,
    lines_not_formatted,
    json_outside_untrusted,
)


@functools.cache
def parsed() -> dict[Path, ast.Module]:
    """The whole package, parsed once for all rules."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def broken(rule: Rule) -> list[str]:
    found = list[str]()
    for path, tree in parsed().items():
        found += [f"{path.relative_to(PACKAGE.parent)}:{line}" for line in rule(path, tree)]
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule):
    assert not broken(rule)


def test_every_exception_is_needed():
    needed = dict[str, set[str]]()
    for file in MAY_HAVE_MORE_PARAMETERS:
        tree = ast.parse((PACKAGE / file).read_text("utf-8"))
        lines = set(many_parameters(Path(file), tree))
        nodes = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        needed[file] = {node.name for node in nodes if node.lineno in lines}
    assert needed == MAY_HAVE_MORE_PARAMETERS


@pytest.mark.parametrize(
    ("rule", "code", "lines"),
    [
        (words_in_rows, 'def rows(self) -> list[Row]:\n    return [f"{self.count:,} words"]', [2]),
        (words_in_rows, 'def rows(self) -> list[Row]:\n    return [("score", "p"), f"{self.p:+.3f}"]', [2]),
        (words_in_rows, 'def cell(self) -> Cell:\n    return "none" if self.p is None else "p"', [2]),
        (words_in_rows, 'def rows(self) -> list[Row]:\n    """Say."""\n    return [Message("score")]', []),
        (words_in_rows, 'def rows(self) -> list[Row]:\n    return f(hasattr(a, "rows"), kind="stable")', []),
        (words_in_rows, 'def rows(self) -> dict[str, Rows]:\n    return {"table": self.table}', []),
        (formatted_rows, 'def rows(self) -> list[Row]:\n    return [str(Message("score"))]', [2]),
        (formatted_rows, 'def rows(self) -> list[Row]:\n    return [Message("score"), str(self.n)]', []),
        (long_functions, "def f():\n" + "    pass\n" * 60, [1]),
        (long_functions, "def f():\n" + "    pass\n" * 59, []),
        (many_parameters, "def f(self, a, b, c, d, /, e, f, g, *, h, i): ...", [1]),
        (many_parameters, "def f(self, a, b, c, d, e, f, g, *, h): ...", []),
        (parallel_assignments, "a, b, c = 1, 2, 3\na, b = 1, 2\na, b, c = f()", [1]),
        (nested_conditionals, "x = a if b else c\nx = a if b else c if d else e", [2]),
        (wide_lines, f"# {'词' * 108}\n# {'词' * 109}", [2]),
        (lines_not_formatted, "x = [1,2]  # fmt: skip\ny = '# fmt'\n# fmt:off", [1, 3]),
        (
            json_outside_untrusted,
            "from json import loads\njson.loads(x)\njson.dumps(x)\njson.load(f)",
            [1, 2, 4],
        ),
    ],
)
def test_a_rule_finds_what_breaks_it(rule: Rule, code: str, lines: list[int], tmp_path: Path):
    path = tmp_path / "module.py"
    path.write_text(code, "utf-8")
    assert list(rule(path, ast.parse(code))) == lines
