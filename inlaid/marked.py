"""A text with marked parts: bold in terminals and notebooks, between asterisks in plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Marked:
    """A text, and where its marked parts start and end, from left to right.

    >>> str(Marked("the cat sits", ((4, 7),)))
    'the **cat** sits'
    """

    text: str
    marks: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return self.shown(lambda part: part, "**", "**")

    def shown(self, write: Callable[[str], str], start: str, end: str) -> str:
        """The text with `start` and `end` around its marked parts; `write` escapes what is between."""
        parts: list[str] = []
        here = 0
        for first, last in self.marks:
            parts += [write(self.text[here:first]), start, write(self.text[first:last]), end]
            here = last
        return "".join([*parts, write(self.text[here:])])

    def indented(self, spaces: int) -> Marked:
        moved = tuple((start + spaces, end + spaces) for start, end in self.marks)
        return Marked(" " * spaces + self.text, moved)
