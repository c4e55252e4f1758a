"""What a run will take is known before it starts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.plan import available_memory, check_memory, epochs_that_fit
from inlaid.jobs.safety import Safety

GB = 10**9


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal: 32000000 kB\nMemFree: 100 kB\nMemAvailable:   16000000 kB\n"}
TWO = "sys/fs/cgroup"
ONE = "sys/fs/cgroup/memory"
MACHINES = {
    "a plain machine": (MEMINFO, 16_384_000_000),
    "no limit is known": ({}, None),
    "an odd file": ({"proc/meminfo": "MemAvailable: many kB\n"}, None),
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
    found = available_memory()
    assert found is None or found > 0


def test_a_run_that_does_not_fit_is_refused_with_what_would():
    with pytest.raises(SettingError) as error:
        check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=2 * GB)
    assert str(error.value) == (
        "This run needs about 8.0 GB of memory, and 2.0 GB are free. dim 75 or 750,000 words would fit. "
        "Lower dim (now 300), or have fewer words (now 3,000,000) with a larger min_count or with max_size."
    )
    check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=8 * GB)


def test_early_stopping_needs_a_second_copy():
    check_memory(3 * GB, Safety(), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match=r"about 6.0 GB of memory \(two copies"):
        check_memory(3 * GB, Safety(patience=2), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match="Lower dim") as error:
        check_memory(3 * GB, Safety(), dim=300, words=1000, other=5 * GB, available=4 * GB)
    assert "would fit" not in str(error.value)


def test_epochs_that_fit_into_the_minutes(toy: ModuleType):
    """An epoch of one step that takes 5 ms or more: 6 s hold at most 1080 of them."""
    made = list[object]()

    def make(epochs: int) -> object:
        made.append(toy.Toy(epochs, pause=0.005))
        return made[-1]

    assert 1 <= epochs_that_fit(make, Safety(minutes=0.1), trial=0.15) <= 1080
    assert len(made) >= 2  # a trial longer than an epoch continues with a fresh training


def test_minutes_too_few_for_an_epoch(toy: ModuleType):
    with pytest.raises(
        SettingError, match=r"minutes is 0.001, but one epoch takes about \d+ .*Give more time"
    ):
        epochs_that_fit(lambda epochs: toy.Toy(1000 * epochs, pause=0.005), Safety(minutes=0.001), trial=0.02)


def test_a_run_to_be_resumed_has_its_epochs_from_its_checkpoint(tmp_path: Path, toy: ModuleType):
    checkpoint.save(tmp_path / "c", toy.Toy().state, None, toy.identity(epochs=7), checkpoint.Progress())
    safety = Safety(minutes=5.0, checkpoint=tmp_path / "c", resume=True)
    assert epochs_that_fit(lambda epochs: toy.Toy(20 * epochs), safety, trial=0.01) == 7
