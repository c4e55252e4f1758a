"""Where nothing can be written but the output, as in many containers, every command works all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inlaid
from inlaid.collect import world

READ_ONLY = """
set -e
mount --bind "$OUTPUT" "$OUTPUT"
cut -d ' ' -f 2 /proc/self/mounts | while read -r place; do
    case "$place" in /proc*|/sys*|/dev*|"$OUTPUT") ;; *) mount -o remount,ro,bind "$place" ;; esac
done
exec "$@"
"""
"""A mount namespace of its own, in which only the folder OUTPUT can be written."""
PROGRAM = """
import sys
from inlaid.cli import main
for line in sys.argv[1:]:
    if main(line.split()):
        sys.exit(f"failed: {line}")
"""
COMMANDS = [
    "--help",
    "world -o OUT/w.txt --words 200",
    "tokenize 我喜欢apples",
    "corpus OUT/text.txt -o OUT/corpus --min-count 2",
    "train ppmi OUT/corpus -o OUT/a.inlaid --dim 8",
    "neighbors OUT/a.inlaid man -n 3",
    "convert OUT/a.inlaid OUT/a.vec",
    "info OUT/a.vec",
    "verify OUT/a.inlaid",
]


def read_only(words: list[str], output: Path) -> subprocess.CompletedProcess[str]:
    """Run a program where only `output` can be written, without a home and without a cache of Numba's."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment |= {
        "HOME": "/nonexistent",
        "OUTPUT": str(output),
        "XDG_CACHE_HOME": "",
        "TMPDIR": "/nonexistent",
        "PYTHONPATH": str(Path(inlaid.__file__).parents[1]),
    }
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=False, cwd="/")


def by_mounts(words: list[str]) -> list[str]:
    """In a mount namespace, where the kernel refuses to write."""
    root = [] if os.getuid() == 0 else ["--map-root-user"]
    return ["unshare", *root, "--mount", "sh", "-c", READ_ONLY, "sh", *words]


def by_library(words: list[str], folder: Path) -> list[str]:
    """With a library preloaded before libc, which refuses to write where there are no namespaces."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("this system gives no mount namespace, and has no C compiler (cc)")
    target = folder / "read_only.so"
    if not target.exists():
        source = Path(__file__).with_name("campaigns") / "read_only.c"
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(source), "-ldl"]
        subprocess.run(command, check=True)
    return ["env", f"LD_PRELOAD={target}", *words]


def has_mounts(output: Path) -> bool:
    return shutil.which("unshare") is not None and read_only(by_mounts(["true"]), output).returncode == 0


def test_every_kind_of_command(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory):
    library = tmp_path_factory.mktemp("library")
    mounts = has_mounts(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return read_only(by_mounts([*words]) if mounts else by_library([*words], library), tmp_path)

    (tmp_path / "text.txt").write_text("\n".join(world.sentences("en", words=3000)), "utf-8")
    lines = [line.replace("OUT", str(tmp_path)) for line in COMMANDS]
    for part in (lines[:4], lines[4:]):  # the note comes once in a command: each part has one that compiles
        said = run(sys.executable, "-c", PROGRAM, *part)
        assert said.returncode == 0, said.stderr
        assert said.stderr.count("there is no folder to keep them in") == 1
        assert "Traceback" not in said.stderr
    assert (tmp_path / "a.vec").exists()
    assert run("touch", "/tmp/written").returncode != 0


@pytest.mark.parametrize("command", ["touch", "mkdir"])
def test_the_library_refuses_what_a_mount_would(
    command: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    library = tmp_path_factory.mktemp("library")
    for folder, code in (("/tmp", 1), (str(tmp_path), 0)):
        assert read_only(by_library([command, f"{folder}/written"], library), tmp_path).returncode == code
