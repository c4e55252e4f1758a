"""A lock has one holder, says who that is, and ends with its process."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from inlaid import files, locks
from inlaid.errors import WriteError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")


def test_one_holder_at_a_time_in_the_same_process_too(tmp_path: Path):
    with locks.holding(tmp_path / "a"):
        locks.check_free(tmp_path / "b")
        with pytest.raises(WriteError, match=f"a is being written by process {os.getpid()} on .*, since 20"):
            locks.check_free(tmp_path / "a")
        (tmp_path / "link").symlink_to("a")
        with pytest.raises(WriteError, match="is being written by"):
            locks.check_free(tmp_path / "link")
    locks.check_free(tmp_path / "a")
    assert os.listdir(tmp_path) == ["link"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'{"pid": null}', b"[" * 100_000])
def test_a_lock_that_says_nothing_is_a_lock_all_the_same(tmp_path: Path, content: bytes):
    with locks.holding(tmp_path / "a"):
        (tmp_path / ".a.lock").write_bytes(content)
        with pytest.raises(WriteError, match="is being written by another process"):
            locks.check_free(tmp_path / "a")


def test_a_lock_that_nobody_holds_is_taken_over(tmp_path: Path):
    left = {"pid": 1, "host": "there", "command": "x" * 500, "since": "2026-01-01 00:00:00"}
    for content in ("", json.dumps(left)):
        (tmp_path / ".a.lock").write_text(content)
        with locks.holding(tmp_path / "a"):
            assert json.loads((tmp_path / ".a.lock").read_text())["pid"] == os.getpid()
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", ["my notes", '{"pid": 1}', "[1]", "x" * 100_000, "[" * 100_000])
@pytest.mark.parametrize("has_locks", [True, False])
def test_a_file_of_the_user_is_no_lock(
    tmp_path: Path, content: str, has_locks: bool, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".a.lock").write_text(content)
    if has_locks:
        with pytest.raises(
            WriteError, match=r"its lock would be .*\.a\.lock, a file that Inlaid did not write"
        ):
            locks.check_free(tmp_path / "a")
    else:
        monkeypatch.setitem(sys.modules, "fcntl", None)
        locks.check_free(tmp_path / "a")
    assert (tmp_path / ".a.lock").read_text() == content


def test_a_file_that_took_the_place_of_the_lock_stays(tmp_path: Path):
    with locks.holding(tmp_path / "a"):
        (tmp_path / "mine").write_text("my notes")
        (tmp_path / "mine").rename(tmp_path / ".a.lock")
    assert (tmp_path / ".a.lock").read_text() == "my notes"


def test_a_lock_that_someone_else_left_behind_says_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    left = {"pid": 17, "host": "there", "command": "inlaid", "since": "2026-01-01 00:00:00"}
    (tmp_path / ".a.lock").write_text(json.dumps(left))
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 4321)

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(WriteError) as caught:
        locks.check_free(tmp_path / "a")
    owner = locks.owner_name(us)
    assert f"{owner} owns its lock" in str(caught.value)
    assert "process 17 on there" in str(caught.value)
    assert f"ask {owner} to remove the lock" in str(caught.value)


def test_a_lock_whose_file_was_removed_is_not_held_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The last holder removes the file between our opening and our locking it: it is opened again."""
    import fcntl

    flock = fcntl.flock
    removed = list[Path]()

    def remove_first(*given: Any) -> None:
        if not removed:
            removed.append(tmp_path / ".a.lock")
            removed[0].unlink()
        flock(*given)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with locks.holding(tmp_path / "a"), pytest.raises(WriteError, match="is being written"):
        locks.check_free(tmp_path / "a")


def test_a_forked_process_neither_holds_nor_removes_the_lock(tmp_path: Path):
    """A worker that outlives its killed parent must not block the next run."""
    code = f"""
import os, time
from pathlib import Path
from inlaid import locks
with locks.holding(Path({str(tmp_path / "a")!r})):
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)  # it runs, so it has let go of the lock
    time.sleep(60 if child else 2)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        with pytest.raises(WriteError, match=f"process {parent.pid}"):
            locks.check_free(tmp_path / "a")
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        os.kill(child, 0)  # it is alive,
        with locks.holding(tmp_path / "a"):  # and the lock is free
            time.sleep(3)
            assert (tmp_path / ".a.lock").exists()  # the child that has ended did not remove ours
    assert os.listdir(tmp_path) == []


def test_where_the_file_system_has_no_locks_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import fcntl

    def none(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    part = files._part_of(tmp_path / "a")
    part.touch()
    monkeypatch.setattr(fcntl, "flock", none)
    with locks.holding(tmp_path / "a"), locks.holding(tmp_path / "a"):
        files.write_text(tmp_path / "a", "1")
    assert sorted(os.listdir(tmp_path)) == [part.name, "a"]  # its writer may be alive


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path):
    with (
        pytest.raises(WriteError, match="its lock .*a.lock cannot be written"),
        locks.holding(tmp_path / "no" / "a"),
    ):
        pass
