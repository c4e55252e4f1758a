"""How many threads NumPy's linear algebra works with."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FOLDERS = ("../numpy.libs", ".dylibs", ".libs")
"""Where NumPy's wheels keep OpenBLAS, beside or in its package."""
NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


@functools.cache
def _openblas() -> tuple[Any, Any] | None:
    """The functions that get and set its number of threads; None where NumPy has another library."""
    package = Path(np.__file__).parent
    for path in sorted(each for folder in FOLDERS for each in (package / folder).glob("*openblas*")):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(str(path))
            for name in NAMES:
                if hasattr(library, name.format("set")):
                    return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """At most `count` threads meanwhile, in the whole process. Nothing changes where NumPy came without
    OpenBLAS: there, the variable of its library is for it, such as MKL_NUM_THREADS."""
    found = _openblas()
    if found is None:
        yield
        return
    get, set_threads = found
    before = get()
    set_threads(min(count, before))
    try:
        yield
    finally:
        set_threads(before)
