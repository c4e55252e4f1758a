"""@kernel and @part: Numba flags, where compiled kernels are kept, and how compilations are announced."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

from inlaid.files import checksum, private_cache
from inlaid.report import (
    announce_compilation,
    compilation_began,
    compilation_ended,
    compilations_are_not_kept,
)

F = TypeVar("F", bound=Callable[..., Any])

njit: Any = numba.njit  # its types do not know `_nrt`

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""Fast math without `nnan` and `ninf`: with those, np.isnan compiles to False and a diverged run looks
healthy."""
FOLDER = Path(__file__).parent
SOURCES = sorted(
    (path.relative_to(FOLDER).as_posix(), path.stat().st_mtime_ns, path.stat().st_size)
    for path in FOLDER.rglob("*.py")
)
VERSION = f"{numba.__version__} {checksum(repr(SOURCES).encode())}"
"""What compiled code on disk is compared with before anything else of it is read. A kernel is compiled from
parts in several files and takes named tuples of several: its code is valid as long as none of them has
changed, and its file may name classes that are no longer there."""


def cache_folder(package: Path = FOLDER) -> Path | None:
    """Where compiled kernels are kept: beside their sources, which is Numba's own choice.

    In a read-only installation it is the user's cache folder; where that cannot be written either, a private
    folder for temporary files. None: there is no such folder, and every process compiles for itself.
    """
    if os.access(package, os.W_OK):
        return package
    return private_cache()


class _Compilations(event.Listener):
    """Says when one of our kernels is compiled; loading it from the disk is no compilation."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function in KERNELS:
            announce_compilation(f"{function.__module__.removeprefix('inlaid.kernels.')}.{function.__name__}")
            compilation_began()

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"].py_func in KERNELS:
            compilation_ended()


KERNELS: set[Any] = set()
event.register("numba:compile", _Compilations())
if not numba.config.CACHE_DIR:  # pyright: ignore
    _folder = cache_folder()
    if _folder != FOLDER:
        numba.config.CACHE_DIR = str(_folder or "")  # pyright: ignore


def kernel(function: F) -> F:
    """Compile a loop over arrays: cached on disk, the GIL released, no bounds checks.

    Kernels are module-level functions of arrays, scalars and named tuples of them. The caller allocates, and
    reference counting is off (`_nrt=False`): otherwise every row of a table taken in a loop would be counted
    with an atomic instruction, twice, which was a tenth of the time of training. The caller has the threads,
    too: one call works on its part of the arrays, several calls in several threads share the whole.
    """
    plain = _plain(function)
    KERNELS.add(plain)
    flags = {"nogil": True, "fastmath": FAST, "error_model": "numpy", "boundscheck": False, "_nrt": False}
    try:
        compiled: Any = njit(plain, cache=True, **flags)
    except RuntimeError:  # Numba finds no folder that it can write
        compilations_are_not_kept()
        return njit(plain, **flags)
    # Private in Numba, and may change: then the cache depends on the kernel's own file alone.
    with contextlib.suppress(AttributeError):
        compiled._cache._cache_file._version = VERSION
        compiled._cache.save_overload = _if_possible(compiled._cache.save_overload)
    return compiled


def _if_possible(save: Callable[..., None]) -> Callable[..., None]:
    """Save a compiled kernel; on a full disk it is compiled again next time."""

    def saved(*given: Any) -> None:
        with contextlib.suppress(OSError):
            save(*given)

    return saved


def part(function: F) -> F:
    """Compile a piece of kernels, in the same file or another; it is inlined, so a call costs nothing."""
    compiled: Any = njit(
        _plain(function), inline="always", fastmath=FAST, error_model="numpy", boundscheck=False, _nrt=False
    )
    return compiled


def _plain(function: F) -> F:
    """The function as written: the tests' type checker wraps every function, and Numba cannot compile a
    wrapper."""
    return inspect.unwrap(function)
