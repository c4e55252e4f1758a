"""@kernel and @part: the one place that knows our Numba flags."""

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
"""A kernel is compiled from parts in several files: the compiled code on disk is valid as long as none of
them has changed."""


def kernel(function: F) -> F:
    """Compile a loop over arrays: cached on disk, the GIL released, no bounds checks.

    Kernels are module-level functions of arrays, scalars and named tuples of them. The caller allocates, and
    reference counting is off (`_nrt=False`): otherwise every row of a table taken in a loop would be counted
    with an atomic instruction, twice, which was a tenth of the time of training. The caller has the threads,
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
    # Private in Numba, and may change: then the cache depends on the kernel's own file alone.
    with contextlib.suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = SOURCES
    return compiled


def part(function: F) -> F:
    """Compile a piece of kernels, in the same file or another; it is inlined, so a call costs nothing."""
    compiled: Any = njit(
        _plain(function), inline="always", fastmath=FAST, error_model="numpy", boundscheck=False, _nrt=False
    )
    return compiled


def is_compiled(function: Any) -> bool:
    """Whether a kernel is compiled already, by this process or an earlier one: if not, the first call takes
    seconds."""
    try:
        return bool(function.signatures or function._cache._cache_file._load_index())
    except (AttributeError, OSError):  # private in Numba, and may change: then a note too many is shown
        return False


def _plain(function: F) -> F:
    """The function as written: the tests' type checker wraps every function, and Numba cannot compile a
    wrapper."""
    return inspect.unwrap(function)
