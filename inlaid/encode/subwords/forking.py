"""Forking: the threads of the tokenizers library do not survive a fork, so a child works without them.

Left alone, the library (up to 0.22) says so on stderr at every fork and asks the user to set a variable.
"""

from __future__ import annotations

import functools
import os

PARALLELISM = "TOKENIZERS_PARALLELISM"
"""What the library reads, at the fork and whenever it could use threads."""
_under_way = 0
"""Forks that have begun and in which the variable is ours."""


def _before() -> None:
    global _under_way
    if _under_way or PARALLELISM not in os.environ:
        _under_way += 1
        os.environ[PARALLELISM] = "false"


def _in_parent() -> None:
    global _under_way
    if _under_way:
        _under_way -= 1
        if not _under_way:
            os.environ.pop(PARALLELISM, None)


def _in_child() -> None:
    global _under_way
    _under_way = 0


@functools.cache
def prepare_for_forks() -> None:
    """From now on children of a fork use no threads of the library; the parent goes on using them."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
