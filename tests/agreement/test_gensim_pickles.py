"""gensim saves pickles: they are refused by their content, and the error has the line that exports them."""

from __future__ import annotations

import gzip
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.errors import FormatError

models = pytest.importorskip("gensim.models", reason="gensim comes with the extra `peers`")
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)
SENTENCES = [["a", "b", "词", "d"] * 3] * 20
SETTINGS: dict[str, Any] = {"vector_size": 5, "min_count": 1, "workers": 1}


def save_as(kind: str, path: Path) -> Any:
    """Save what people save, and return the vectors that are in it."""
    if kind == "Doc2Vec":
        from gensim.models.doc2vec import TaggedDocument

        documents = [TaggedDocument(words, [number]) for number, words in enumerate(SENTENCES)]
        model = models.Doc2Vec(documents, **SETTINGS)
    elif kind.startswith("FastText"):
        model = models.FastText(SENTENCES, bucket=100, **SETTINGS)
    else:
        model = models.Word2Vec(SENTENCES, **SETTINGS)
    saved = model.wv if "KeyedVectors" in kind else model
    saved.save(str(path), separately=["vectors"] if kind.startswith("separate") else [])
    return model.wv


def exported(error: str) -> Path:
    """Run the line that an error shows, and return the file that it names."""
    found = re.search(r"export it with `(.*)`, then read (\S+?)\.(?:\s|$)", error)
    assert found, error
    subprocess.run([sys.executable, "-W", "ignore", "-c", found[1]], check=True, capture_output=True)
    return Path(found[2])


@pytest.mark.parametrize(
    "kind",
    ["KeyedVectors", "separate KeyedVectors", "Word2Vec", "FastText", "FastTextKeyedVectors", "Doc2Vec"],
)
def test_the_line_that_an_error_shows_exports_the_vectors(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "my.model"
    theirs = save_as(kind, path)
    assert main(["neighbors", str(path), "a"]) == 2
    error = capsys.readouterr().err
    assert f"is a pickle of gensim's class {kind.split()[-1]}" in error
    vectors = inlaid.load(exported(error), report=lambda _: None)
    np.testing.assert_allclose(vectors["词"], theirs["词"], atol=1e-6)
    if kind == "FastText":
        assert vectors.subwords is not None  # the n-grams are exported, too
    with pytest.raises(FormatError, match=r"my\.model-2\.bin"):  # never over a file that is there
        inlaid.load(path)


def test_an_array_beside_a_pickle_leads_to_the_pickle(tmp_path: Path):
    save_as("separate KeyedVectors", tmp_path / "v.kv")
    array = tmp_path / "v.kv.vectors.npy"
    assert array.is_file()
    with pytest.raises(FormatError, match=r"v\.kv is a pickle of gensim's class KeyedVectors"):
        inlaid.load(array)
    array.rename(tmp_path / "alone.npy")
    with pytest.raises(FormatError, match="is one NumPy array, and vectors have words"):
        inlaid.load(tmp_path / "alone.npy")


def test_a_pickle_is_neither_vectors_nor_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_as("Word2Vec", tmp_path / "w.model")
    for words in (["info"], ["train", "sgns", "-o", str(tmp_path / "v.inlaid")], ["evaluate"], ["doctor"]):
        assert main([*words, str(tmp_path / "w.model")]) == 2
        assert "Word2Vec.load(" in capsys.readouterr().err
    packed = tmp_path / "w.model.gz"
    packed.write_bytes(gzip.compress((tmp_path / "w.model").read_bytes()))
    with pytest.raises(FormatError, match="gensim's class Word2Vec"):
        inlaid.load(packed)


class Program:
    """What a pickle of a stranger may do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_is_ever_unpickled(protocol: int, tmp_path: Path):
    (tmp_path / "v.kv").write_bytes(pickle.dumps(Program(tmp_path / "written"), protocol))
    with pytest.raises(FormatError, match="is a Python pickle, which can run any program"):
        inlaid.load(tmp_path / "v.kv")
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_class_is_found_in_every_protocol(protocol: int, tmp_path: Path):
    model = models.Word2Vec(SENTENCES, **SETTINGS)
    model.wv.save(str(tmp_path / "v.kv"), pickle_protocol=protocol)
    with pytest.raises(FormatError, match="class KeyedVectors"):
        inlaid.load(tmp_path / "v.kv")


def test_phrases_of_gensim_have_no_vectors(tmp_path: Path):
    from gensim.models.phrases import Phrases

    Phrases(SENTENCES, min_count=1, threshold=0.1).save(str(tmp_path / "p.pkl"))
    with pytest.raises(FormatError, match="class Phrases, which has no word vectors"):
        inlaid.load(tmp_path / "p.pkl")
