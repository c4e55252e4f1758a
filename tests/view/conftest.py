"""What the tests of the server share: small spaces with known answers, and a client that needs no port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from inlaid.vectors import Vectors

WORDS = ["king", "queen", "man", "woman", "apple", "香蕉", "苹果", "国王"]
ROWS = [
    [1.0, 1.0, 0.0, 0.0],
    [1.0, -1.0, 0.0, 0.0],
    [0.1, 1.0, 0.0, 0.0],
    [0.1, -1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.9, 0.5],
    [0.0, 0.1, 1.0, 0.1],
    [1.0, 0.9, 0.0, 0.1],
]


@pytest.fixture
def small() -> Vectors:
    """Eight words; queen is king - man + woman."""
    return Vectors.of(WORDS, np.array(ROWS))


@pytest.fixture
def client(small: Vectors) -> Iterator[Any]:
    """A client of a server of `small` and of the same words in another space."""
    from starlette.testclient import TestClient

    from inlaid.view.app import make_app
    from inlaid.view.spaces import Spaces

    other = Vectors.of(WORDS, np.array(ROWS)[:, ::-1].copy())
    app = make_app(Spaces.of({"small": small, "other": other}))
    with TestClient(app, base_url="http://127.0.0.1:8000") as opened:
        yield opened
