"""Files are written as a whole or not at all, and reach the disk in the right order."""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inlaid import files, locks
from inlaid.errors import Unsynced, WriteError


def test_a_file_appears_whole(tmp_path: Path):
    files.write_text(tmp_path / "a.txt", "猫")
    assert (tmp_path / "a.txt").read_text("utf-8") == "猫"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches the disk, in order: each fsync with the name and size of its file, and each rename."""
    found: list[str] = []
    fsync = os.fsync
    replace = os.replace
    rename = os.rename

    def record_fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            found.append(f"fsync folder {generic(path)}")
        else:
            found.append(f"fsync {generic(path)} of {path.stat().st_size} bytes")
        fsync(descriptor)

    def record_replace(source: Path, target: Path) -> None:
        found.append(f"rename {generic(source)} to {generic(target)}")
        replace(source, target)

    def record_rename(source: Path, target: Path) -> None:
        found.append(f"rename {generic(source)} to {generic(target)}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    monkeypatch.setattr(os, "rename", record_rename)
    return found


def generic(path: Path) -> str:
    """The name of a file, with TOKEN for the random part of an unfinished one."""
    return re.sub(r"\.[0-9a-f]{16}\.part$", ".TOKEN.part", path.name)


@pytest.mark.skipif(
    sys.platform != "linux", reason="names of descriptors are read from /proc, which Linux has"
)
def test_a_file_is_on_the_disk_before_its_name_is_and_then_its_name(tmp_path: Path, steps: list[str]):
    files.write_bytes(tmp_path / "a", b"12345")
    assert steps == [
        "fsync .a.TOKEN.part of 5 bytes",
        "rename .a.TOKEN.part to a",
        f"fsync folder {tmp_path.name}",
    ]


@pytest.mark.skipif(
    sys.platform != "linux", reason="names of descriptors are read from /proc, which Linux has"
)
def test_a_folder_is_on_the_disk_before_its_name_is_and_then_its_name(tmp_path: Path, steps: list[str]):
    with files.writing_folder(tmp_path / "corpus") as part:
        files.write_bytes(part / "a", b"12345")
    assert steps == [
        "fsync .a.TOKEN.part of 5 bytes",
        "rename .a.TOKEN.part to a",
        "fsync folder .corpus.TOKEN.part",
        "fsync folder .corpus.TOKEN.part",
        "rename .corpus.TOKEN.part to corpus",
        f"fsync folder {tmp_path.name}",
    ]


def test_a_failed_fsync_is_an_error_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files.write_text(tmp_path / "a", "old")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match="Input/output error"):
        files.write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def failing(function: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one call of a function of `os` fail, counted from 1."""
    original = getattr(os, function)
    calls = list[int]()

    def call(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == number:
            raise OSError(5, "Input/output error")
        return original(*given, **named)

    monkeypatch.setattr(os, function, call)


def test_a_failed_fsync_of_the_folder_says_that_the_file_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    files.write_text(tmp_path / "a", "old")
    failing("fsync", 2, monkeypatch)
    with pytest.raises(Unsynced, match=r"a is written and in place, but .* a power cut may undo it"):
        files.write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


def test_an_error_inside_a_folder_is_one_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failing("fsync", 2, monkeypatch)
    with (
        pytest.raises(WriteError, match=r"Cannot write .*/corpus: Input/output error") as caught,
        files.writing_folder(tmp_path / "corpus") as part,
    ):
        files.write_text(part / "a", "1")
    assert not isinstance(caught.value, Unsynced)
    assert os.listdir(tmp_path) == []


def test_a_failed_removal_is_said_and_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        failing("fsync", 1, patch)
        failing("unlink", 1, patch)
        with pytest.raises(
            WriteError, match=r"\.a\..*\.part could not be removed; the next write of this name"
        ):
            files.write_text(tmp_path / "a", "1")
    assert len(os.listdir(tmp_path)) == 1
    files.write_text(tmp_path / "a", "1")
    assert os.listdir(tmp_path) == ["a"]


def test_a_failure_in_the_middle_keeps_the_old_file_and_leaves_nothing(tmp_path: Path):
    files.write_text(tmp_path / "a.txt", "old")
    with pytest.raises(ZeroDivisionError), files.writing(tmp_path / "a.txt") as file:
        file.write(b"new")
        _ = 1 / 0
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_is_one_clear_error(tmp_path: Path):
    """A limit on file size imitates a full disk: the kernel refuses the write in the same way."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from pathlib import Path
from inlaid import files
files.write_bytes(Path({str(tmp_path / "a")!r}), bytes(100_000))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "inlaid.errors.WriteError: Cannot write" in ended.stderr
    assert os.listdir(tmp_path) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000  # the limit was the child's alone


def test_permissions_of_a_replaced_file_stay(tmp_path: Path):
    path = tmp_path / "a"
    files.write_text(path, "old")
    path.chmod(0o640)
    files.write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_written_through(tmp_path: Path):
    files.write_text(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("path", ["no/such/a", "."])
def test_paths_that_cannot_be_written_are_found_before_the_work(tmp_path: Path, path: str):
    with pytest.raises(WriteError, match="Cannot write"):
        files.can_write(tmp_path / path)
    assert os.listdir(tmp_path) == []


def test_a_pipe_or_device_is_never_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for write in (files.can_write, lambda path: files.write_text(path, "x")):
        with pytest.raises(WriteError, match="a device or a pipe"):
            write(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_appears_whole_and_never_replaces_another(tmp_path: Path):
    with files.writing_folder(tmp_path / "corpus") as part:
        files.write_text(part / "a", "1")
    assert (tmp_path / "corpus" / "a").read_text() == "1"
    with pytest.raises(WriteError, match="already exists"), files.writing_folder(tmp_path / "corpus"):
        pass
    with pytest.raises(ZeroDivisionError), files.writing_folder(tmp_path / "other") as part:
        files.write_text(part / "a", "1")
        _ = 1 / 0
    assert os.listdir(tmp_path) == ["corpus"]


def left_behind(path: Path) -> Path:
    """The unfinished file that a killed writer of `path` left behind."""
    code = f"""
import os
from pathlib import Path
from inlaid import files
with files.writing(Path({str(path)!r})) as file:
    file.write(b"half")
    file.flush()
    os._exit(1)
"""
    before = set(path.parent.iterdir())
    subprocess.run([sys.executable, "-c", code], check=False)
    (part,) = set(path.parent.iterdir()) - before
    return part


def test_unfinished_files_are_swept_by_the_next_writer_and_nothing_else(tmp_path: Path):
    part = left_behind(tmp_path / "a[1]")
    token = part.name.removeprefix(".a[1].").removesuffix(".part")
    mine = [
        ".a[1].0123abcd.part",  # a user's own, however much it looks like ours
        ".a[1].0123abcd4567abcd.part",
        f".a[1].{token[::-1]}.part",
        f".a[1].b.{token}.part",
        f".a1.{token}.part",
        ".a[1].part",
        "a[1].part",
    ]
    for name in mine:
        (tmp_path / name).write_text("mine")
    files.write_text(tmp_path / "a[1]", "new")
    assert sorted(os.listdir(tmp_path)) == sorted([*mine, "a[1]"])


def test_unfinished_folders_are_swept(tmp_path: Path):
    part = left_behind(tmp_path / "a")
    part.unlink()
    (part / "inner").mkdir(parents=True)
    files.write_text(tmp_path / "a", "new")
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_that_leads_to_itself_is_never_replaced(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for write in (files.can_write, lambda path: files.write_text(path, "x")):
        with pytest.raises(WriteError, match="a link that leads to itself"):
            write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_file_of_another_user_in_a_shared_folder_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a").write_text("theirs")
    files.can_write(tmp_path / "a")
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 4321)
    with pytest.raises(WriteError, match=r"it belongs to \S+, and in this folder nobody else can replace it"):
        files.can_write(tmp_path / "a")
    files.can_write(tmp_path / "b")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EDQUOT, "Free some space"),
        (errno.EACCES, "Check the permissions"),
        (errno.EPERM, "Check the permissions"),
        (errno.EROFS, "read-only"),
        (errno.ENAMETOOLONG, "Use a shorter name"),
        (errno.EIO, "Check the disk"),
    ],
)
def test_the_advice_is_about_the_error(
    number: int, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=advice) as caught:
        files.write_text(tmp_path / "a", "new")
    assert ("space" in str(caught.value)) == (advice == "Free some space")


def test_a_name_that_is_too_long_is_one_clear_error(tmp_path: Path):
    with pytest.raises(WriteError, match="File name too long.*Use a shorter name"):
        files.can_write(tmp_path / ("a" * 256))


def test_a_full_folder_for_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(WriteError, match=f"temporary files in {tmp_path}: No space.*set TMPDIR"):
        files.scratch((10,), np.float32)


def test_unfinished_files_of_living_writers_stay(tmp_path: Path):
    with files.writing(tmp_path / "a") as first:
        first.write(b"first")
        files.write_text(tmp_path / "a", "second")
        files.sweep(tmp_path / "a")
        assert (tmp_path / "a").read_text() == "second"
    assert (tmp_path / "a").read_text() == "first"
    with files.writing_folder(tmp_path / "c") as part:
        files.write_text(part / "1", "1")
        files.sweep(tmp_path / "c")
        files.write_text(part / "2", "2")
    assert sorted(os.listdir(tmp_path / "c")) == ["1", "2"]
    assert sorted(os.listdir(tmp_path)) == ["a", "c"]


def test_a_part_swept_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    take = locks.take
    swept = list[Path]()

    def sweep_first(path: Path, *more: Any) -> Any:
        if not swept:
            swept.append(path)
            files.sweep(tmp_path / "a")
        return take(path, *more)

    monkeypatch.setattr(locks, "take", sweep_first)
    files.write_text(tmp_path / "a", "1")
    assert not swept[0].exists()
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_killed_writer_left_is_swept(tmp_path: Path, folder: bool):
    how = "writing_folder" if folder else "writing"
    code = f"""
import os, signal
from pathlib import Path
from inlaid import files
with files.{how}(Path({str(tmp_path / "a")!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code])
    assert len(os.listdir(tmp_path)) == 1
    with getattr(files, how)(tmp_path / "a"):
        pass
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["v" * 255, "词" * 85])
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str):
    (tmp_path / locks.short_name(tmp_path / name, 15)).touch()
    files.write_text(tmp_path / name, "1")
    with locks.holding(tmp_path / name):
        files.can_write(tmp_path / name)
    assert len(os.listdir(tmp_path)) == 2


def test_killed_while_writing_leaves_the_old_file(tmp_path: Path):
    """kill -9 at many moments of repeated saves: the file is always one of the two whole contents."""
    path = tmp_path / "a"
    files.write_bytes(path, b"a" * 300_000)
    code = f"""
from pathlib import Path
from inlaid import files
print("ready", flush=True)
while True:
    for letter in (b"b", b"a"):
        files.write_bytes(Path({str(path)!r}), letter * 300_000)
"""
    for wait in range(8):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            try:
                writer.wait(0.003 * wait)
            except subprocess.TimeoutExpired:
                writer.kill()
        content = path.read_bytes()
        assert content in (b"a" * 300_000, b"b" * 300_000)


def test_what_a_file_takes_is_said_with_what_must_stay_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Nearly:
        f_bavail = 2
        f_frsize = 4096
        f_blocks = 1000

    monkeypatch.setattr(os, "statvfs", lambda _: Nearly)
    with pytest.raises(WriteError) as caught:
        files.check_space(tmp_path / "v.npz", 10)
    assert caught.value.values["size"] > caught.value.values["free"] == 8192
