"""Answers: the last answers of searches in word vectors, which are the same whenever they are asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from inlaid.view.spaces import Spaces

MOST = 32 << 20
"""Bytes of the answers that are kept, with their questions."""
LONGEST = 64 << 10
"""Bytes of the longest question or answer that is kept."""


class Answers:
    """Keeps the answers that were asked for last, until a space is replaced."""

    def __init__(self, spaces: Spaces) -> None:
        self.spaces = spaces
        self.version = spaces.version
        self.size = 0
        self._kept: OrderedDict[tuple[Hashable, bytes], bytes] = OrderedDict()

    def find(self, asked: Hashable, body: bytes) -> bytes | None:
        """The answer to the same question, if it is kept."""
        if self.version != self.spaces.version:
            self._kept.clear()
            self.size = 0
            self.version = self.spaces.version
        found = self._kept.get((asked, body))
        if found is not None:
            self._kept.move_to_end((asked, body))
        return found

    def keep(self, asked: Hashable, body: bytes, answer: bytes, version: int) -> None:
        """Keep an answer that was made when the spaces had this version."""
        if version != self.spaces.version or version != self.version or (asked, body) in self._kept:
            return
        if max(len(answer), len(body)) > LONGEST:
            return
        self._kept[asked, body] = answer
        self.size += len(answer) + len(body)
        while self.size > MOST:
            (_, question), dropped = self._kept.popitem(last=False)
            self.size -= len(dropped) + len(question)
