"""Files that change while they are open: an error, or the numbers that were there; never a dead process."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid import array_writer, arrays, open_file
from inlaid.encode.corpus import Encoding, encode
from inlaid.errors import FormatError
from inlaid.vectors import Vectors

TABLE = np.random.default_rng(1).standard_normal((40_000, 20)).astype(np.float32)  # more than three chunks
WORDS = [f"w{id}" for id in range(len(TABLE))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    inlaid.save(Vectors.of(WORDS, TABLE), tmp_path / "v.inlaid")
    return tmp_path / "v.inlaid"


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every array is mapped, as only large ones are."""
    monkeypatch.setattr(open_file, "MAPPED", 0)


def overwrite(path: Path, place: int) -> None:
    """Change one byte in place, as no writer of Inlaid does."""
    stamp = path.stat().st_mtime_ns
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(stamp, stamp + 1_000_000))


CUT = """
import os, sys
import numpy as np
import inlaid
from inlaid import open_file
from inlaid.errors import FormatError
open_file.MAPPED = 0
vectors = inlaid.load(sys.argv[1])
use = {
    "rows": lambda: vectors.rows([39_999]),
    "table": lambda: vectors.table.sum(),
    "neighbors": lambda: vectors.neighbors("w39999"),
}[sys.argv[2]]
if sys.argv[3] == "used":
    use()
os.truncate(sys.argv[4], 100_000)
try:
    use()
except FormatError as error:
    print(error)
"""


@pytest.mark.parametrize("use", ["rows", "table", "neighbors"])
@pytest.mark.parametrize("when", ["used", "fresh"])
def test_a_mapped_file_that_is_cut_short_is_an_error(path: Path, use: str, when: str):
    """In a process of its own: without the check, reading beyond the end of the file kills it (SIGBUS)."""
    ran = subprocess.run([sys.executable, "-c", CUT, path, use, when, path], capture_output=True, text=True)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    assert "has 100,000 bytes; it had 4," in ran.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The same vectors, as a Hugging Face folder."""
    inlaid.save(Vectors.of(WORDS, TABLE), tmp_path / "model", format="static-embedding")
    return tmp_path / "model"


def weights_of(model: Path) -> Path:
    return next(model.rglob("model.safetensors"))


@pytest.mark.parametrize("use", ["rows", "table", "neighbors"])
def test_a_mapped_model_that_is_cut_short_is_an_error(model: Path, use: str):
    command = [sys.executable, "-c", CUT, model, use, "fresh", weights_of(model)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    assert "model.safetensors was changed after it was opened" in ran.stdout


def test_a_mapped_model_that_is_overwritten_is_an_error(model: Path, mapped: None):
    used = inlaid.load(model)
    table = np.array(used.table)
    np.testing.assert_array_equal(used["w5"], TABLE[5])
    fresh = inlaid.load(model)
    np.testing.assert_array_equal(fresh.rows([5]), table[[5]])
    copied = pickle.loads(pickle.dumps(fresh))
    overwrite(weights_of(model), weights_of(model).stat().st_size - 1)
    np.testing.assert_array_equal(used.table, table)  # in memory since it was read
    np.testing.assert_array_equal(copied.table, table)
    for ask in (lambda: fresh.rows([5]), lambda: fresh.table):
        with pytest.raises(FormatError, match="was changed after it was opened"):
            ask()


def test_a_model_that_is_not_mapped_stays_what_it_was(model: Path):
    vectors = inlaid.load(model)
    overwrite(weights_of(model), weights_of(model).stat().st_size - 1)
    os.truncate(weights_of(model), 1000)
    np.testing.assert_array_equal(vectors["w39999"], TABLE[-1])


def test_a_mapped_model_may_be_replaced(model: Path, mapped: None):
    vectors = inlaid.load(model)
    other = weights_of(model).with_suffix(".new")
    other.write_bytes(b"another")
    os.replace(other, weights_of(model))
    np.testing.assert_array_equal(vectors["w39999"], TABLE[-1])


CUT_CORPUS = """
import os, sys
from pathlib import Path
from inlaid import open_file
from inlaid.cli import main
from inlaid.fit.negative_sampling import SampledTraining
open_file.MAPPED = 0
step = SampledTraining.step
def cut(self, done):
    if done:
        os.truncate("corpus/corpus.safetensors", 4000)
    return step(self, done)
SampledTraining.step = cut
sys.exit(main("train sgns corpus -o v.inlaid --dim 4 --epochs 3".split()))
"""


def test_a_corpus_that_is_cut_short_ends_the_training_with_an_error(tmp_path: Path):
    encode(["a b c d e f g h"] * 5000, Encoding(min_count=1), out=tmp_path / "corpus")
    command = [sys.executable, "-c", CUT_CORPUS]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 2, (ran.returncode, ran.stderr)
    assert "corpus.safetensors has 4,000 bytes; it had" in ran.stderr


def test_a_mapped_file_that_is_overwritten_is_an_error(path: Path, mapped: None):
    used = inlaid.load(path)
    np.testing.assert_array_equal(used.table, TABLE)
    fresh = inlaid.load(path)
    fresh.rows([0])
    start = path.stat().st_size - TABLE.nbytes - 100
    table_start = path.read_bytes().index(TABLE[:2].tobytes(), max(start - 10_000_000, 0))
    overwrite(path, table_start + 8)
    for _ in range(2):  # the error does not wear off
        with pytest.raises(FormatError, match="'table' is damaged between bytes 0 and 1,048,576"):
            _ = used.table
        with pytest.raises(FormatError, match="'table' is damaged"):
            fresh.rows([1])


def test_a_mapped_file_that_is_only_touched_is_verified_again(path: Path, mapped: None):
    vectors = inlaid.load(path)
    before = vectors.table
    os.utime(path, ns=(1, 1))
    assert vectors.table is before
    np.testing.assert_array_equal(vectors.rows([5, 39_999]), TABLE[[5, 39_999]])


@pytest.mark.parametrize("limit", [0, open_file.MAPPED])
def test_a_file_that_is_replaced_stays_what_it_was(path: Path, limit: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(open_file, "MAPPED", limit)
    vectors = inlaid.load(path)
    vectors.rows([0])
    inlaid.save(Vectors.of(["a"], [[1.0]]), path)
    np.testing.assert_array_equal(vectors.table, TABLE)
    path.unlink()
    assert vectors.words[7] == "w7"


def test_a_small_file_is_read_and_what_was_read_stays(path: Path):
    vectors = inlaid.load(path)
    vectors.rows([0])
    os.truncate(path, 100_000)
    np.testing.assert_array_equal(vectors.rows([1]), TABLE[[1]])
    with pytest.raises(FormatError, match="'table' is damaged"):
        vectors.rows([39_999])


def test_a_copy_has_every_number_and_no_file(path: Path):
    opened = arrays.open_arrays(path)
    copies = [copy.deepcopy(opened), pickle.loads(pickle.dumps(opened))]
    path.unlink()
    for each in copies:
        np.testing.assert_array_equal(each.rows("table", [3, 39_999]), TABLE[[3, 39_999]])
        np.testing.assert_array_equal(each.whole("table"), TABLE)


def test_a_row_of_many_chunks_is_verified_whole(tmp_path: Path):
    rows = np.zeros((2, 1 << 20), np.float32)  # four chunks a row
    array_writer.write(tmp_path / "a", {"rows": rows}, {})
    overwrite(tmp_path / "a", (tmp_path / "a").stat().st_size - rows.nbytes + (5 << 20))
    opened = arrays.open_arrays(tmp_path / "a")
    np.testing.assert_array_equal(opened.rows("rows", [0]), rows[:1])
    with pytest.raises(FormatError, match="damaged between bytes 5,242,880"):
        opened.rows("rows", [1])
