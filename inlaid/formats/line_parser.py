"""Line parser: blocks of lines -> words and rows, by a compiled kernel for large files or in plain Python.

Fields end at spaces and tabs; every other whitespace character of Unicode is part of a word. Numbers are read
as Python's float() reads them, then rounded to float32. A line that the kernel does not parse, because it is
unusual or wrong, goes through the Python parser, which accepts it or names the error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np

from inlaid.errors import FormatError
from inlaid.formats.lines import SPACES, LineBlock
from inlaid.formats.reading import LONGEST_WORD, convert_command
from inlaid.kernels.text.reference import decimals
from inlaid.messages import Message
from inlaid.shapes import Rows

NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf)", re.IGNORECASE)
INTEGER = re.compile(rb"[+-]?\d+")
SHOWN = 60
"""Bytes of a field that an error shows."""


class ParsedBlock(NamedTuple):
    words: list[bytes]
    """An empty one where a line has none."""
    rows: Rows
    spaced: int
    """Words that contain spaces."""


class ParsedLine(NamedTuple):
    word: bytes
    row: np.ndarray

    @property
    def has_spaces(self) -> bool:
        return b" " in self.word or b"\t" in self.word


@dataclass(frozen=True)
class LineParser:
    """Parses the lines of one file, each a word and `dim` numbers."""

    path: Path
    dim: int
    spaces: Literal["auto", "keep", "error"]
    """Whether words may contain spaces, so that numbers are counted from the end of the line."""
    hint: Message
    """What the user may have meant if the lines do not have `dim` numbers."""

    def __call__(self, block: LineBlock) -> ParsedBlock:
        # A header with a wrong dimension must not cost memory: every number needs at least two bytes.
        plausible = block.lines * (2 * self.dim + 1) <= len(block.text)
        kernels = load_kernels() if plausible and not block.small else None
        parsed = self.parse_in_python(block) if kernels is None else self.parse_by_kernel(block, kernels)
        if max(map(len, parsed.words), default=0) > LONGEST_WORD:
            number = next(number for number, word in enumerate(parsed.words) if len(word) > LONGEST_WORD)
            raise FormatError(
                "{path}:{line}: a word of more than {longest:,} bytes. This is not a text file of vectors.",
                path=self.path,
                line=block.first_line + number,
                longest=LONGEST_WORD,
            )
        return parsed

    def parse_by_kernel(self, block: LineBlock, kernels: ModuleType) -> ParsedBlock:
        bits = np.empty((block.lines, self.dim), np.uint32)
        places = np.empty((block.lines, 3), np.int64)
        kernels.parse_lines(np.frombuffer(block.text, np.uint8), self.dim, bits, places)
        rows = bits.view(np.float32)
        words = [block.text[start:stop] for start, stop, _ in places.tolist()]
        spaced = 0
        for number in np.flatnonzero(places[:, 1] < 0).tolist():
            start, _, stop = places[number].tolist()
            line = self.parse_line(block.text[start:stop], block.first_line + number)
            words[number] = line.word
            rows[number] = line.row
            spaced += line.has_spaces
        return ParsedBlock(words, rows, spaced)

    def parse_in_python(self, block: LineBlock) -> ParsedBlock:
        texts = enumerate(block.text.split(b"\n")[:-1], block.first_line)
        lines = [self.parse_line(text, number) for number, text in texts]
        rows = np.array([line.row for line in lines], np.float32)
        return ParsedBlock([line.word for line in lines], rows, sum(line.has_spaces for line in lines))

    def parse_line(self, line: bytes, number: int) -> ParsedLine:
        line = line.rstrip(SPACES)
        fields = split_fields(line)
        if not fields:
            raise FormatError("{path}:{line}: an empty line. Remove it.", path=self.path, line=number)
        word = fields[0]
        numbers = fields[1:]
        starts_with_space = line[:1] in (b" ", b"\t")
        if len(numbers) > self.dim and self._has_spaces(numbers):
            numbers = numbers[-self.dim :]
            word = _left_of(numbers, line)
        elif starts_with_space and len(fields) == self.dim and self.spaces != "error":
            numbers = fields
            word = b""
        elif starts_with_space and (self.spaces == "error" or len(numbers) != self.dim):
            raise FormatError(
                "{path}:{line}: expected a word at the start of the line, found a space and then '{found}'.",
                path=self.path,
                line=number,
                found=shown(word),
            )
        if len(numbers) != self.dim:
            raise self._wrong_dimension(number, word, len(numbers))
        values = decimals(numbers)
        if values is None:
            raise self._not_finite(number, word, numbers)
        return ParsedLine(word, values)

    def _has_spaces(self, fields: list[bytes]) -> bool:
        """Whether the first of too many fields belong to the word ("new york", "iphone 4"). Decimals there,
        or whole numbers in a table of whole numbers, are those of a damaged line."""
        if self.spaces != "auto":
            return self.spaces == "keep"
        extra = fields[: -self.dim]
        if not any(map(NUMBER.fullmatch, extra)):
            return True
        whole = all(field.isdigit() for field in extra if NUMBER.fullmatch(field))
        return whole and not all(map(INTEGER.fullmatch, fields[-self.dim :]))

    def _wrong_dimension(self, line: int, word: bytes, found: int) -> FormatError:
        spaces = Message("")
        if found > self.dim:
            spaces = Message(
                " If words contain spaces: {command}.", command=convert_command(self.path, "spaces", "keep")
            )
        return FormatError(
            "{path}:{line}: expected {expected:,} numbers after the word '{word}', found "
            "{found:,}.{spaces}{hint}",
            path=self.path,
            line=line,
            expected=self.dim,
            word=shown(word),
            found=found,
            spaces=spaces,
            hint=self.hint,
        )

    def _not_finite(self, line: int, word: bytes, numbers: list[bytes]) -> FormatError:
        bad = next(number for number in numbers if decimals([number]) is None)
        expected = Message("numbers")
        if re.search(rb"nan|inf", bad, re.IGNORECASE):
            expected = Message("finite numbers")
        elif NUMBER.fullmatch(bad):
            expected = Message("numbers within float32")
        return FormatError(
            "{path}:{line}: expected {expected} after the word '{word}', found '{found}'.{hint}",
            path=self.path,
            line=line,
            expected=expected,
            word=shown(word),
            found=shown(bad),
            hint=self.hint,
        )


def load_kernels() -> ModuleType | None:
    """The kernels, or None where Numba is missing; imported only when a large file needs them."""
    try:
        from inlaid.kernels.text import decimal_numbers
    except ImportError:
        return None
    return decimal_numbers


def split_fields(line: bytes) -> list[bytes]:
    return [field for field in line.rstrip(SPACES).replace(b"\t", b" ").split(b" ") if field]


def count_numbers_at_end(line: bytes) -> int:
    """How many fields at the end of the line are numbers; the first field never counts."""
    fields = split_fields(line)
    for count, field in enumerate(reversed(fields)):
        if not NUMBER.fullmatch(field):
            return count
    return max(len(fields) - 1, 0)


def shown(text: bytes) -> str:
    """The start of a field, for messages."""
    ellipsis = "…" if len(text) > SHOWN else ""
    return text[:SHOWN].decode("utf-8", "replace") + ellipsis


def _left_of(numbers: list[bytes], line: bytes) -> bytes:
    """The part of the line before its last numbers."""
    end = len(line)
    for number in reversed(numbers):
        end = line.rindex(number, 0, end)
    return line[:end].strip(SPACES)
