"""Families: one file and one line in the registry each; no other module knows them by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import inlaid
from inlaid import registry
from inlaid.errors import FormatError, UnknownName
from inlaid.neural.config import Config, make_config
from inlaid.neural.families import all_families, read_config
from inlaid.neural.network import parameter_shapes

PACKAGE = Path(inlaid.__file__).parent
NAMES = [entry.name for entry in registry.entries("family") if entry.name != "inlaid"]
SOURCES = [
    path
    for path in sorted((PACKAGE / "neural").rglob("*.py"))
    if "families" not in path.relative_to(PACKAGE).parts[:-1]
    or path.name in ("__init__.py", "family.py", "names.py")
]
SOURCES.append(PACKAGE / "study" / "explain" / "inspect.py")
FAMILY = re.compile(rf"(?:{'|'.join(NAMES)})(?!3|\w*_config\.json)", re.IGNORECASE)
"""llama3 is a way to scale rotary frequencies, sentence_bert_config.json a file of sentence-transformers for
networks of all families."""


def code_words(path: Path) -> Iterator[str]:
    """Names and strings of a module, docstrings and comments left out: those may give examples."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.arg)):
            yield node.arg if isinstance(node, ast.arg) else node.name
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_other_module_names_a_family(path: Path):
    assert [word for word in code_words(path) if FAMILY.search(word)] == []


def test_the_search_would_find_one():
    found = [
        word for word in code_words(PACKAGE / "neural" / "families" / "roberta.py") if FAMILY.search(word)
    ]
    assert {"Bert", "roberta", "RobertaModel"} <= set(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_called_by_its_model_type(name: str):
    assert all_families()[name].model_type == name


def test_a_new_family_needs_one_line(monkeypatch: pytest.MonkeyPatch):
    entry = registry.Entry("family", "tiny", "neural.families.gpt2:TINY", "a family of this test")
    gpt2 = all_families()["gpt2"]
    tiny = type("Tiny", (type(gpt2),), {"model_type": "tiny"})()
    monkeypatch.setattr("inlaid.neural.families.gpt2.TINY", tiny, raising=False)
    with pytest.raises(UnknownName, match="model_type is 'tiny'"):
        read_config({"model_type": "tiny"})
    monkeypatch.setattr(registry, "ENTRIES", (*registry.ENTRIES, entry))
    assert read_config({"model_type": "tiny"}) == gpt2.read({"model_type": "gpt2"})


@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq"])
@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("position")])
def test_encodings_know_their_tables(name: str, kind: str):
    config = make_config(
        {
            "kind": kind,
            "vocab_size": 9,
            "dim": 12,
            "decoder_layers": int(kind == "seq2seq"),
            "attention.heads": 2,
            "attention.head_dim": 4,
            "positions.kind": name,
            "positions.max_length": 7,
            "positions.offset": 2,
        }
    )
    encoding = registry.find("position", name)
    stack = "encoder" if kind == "seq2seq" else "stack"
    shapes = {
        part.removeprefix(f"{stack}.positions."): tuple(shape)
        for part, shape in parameter_shapes(config).items()
        if part.startswith(f"{stack}.positions.")
    }
    assert encoding.tables(config) == shapes
    assert config.max_length == (7 if name in ("learned", "learned-t5", "rotary") else None)


def test_configs_by_dotted_names_and_by_parts():
    dotted = make_config(
        {"kind": "decoder", "vocab_size": 9, "dim": 8, "attention.heads": 2, "special.end": [3]}
    )
    parts = {"attention": {"heads": 2}, "special": {"end": [3]}}
    assert dotted == make_config({"kind": "decoder", "vocab_size": 9, "dim": 8, **parts})
    assert dotted.special.end == (3,)
    assert dotted.field("attention.heads") == 2
    assert dotted.replace({"attention.heads": 4}).attention.heads == 4
    assert dotted.replace({"attention.heads": 4}).special == dotted.special


def test_unknown_fields_and_encodings_are_named():
    fields = {"kind": "decoder", "vocab_size": 9, "dim": 8}
    with pytest.raises(UnknownName, match="'head'. Did you mean 'heads'"):
        make_config({**fields, "attention.head": 2})
    with pytest.raises(UnknownName, match="No position is called 'rotery'. Did you mean 'rotary'"):
        make_config({**fields, "positions.kind": "rotery"})
    with pytest.raises(FormatError, match="its config cannot be read"):
        read_config({"model_type": "inlaid", "config": {**fields, "attention": 5}})
    with pytest.raises(FormatError, match="its config cannot be read"):
        read_config({"model_type": "inlaid", "config": {**fields, "positions": {"kind": "rotery"}}})


def test_a_config_is_immutable():
    config = Config(kind="decoder", vocab_size=9, dim=8)
    with pytest.raises(AttributeError):
        config.attention.heads = 3  # pyright: ignore[reportAttributeAccessIssue]
