"""An archive with one file of text is read as that file; with several, the error says how to pick one."""

from __future__ import annotations

import bz2
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from inlaid import cli
from inlaid.collect import archives
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import InlaidError, SourceError
from inlaid.report import Report, silent

TEXT = "我们在北京的大学里学习经济和历史。\nthe cat sits on the mat\n" * 50
KINDS = ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.txz"]
MODES = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz", ".txz": "w:xz", ".tar": "w"}


def pack(path: Path, members: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path
    with tarfile.open(path, MODES[path.suffix]) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def read(path: Path, report: Report = silent) -> Corpus:
    return encode(path, Encoding(min_count=1), report, workers=1)


@pytest.fixture
def ids(tmp_path: Path) -> list[int]:
    (tmp_path / "plain.txt").write_bytes(TEXT.encode())
    return np.asarray(read(tmp_path / "plain.txt").ids).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_one_file_beside_a_readme(name: str, tmp_path: Path, ids: list[int]):
    members = {
        "t/readme.txt": b"about",
        "__MACOSX/t/._a.txt": b"\0",
        "t/文本.txt": TEXT.encode(),
        "t/.hidden": b"",
    }
    corpus = read(pack(tmp_path / name, members))
    assert np.asarray(corpus.ids).tolist() == ids
    size = (tmp_path / name).stat().st_size
    assert corpus.manifest["inputs"][0]["size"] == size  # the hash is that of the whole archive


@pytest.mark.parametrize("name", KINDS)
def test_several_files(name: str, tmp_path: Path, ids: list[int]):
    path = pack(tmp_path / name, {"t/a.txt": TEXT.encode(), "t/b.txt": b"other words\n"})
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path} is an archive of 2 files: t/a.txt, t/b.txt. Pick one: '{path}::t/a.txt', or unpack it."
    )
    assert np.asarray(read(Path(f"{path}::t/a.txt")).ids).tolist() == ids
    assert list(read(Path(f"{path}::b.txt")).vocabulary.words) == ["other", "words"]
    with pytest.raises(SourceError, match=r"holds no file 'c.txt'; it holds t/a.txt, t/b.txt"):
        read(Path(f"{path}::c.txt"))
    with pytest.raises(SourceError, match=r"without a file of text or vectors; it holds README.md"):
        read(pack(tmp_path / name, {"README.md": b"about"}))


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_the_file_may_be_compressed_and_a_table(name: str, tmp_path: Path):
    rows = b"id,text\n1,one two\n2,three\n"
    assert list(read(pack(tmp_path / name, {"a.csv.bz2": bz2.compress(rows)})).vocabulary.words) == [
        "one",
        "three",
        "two",
    ]


@pytest.mark.parametrize("name", KINDS)
def test_damage_is_an_error(name: str, tmp_path: Path):
    path = pack(tmp_path / name, {"a.txt": TEXT.encode() * 20})
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"not an archive", whole[:100]):
        path.write_bytes(data)
        with pytest.raises(InlaidError):
            read(path)


@pytest.mark.parametrize("name", KINDS)
def test_every_mutant_gives_text_or_an_error(name: str, tmp_path: Path):
    path = pack(tmp_path / name, {"a.txt": TEXT.encode()})
    whole = bytearray(path.read_bytes())
    random = np.random.default_rng(1)
    for place in random.integers(0, len(whole), 40):
        mutant = bytearray(whole)
        mutant[place] ^= int(random.integers(1, 256))
        path.write_bytes(mutant)
        try:
            read(path)
        except InlaidError:
            continue


def test_links_and_outside_paths_are_not_followed(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("secret words\n")
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("link.txt")
        link.type = tarfile.SYMTYPE
        link.linkname = str(tmp_path / "secret.txt")
        archive.addfile(link)
        inside = tarfile.TarInfo("../../outside.txt")
        inside.size = 4
        archive.addfile(inside, io.BytesIO(b"a b\n"))
    assert list(read(path).vocabulary.words) == ["a", "b"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar", "secret.txt"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_bombs_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("inlaid.untrusted.ALWAYS_ALLOWED", 1 << 16)
    monkeypatch.setattr("inlaid.collect.compression.BLOCK", 1 << 12)
    path = pack(tmp_path / name, {"a.txt": b"a \n" * (1 << 22)})
    with pytest.raises(InlaidError, match=r"than 300 times"):
        read(path)


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        header = tarfile.TarInfo("long")
        header.type = tarfile.XHDTYPE
        header.size = 1 << 24
        archive.addfile(header, io.BytesIO(bytes(1 << 24)))
    with pytest.raises(SourceError, match="a header of 16,777,216 bytes"):
        read(path)


def test_names_that_windows_wrote_in_gbk(tmp_path: Path):
    names = {"aaaaaa.txt": "词向量.txt", "bbbbbb.txt": "说明书.txt"}
    path = pack(tmp_path / "a.zip", dict.fromkeys(names, b"a b\n"))
    data = path.read_bytes()
    for ascii_name, name in names.items():
        data = data.replace(ascii_name.encode(), name.encode("gbk"))
    path.write_bytes(data)
    with pytest.raises(SourceError, match="词向量.txt, 说明书.txt"):
        read(path)
    with pytest.raises(SourceError, match="holds no file '词.txt'"):
        read(Path(f"{path}::词.txt"))
    assert archives.choose(Path(f"{path}::词向量.txt"), lambda: None).name == "词向量.txt"


def test_an_encrypted_file_is_one_line(tmp_path: Path):
    path = pack(tmp_path / "a.zip", {"a.txt": TEXT.encode()})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of encryption, in the file and in the list
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match="password required"):
        read(path)


def test_a_name_with_colons_is_a_file(tmp_path: Path):
    path = tmp_path / "a.zip::b.txt"
    path.write_text("one two\n")
    assert archives.file_of(path) == path
    assert list(read(path).vocabulary.words) == ["one", "two"]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = pack(tmp_path / "a.zip", {"a.txt": TEXT.encode(), "b.txt": b"x y\n"})
    words = ["--min-count", "1", "-o", str(tmp_path / "c.corpus")]
    assert cli.main(["corpus", str(path), *words]) == 2
    assert "Pick one" in capsys.readouterr().err
    assert cli.main(["corpus", f"{path}::b.txt", *words]) == 0


@pytest.mark.parametrize("inside", ["a.zip", "a.tar.gz", "b.7z"])
@pytest.mark.parametrize("name", ["outer.zip", "outer.tar"])
def test_an_archive_in_an_archive_is_refused(
    name: str, inside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    inner = pack(tmp_path / inside, {"a.txt": b"one two\n"}) if "7z" not in inside else tmp_path / inside
    data = inner.read_bytes() if inner.exists() else b"7z"
    outer = pack(tmp_path / name, {inside: data})
    for words in (["corpus", outer, "-o", tmp_path / "c"], ["neighbors", outer, "one"]):
        assert cli.main([str(word) for word in words]) == 2
        assert f"holds another archive, {inside}. Unpack" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, b"Q"])
@pytest.mark.parametrize("picked", ["", "::b.txt"])
def test_a_size_that_cannot_be_true_takes_no_time(
    kind: bytes, picked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """tarfile would take hours to skip what is not there."""
    header = tarfile.TarInfo("a.txt")
    header.type = kind
    header.size = 1 << 50
    (tmp_path / "a.tar").write_bytes(header.tobuf() + b"x" * 512)
    assert cli.main(["corpus", f"{tmp_path}/a.tar{picked}", "-o", str(tmp_path / "c")]) == 2
    assert "declares 1,125,899,906,84" in capsys.readouterr().err
