"""Memory: how much of it this process may still take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

UNKNOWN = sys.maxsize
"""What is available where no limit is known."""
LIMITS = {"Max address space": "VmSize:", "Max data size": "VmData:"}
"""Limits of a process (RLIMIT_AS, RLIMIT_DATA) -> what counts towards each, as /proc spells them."""


def available_memory(root: Path = Path("/")) -> int:
    """Bytes that may still be allocated: the least that machine, control groups and process limits leave.

    What is declared somewhere (a table, a file) is compared with this before it is allocated.
    """
    known = (*_machine(root), *_control_groups(root), *_process(root))
    return max(min(known, default=UNKNOWN), 0)


def address_space_left(root: Path = Path("/")) -> int:
    """Bytes that may still be mapped, by the limits of this process alone: it counts what is never used."""
    return max(min(_process(root), default=UNKNOWN), 0)


def _machine(root: Path) -> Iterator[int]:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        yield next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
        return
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:  # not Linux: what is installed is the most there can be
        if root == Path("/"):
            yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return


def _control_groups(root: Path) -> Iterator[int]:
    """Free memory of each of our control groups, the outer ones too; cached files could be dropped."""
    try:
        groups = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    for _, kinds, place in groups:
        if kinds == "":
            yield from _groups(root / "sys/fs/cgroup", place, "memory.max", "memory.current")
        elif "memory" in kinds.split(","):
            mount = root / "sys/fs/cgroup/memory"
            yield from _groups(mount, place, "memory.limit_in_bytes", "memory.usage_in_bytes")


def _groups(mount: Path, place: str, limit: str, usage: str) -> Iterator[int]:
    inner = Path(place.lstrip("/"))
    for folder in {mount / inner, *(mount / outer for outer in inner.parents), mount}:
        try:
            stats = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            names = ("inactive_file", "active_file")
            cached = sum(int(stats.get(f"total_{name}", stats.get(name, 0))) for name in names)
            most = int((folder / limit).read_text())  # "max", no limit, is not a number
            yield most - int((folder / usage).read_text()) + cached
        except (OSError, ValueError):
            continue


def _process(root: Path) -> Iterator[int]:
    """What `ulimit -v` and `ulimit -d` leave."""
    try:
        limits = (root / "proc/self/limits").read_text().splitlines()
        taken = (root / "proc/self/status").read_text().splitlines()
    except OSError:
        return
    for name, counted in LIMITS.items():
        try:
            most = next(int(line[len(name) :].split()[0]) for line in limits if line.startswith(name))
            yield most - next(1024 * int(line.split()[1]) for line in taken if line.startswith(counted))
        except (StopIteration, ValueError, IndexError):  # "unlimited" is not a number
            continue
