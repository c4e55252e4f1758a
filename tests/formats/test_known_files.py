"""Files that many people have open with one command: small files of the same shape, with their quirks."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid import cli, registry
from inlaid.errors import FormatError
from inlaid.study.analysis import analysis_of
from inlaid.vectors import Vectors

DIM = 20
WORDS = ["，", "的", "中国", "北京", "上海", "苹果", "香蕉", "</s>", "#NAME?", "1998年", "t恤", "🙂", "的士"]
ODD = ["\u3000", "\xa0", "new york", "\u2028", "iphone 4", ". . .", "中国", "c++", "\ufeff", "10 000"]
"""Words of spaces that Python's split() would cut, words with spaces, a word that is there already."""


def row_of(word: str) -> np.ndarray:
    return np.random.default_rng(list(word.encode())).normal(size=DIM).astype(np.float32)


def lines_of(words: list[str], header: str | None = None) -> bytes:
    lines = [f"{len(words)} {DIM}"] if header is None else [header]
    lines += [" ".join([word, *(f"{number:.6f}" for number in row_of(word))]) for word in words]
    return "".join(f"{line}\n" for line in lines if line).encode()


def binary_of(words: list[str], newline: bytes = b"\n") -> bytes:
    rows = (word.encode() + b" " + row_of(word).tobytes() + newline for word in words)
    return f"{len(words)} {DIM}\n".encode() + b"".join(rows)


def tar_gz(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def fasttext_bin(folder: Path) -> bytes:
    path = folder / "model.bin"
    inlaid.save(Vectors.of(WORDS, [row_of(word).tolist() for word in WORDS]), path, format="fasttext")
    data = path.read_bytes()
    path.unlink()
    return data


TENCENT = "tencent-ailab-embedding-zh-d200-v0.2.0-s"
SINGLE = [word for word in (*WORDS, *ODD) if " " not in word]
FILES = {
    "sgns.zhihu.bigram-char.bz2": bz2.compress(lines_of([*WORDS, *ODD])),
    "sgns.sogou.word": lines_of([*WORDS, *ODD]),
    "Tencent_AILab_ChineseEmbedding.txt": lines_of([*WORDS, *ODD]),
    f"{TENCENT}.tar.gz": tar_gz(
        {f"{TENCENT}/readme.txt": b"Tencent AI Lab\n", f"{TENCENT}/{TENCENT}.txt": lines_of([*WORDS, *ODD])}
    ),
    "light_Tencent_AILab_ChineseEmbedding.bin": binary_of(SINGLE, b""),
    "words.vector.gz": gzip.compress(binary_of(SINGLE)),
    "cc.zh.300.vec.gz": gzip.compress(lines_of([*WORDS, *ODD])),
    "header promises too many.txt.gz": gzip.compress(lines_of(WORDS, f"99 {DIM}")),
    "header promises too few.txt": lines_of(WORDS, f"2 {DIM}"),
    "no header.txt": lines_of([*WORDS, *ODD], ""),
}


@pytest.mark.parametrize("name", FILES)
def test_the_words_and_their_rows(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert cli.main(["neighbors", str(path), "中国", "-n", "3", "--json"]) == 0
    shown = capsys.readouterr().err
    vectors = inlaid.load(path)
    assert list(vectors.words) == list(dict.fromkeys(vectors.words))
    for word in vectors.words:
        assert np.allclose(vectors[word], row_of(word), atol=1e-6)
    expected = {"header": WORDS, "light_": SINGLE, "words.": SINGLE}
    names = next((words for start, words in expected.items() if name.startswith(start)), [*WORDS, *ODD])
    assert set(vectors.words) == set(names)
    if "中国" in names[len(WORDS) :]:
        assert "1 words are duplicates; the first row of each was kept." in " ".join(shown.split())
    if "new york" in names:
        assert "words that contain spaces: 4." in " ".join(shown.split())
    if name.startswith("header"):
        assert "All of them are used." in " ".join(shown.split())


def test_fasttext(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "cc.zh.300.bin.gz"
    path.write_bytes(gzip.compress(fasttext_bin(tmp_path)))
    assert cli.main(["neighbors", str(path), "中国"]) == 0
    assert list(inlaid.load(path).words) == WORDS


def test_the_zip_of_glove_lists_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "glove.6B.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for dim in (50, 300):
            archive.writestr(f"glove.6B.{dim}d.txt", lines_of(WORDS, ""))
    assert cli.main(["neighbors", str(path), "中国"]) == 2
    assert f"Pick one: '{path}::glove.6B.50d.txt'" in capsys.readouterr().err
    assert cli.main(["neighbors", f"{path}::glove.6B.300d.txt", "中国"]) == 0


def test_a_file_that_is_cut_short_is_still_an_error(tmp_path: Path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"".join(lines_of(WORDS).splitlines(keepends=True)[:-1]))
    with pytest.raises(FormatError, match="found only 12. The file is cut short"):
        inlaid.load(path)
    packed = tmp_path / "v.txt.gz"
    packed.write_bytes(gzip.compress(lines_of(WORDS))[:-20])
    with pytest.raises(FormatError, match="not a complete"):
        inlaid.load(packed)


def test_words_that_word2vec_cut_in_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = [f"词{number}" for number in range(100)]
    data = binary_of([*words, "长长"]).replace("长长".encode(), "长长".encode()[:-1])
    (tmp_path / "v.bin").write_bytes(data)
    assert cli.main(["neighbors", str(tmp_path / "v.bin"), "词1"]) == 0
    assert "1 words are not UTF-8" in capsys.readouterr().err
    assert "长\ufffd" in inlaid.load(tmp_path / "v.bin")
    with pytest.raises(FormatError, match="is not UTF-8"):
        inlaid.load(tmp_path / "v.bin", invalid="error")


@pytest.mark.parametrize("name", ["v.vec", "v.txt", "v.bin"])
def test_vectors_in_gbk(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["的", "中国", "北京", "上海", "大学", "学生", "经济", "苹果", "香蕉", "研究"]
    made = {"v.vec": lines_of(words), "v.txt": lines_of(words, ""), "v.bin": binary_of(words)}[name]
    for word in words:
        made = made.replace(word.encode(), word.encode("gbk"))
    path = tmp_path / name
    path.write_bytes(made)
    for extra in ([], ["--invalid", "skip"], ["--invalid", "replace"]):
        assert cli.main(["neighbors", str(path), "中国", *extra]) == 2
        assert "It looks like GB18030: pass --encoding gb18030" in capsys.readouterr().err
    for charset in ("gbk", "auto", "gb18030"):
        assert cli.main(["neighbors", str(path), "中国", "-n", "2", "--encoding", charset]) == 0
        assert list(inlaid.load(path, charset=charset).words) == words
    assert cli.main(["convert", str(path), str(tmp_path / "o.inlaid"), "--encoding", "gbk"]) == 0
    assert cli.main(["info", str(path), "--encoding", "auto", "--json"]) == 0
    assert "read as GB18030" in capsys.readouterr().err


def test_a_text_file_in_utf16(tmp_path: Path):
    for charset in ("utf-16", "utf-16-le"):
        (tmp_path / "v.vec").write_bytes(lines_of(WORDS).decode().encode(charset))
        assert list(inlaid.load(tmp_path / "v.vec", charset=charset).words) == WORDS
    (tmp_path / "v.vec").write_bytes(lines_of(WORDS).decode().encode("utf-16"))
    assert list(inlaid.load(tmp_path / "v.vec").words) == WORDS


def test_a_binary_that_starts_like_a_byte_order_mark(tmp_path: Path):
    """The header of a safetensors file may have 65,279 bytes: FF FE."""
    (tmp_path / "v.bin").write_bytes(struct.pack("<Q", 0xFEFF) + b"{" + b" " * 0xFEFE + b"}")
    with pytest.raises(FormatError) as caught:
        inlaid.load(tmp_path / "v.bin")
    assert "utf-16" not in str(caught.value).lower()


READERS = [
    entry.name.replace("_", "-")
    for entry in registry.entries("analysis")
    if any(each.type is Vectors for each in analysis_of(entry.load()).inputs)
]
"""Analyses that read vectors."""


@pytest.mark.parametrize("command", [*READERS, "convert", "info"])
def test_every_command_that_reads_vectors_has_the_flags(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    shown = capsys.readouterr().out
    for flag in ("--top", "--duplicates", "--spaces", "--invalid", "--encoding"):
        assert flag in shown


def test_the_flags_reach_the_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "v.txt"
    path.write_bytes(FILES["no header.txt"])
    assert cli.main(["neighbors", str(path), "中国", "--duplicates", "error"]) == 2
    assert "'中国' is there a second time" in capsys.readouterr().err
    assert cli.main(["similarity", str(path), "中国", "苹果", "--top", "4"]) == 2
    assert "'苹果' is not among the 4 words" in capsys.readouterr().err


def test_native_files_in_an_archive_say_what_to_do(tmp_path: Path):
    inlaid.save(Vectors.of(["a"], [[1.0]]), tmp_path / "v.inlaid")
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.write(tmp_path / "v.inlaid", "v.inlaid")
    with pytest.raises(FormatError, match="not read from a compressed file or an archive"):
        inlaid.load(tmp_path / "v.zip")
