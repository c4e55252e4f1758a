"""Write what follows from the code into the docs: the tree of the package, and the table of analyses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from inlaid import registry

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "inlaid"
FIRST = ("__init__", "pipeline", "cli")
"""The files to open first stand first; the rest follow the alphabet, and so do the stages."""


def tree() -> str:
    files = sorted(
        PACKAGE.glob("*.py"),
        key=lambda path: (FIRST.index(path.stem) if path.stem in FIRST else len(FIRST), path.name),
    )
    lines = ["inlaid/"] + [_line(path, 2) for path in files]
    for folder in sorted(path.parent for path in PACKAGE.glob("*/__init__.py")):
        lines.append(f"  {folder.name + '/':<22}{_summary(folder / '__init__.py')}")
        lines += [_line(path, 4) for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
    return "\n".join(lines)


def written(text: str) -> str:
    """The text with the tree between its two marks brought up to date."""
    return re.sub(
        r"(<!-- tree -->\n```\n).*?(```\n<!-- end of tree -->)",
        lambda marks: f"{marks[1]}{tree()}\n{marks[2]}",
        text,
        flags=re.DOTALL,
    )


def analyses() -> str:
    """A row for each analysis of the registry; the same in both languages."""
    rows = [
        f"| `{entry.name}` | `inlaid {entry.name.replace('_', '-')}` | {entry.summary} |"
        for entry in registry.entries("analysis")
    ]
    return "\n".join(["| Python | command | what it answers |", "| --- | --- | --- |", *rows])


def with_analyses(text: str) -> str:
    """The text with the table of analyses between its two marks brought up to date."""
    return re.sub(
        r"(<!-- analyses -->\n).*?(<!-- end of analyses -->)",
        lambda marks: f"{marks[1]}{analyses()}\n{marks[2]}",
        text,
        flags=re.DOTALL,
    )


def _line(path: Path, indent: int) -> str:
    return f"{' ' * indent}{path.name:<{24 - indent}}{_summary(path)}"


def _summary(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").splitlines()[0].rstrip(".")


if __name__ == "__main__":
    for name in ("README.md", "README.zh.md"):
        (ROOT / name).write_text(written((ROOT / name).read_text("utf-8")), "utf-8")
    for name in ("docs/search.md", "docs/zh/search.md"):
        (ROOT / name).write_text(with_analyses((ROOT / name).read_text("utf-8")), "utf-8")
