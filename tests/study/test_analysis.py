"""The contract of analyses: settings as keywords, a readable signature, inputs for the command line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inlaid.config import Positive, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, UnknownName
from inlaid.report import Report, silent
from inlaid.study.analysis import Result, analysis, analysis_of, plain
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class ToySettings:
    """Settings of the toy."""

    n: Positive = 3
    """How many."""
    name: str = "a"
    """A name, and a docstring
    of two lines."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Toy:
    n: int
    words: tuple[str, ...]

    def rows(self) -> Sequence[str | tuple[str, ...]]:
        return [("n", str(self.n))]

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def toy(
    vectors: Vectors | None,
    words: str | Sequence[str],
    corpus: Corpus | None = None,
    settings: ToySettings | None = None,
    *,
    also: tuple[Vectors, ...] = (),
    path: Path | None = None,
    python_only: np.ndarray | None = None,
    report: Report = silent,
) -> Toy:
    """What a toy does,
    in two lines.

    More about it.

    Args:
        words: the words, explained
            on two lines
        also: more vectors
    """
    return Toy((settings or ToySettings()).n, tuple(words))


def test_settings_are_keywords():
    assert toy(None, ["b"]).n == 3
    assert toy(None, ["b"], n=5).n == 5
    assert toy(None, words=["b"], n=5).words == ("b",)
    assert toy(None, ["b"], settings=ToySettings(n=4)).n == 4
    assert toy(None, ["b"], None, ToySettings(n=4)).n == 4


def test_keywords_are_checked():
    with pytest.raises(UnknownName, match="No setting is called 'nmae'. Did you mean 'name'?"):
        toy(None, ["b"], nmae="c")
    with pytest.raises(SettingError, match="n is 0; expected at least 1."):
        toy(None, ["b"], n=0)
    with pytest.raises(SettingError, match="n is given beside `settings`"):
        toy(None, ["b"], settings=ToySettings(), n=4)


def test_the_signature_shows_the_settings():
    shown = list(inspect.signature(toy).parameters)
    assert shown == [
        *("vectors", "words", "corpus", "settings"),
        *("n", "name", "also", "path", "python_only", "report"),
    ]
    assert inspect.signature(toy).parameters["n"].default == 3


def test_inputs_for_the_command_line():
    study = analysis_of(toy)
    assert study.summary == "What a toy does, in two lines."
    assert [(each.name, each.type, each.many, each.flag, each.required) for each in study.inputs] == [
        ("vectors", Vectors, False, False, True),
        ("words", str, True, False, True),
        ("corpus", Corpus, False, True, False),
        ("also", Vectors, True, True, False),
        ("path", Path, False, True, False),
    ]
    assert study.inputs[1].help == "the words, explained on two lines"


def test_docstrings_of_fields():
    assert analysis_of(toy).settings_help() == {
        "n": "How many.",
        "name": "A name, and a docstring of two lines.",
    }


def test_a_result_for_json():
    assert isinstance(toy(None, ["b"]), Result)
    held = {
        "a": float("nan"),
        "b": np.array([1.0, np.inf]),
        "c": (Path("x"), np.int64(3)),
        "d": Toy(1, ("b",)),
    }
    assert plain(held) == {"a": None, "b": [1.0, None], "c": ["x", 3], "d": {"n": 1, "words": ["b"]}}
