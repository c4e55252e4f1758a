"""What a picture is: frozen settings, the numbers that follow from them, and a figure that shows the numbers.

    @dataclass(frozen=True, kw_only=True)
    class Rotary(Picture):
        dim: Dim = 8
        \"\"\"Dimension of queries and keys.\"\"\"

One line in `registry.py` makes it `inlaid draw rotary --dim 16` and `inlaid.draw("rotary", dim=16)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from inlaid.config import Range, check
from inlaid.messages import Language

Say = Callable[[str, str], str]
"""Which of two texts to write: the English one or the Chinese one."""
EvenDim = Annotated[int, Range(4, 4096)]
"""Of vectors whose components come in pairs, at least two of them."""


def speaking(language: Language) -> Say:
    return lambda english, chinese: chinese if language == "zh" else english


class Column(NamedTuple):
    """A column of the table beside a picture: its heading in both languages, and its cells."""

    english: str
    chinese: str
    cells: Any
    """A list or an array."""


@dataclass(frozen=True)
class Numbers:
    """What a picture computed."""

    values: dict[str, Any]
    """By name: numbers and arrays."""
    table: tuple[Column, ...]
    """What a terminal shows of them."""


@dataclass(frozen=True, kw_only=True)
class Picture(ABC):
    """Settings of a picture; each has a range and a line of help."""

    title: ClassVar[tuple[str, str]]
    """In English and Chinese."""
    size: ClassVar[tuple[float, float]]
    """Inches."""

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def numbers(self) -> Numbers:
        """Everything that the figure shows, computed."""

    @abstractmethod
    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        """What to see in the figure, with its numbers."""

    @abstractmethod
    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        """Fill an empty figure of matplotlib."""


def percent(share: float, say: Say) -> str:
    """A share as the language of the picture writes it: 96 % and 96%."""
    return say(f"{100 * share:.0f} %", f"{100 * share:.0f}%")
