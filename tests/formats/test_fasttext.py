"""fastText's files: what we write comes back bit for bit; what is broken is refused by byte and field."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, InlaidError
from inlaid.formats import fasttext
from inlaid.formats.reading import Reading, Start
from inlaid.report import Note
from inlaid.suggestions import suggestion
from inlaid.vectors import Card, Vectors

WORDS = ["the", "猫", "</s>", "café", "人工智能"]
RANDOM = np.random.default_rng(5)


def table(rows: int, dim: int = 3) -> np.ndarray:
    return RANDOM.standard_normal((rows, dim)).astype(np.float32)


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    words = Words.of(WORDS)
    ngrams = NGrams(own=table(5), buckets=table(20), size=20, min_n=2, max_n=4)
    card = Card(settings={"window": 7, "objective": "cbow", "epochs": 3})
    return Vectors(words, NGramTable.of(words, ngrams), np.array([9, 7, 5, 3, 1]), card, table(5), ngrams)


@pytest.fixture
def written(vectors: Vectors, tmp_path: Path) -> Path:
    fasttext.write(vectors, tmp_path / "v.bin")
    return tmp_path / "v.bin"


def test_a_quantized_table_much_larger_than_its_file_is_refused(tmp_path: Path):
    """One byte for each row of 8,000 numbers."""
    rows = 10_000
    dim = 8_000
    settings = struct.pack("<14id", 793712314, 12, dim, 5, 5, 1, 5, 1, 2, 2, 0, 0, 0, 100, 1e-4)
    words = b"".join(b"w%d\0" % number + struct.pack("<qb", 1, 0) for number in range(rows))
    dictionary = struct.pack("<3i2q", rows, rows, 0, rows, -1) + words
    quantized = struct.pack("<??2qi", True, False, rows, dim, rows) + bytes(rows)
    centroids = struct.pack("<4i", dim, 1, dim, dim) + bytes(dim * 256 * 4)
    (tmp_path / "a.ftz").write_bytes(settings + dictionary + quantized + centroids)
    fasttext_error = r"a.ftz: byte .* the mark that says whether the output matrix"
    with pytest.raises(FormatError, match=fasttext_error):  # 40 times: up to the end, which is missing
        fasttext.read(tmp_path / "a.ftz")
    (tmp_path / "a.ftz").write_bytes(settings + dictionary + quantized)
    with pytest.raises(FormatError, match="a.ftz: it declares 320,000,000 bytes of content"):
        fasttext.read(tmp_path / "a.ftz")


def same(found: Vectors, vectors: Vectors) -> None:
    assert found.words == vectors.words
    assert found.table.tobytes() == vectors.table.tobytes()
    assert found["没见过"].tobytes() == vectors["没见过"].tobytes()


def test_everything_comes_back(vectors: Vectors, written: Path):
    found = fasttext.read(written)
    same(found, vectors)
    assert found.counts is not None
    assert found.counts.tolist() == [9, 7, 5, 3, 1]
    assert found.contexts is not None
    assert found.contexts.whole().tobytes() == vectors.contexts.tobytes()  # pyright: ignore
    assert (
        found.card.settings["window"],
        found.card.settings["objective"],
        found.card.settings["epochs"],
    ) == (7, "cbow", 3)
    fasttext.write(found, written.with_name("again.bin"))
    assert written.with_name("again.bin").read_bytes() == written.read_bytes()


def test_it_is_recognized_by_content_and_read_compressed(vectors: Vectors, written: Path):
    assert fasttext.recognizes(Start.of(written))
    assert not fasttext.recognizes(Start(written, b"1000 300\nthe "))
    inlaid.save(vectors, written.with_name("v.bin.gz"), format="fasttext")
    assert gzip.decompress(written.with_name("v.bin.gz").read_bytes()) == written.read_bytes()
    same(inlaid.load(written.with_name("v.bin.gz")), vectors)


def test_the_first_words_keep_all_buckets(vectors: Vectors, written: Path):
    found = fasttext.read(written, Reading(top=2))
    assert list(found.words) == WORDS[:2]
    assert found.table.tobytes() == vectors.table[:2].tobytes()
    assert found["没见过"].tobytes() == vectors["没见过"].tobytes()


def test_only_the_words_asked_for_are_made(written: Path):
    found = fasttext.read(written)
    assert "_table" not in found.__dict__
    assert found["猫"].shape == (3,)
    assert "_table" not in found.__dict__


def test_vectors_without_ngrams_counts_or_contexts(tmp_path: Path):
    notes: list[Note] = []
    plain = Vectors.of(["a", "b"], [[1, 2], [3, 4]])
    fasttext.write(plain, tmp_path / "v.bin", notes.append)  # pyright: ignore[reportArgumentType]
    assert [note.text.split(":")[0] for note in notes if isinstance(note, Note)] == [
        "The vectors have no counts",
        "The vectors have no context table",
    ]
    found = fasttext.read(tmp_path / "v.bin")
    assert found.subwords is None
    assert found.table.tolist() == [[1, 2], [3, 4]]
    assert found.table.flags.aligned
    assert found.rows([1]).tolist() == [[3, 4]]
    assert found.counts is not None
    assert found.counts.tolist() == [2, 1]


def planted(words: int = 600, dim: int = 9) -> Vectors:
    """Words in three groups, whose rows are near each other, with n-grams of which some have a row."""
    random = np.random.default_rng(1)
    own = (np.arange(words)[:, None] % 3 == np.arange(dim) % 3) + 0.1 * random.standard_normal((words, dim))
    kept = np.arange(0, 5000, 7, dtype=np.int32)
    buckets = 0.1 * random.standard_normal((len(kept), dim)).astype(np.float32)
    ngrams = NGrams(own=own.astype(np.float32), buckets=buckets, size=5000, min_n=3, max_n=5, kept=kept)
    names = [f"word{number}" for number in range(words)]
    blob = np.frombuffer("".join(names).encode(), np.uint8)
    table = NGramTable(ngrams, blob, np.cumsum([0, *map(len, names)]))
    counts = np.arange(words, 0, -1)
    return Vectors(Words.of(names), table, counts, contexts=own.astype(np.float32), subwords=ngrams)


def test_a_quantized_model_is_small_and_near(tmp_path: Path):
    vectors = planted()
    notes = list[Any]()
    fasttext.write(vectors, tmp_path / "v.ftz", notes.append)
    fasttext.write(vectors, tmp_path / "again.ftz")
    assert (tmp_path / "v.ftz").read_bytes() == (tmp_path / "again.ftz").read_bytes()
    measured = [note.values["cosine"] for note in notes if isinstance(note, Note)]
    assert len(measured) == 2
    assert min(measured) > 0.98
    found = fasttext.read(tmp_path / "v.ftz")
    assert list(found) == list(vectors)
    assert found.counts is not None
    assert found.counts.tolist() == vectors.counts.tolist()  # pyright: ignore[reportOptionalMemberAccess]
    cosines = [
        float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))
        for one, two in zip(found.table, vectors.table, strict=True)
    ]
    assert np.mean(cosines) == pytest.approx(measured[0], abs=0.01)
    assert found.contexts is not None
    unseen = vectors.get("wordless")
    assert np.linalg.norm(found["wordless"] - unseen) < 0.3 * np.linalg.norm(unseen)


def test_few_rows_are_quantized_without_loss(vectors: Vectors, tmp_path: Path):
    """Where there are no more rows than centroids, each is its own centroid."""
    notes = list[Any]()
    few = vectors.select(list(vectors)[:3])
    fasttext.write(few, tmp_path / "v.ftz", notes.append)
    np.testing.assert_allclose(fasttext.read(tmp_path / "v.ftz").table, few.table, atol=1e-4)


def test_what_cannot_be_written(vectors: Vectors, tmp_path: Path):
    with pytest.raises(FormatError, match="zero byte"):
        fasttext.write(Vectors.of(["a\0b"], [[1.0]]), tmp_path / "v.bin")
    assert not list(tmp_path.iterdir())


def test_invalid_words_are_hashed_as_written(written: Path):
    broken = written.read_bytes().replace("猫".encode(), b"\xe7\x8c\xff", 1)
    written.write_bytes(broken)
    with pytest.raises(FormatError, match="not UTF-8"):
        fasttext.read(written)
    found = fasttext.read(written, Reading(invalid="replace"))
    assert list(found.words)[1] == "\ufffd\ufffd"
    skipped = fasttext.read(written, Reading(invalid="skip"))
    assert list(skipped.words) == ["the", "</s>", "café", "人工智能"]
    assert skipped.table.tobytes() == found.table[[0, 2, 3, 4]].tobytes()


FIELDS = [
    (0, "i", 5, "byte 0: the magic number is 5; expected"),
    (4, "i", 13, "byte 4: the version is 13; expected 11 to 12"),
    (8, "i", -3, "byte 8: dim is -3"),
    (8, "i", 1 << 23, "the input matrix is 3; expected 8,388,608"),
    (32, "i", 9, "byte 32: loss is 9"),
    (40, "i", -1, "byte 40: buckets is -1"),
    (40, "i", 0, "byte 40: buckets is 0; expected at least 1, for n-grams"),
    (48, "i", 1 << 30, "byte 48: max_n is 1,073,741,824"),
    (56, "d", float("nan"), "byte 56: the subsampling threshold is nan"),
    (64, "i", -1, "byte 64: the number of entries is -1"),
    (64, "i", 1 << 30, "byte 72: the number of labels is 0"),
    (68, "i", 6, "byte 68: the number of words is 6"),
    (76, "q", -1, "byte 76: the number of tokens is -1"),
    (84, "q", 1 << 40, "byte 84: the number of kept buckets"),
]


@pytest.mark.parametrize(("at", "form", "value", "said"), FIELDS)
def test_a_wrong_field_is_named(at: int, form: str, value: float, said: str, written: Path):
    data = bytearray(written.read_bytes())
    struct.pack_into(f"<{form}", data, at, value)
    written.write_bytes(data)
    with pytest.raises(FormatError, match=said):
        fasttext.read(written)


def test_a_file_cut_anywhere_or_with_more_behind_is_refused(written: Path):
    whole = written.read_bytes()
    for size in range(len(whole)):
        written.unlink()
        written.write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"byte [\d,]+: .* Get the file again"):
            fasttext.read(written)
    written.write_bytes(whole + b"\0")
    with pytest.raises(FormatError, match="followed by 1 bytes"):
        fasttext.read(written)


def test_nan_is_refused_by_name(vectors: Vectors, written: Path):
    data = bytearray(written.read_bytes())
    start = data.index(vectors.subwords.own[1].tobytes())  # pyright: ignore
    struct.pack_into("<f", data, start, float("nan"))
    written.write_bytes(data)
    with pytest.raises(FormatError, match=r"'猫' \(row 1\) holds NaN"):
        _ = fasttext.read(written).table


def test_changed_bytes_never_crash_or_take_memory(written: Path):
    """Either an error of ours or vectors of the right shape, whatever byte changes, within a megabyte."""
    whole = written.read_bytes()
    random = np.random.default_rng(7)
    opened = fasttext.read(written)
    assert len(opened.table)  # whatever is compiled is compiled now
    suggestion("unseen", opened)  # and the dictionary of pinyin is loaded
    tracemalloc.start()
    for turn in range(300):
        data = bytearray(whole)
        for place in random.integers(0, 200 if turn % 2 else len(whole), random.integers(1, 4)):
            data[place] = random.choice([0, 1, 127, 128, 255, int(random.integers(256))])
        written.unlink()  # a mapped file is replaced, never cut
        written.write_bytes(data)
        try:
            found = fasttext.read(written)
            assert found.table.shape == (len(found), found.dim)
            found["unseen"]
        except InlaidError:
            pass
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_compressed_file_cut_or_changed_is_refused_or_read(data: Path, tmp_path: Path):
    whole = (data / "pretrained_fasttext_lid" / "lid.176.ftz").read_bytes()
    random = np.random.default_rng(9)
    subwords = fasttext.read(data / "pretrained_fasttext_lid" / "lid.176.ftz").subwords
    assert isinstance(subwords, NGrams)
    sizes = subwords.buckets.shape
    for turn, size in enumerate(random.integers(100, len(whole), 15)):
        (tmp_path / f"{turn}.ftz").write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"byte [\d,]+: "):
            fasttext.read(tmp_path / f"{turn}.ftz")
    start = whole.index(struct.pack("<4i", 16, 8, 2, 2))  # dim, parts, width, last width
    for field in range(4):
        broken = bytearray(whole)
        struct.pack_into("<i", broken, start + 4 * field, int(random.choice([0, -1, 7, 1 << 30])))
        (tmp_path / f"field{field}.ftz").write_bytes(broken)
        with pytest.raises(
            FormatError, match=f"byte {start + 4 * field:,}: the .* of the input matrix|the codes"
        ):
            fasttext.read(tmp_path / f"field{field}.ftz")
    struct.pack_into("<f", broken := bytearray(whole), start + 16 + 4, float("nan"))
    (tmp_path / "nan.ftz").write_bytes(broken)
    with pytest.raises(
        FormatError, match=f"byte {start + 20:,}: the centroids of the input matrix is not finite"
    ):
        fasttext.read(tmp_path / "nan.ftz")
    assert sizes == (42765, 16)
