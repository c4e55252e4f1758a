"""TensorBoard projector: a folder with tensors.tsv, metadata.tsv and the config that `tensorboard --logdir`
reads."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from inlaid import files
from inlaid.errors import FormatError
from inlaid.formats.reading import ALL, NO_END, Reading, Start, keep_words, opened
from inlaid.report import Note, Report, counted, silent
from inlaid.shapes import Table
from inlaid.vectors import Card, Vectors

SUFFIXES = ()
TENSORS = "tensors.tsv"
METADATA = "metadata.tsv"
CONFIG = "projector_config.pbtxt"
HEADER = "word\tcount"
SHOWN = f'embeddings {{ tensor_name: "inlaid" tensor_path: "{TENSORS}" metadata_path: "{METADATA}" }}\n'


def recognizes(start: Start) -> bool:
    return (start.path / TENSORS).is_file() and (start.path / METADATA).is_file()


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """Numbers of one file beside the labels of the other, line by line. Of labels in columns the first is the
    word."""
    table = _numbers(path / TENSORS, reading.top, report)
    lines = _lines(path / METADATA, None if reading.top is None else reading.top + 1, report)
    columns = [line.split(b"\t") for line in lines]
    has_header = any(
        len(each) > 1 for each in columns[:1]
    )  # the projector asks for a header as soon as there are two columns
    labels = columns[has_header:][: reading.top]
    if len(labels) != len(table):
        raise FormatError(
            f"{path}: {TENSORS} has {len(table):,} rows and {METADATA} {len(labels):,} words. Each row needs one word."
        )
    kept = keep_words(
        path / METADATA, [each[0] for each in labels], reading, report, first_line=1 + has_header
    )
    counts = (
        _counts(path / METADATA, columns)
        if has_header and columns[0] == HEADER.encode().split(b"\t")
        else None
    )
    if kept.rows is not None:
        table = table[kept.rows]
        counts = None if counts is None else counts[kept.rows]
    return Vectors(kept.words, table, counts, Card())


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    words = list(vectors.words)
    for number, word in enumerate(words):
        if not word.strip() or any(mark in word for mark in "\t\n\r"):
            raise FormatError(
                f"Word {number + 1:,} is {word!r}: a label of the projector can hold neither tabs nor line ends, nor be blank."
            )
    with files.writing_folder(path) as folder:
        with files.writing(folder / TENSORS) as file:
            for row in counted(vectors.table, "writing", unit="words", report=report):
                file.write(
                    "\t".join(map(str, row)).encode() + b"\n"
                )  # numpy writes the shortest number that reads back the same
        with files.writing(folder / METADATA) as file:
            _write_labels(file, words, vectors.counts)
        files.write_text(folder / CONFIG, SHOWN)


def _write_labels(file: IO[bytes], words: list[str], counts: np.ndarray | None) -> None:
    if counts is None:
        file.write("".join(f"{word}\n" for word in words).encode())
    else:
        file.write(f"{HEADER}\n".encode())
        file.write(
            "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True)).encode()
        )


def _numbers(path: Path, top: int | None, report: Report) -> Table:
    rows: list[np.ndarray] = []
    for number, line in enumerate(_lines(path, top, report), 1):
        try:
            row = np.array(line.split(b"\t"), np.float64).astype(np.float32)
        except ValueError:
            raise FormatError(
                f"{path}:{number}: expected numbers between tabs, found {line[:60]!r}."
            ) from None
        if rows and len(row) != len(rows[0]):
            raise FormatError(f"{path}:{number}: expected {len(rows[0])} numbers, found {len(row)}.")
        if not np.isfinite(row).all():
            raise FormatError(f"{path}:{number}: holds NaN, infinity or a number too large for float32.")
        rows.append(row)
    if not rows:
        raise FormatError(f"{path}: empty; expected a line of numbers for each word.")
    return np.array(rows)


def _counts(path: Path, columns: list[list[bytes]]) -> np.ndarray:
    try:
        return np.array([int(each[1]) for each in columns[1:]], np.int64)
    except (ValueError, IndexError, OverflowError):
        raise FormatError(f"{path}: expected a count behind each word, as its first line promises.") from None


def _lines(path: Path, top: int | None, report: Report | None = None) -> list[bytes]:
    """The first lines of a file, without their ends."""
    found: list[bytes] = []
    line = b"\n"
    with opened(path, report) as file:
        for line in file:
            if top is not None and len(found) >= top:
                break
            found.append(line.rstrip(b"\r\n"))
    if report and not line.endswith((b"\n", b"\r")):
        report(Note(f"{path}: {NO_END}"))
    return found
