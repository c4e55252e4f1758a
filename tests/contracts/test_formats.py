"""What every format promises: vectors come back bit for bit, and a file that is not whole is refused or read
rightly."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid import registry
from inlaid.cli import main
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, InlaidError
from inlaid.formats.reading import Format, Start
from inlaid.report import Event
from inlaid.vectors import Vectors

NO_PYARROW = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow comes with the extra `parquet`"
)
WRITTEN = [
    pytest.param(entry, id=entry.name, marks=NO_PYARROW if entry.extra else ())
    for entry in registry.entries("format")
]
FILES = {
    "projector": "v",
    "static-embedding": "v",
    "model2vec": "v",
    "fasttext": "v.bin",
    "word2vec": "v.bin",
}
WORDS = ["the", "猫", "naïve", "e-mail", "🙂", "北京", "a.b"]


@pytest.fixture(params=WRITTEN)
def name(request: pytest.FixtureRequest) -> str:
    return request.param.name


@pytest.fixture
def vectors() -> Vectors:
    table = np.random.default_rng(1).standard_normal((len(WORDS), 5)).astype(np.float32)
    table[2] = [0.0, -0.0, 1e-42, 3.4e38, -1.17549435e-38]
    return Vectors(Words.of(WORDS), table, np.arange(len(WORDS), 0, -1))


def _path(name: str, folder: Path) -> Path:
    return folder / FILES.get(name, f"v{(registry.find('format', name).SUFFIXES or ('.txt',))[0]}")


def test_vectors_come_back_bit_for_bit(name: str, vectors: Vectors, tmp_path: Path):
    inlaid.save(vectors, _path(name, tmp_path), format=name)
    found = inlaid.load(_path(name, tmp_path))
    assert found.words[: len(WORDS)] == WORDS
    assert found.table[: len(WORDS)].tobytes() == vectors.table.tobytes()
    assert list(found.words[len(WORDS) :]) in (
        [],
        ["[UNK]"],
    )  # folders of other libraries need a row for what is unknown


def test_what_was_written_is_recognized_by_one_format_alone(name: str, vectors: Vectors, tmp_path: Path):
    inlaid.save(vectors, _path(name, tmp_path), format=name)
    start = Start.of(_path(name, tmp_path))
    assert [entry.name for entry in registry.entries("format") if entry.load().recognizes(start)] == [name]


def test_the_first_words_alone(name: str, vectors: Vectors, tmp_path: Path):
    inlaid.save(vectors, _path(name, tmp_path), format=name)
    found = inlaid.load(_path(name, tmp_path), top=3)
    assert list(found.words) == WORDS[:3]
    assert found.table.tobytes() == vectors.table[:3].tobytes()


def test_an_empty_file_is_refused(name: str, tmp_path: Path):
    path = _path(name, tmp_path)
    if not path.suffix:
        path.mkdir()
    else:
        path.write_bytes(b"")
    with pytest.raises(FormatError):
        inlaid.load(path)


def test_a_file_cut_anywhere_is_refused_or_reported_never_silently_wrong(
    name: str, vectors: Vectors, tmp_path: Path
):
    path = _path(name, tmp_path)
    inlaid.save(vectors, path, format=name)
    whole = {word: vectors[word].tobytes() for word in WORDS}
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in (each for each in files if each.is_file()):
        data = file.read_bytes()
        for size in range(0, len(data), max(1, len(data) // 60)):
            file.write_bytes(data[:size])
            events: list[Event] = []
            try:
                found = inlaid.load(path, report=events.append)
                assert any("no line end" in str(event) for event in events) or all(
                    whole.get(word) == found[word].tobytes() for word in found.words if word in whole
                )
            except InlaidError:
                pass
        file.write_bytes(data)


def with_all_parts() -> Vectors:
    """Vectors that have counts, a context table and n-grams."""
    values = np.random.default_rng(2)
    own = values.standard_normal((len(WORDS), 5)).astype(np.float32)
    buckets = values.standard_normal((50, 5)).astype(np.float32)
    ngrams = NGrams(own=own, buckets=buckets, size=50, min_n=3, max_n=4)
    words = Words.of(WORDS)
    counts = np.arange(len(WORDS), 0, -1)
    contexts = values.standard_normal((len(WORDS), 5)).astype(np.float32)
    table = NGramTable(ngrams, words.blob, words.offsets)
    return Vectors(words, table, counts, contexts=contexts, subwords=ngrams)


def parts_in(vectors: Vectors) -> dict[str, bytes]:
    """The bytes of the parts that vectors have; of n-grams the vector they compose for an unknown word."""
    found: dict[str, bytes] = {}
    if vectors.counts is not None:
        found["counts"] = vectors.counts.tobytes()
    if vectors.contexts is not None:
        contexts = vectors.contexts
        rows = contexts if isinstance(contexts, np.ndarray) else contexts.whole()
        found["contexts"] = rows.tobytes()
    if vectors.subwords is not None:
        found["n-grams"] = vectors["unseen"].tobytes()
    return found


def test_a_format_is_what_the_protocol_says(name: str):
    assert isinstance(registry.find("format", name), Format)


def test_a_file_keeps_what_its_format_says_it_stores_and_the_rest_is_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "all.inlaid"
    given = with_all_parts()
    inlaid.save(given, source)
    assert main(["convert", str(source), str(_path(name, tmp_path)), "--format", name]) == 0
    shown = " ".join(capsys.readouterr().err.split())
    found = inlaid.load(_path(name, tmp_path))
    stores = registry.find("format", name).STORES
    assert parts_in(found) == {part: value for part, value in parts_in(given).items() if part in stores}
    left_out = [part for part in ("contexts", "n-grams", "counts") if part not in stores]
    if left_out:
        assert f"cannot store these parts of the vectors: {', '.join(left_out)}." in shown
    else:
        assert "cannot store" not in shown
