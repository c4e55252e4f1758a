"""What the code rules forbid is counted. A bound may only be lowered; each is to reach zero."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "inlaid"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LINES = 60
PARAMETERS = 8
WIDTH = 110

Rule = Callable[[Path, ast.Module], Iterator[int]]
"""The lines of a file that break it."""


def long_functions(path: Path, tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno + 1 > LINES:
            yield node.lineno


def many_parameters(path: Path, tree: ast.Module) -> Iterator[int]:
    """GPU kernels and LLVM intrinsics take what the hardware takes; they are left out."""
    if path.stem.endswith("gpu"):
        return
    for node in ast.walk(tree):
        if not isinstance(node, FUNCTIONS) or "intrinsic" in map(ast.unparse, node.decorator_list):
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


BOUNDS: dict[Rule, int] = {
    long_functions: 4,
    many_parameters: 36,
    parallel_assignments: 2,
    nested_conditionals: 18,
    wide_lines: 188,
}
"""How many places may break each rule."""


def broken(rule: Rule) -> list[str]:
    found = list[str]()
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        found += [f"{path.relative_to(PACKAGE.parent)}:{line}" for line in rule(path, tree)]
    return found


@pytest.mark.parametrize("rule", BOUNDS, ids=lambda rule: rule.__name__)
def test_no_more_than_the_bound(rule: Rule):
    found = broken(rule)
    assert len(found) <= BOUNDS[rule], "\n".join([f"{len(found)} places:", *found])


@pytest.mark.parametrize(
    ("rule", "code", "lines"),
    [
        (long_functions, "def f():\n" + "    pass\n" * 60, [1]),
        (long_functions, "def f():\n" + "    pass\n" * 59, []),
        (many_parameters, "def f(self, a, b, c, d, /, e, f, g, *, h, i): ...", [1]),
        (many_parameters, "def f(self, a, b, c, d, e, f, g, *, h): ...", []),
        (many_parameters, "@intrinsic\ndef f(a, b, c, d, e, f, g, h, i): ...", []),
        (parallel_assignments, "a, b, c = 1, 2, 3\na, b = 1, 2\na, b, c = f()", [1]),
        (nested_conditionals, "x = a if b else c\nx = a if b else c if d else e", [2]),
        (wide_lines, f"# {'词' * 108}\n# {'词' * 109}", [2]),
    ],
)
def test_a_rule_finds_what_breaks_it(rule: Rule, code: str, lines: list[int], tmp_path: Path):
    path = tmp_path / "module.py"
    path.write_text(code, "utf-8")
    assert list(rule(path, ast.parse(code))) == lines
