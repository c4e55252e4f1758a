"""Folders: the input table is found or its candidates are named; broken folders are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import inlaid
from inlaid.cli import main
from inlaid.errors import FormatError, WriteError
from inlaid.formats.folder import MODEL2VEC, STATIC_EMBEDDING, FolderFormat
from inlaid.formats.reading import Reading
from inlaid.vectors import Vectors


def make(
    folder: Path, tensors: dict[str, np.ndarray], config: object = None, words: list[str] | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or {}))
    save_file(tensors, folder / "model.safetensors")
    if words is not None:
        (folder / "vocab.txt").write_text("\n".join(words), "utf-8")
    return folder


def table(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_by_size_where_the_name_is_unusual(tmp_path: Path):
    tensors = {"strange.name": table(4, 2), "lm_head.weight": table(4, 2, seed=2), "other": table(3, 2)}
    found = inlaid.load(make(tmp_path / "f", tensors, {"vocab_size": 4}, ["a", "b", "猫", "[UNK]"]))
    assert found.table.tobytes() == tensors["strange.name"].tobytes()
    assert found.id("猫") == 2
    assert found.card.notes == ("input table strange.name",)


def test_candidates_are_named_where_the_table_is_ambiguous(tmp_path: Path):
    two = {"a.embed_tokens.weight": table(4, 2), "b.embed_tokens.weight": table(4, 2, seed=2)}
    with pytest.raises(
        FormatError, match=r"candidates: a.embed_tokens.weight \(4, 2\), b.embed_tokens.weight"
    ):
        inlaid.load(make(tmp_path / "f", two, {"vocab_size": 4}))
    with pytest.raises(FormatError, match="found no matrix among its 1 tensors"):
        inlaid.load(make(tmp_path / "g", {"bias": table(4)}))
    tied = dict.fromkeys(two, two["a.embed_tokens.weight"].copy())
    assert len(inlaid.load(make(tmp_path / "h", {name: each.copy() for name, each in tied.items()}))) == 4


def test_rows_and_words_that_do_not_match_are_reported(tmp_path: Path):
    notes: list[object] = []
    found = inlaid.load(
        make(tmp_path / "f", {"wte.weight": table(3, 2)}, None, ["a", "b"]), report=notes.append
    )
    assert list(found.words) == ["a", "b", "<row 2>"]
    assert "1 of 3 rows belong to no token (the first is row 2)" in str(notes)
    found = inlaid.load(
        make(tmp_path / "g", {"wte.weight": table(2, 2)}, None, ["a", "b", "c"]), report=notes.append
    )
    assert list(found.words) == ["a", "b"]
    assert "1 tokens of the tokenizer have no row" in str(notes)


def test_only_the_first_words(tmp_path: Path):
    folder = make(tmp_path / "f", {"wte.weight": table(5, 2)}, None, list("abcde"))
    found = STATIC_EMBEDDING.read(folder, Reading(top=2))
    assert (list(found.words), found.table.tobytes()) == (["a", "b"], table(5, 2)[:2].tobytes())


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        (
            {"embeddings": table(2, 3), "mapping": np.array([0, 2])},
            "`mapping` names rows outside the table of 2 rows",
        ),
        ({"embeddings": table(2, 3), "weights": table(5)}, "expected 2 `weights`, one for each token"),
        (
            {"embeddings": table(2, 3), "weights": np.ones(2, np.uint8)},
            "weights has dtype U8; expected one of",
        ),
        ({"embeddings": np.full((2, 3), np.nan, np.float32)}, r"'<row 0>' \(row 0\) holds NaN"),
        ({"embeddings": table(2, 0)}, r"has shape \(2, 0\); expected at least one row"),
        ({"embeddings": table(0, 2)}, r"has shape \(0, 2\); expected at least one row"),
        (
            {"embeddings": table(2, 3), "mapping": np.array([0, np.nan], np.float32)},
            r"`mapping` is F32 of shape \(2,\); expected the number of a row for each token, I64 or I32",
        ),
        ({"embeddings": table(2, 3), "mapping": np.array(0)}, r"`mapping` is I64 of shape \(\)"),
        ({"embeddings": table(2, 3), "mapping": np.zeros(0, np.int64)}, r"`mapping` is I64 of shape \(0,\)"),
        (
            {"embeddings": table(1, 100_000), "mapping": np.zeros(100_000, np.int32)},
            "it declares 40,000,000,000 bytes of content in 800,000 bytes",
        ),
    ],
)
def test_tables_that_do_not_hold(tensors: dict[str, np.ndarray], said: str, tmp_path: Path):
    with pytest.raises(FormatError, match=said):
        _ = inlaid.load(make(tmp_path / "f", tensors)).table


@pytest.mark.parametrize(
    "modules", ["[]", "{", '[{"type": "x", "path": "../out"}]', '[{"type": "x", "path": "missing"}]', "[1]"]
)
def test_modules_that_lead_nowhere(modules: str, tmp_path: Path):
    (make(tmp_path / "f", {"wte.weight": table(1, 1)}) / "modules.json").write_text(modules)
    with pytest.raises(FormatError, match="modules.json"):
        inlaid.load(tmp_path / "f")


def test_a_module_path_that_no_file_system_allows_is_refused(tmp_path: Path):
    folder = make(tmp_path / "f", {"wte.weight": table(1, 1)})
    module = {"type": "sentence_transformers.models.StaticEmbedding", "path": "x" * 5000}
    (folder / "modules.json").write_text(json.dumps([module]))
    with pytest.raises(FormatError, match="expected a folder inside"):
        inlaid.load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"model": {}}',
        '{"model": {"vocab": {"a": "b"}}}',
        '{"model": {"vocab": [1]}}',
        '{"model": 1}',
    ],
)
def test_tokenizers_that_list_no_words(text: str, tmp_path: Path):
    (make(tmp_path / "f", {"wte.weight": table(1, 1)}) / "tokenizer.json").write_text(text)
    with pytest.raises(FormatError, match="tokenizer.json"):
        inlaid.load(tmp_path / "f")


DEEP = {"list": "[" * 200_000, "object": '{"a":' * 200_000, "closed": "[" * 900 + "]" * 900}


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "modules.json",
        "model.safetensors.index.json",
        "tokenizer.json",
        "vocab.json",
    ],
)
def test_json_nested_too_deeply_is_one_line(
    name: str, depth: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = make(tmp_path / "f", {"wte.weight": table(1, 1)})
    (folder / name).write_text(DEEP[depth])
    assert main(["convert", str(folder), str(tmp_path / "out.inlaid")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{name}: " in line
    assert "nested more than" in line


ODD_WORDS = {
    "lone surrogate": {"a": 0, "\ud800": 1},
    "same id": {"a": 0, "b": 0},
    "huge id": {"a": 0, "b": 10**18},
    "negative": {"a": 0, "b": -1},
    "float": {"a": 0, "b": 1.0},
    "true": {"a": 0, "b": True},
    "null": {"a": 0, "b": None},
    "empty word": {"a": 0, "": 1},
    "name of a row": {"a": 0, "<row 2>": 1},
    "newline": {"a\nb": 0, "\0": 1},
    "long": {"a" * 1_000_000: 0, "b": 1},
    "empty": {},
}


@pytest.mark.parametrize("form", ["vocab.json", "tokenizer.json", "unigram"])
@pytest.mark.parametrize("odd", ODD_WORDS)
def test_odd_words_are_read_or_refused_in_one_line(
    odd: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = make(tmp_path / "f", {"wte.weight": table(3, 2)})
    words: object = ODD_WORDS[odd]
    if form == "unigram":
        words = {"model": {"vocab": [[word, id] for word, id in ODD_WORDS[odd].items()]}}
    elif form == "tokenizer.json":
        words = {"model": {"vocab": words}}
    (folder / ("vocab.json" if form == "vocab.json" else "tokenizer.json")).write_text(json.dumps(words))
    code = main(["convert", str(folder), str(tmp_path / "out.inlaid")])
    errors = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert (code, len(errors)) in ((0, 0), (2, 1)), errors
    if code == 0:
        assert np.array_equal(inlaid.load(tmp_path / "out.inlaid").table, table(3, 2))


@pytest.mark.parametrize("layout", [STATIC_EMBEDDING, MODEL2VEC])
def test_a_folder_that_exists_is_left_alone(layout: object, tmp_path: Path):
    with pytest.raises(WriteError, match="already exists"):
        layout.write(Vectors.of(["a"], [[1.0]]), tmp_path)  # pyright: ignore[reportAttributeAccessIssue]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("layout", [STATIC_EMBEDDING, MODEL2VEC], ids=lambda layout: layout.name)
def test_vectors_of_subwords_are_written_with_their_tokenizer(tmp_path: Path, layout: FolderFormat):
    text = ["中国的首都是Beijing", "中国人说中文"] * 20
    vectors = inlaid.train(text, "ppmi", tokenizer="bpe", subwords=290, normalize=("lower",), dim=4)
    layout.write(vectors, tmp_path / "f")
    tokenizer = Tokenizer.from_file(str(tmp_path / "f/tokenizer.json"))
    ids = tokenizer.encode("中国人说Beijing", add_special_tokens=False).ids
    assert [vectors.words[id] for id in ids] == vectors.tokenizer.words("中国人说beijing")
    found = inlaid.load(tmp_path / "f")
    assert list(found.words) == list(vectors.words)
    assert found.find("中国") == vectors.find("中国")
    np.testing.assert_array_equal(found.table, vectors.table)
