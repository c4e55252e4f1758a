"""The tests check types and shapes at every call of the package, and keep nothing alive by it."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from inlaid.files import checksum
from inlaid.study.search.ranking import _cosines
from inlaid.vectors import Outcome, lengths


def test_a_wrong_type_is_refused():
    with pytest.raises(TypeCheckError):
        checksum("text, not bytes")  # pyright: ignore[reportArgumentType]


def test_fields_of_a_dataclass_are_checked():
    with pytest.raises(TypeCheckError):
        Outcome(reason=3)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_wrong_dtype_is_refused():
    with pytest.raises(TypeCheckError):
        lengths(np.eye(2))


def test_sizes_of_one_name_must_agree():
    table = np.eye(3, dtype=np.float32)
    with pytest.raises(TypeCheckError):
        _cosines(table, np.ones(2, np.float32), table)


def test_functions_inside_functions_do_not_keep_what_is_around_them(request: pytest.FixtureRequest):
    conftest = request.config.pluginmanager.getplugin(str(Path(__file__).with_name("conftest.py")))
    assert conftest is not None

    class Opened:
        pass

    def use() -> weakref.ref[Opened]:
        opened = Opened()

        @conftest._check_calls()
        def inner(given: Opened, count: int) -> Opened:
            return opened

        inner(opened, 1)
        return weakref.ref(opened)

    alive = use()
    gc.collect()
    assert alive() is None
