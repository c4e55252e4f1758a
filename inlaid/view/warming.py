"""Warm-up: the first questions to a space are ours: no client waits for what is compiled or made once."""

from __future__ import annotations

import contextlib

from inlaid.errors import InlaidError
from inlaid.study.search.neighbors import neighbors
from inlaid.view.embedding import Embedder
from inlaid.view.spaces import Space


def warm_up(space: Space, embedder: Embedder) -> None:
    """Search and embed once."""
    with contextlib.suppress(InlaidError):  # a model that cannot embed, a space of one word
        if space.vectors is None:
            embedder.model_rows((space, False), ["a"])
            return
        first = space.vectors.words[0]
        neighbors(space.vectors, [first])
        neighbors(space.vectors, [first, first])
        embedder.words(space).embed_locked([first, f"{first} {first}"])
