"""Analyses are methods of Vectors, found by name: nothing is imported before, and editors know them from a
stub."""

from __future__ import annotations

import copy
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import inlaid
from inlaid import registry
from inlaid.analysis_methods import VERBS, method_names
from inlaid.study.analysis import analysis_of
from inlaid.vectors import Vectors

ROOT = Path(__file__).parents[2]
NOT_METHODS = {"cooccurrence", "inspect", "stability", "next", "generate", "translate", "distill"}
NOT_METHODS |= {"attend", "attend_step", "heads", "ablate", "attribute", "lens", "referents"}
"""Analyses that start from something else, or from several spaces."""


@pytest.fixture
def vectors() -> Vectors:
    return Vectors.of(["cat", "dog", "鱼"], [[1, 0], [0.9, 0.1], [0, 1]])


def test_every_analysis_of_vectors_is_a_method(vectors: Vectors):
    names = {entry.name for entry in registry.entries("analysis")}
    assert set(method_names(Vectors)) == names - NOT_METHODS
    for name in method_names(Vectors):
        method = getattr(vectors, name)
        study = analysis_of(registry.find("analysis", name))
        assert method.__func__ is study.function
        assert list(inspect.signature(method).parameters)[:1] != [study.inputs[0].name]
        assert method.__doc__


def test_a_method_answers_as_the_function_does(vectors: Vectors):
    assert vectors.neighbors("cat", n=1) == inlaid.neighbors(vectors, "cat", n=1)
    assert [each.word for each in vectors.neighbors("cat", n=1)] == ["dog"]
    assert vectors.similarity("cat", "dog") == inlaid.similarity(vectors, "cat", "dog")
    assert vectors.compare(vectors).to_dict() == inlaid.compare(vectors, vectors).to_dict()


def test_words_may_be_given_one_by_one(vectors: Vectors):
    assert inlaid.similarity(vectors, "cat", "dog") == inlaid.similarity(vectors, ["cat", "dog"])[0].cosine
    assert inlaid.similarity(vectors, "cat", "dog", "鱼") == inlaid.similarity(vectors, ["cat", "dog", "鱼"])
    assert vectors.odd_one_out("cat", "dog", "鱼").word == "鱼"
    assert [each.query for each in vectors.neighbors("cat", "鱼")] == ["cat", "鱼"]


def test_completion_shows_the_methods(vectors: Vectors):
    shown = dir(vectors)
    assert {"neighbors", "similarity", "map", "words", "table"} <= set(shown)
    assert not NOT_METHODS & set(shown)
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("neighbor", "'Vectors' object has no attribute 'neighbor'. Did you mean 'neighbors'?"),
        ("most_similar", "'Vectors' object has no attribute 'most_similar'. Did you mean 'neighbors'?"),
        ("tabel", "'Vectors' object has no attribute 'tabel'. Did you mean 'table'?"),
        ("xyzzy", "'Vectors' object has no attribute 'xyzzy'."),
        ("_private", "'Vectors' object has no attribute '_private'."),
        ("stability", "'stability' is not a method of vectors. Call `inlaid.stability(...)`."),
    ],
)
def test_a_wrong_name_leads_to_the_right_one(typed: str, said: str, vectors: Vectors):
    with pytest.raises(AttributeError) as error:
        getattr(vectors, typed)
    assert str(error.value) == said


@pytest.mark.parametrize(("typed", "meant"), [("most_similar", "neighbors"), ("trian", "train")])
def test_a_wrong_name_of_the_package_leads_to_the_right_one(typed: str, meant: str):
    with pytest.raises(AttributeError, match=f"has no attribute '{typed}'. Did you mean '{meant}'?"):
        getattr(inlaid, typed)


def test_attributes_of_vectors_come_first(vectors: Vectors, monkeypatch: pytest.MonkeyPatch):
    """An analysis that has the name of an attribute cannot hide it."""
    line = registry.Entry("analysis", "words", "study.search.neighbors:neighbors", "")
    monkeypatch.setattr(registry, "ENTRIES", (line, *registry.ENTRIES))
    assert list(vectors.words) == ["cat", "dog", "鱼"]
    assert not set(method_names(Vectors)) & {"words", "table", "find"} - {"words"}


def test_no_analysis_has_the_name_of_an_attribute(vectors: Vectors):
    assert not {*method_names(Vectors), *VERBS} & set(object.__dir__(vectors))


def test_copies_have_the_methods_too(vectors: Vectors):
    assert copy.copy(vectors).neighbors("cat", n=1) == vectors.neighbors("cat", n=1)
    assert list(copy.deepcopy(vectors).words) == list(vectors.words)


def test_methods_import_nothing_before_they_are_used():
    code = """
import sys, inlaid
vectors = inlaid.Vectors.of(["cat", "dog"], [[1, 0], [0, 1]])
assert not hasattr(vectors, "xyzzy")
assert not [name for name in sys.modules if name.startswith("inlaid.study")]
vectors.similarity("cat", "dog")
assert "inlaid.study.search.similarity" in sys.modules
assert "inlaid.study.map.map" not in sys.modules
dir(vectors)
names = ("numba", "torch", "sklearn", "fastapi", "matplotlib", "faiss")
heavy = [name for name in names if name in sys.modules]
assert not heavy, heavy
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_the_stubs_are_what_the_registry_says(tmp_path: Path):
    """In a process of its own: the checks of types that tests run with wrap the functions."""
    pytest.importorskip("pydantic", reason="pydantic is not installed: pip install 'inlaid[serve]'")
    subprocess.run([sys.executable, ROOT / "docs" / "stubs.py", tmp_path], check=True)
    for fresh in tmp_path.iterdir():
        written = (ROOT / "inlaid" / fresh.name).read_text("utf-8")
        assert written == fresh.read_text("utf-8"), f"{fresh.name} is out of date: run `make docs`"
    assert len(list(tmp_path.iterdir())) == 2
