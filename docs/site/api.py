"""The reference of the Python API: public names by group, whose docstrings Sphinx fills in."""

from __future__ import annotations

import inspect
from typing import Literal

import inlaid
from inlaid import registry
from inlaid.analysis_methods import method_names

MODEL = "inlaid.neural.model.Model"
CLASSES = ("Vectors", "Classifier", "Corpus")
"""Values, whose methods are shown."""
GROUPS = {
    "en": ("Python API", "Values", "Functions", "Analyses", "Methods and settings", "The embedded world"),
    "zh": ("Python API", "数据类型", "函数", "分析", "方法与设置", "内置世界"),
}
AS_METHODS = {
    "en": "Analyses of one space are methods too, `vectors.neighbors(...)`: {names}.",
    "zh": "以单个向量空间为输入的分析也是 `Vectors` 的方法，如 `vectors.neighbors(...)`：{names}。",
}
INTRODUCTION = {
    "en": "All public names of `inlaid`, from their docstrings.",
    "zh": "`inlaid` 的全部公开名称，由 docstring 生成（英文）。",
}


def page(language: Literal["en", "zh"]) -> str:
    """The page in Markdown; what autodoc fills in is reStructuredText."""
    title, values, functions, analyses, methods, world = GROUPS[language]
    asked = [entry.name for entry in registry.entries("analysis")]
    rest = [name for name in inlaid.__all__ if name not in (*CLASSES, *asked, "world")]
    settings = [name for name in rest if inspect.isclass(getattr(inlaid, name))]
    groups = {
        values: [*(f"inlaid.{name}" for name in CLASSES), MODEL],
        functions: [f"inlaid.{name}" for name in rest if name not in settings],
        analyses: [f"inlaid.{name}" for name in asked],
        methods: [f"inlaid.{name}" for name in settings],
        world: [f"inlaid.world.{name}" for name in _functions_of_world()],
    }
    parts = [f"# {title}\n\n{INTRODUCTION[language]}\n"]
    for heading, names in groups.items():
        if heading == analyses:
            methods_of_vectors = ", ".join(f"`{name}`" for name in method_names(inlaid.Vectors))
            heading = f"{heading}\n\n{AS_METHODS[language].format(names=methods_of_vectors)}"
        filled = "\n".join(_members(name) if _is_class(name) else _function(name) for name in names)
        parts.append(f"## {heading}\n\n```{{eval-rst}}\n{filled}```\n")
    return "\n".join(parts)


def _functions_of_world() -> list[str]:
    own = inspect.getmembers(inlaid.world, inspect.isfunction)
    return [
        name
        for name, function in own
        if function.__module__ == inlaid.world.__name__ and not name.startswith("_")
    ]


def _is_class(name: str) -> bool:
    """Names of classes are in capitals."""
    return name.rpartition(".")[2][0].isupper()


def _members(name: str) -> str:
    return f".. autoclass:: {name}\n   :members:\n"


def _function(name: str) -> str:
    return f".. autofunction:: {name}\n"
