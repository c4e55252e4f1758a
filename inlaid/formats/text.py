"""Text files: a line for each word, its numbers after it; GloVe's, and word2vec's and fastText's with header.

The header is a first line "count dim". Large files are parsed in blocks by a kernel, in two threads; small
files in plain Python.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from inlaid.collect.charsets import report_charset
from inlaid.errors import FormatError, WriteError
from inlaid.formats.line_parser import (
    NUMBER,
    LineParser,
    count_numbers_at_end,
    load_kernels,
    shown,
    split_fields,
)
from inlaid.formats.lines import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    SPACES,
    LineBlock,
    first_lines,
    map_in_order,
    read_blocks,
)
from inlaid.formats.reading import (
    ALL,
    HEAD_BYTES,
    GrowingTable,
    Header,
    Part,
    Reading,
    Start,
    compressing,
    convert_command,
    opened,
    refuse_whitespace,
)
from inlaid.formats.words import accept_words
from inlaid.kernels.text.reference import shortest
from inlaid.messages import Message
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Rows
from inlaid.vectors import Vectors

RECOGNIZED_BY = 20
"""Lines by which a file is recognized."""
WRITE_NUMBERS = 1 << 20
"""Numbers written at a time."""


@dataclass(frozen=True)
class TextFormat:
    """A line for each word, with or without a header."""

    SUFFIXES: tuple[str, ...]
    has_header: bool
    COMPRESSIONS: tuple[str, ...] = (".gz", ".xz")
    STORES: tuple[Part, ...] = ()

    def recognizes(self, start: Start) -> bool:
        """Lines of a word and at least two numbers. Lines with one number may be anything (words and counts),
        so that format must be named."""
        lines = _complete_lines(start.head)
        if b"\0" in start.head or not lines:
            return False
        header = Header.of(lines[0])
        if self.has_header or header is not None:
            return self.has_header and header is not None and all(map(count_numbers_at_end, lines[1:2]))
        fields = [split_fields(line) for line in lines]
        dim = min(map(count_numbers_at_end, lines))
        has_words = not all(NUMBER.fullmatch(first) for first, *_ in fields)  # otherwise it is a matrix
        return dim > 1 and has_words and sum(len(each) == dim + 1 for each in fields) * 2 > len(lines)

    def read(self, path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
        header = None
        words = list[bytes]()
        spaced = 0
        with opened(path, report, charset=reading.recoded) as file:
            blocks = read_blocks(path, file, report)
            first = next(blocks, None)
            if first is None:
                raise FormatError("{path}: empty; expected lines of a word and its numbers.", path=path)
            if self.has_header:
                header = _read_header(path, first)
                first = _without_header(first)
            dim = _count_numbers(path, first, reading) if header is None else header.dim
            table = GrowingTable(dim)
            parser = LineParser(path, dim, reading.spaces, self._hint(path, first.text, dim))
            for parsed in map_in_order(parser, first_lines(first, blocks, reading.top)):
                words += parsed.words
                table.append(parsed.rows)
                spaced += parsed.spaced
        report_charset(path, file.charset, reading.charset, report)
        if header is not None:
            header.check(path, len(words), reading, report)
        if spaced:
            report(Note("{path}: words that contain spaces: {count:,}.", path=path, count=spaced))
        accepted = accept_words(path, words, reading, report, first_line=2 if self.has_header else 1)
        return Vectors(accepted.words, accepted.select(table.whole()))

    def write(self, vectors: Vectors, path: Path, report: Report = silent) -> None:
        refuse_whitespace(vectors, path)
        words = vectors.words.all_bytes()
        if not self.has_header and words[0].startswith(BYTE_ORDER_MARK):
            raise WriteError(
                "Cannot write {path}: its first word starts with a byte order mark, which readers remove. "
                "Write a .vec or .inlaid file.",
                path=path,
            )
        step = max(1, WRITE_NUMBERS // vectors.dim)
        kernels = load_kernels() if len(words) > step else None
        with compressing(path) as file:
            if self.has_header:
                file.write(b"%d %d\n" % vectors.stored.shape)
            for start in range(0, len(words), step):
                stop = min(start + step, len(words))
                numbers = format_rows(vectors.rows(np.arange(start, stop)), kernels)
                lines = [b"%b%b\n" % pair for pair in zip(words[start:stop], numbers, strict=True)]
                file.write(b"".join(lines))
                report(Progress("writing", stop, len(words), "words"))

    def _hint(self, path: Path, text: bytes, dim: int) -> Message:
        """What the user may have meant if the lines do not have `dim` numbers."""
        line = text.split(b"\n", 1)[0]
        if not self.has_header and Header.of(line):
            return Message(
                " If the first line, '{line}', is a header (number of words, vector dimension): {command}.",
                line=line.decode().strip(),
                command=convert_command(path, "source-format", "word2vec-text"),
            )
        if self.has_header and dim != 1 and len(split_fields(line)) == 2:
            return Message(
                " If the first line is not a header, but a word and its number: {command}.",
                command=convert_command(path, "source-format", "glove"),
            )
        return Message("")


GLOVE = TextFormat((".txt",), has_header=False)
WORD2VEC_TEXT = TextFormat((".vec", ".txt"), has_header=True)


def format_rows(rows: Rows, kernels: ModuleType | None) -> list[bytes]:
    """The numbers of each row as text, a space before each; the fewest digits that read back the same."""
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
        if done < len(left):  # a row the kernel does not format
            texts += format_rows(left[done : done + 1], None)
    return texts


def _read_header(path: Path, first: LineBlock) -> Header:
    line = first.text[: first.text.find(b"\n")]  # partition would copy the rest of the block
    header = Header.of(line)
    if header is None:
        raise FormatError(
            "{path}:1: expected a header (number of words, vector dimension) like '400000 300', found "
            "'{line}'. "
            "If the file has no header: {command}.",
            path=path,
            line=shown(line),
            command=convert_command(path, "source-format", "glove"),
        )
    if not 0 < header.dim <= LONGEST_LINE // 2:
        raise FormatError(
            "{path}:1: the header says dimension {dim:,}; expected 1 to {largest:,}. Get the file again.",
            path=path,
            dim=header.dim,
            largest=LONGEST_LINE // 2,
        )
    return header


def _without_header(first: LineBlock) -> LineBlock:
    return LineBlock(2, first.text.partition(b"\n")[2], first.small)


def _count_numbers(path: Path, first: LineBlock, reading: Reading) -> int:
    """The vector dimension: how many numbers most of the first lines have; where every word may contain
    spaces, the fewest that any of them has."""
    text = first.text.lstrip(SPACES + b"\r\n")
    lines = [line for line in text.split(b"\n", RECOGNIZED_BY)[:-1] if line.strip(SPACES)]
    if not lines:
        raise FormatError("{path}: empty; expected lines of a word and its numbers.", path=path)
    if reading.spaces == "keep":
        dim = min(map(count_numbers_at_end, lines))
    else:
        counts = Counter(map(count_numbers_at_end, lines))
        dim = counts.most_common(1)[0][0]  # of equally frequent ones, that of the first line
    if dim < 1:
        raise FormatError(
            "{path}:1: expected a word and its numbers, found '{line}'.", path=path, line=shown(lines[0])
        )
    return dim


def _complete_lines(head: bytes) -> list[bytes]:
    """The first lines of the head of a file. A line that is cut counts only if there are fewer than two
    others, without its last field."""
    *lines, last = head.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    cut = len(head) >= HEAD_BYTES
    if cut and len(lines) < 2:
        lines.append(last[: max(last.rfind(b" "), 0)])
    elif not cut:
        lines.append(last)
    return [line.rstrip(SPACES) for line in lines[:RECOGNIZED_BY] if line.strip(SPACES)]
