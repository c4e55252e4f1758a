"""Words and numbers in lines: GloVe's files, and word2vec's and fastText's (.vec), which say "count dim"
first.

Lines are cut at newlines and fields at blanks and tabs; every other blank of Unicode is part of a word.
Numbers are read as Python's float() reads them, then rounded to float32. Large files pass in blocks through a
kernel, in two threads; whatever the kernel does not take for granted, a line at a time, and small files go
the plain way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from inlaid.errors import FormatError, WriteError
from inlaid.formats.lines import BLANKS, LONGEST_LINE, MARK, Block, blocks_of, in_order, until
from inlaid.formats.reading import (
    ALL,
    LONGEST_WORD,
    LOOKED_AT,
    Growing,
    Header,
    Reading,
    Start,
    keep_words,
    opened,
    packing,
    refuse_blanks,
)
from inlaid.kernels.text.reference import decimals, shortest
from inlaid.report import Progress, Report, silent
from inlaid.shapes import Rows
from inlaid.vectors import Vectors

SEEN = 20
"""Lines looked at to recognize a file."""
NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf)", re.IGNORECASE)
AT_ONCE = 1 << 20
"""Numbers written at once."""


@dataclass(frozen=True)
class Found:
    """The words and rows of a block."""

    words: list[bytes]
    rows: Rows


@dataclass(frozen=True)
class Lines:
    """A format of lines, with or without a first line that says "count dim"."""

    SUFFIXES: tuple[str, ...]
    headed: bool

    def recognizes(self, start: Start) -> bool:
        """Lines of a word and at least two numbers. Fewer may be anything (words and counts), and must be
        named."""
        lines = _first_lines(start.head)
        if b"\0" in start.head or not lines:
            return False
        header = Header.of(lines[0])
        if self.headed or header is not None:
            return self.headed and header is not None and all(map(_numbers_at_end, lines[1:2]))
        fields = [_fields(line) for line in lines]
        dim = min(map(_numbers_at_end, lines))
        has_words = not all(NUMBER.fullmatch(first) for first, *_ in fields)  # else it is a matrix
        return dim > 1 and has_words and sum(len(each) == dim + 1 for each in fields) * 2 > len(lines)

    def read(self, path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
        with opened(path, report) as file:
            blocks = blocks_of(path, file, report)
            first = next(blocks, None)
            if first is None:
                raise FormatError(f"{path}: nothing is in it. Expected lines of a word and its numbers.")
            header, first = _header(path, first) if self.headed else (None, first)
            dim = _dim(path, first, reading) if header is None else header.dim
            table = Growing(dim)
            words = list[bytes]()
            work = Work(path, dim, reading.spaces == "keep", self._hint(first.text, dim))
            for found in in_order(work, until(first, blocks, reading.top)):
                words += found.words
                table.append(found.rows)
        if header is not None:
            header.check(path, len(words), reading)
        kept = keep_words(path, words, reading, report, first_line=2 if self.headed else 1)
        return Vectors(kept.words, table.whole() if kept.rows is None else table.whole()[kept.rows])

    def write(self, vectors: Vectors, path: Path, report: Report = silent) -> None:
        refuse_blanks(vectors, path)
        words = vectors.words.all_bytes()
        step = max(1, AT_ONCE // vectors.dim)
        if not self.headed and words[0].startswith(MARK):
            raise WriteError(
                f"Cannot write {path}: its first word starts with a byte order mark, which readers take away."
            )
        kernels = compiled() if len(words) > step else None
        with packing(path) as file:
            if self.headed:
                file.write(b"%d %d\n" % vectors.stored.shape)
            for start in range(0, len(words), step):
                stop = min(start + step, len(words))
                numbers = written_rows(vectors.rows(np.arange(start, stop)), kernels)
                file.write(
                    b"".join([b"%b%b\n" % pair for pair in zip(words[start:stop], numbers, strict=True)])
                )
                report(Progress("writing", stop, len(words), "words"))

    def _hint(self, text: bytes, dim: int) -> str:
        """What may be meant if the lines do not have `dim` numbers."""
        lines = text.split(b"\n", 1)
        if not self.headed and Header.of(lines[0]):
            return f" If its first line, '{lines[0].decode().strip()}', is how many words and numbers there are: --format word2vec-text."
        if self.headed and dim != 1 and len(_fields(lines[0])) == 2:
            return " If its first line is a word and its number: --format glove."
        return ""


GLOVE = Lines((".txt",), headed=False)
WORD2VEC_TEXT = Lines((".vec", ".txt"), headed=True)


def compiled() -> ModuleType | None:
    """The kernels, or None where Numba is missing; loaded when a large file needs them, not before."""
    try:
        from inlaid.kernels.text import decimal_numbers
    except ImportError:
        return None
    return decimal_numbers


def written_rows(rows: Rows, kernels: ModuleType | None) -> list[bytes]:
    """The numbers of each row as text, a blank before each."""
    if kernels is None:
        return [b" " + b" ".join(shortest(row)) for row in rows]
    texts: list[bytes] = []
    while len(texts) < len(rows):
        left = np.ascontiguousarray(rows[len(texts) :])
        out = np.empty(left.size * kernels.WIDEST, np.uint8)
        ends = np.empty(len(left), np.int64)
        done = kernels.format_numbers(left, ends, out)
        bounds = [0, *ends[:done].tolist()]
        text = out[: bounds[-1]].tobytes()
        texts += [text[start:stop] for start, stop in pairwise(bounds)]
        if done < len(left):
            texts += written_rows(left[done : done + 1], None)
    return texts


@dataclass(frozen=True)
class Work:
    """What is done to each block: words and rows are found, or a line is refused."""

    path: Path
    dim: int
    keep_blanks: bool
    hint: str

    def __call__(self, block: Block) -> Found:
        possible = block.lines * (2 * self.dim + 1) <= len(
            block.text
        )  # a header that lies must not be paid for in memory
        kernels = compiled() if possible and not block.small else None
        found = self.plainly(block) if kernels is None else self.quickly(block, kernels)
        if max(map(len, found.words), default=0) > LONGEST_WORD:
            number = next(number for number, word in enumerate(found.words) if len(word) > LONGEST_WORD)
            raise FormatError(
                f"{self.path}:{block.first_line + number}: a word of more than {LONGEST_WORD:,} bytes is none."
            )
        return found

    def quickly(self, block: Block, kernels: ModuleType) -> Found:
        bits = np.empty((block.lines, self.dim), np.uint32)
        places = np.empty((block.lines, 3), np.int64)
        kernels.parse_lines(np.frombuffer(block.text, np.uint8), self.dim, bits, places)
        rows = bits.view(np.float32)
        words = [block.text[start:stop] for start, stop, _ in places.tolist()]
        for number in np.flatnonzero(places[:, 1] < 0).tolist():
            start, _, stop = places[number].tolist()
            words[number], rows[number] = self.line(block.text[start:stop], block.first_line + number)
        return Found(words, rows)

    def plainly(self, block: Block) -> Found:
        pairs = [
            self.line(line, number)
            for number, line in enumerate(block.text.split(b"\n")[:-1], block.first_line)
        ]
        return Found([word for word, _ in pairs], np.array([row for _, row in pairs], np.float32))

    def line(self, line: bytes, number: int) -> tuple[bytes, np.ndarray]:
        """The word and the numbers of one line."""
        where = f"{self.path}:{number}"
        line = line.rstrip(BLANKS)
        fields = _fields(line)
        if not fields:
            raise FormatError(f"{where}: an empty line among the others. Remove it.")
        word = fields[0]
        numbers = fields[1:]
        if self.keep_blanks and len(numbers) > self.dim:
            numbers = numbers[-self.dim :]
            word = _left_of(numbers, line)
        elif line[:1] in (b" ", b"\t"):
            raise FormatError(f"{where}: expected a word, found a blank and then '{_shown(word)}'.")
        if len(numbers) != self.dim:
            more = " If words here hold blanks: --spaces keep." if len(numbers) > self.dim else ""
            raise FormatError(
                f"{where}: expected {self.dim:,} numbers after the word '{_shown(word)}', found {len(numbers):,}.{more}{self.hint}"
            )
        values = decimals(numbers)
        if values is None:
            raise FormatError(
                f"{where}: {_what_is_wrong(numbers)} among the numbers of '{_shown(word)}'.{self.hint}"
            )
        return word, values


def _header(path: Path, first: Block) -> tuple[Header, Block]:
    """What the first line says, and the lines after it."""
    line, _, rest = first.text.partition(b"\n")
    header = Header.of(line)
    if header is None:
        raise FormatError(
            f"{path}:1: expected how many words and numbers there are, as in '400000 300', found '{_shown(line)}'. "
            "If there is no such line: --format glove."
        )
    if not 0 < header.dim <= LONGEST_LINE // 2:
        raise FormatError(
            f"{path}:1: promises vectors of {header.dim:,} numbers, which is none that fits in a line."
        )
    return header, Block(2, rest, first.small)


def _dim(path: Path, first: Block, reading: Reading) -> int:
    """How many numbers the first line has; where words may hold blanks, the fewest that any of the first
    lines has."""
    lines = [line for line in first.text.split(b"\n", SEEN)[:-1] if line.strip(BLANKS)]
    dim = min(map(_numbers_at_end, lines)) if reading.spaces == "keep" else len(_fields(lines[0])) - 1
    if dim < 1:
        raise FormatError(f"{path}:1: expected a word and its numbers, found '{_shown(lines[0])}'.")
    return dim


def _first_lines(head: bytes) -> list[bytes]:
    """The first lines of what was looked at; one that is cut counts only where there is nothing better, less
    its last field."""
    *lines, last = head.removeprefix(MARK).split(b"\n")
    if len(lines) < 2 or len(head) < LOOKED_AT:
        lines.append(last[: max(last.rfind(b" "), 0)] if len(head) >= LOOKED_AT else last)
    return [line.rstrip(BLANKS) for line in lines[:SEEN] if line.strip(BLANKS)]


def _fields(line: bytes) -> list[bytes]:
    return [field for field in line.rstrip(BLANKS).replace(b"\t", b" ").split(b" ") if field]


def _numbers_at_end(line: bytes) -> int:
    fields = _fields(line)
    return next(
        (count for count, field in enumerate(reversed(fields)) if not NUMBER.fullmatch(field)),
        max(len(fields) - 1, 0),
    )


def _left_of(numbers: list[bytes], line: bytes) -> bytes:
    end = len(line)
    for number in reversed(numbers):
        end = line.rindex(number, 0, end)
    return line[:end].strip(BLANKS)


def _what_is_wrong(numbers: list[bytes]) -> str:
    bad = next(number for number in numbers if decimals([number]) is None)
    kind = (
        "NaN or infinity"
        if re.search(rb"nan|inf", bad, re.IGNORECASE)
        else "no finite float32"
        if NUMBER.fullmatch(bad)
        else "no number"
    )
    return f"expected numbers, found '{_shown(bad)}' ({kind})"


def _shown(text: bytes) -> str:
    return text[:60].decode("utf-8", "replace") + ("…" if len(text) > 60 else "")
