"""The memory that may still be taken, of the machine, of its control groups, and within process limits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import inlaid
from inlaid.memory import UNKNOWN, available_memory


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def limits(address_space: str, data: str) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max data size             {data:20} unlimited            bytes     \n"
        f"Max address space         {address_space:20} unlimited            bytes     \n"
    )


STATUS = "Name:\tpython\nVmSize:\t  300000 kB\nVmData:\t  100000 kB\n"
MEMINFO = {"proc/meminfo": "MemTotal: 32000000 kB\nMemFree: 100 kB\nMemAvailable:   16000000 kB\n"}
TWO = "sys/fs/cgroup"
ONE = "sys/fs/cgroup/memory"
MACHINES = {
    "a plain machine": (MEMINFO, 16_384_000_000),
    "no limit is known": ({}, UNKNOWN),
    "an odd file": ({"proc/meminfo": "MemAvailable: many kB\n"}, UNKNOWN),
    "version 2, a limit on an outer group": (
        MEMINFO
        | {
            "proc/self/cgroup": "0::/outer/inner\n",
            f"{TWO}/outer/memory.max": "4000000000\n",
            f"{TWO}/outer/memory.current": "3000000000\n",
            f"{TWO}/outer/memory.stat": "anon 5\ninactive_file 400000000\nactive_file 100000000\n",
            f"{TWO}/outer/inner/memory.max": "max\n",
            f"{TWO}/outer/inner/memory.current": "5\n",
            f"{TWO}/outer/inner/memory.stat": "anon 5\n",
        },
        1_500_000_000,
    ),
    "version 2, inside a container": (
        MEMINFO
        | {
            "proc/self/cgroup": "0::/\n",
            f"{TWO}/memory.max": "2000000000\n",
            f"{TWO}/memory.current": "500000000\n",
            f"{TWO}/memory.stat": "anon 5\n",
        },
        1_500_000_000,
    ),
    "version 1, whose folder is not shown inside": (
        MEMINFO
        | {
            "proc/self/cgroup": "5:cpu:/docker/abc\n4:memory:/docker/abc\n0::/\n",
            f"{ONE}/memory.limit_in_bytes": "3000000000\n",
            f"{ONE}/memory.usage_in_bytes": "2500000000\n",
            f"{ONE}/memory.stat": "cache 9\ninactive_file 1\ntotal_inactive_file 500000000\n",
        },
        1_000_000_000,
    ),
    "version 1, no limit": (
        MEMINFO
        | {
            "proc/self/cgroup": "4:cpu,memory:/\n",
            f"{ONE}/memory.limit_in_bytes": "9223372036854771712\n",
            f"{ONE}/memory.usage_in_bytes": "5\n",
            f"{ONE}/memory.stat": "cache 9\n",
        },
        16_384_000_000,
    ),
    "a limit of the process on its address space": (
        MEMINFO | {"proc/self/limits": limits("2000000000", "unlimited"), "proc/self/status": STATUS},
        2_000_000_000 - 1024 * 300_000,
    ),
    "a limit of the process on its data": (
        MEMINFO | {"proc/self/limits": limits("unlimited", "1000000000"), "proc/self/status": STATUS},
        1_000_000_000 - 1024 * 100_000,
    ),
    "no limit of the process": (
        MEMINFO | {"proc/self/limits": limits("unlimited", "unlimited"), "proc/self/status": STATUS},
        16_384_000_000,
    ),
    "over its limit": (
        MEMINFO
        | {
            "proc/self/cgroup": "0::/\n",
            f"{TWO}/memory.max": "100\n",
            f"{TWO}/memory.current": "500\n",
            f"{TWO}/memory.stat": "anon 5\n",
        },
        0,
    ),
}


@pytest.mark.parametrize("case", MACHINES)
def test_what_memory_is_left(tmp_path: Path, case: str):
    files, expected = MACHINES[case]
    assert available_memory(write(tmp_path, files)) == expected


def test_this_machine_has_memory():
    assert 0 < available_memory() < UNKNOWN


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="process limits are read from /proc")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_that_is_set_is_seen(limit: str):
    program = (
        "import resource; from inlaid.memory import available_memory; "
        f"resource.setrlimit(resource.{limit}, (10**9, 10**9)); print(available_memory())"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0 < int(said.stdout) < 10**9


@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the limits of a process on Linux only")
@pytest.mark.parametrize("kilobytes", [250_000, 400_000, 600_000])
def test_too_little_address_space_is_one_line_before_a_library_aborts(kilobytes: int, tmp_path: Path):
    (tmp_path / "text.txt").write_text("a b c d\n" * 100)
    command = f"ulimit -v {kilobytes}; exec {sys.executable} -m inlaid train ppmi text.txt -o v.inlaid"
    environment = {**os.environ, "PYTHONPATH": str(Path(inlaid.__file__).parents[1])}
    ended = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "The kernels need about 500 MB of address space, and the limits of this" in ended.stderr
