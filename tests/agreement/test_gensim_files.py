"""Real files read by gensim and by us: the same words, the same bits; and gensim reads what we write."""

from __future__ import annotations

import gzip
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from inlaid import storage
from inlaid.errors import FormatError
from inlaid.formats import lines
from inlaid.formats.reading import Start
from inlaid.vectors import Vectors

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)  # gensim's open files
peer = pytest.importorskip("gensim.models.keyedvectors").KeyedVectors

FILES = {
    "pretrained_glove/glove.6B.100d.sample.txt.gz": "glove",
    "pretrained_glove/glove.6B.50d.top30k.txt.xz": "glove",
    "pretrained_gensim_test/test_glove.txt": "glove",
    "pretrained_gensim_test/EN.1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt": "word2vec-text",
    "pretrained_gensim_test/crime-and-punishment.vec": "word2vec-text",
    "pretrained_gensim_test/lee_fasttext.vec": "word2vec-text",
    "pretrained_gensim_test/toy-model.vec": "word2vec-text",
    "pretrained_gensim_test/high_precision.kv.txt": "word2vec-text",
    "pretrained_gensim_test/high_precision.kv.bin": "word2vec",
    "pretrained_gensim_test/euclidean_vectors.bin": "word2vec",
    "pretrained_synonyms_zh_word2vec/words.top20k.bin.xz": "word2vec",
}
LIMIT = 5000


def unpacked(path: Path, folder: Path) -> Path:
    """gensim unpacks less than we do."""
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "rb") as packed, (folder / "plain").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return folder / "plain"


def theirs(path: Path, format: str) -> tuple[list[str], np.ndarray]:
    found = peer.load_word2vec_format(
        str(path), binary=format == "word2vec", no_header=format == "glove", limit=LIMIT
    )
    return found.index_to_key, found.vectors


@pytest.mark.parametrize(("name", "format"), FILES.items(), ids=[Path(name).name for name in FILES])
def test_the_same_words_and_bits(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, format: str
):
    words, table = theirs(unpacked(data / name, tmp_path), format)
    ours = storage.load(data / name, top=LIMIT)
    assert list(ours.words) == words
    assert ours.table.tobytes() == table.astype(np.float32, copy=False).tobytes()
    if format != "word2vec":  # again, now through the kernel and in many blocks
        monkeypatch.setattr(lines, "BLOCK", 50_000)
        assert storage.load(data / name, format=format, top=LIMIT).table.tobytes() == table.tobytes()


def test_a_file_of_gensims_tests_whose_header_promises_too_much_is_refused(data: Path):
    with pytest.raises(FormatError, match="promises 3 words, found only 1"):
        storage.load(data / "pretrained_gensim_test/pretrained.vec")
    assert list(storage.load(data / "pretrained_gensim_test/pretrained.vec", top=1).words) == ["dummy"]


@pytest.mark.parametrize(
    "name",
    [
        "toy-model.bin",
        "lee_fasttext.bin",
        "crime-and-punishment.bin",
        "crime-and-punishment.txt",
        "toy-data.txt",
    ],
)
def test_other_files_are_left_to_others(data: Path, name: str):
    start = Start.of(data / "pretrained_gensim_test" / name)
    assert not any(
        storage.registry.find("format", each).recognizes(start)
        for each in ("glove", "word2vec-text", "word2vec")
    )


@pytest.mark.parametrize("format", ["glove", "word2vec-text", "word2vec"])
def test_gensim_reads_what_we_write(tmp_path: Path, format: str):
    table = np.random.default_rng(1).integers(0, 1 << 32, (500, 4), np.uint32).view(np.float32)
    table = np.ascontiguousarray(table[np.isfinite(table).all(axis=1)])
    vectors = Vectors.of([f"词{n}" for n in range(len(table))], table)
    storage.save(vectors, tmp_path / "v", format=format)
    words, found = theirs(tmp_path / "v", format)
    assert words == list(vectors.words)
    assert found.tobytes() == table.tobytes()
