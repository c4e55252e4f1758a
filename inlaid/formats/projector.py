"""TensorBoard projector: a folder with tensors.tsv, metadata.tsv and the config of `tensorboard --logdir`."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from inlaid import files
from inlaid.errors import FormatError
from inlaid.formats.reading import ALL, Reading, Start, no_end_of_line, opened
from inlaid.formats.words import accept_counts, accept_words
from inlaid.report import Report, counted, silent
from inlaid.shapes import Table
from inlaid.vectors import Card, Vectors

SUFFIXES = ()
STORES = ("counts",)
TENSORS = "tensors.tsv"
METADATA = "metadata.tsv"
CONFIG = "projector_config.pbtxt"
HEADER = "word\tcount"
CONFIG_TEXT = f'embeddings {{ tensor_name: "inlaid" tensor_path: "{TENSORS}" metadata_path: "{METADATA}" }}\n'


def recognizes(start: Start) -> bool:
    return (start.path / TENSORS).is_file() and (start.path / METADATA).is_file()


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """The numbers of one file and the labels of the other, line by line. Where labels have columns, the first
    is the word."""
    table = _read_table(path / TENSORS, reading.top, report)
    lines = _lines(path / METADATA, None if reading.top is None else reading.top + 1, report)
    columns = [line.split(b"\t") for line in lines]
    # The projector requires a header if, and only if, there are at least two columns.
    has_header = bool(columns) and len(columns[0]) > 1
    labels = columns[1:] if has_header else columns
    labels = labels[: reading.top]
    if len(labels) != len(table):
        raise FormatError(
            "{path}: {tensors} has {rows:,} rows and {metadata} {words:,} words; expected one row for each "
            "word.",
            path=path,
            tensors=TENSORS,
            rows=len(table),
            metadata=METADATA,
            words=len(labels),
        )
    words = [label[0] for label in labels]
    first_line = 2 if has_header else 1
    accepted = accept_words(path / METADATA, words, reading, report, first_line=first_line)
    counts = None
    if has_header and columns[0] == HEADER.encode().split(b"\t"):
        counts = accepted.select(_read_counts(path / METADATA, columns[1:]))
    return Vectors(accepted.words, accepted.select(table), counts, Card())


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    words = list(vectors.words)
    for number, word in enumerate(words):
        if not word.strip() or any(mark in word for mark in "\t\n\r"):
            raise FormatError(
                "Word {number:,} is {word!r}: a label of the projector cannot be blank or contain tabs or "
                "line "
                "ends. Write an .inlaid file, or remove the word.",
                number=number + 1,
                word=word,
            )
    with files.writing_folder(path) as folder:
        with files.writing(folder / TENSORS) as file:
            for row in counted(vectors.table, "writing", unit="words", report=report):
                # NumPy writes the shortest text that reads back as the same number.
                file.write("\t".join(map(str, row)).encode() + b"\n")
        with files.writing(folder / METADATA) as file:
            _write_labels(file, words, vectors.counts)
        files.write_text(folder / CONFIG, CONFIG_TEXT)


def _write_labels(file: IO[bytes], words: list[str], counts: np.ndarray | None) -> None:
    if counts is None:
        lines = [f"{word}\n" for word in words]
    else:
        pairs = zip(words, counts.tolist(), strict=True)
        lines = [f"{HEADER}\n", *(f"{word}\t{count}\n" for word, count in pairs)]
    file.write("".join(lines).encode())


def _read_table(path: Path, top: int | None, report: Report) -> Table:
    rows: list[np.ndarray] = []
    for number, line in enumerate(_lines(path, top, report), 1):
        try:
            row = np.array(line.split(b"\t"), np.float64).astype(np.float32)
        except ValueError:
            raise FormatError(
                "{path}:{line}: expected numbers between tabs, found {found!r}.",
                path=path,
                line=number,
                found=line[:60],
            ) from None
        if rows and len(row) != len(rows[0]):
            raise FormatError(
                "{path}:{line}: expected {expected} numbers, found {found}.",
                path=path,
                line=number,
                expected=len(rows[0]),
                found=len(row),
            )
        if not np.isfinite(row).all():
            raise FormatError(
                "{path}:{line}: holds NaN, infinity or a number too large for float32.",
                path=path,
                line=number,
            )
        rows.append(row)
    if not rows:
        raise FormatError("{path}: empty; expected a line of numbers for each word.", path=path)
    return np.array(rows)


def _read_counts(path: Path, columns: list[list[bytes]]) -> np.ndarray:
    try:
        counts = np.array([int(column[1]) for column in columns], np.int64)
    except (ValueError, IndexError, OverflowError):
        raise FormatError(
            "{path}: expected a count after each word, as its first line promises.", path=path
        ) from None
    return accept_counts(path, counts)


def _lines(path: Path, top: int | None, report: Report) -> list[bytes]:
    """The first lines of a file, without their line ends."""
    found: list[bytes] = []
    line = b"\n"
    with opened(path, report) as file:
        for line in file:
            if top is not None and len(found) >= top:
                break
            found.append(line.rstrip(b"\r\n"))
    if not line.endswith((b"\n", b"\r")):
        report(no_end_of_line(path))
    return found
