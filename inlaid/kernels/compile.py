"""@kernel: the one place that knows our Numba flags."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

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
"""A kernel is compiled from parts in several files: what was compiled earlier holds as long as none of them
has changed."""


def kernel(function: F) -> F:
    """Compile a loop over arrays: cached on disk, the GIL released, no bounds checks.

    Kernels are module-level and take arrays and scalars only; the caller allocates, and Numba is told not to
    count who holds an array: a row of a table taken in a loop would otherwise be counted, with a lock, when
    it is taken and when it is let go, which was a tenth of the time of training. Threads are the caller's
    too: one call works on its part of the arrays, several calls in several threads share the whole.
    """
    compiled: Any = njit(
        _plain(function),
        cache=True,
        nogil=True,
        fastmath=FAST,
        error_model="numpy",
        boundscheck=False,
        _nrt=False,
    )
    with contextlib.suppress(
        AttributeError
    ):  # Numba keeps this to itself, and may change it: then it looks at the kernel's file alone
        compiled._cache._cache_file._source_stamp = SOURCES
    return compiled


def part(function: F) -> F:
    """Compile a piece that kernels are made of, in its file or another; it becomes a part of each, at no
    cost."""
    compiled: Any = njit(
        _plain(function), inline="always", fastmath=FAST, error_model="numpy", boundscheck=False, _nrt=False
    )
    return compiled


def is_compiled(function: Any) -> bool:
    """Whether a kernel was compiled before, here or by an earlier process: if not, the first call takes
    seconds."""
    try:
        return bool(function.signatures or function._cache._cache_file._load_index())
    except (
        AttributeError,
        OSError,
    ):  # Numba keeps this to itself, and may change it: then a word too many is said
        return False


def _plain(function: F) -> F:
    """The function as it was written: the tests' type checker wraps every function, and Numba cannot compile
    a wrapper."""
    return inspect.unwrap(function)
