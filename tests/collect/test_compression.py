"""Compressed files: read like plain ones, and never cut without an error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash

from inlaid import cli
from inlaid.collect import compression, sources
from inlaid.collect.sources import Source
from inlaid.encode.corpus import Encoding, encode
from inlaid.errors import SourceError

TEXT = "the cat\n我喜欢苹果\n" * 100


def zstd(data: bytes, **settings: bool) -> bytes:
    zstandard = pytest.importorskip("zstandard", reason="zstandard comes with the extra `zst`")
    return zstandard.ZstdCompressor(**settings).compress(data)


def zstd_without_size_and_checksum(data: bytes) -> bytes:
    """As a pipe writes it: nothing but the blocks says where the text ends."""
    return zstd(data, write_content_size=False, write_checksum=False)


COMPRESSORS = [
    (".gz", gzip.compress),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".zst", zstd),
    (".zst", zstd_without_size_and_checksum),
]
compressors = pytest.mark.parametrize(("suffix", "compress"), COMPRESSORS)


def read(path: object) -> str:
    return b"".join(block.data for block in Source(path).blocks()).decode()  # pyright: ignore[reportArgumentType]


def random_text(size: int) -> bytes:
    """Text that hardly compresses, so that a file has many blocks and any cut loses something."""
    digests = (xxhash.xxh3_128_hexdigest(f"{number}".encode()) for number in range(size // 33))
    return "\n".join(digests).encode()


@pytest.mark.parametrize(("suffix", "compress"), [*COMPRESSORS, ("", bytes)])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str, compress: Callable[..., bytes]):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    source = Source(path)
    assert b"".join(block.data for block in source.blocks()).decode() == TEXT
    raw = path.read_bytes()
    assert [(each.name, each.size, each.hash) for each in source.inputs] == [
        (path.name, len(raw), xxhash.xxh3_64_hexdigest(raw))
    ]
    assert source.documents == 1


@compressors
def test_streams_one_after_another_are_one_text(tmp_path: Path, suffix: str, compress: Callable[..., bytes]):
    path = tmp_path / f"a.txt{suffix}"
    parts = [random_text(300_000), b"", TEXT.encode()]
    path.write_bytes(b"".join(map(compress, parts)))
    assert read(path).encode() == b"".join(parts)
    padding = bytes(8)
    path.write_bytes(compress(parts[0]) + padding + compress(parts[2]) + padding)
    assert read(path).encode() == parts[0] + parts[2]


@compressors
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, suffix: str, compress: Callable[..., bytes]):
    whole = compress(random_text(400_000))
    sizes = {
        0,
        1,
        2,
        3,
        5,
        8,
        12,
        *range(13, len(whole), len(whole) // 23),
        *range(len(whole) - 12, len(whole)),
    }
    for size in sorted(sizes):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match=f"is not a complete {suffix} file"):
            read(path)


@compressors
def test_a_second_stream_cut_anywhere_is_refused(tmp_path: Path, suffix: str, compress: Callable[..., bytes]):
    first = compress(TEXT.encode())
    second = compress(random_text(3000))
    for size in range(1, len(second), 7):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(first + second[:size])
        with pytest.raises(SourceError, match=f"is not a complete {suffix} file"):
            read(path)


@compressors
def test_other_bytes_after_a_stream_are_refused(tmp_path: Path, suffix: str, compress: Callable[..., bytes]):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(compress(TEXT.encode()) + b"something else")
    with pytest.raises(SourceError, match=f"is not a complete {suffix} file"):
        read(path)


@pytest.mark.parametrize("suffix", [".txt.zst", ".jsonl.zst", ".csv.zst"])
def test_the_command_line_refuses_a_truncated_zst_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
):
    rows = {
        ".txt.zst": random_text(300_000),
        ".jsonl.zst": b"\n".join(b'{"text": "%s"}' % line for line in random_text(300_000).split(b"\n")),
        ".csv.zst": b"text\n" + random_text(300_000),
    }
    path = tmp_path / f"a{suffix}"
    path.write_bytes(zstd(rows[suffix])[:-100])
    assert cli.main(["corpus", str(path), "-o", str(tmp_path / "c")]) != 0
    assert "is not a complete .zst file" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "c").exists()


def test_jsonl_and_csv_are_read_from_every_compression(tmp_path: Path):
    for suffix, compress in COMPRESSORS:
        (tmp_path / f"a.jsonl{suffix}").write_bytes(compress('{"text": "a 猫"}\n{"text": "b"}\n'.encode()))
        assert read(tmp_path / f"a.jsonl{suffix}") == "a 猫\nb\n"
        (tmp_path / f"a.csv{suffix}").write_bytes(compress('n,text\r\n1,"a\n猫"\r\n2,b\r\n'.encode()))
        assert read(tmp_path / f"a.csv{suffix}") == "a\n猫\nb\n"


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.7z"])
def test_what_is_no_archive_is_not_text_either(tmp_path: Path, name: str):
    data = gzip.compress(b"text") if name.endswith(".gz") else b"PK\x03\x04 text"
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=r"is not a complete \.|is an archive that Inlaid does not open"):
        encode(tmp_path / name, Encoding(min_count=1, invalid="replace"))


# ---- Compression bombs


def test_a_compression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compression, "BLOCK", 1 << 12)
    monkeypatch.setattr(sources, "BLOCK", 1 << 12)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(SourceError, match="decompresses to more than 300 times its size"):
        read(tmp_path / "a.gz")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.csv.gz", "a.jsonl.zst", "a.csv.xz"])
def test_a_compression_bomb_takes_little_memory(tmp_path: Path, name: str):
    """A gigabyte in one line is refused before it is in memory."""
    compress = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd}[Path(name).suffix]
    heads = {".jsonl": b'{"text": "', ".csv": b'text\n"', ".txt": b""}
    piece = compress(b"a" * (1 << 25))
    if name.endswith(".gz"):
        piece = compress(b"a" * (1 << 28))
    (tmp_path / name).write_bytes(
        compress(heads[Path(name).with_suffix("").suffix]) + piece * (4 if name.endswith(".gz") else 32)
    )
    code = f"""
from pathlib import Path
from inlaid.collect.sources import Source
from inlaid.errors import SourceError
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
before = peak()
try:
    for block in Source(Path({str(tmp_path / name)!r})).blocks():
        pass
except SourceError as error:
    print(peak() - before, error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    megabytes, _, message = ended.stdout.partition(" ")
    assert int(megabytes) < 400
    assert "longer than" in message or "more than 300 times" in message or "field larger" in message
