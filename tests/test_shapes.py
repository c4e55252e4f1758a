"""Shapes are checked in every call of the tests, by name and together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import beartype.roar
import jaxtyping
import numpy as np
import pytest

from inlaid import shapes
from inlaid.neural.kinds import is_model_folder
from inlaid.study.compare.procrustes import procrustes


def test_every_shape_is_known_to_the_checker(pytestconfig: pytest.Config):
    source = Path(__file__).with_name("conftest.py").read_text("utf-8")
    known = re.search(r"\\b\(([\w|]+)\)\\b", source)
    assert known is not None
    named = {name for name, value in vars(shapes).items() if _is_shape(value) and name[0].isupper()}
    imported = {"Float", "Float32", "Float64", "Int8", "Int32", "Int64", "UInt8"}
    assert {*known[1].split("|")} == named - imported


def _is_shape(value: Any) -> bool:
    return getattr(value, "__module__", "").startswith("jaxtyping")


def test_shapes_that_do_not_fit_together_are_refused():
    with pytest.raises(jaxtyping.TypeCheckError):
        procrustes(np.ones((3, 2), np.float32), np.ones((3, 4), np.float32))
    with pytest.raises(jaxtyping.TypeCheckError):
        procrustes(np.ones((3, 2), np.float64), np.ones((3, 2), np.float64))


def test_other_types_are_refused():
    with pytest.raises(beartype.roar.BeartypeCallHintViolation):
        is_model_folder(3)  # pyright: ignore[reportArgumentType]
