"""fastText's model files: settings, dictionary, input matrix (words, then buckets), output matrix."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid.formats.binary import BinaryReader
from inlaid.formats.product_quantization import ProductQuantizedTable, read_quantized
from inlaid.kernels.text import reference
from inlaid.messages import Message
from inlaid.report import Note, Report

MAGIC = 793712314
VERSION = 12
SETTINGS = (
    "dim",
    "window",
    "epochs",
    "min_count",
    "negatives",
    "word_ngrams",
    "loss",
    "objective",
    "buckets",
    "min_n",
    "max_n",
    "lr_update_rate",
)
"""The settings in the order of the file, by our names; the last one has fastText's."""
LOSSES = {1: "hierarchical-softmax", 2: "negative-sampling", 3: "softmax", 4: "one-vs-all"}
OBJECTIVES = {1: "cbow", 2: "skipgram", 3: "supervised"}
ENTRY = struct.Struct("<qb")
"""What follows a word in the dictionary: its count, and whether it is a label."""
END = b"</s>"
LONGEST_NGRAM = 1000
"""The largest max_n that is accepted; anything beyond is damage."""
LIMITS = {
    "dim": (1, 1 << 24),
    "loss": (1, 4),
    "objective": (1, 3),
    "min_n": (0, LONGEST_NGRAM),
    "max_n": (0, LONGEST_NGRAM),
    "buckets": (0,),
}
INPUT = Message("the input matrix")
OUTPUT = Message("the output matrix")

Matrix = np.ndarray | ProductQuantizedTable


class Dictionary(NamedTuple):
    words: list[bytes]
    counts: np.ndarray
    labels: int
    buckets: int
    """Rows of the input matrix after those of the words."""
    bucket_rows: slice | np.ndarray
    """The rows of the buckets, in the order of `kept`."""
    kept: np.ndarray | None
    """The buckets that have rows, where the model was pruned; None: all."""


@dataclass(frozen=True)
class FastTextModel:
    """A model file, read."""

    settings: dict[str, Any]
    dictionary: Dictionary
    matrix: Matrix
    """The input matrix."""
    contexts: Matrix | None
    """The output matrix, if its rows are words."""


def has_magic(head: bytes) -> bool:
    return head[:4] == struct.pack("<i", MAGIC)


def is_version_0(head: bytes) -> bool:
    """Whether a file starts with plausible settings, as files of 2016 do: they have no magic number."""
    if len(head) < 56:
        return False
    settings = dict(zip(SETTINGS, struct.unpack_from("<12i", head), strict=True))
    return (
        0 < settings["dim"] < 1 << 16
        and settings["loss"] in LOSSES
        and settings["objective"] in OBJECTIVES
        and 0 <= settings["min_n"] <= LONGEST_NGRAM
        and 0 <= settings["max_n"] <= LONGEST_NGRAM
        and settings["buckets"] >= 0
    )


def read_model(path: Path, report: Report) -> FastTextModel:
    reader = BinaryReader(path, report)
    settings = _read_settings(reader)
    dictionary = _read_dictionary(reader, settings)
    _report_left_out(path, settings, dictionary, report)
    rows = len(dictionary.words) + dictionary.buckets
    has_mark = settings["version"] > 0
    matrix = _read_matrix(reader, INPUT, rows, settings["dim"], has_mark=has_mark)
    contexts = _read_contexts(
        reader, settings, dictionary, quantized=isinstance(matrix, ProductQuantizedTable)
    )
    reader.finish()
    if settings["version"] == 0 and settings["max_n"] and isinstance(matrix, np.ndarray):
        matrix = _without_end_ngrams(matrix, dictionary, settings)
    return FastTextModel(settings, dictionary, matrix, contexts)


def _read_settings(reader: BinaryReader) -> dict[str, Any]:
    """The settings by our names; `version` is 0 for a file without a magic number."""
    version = 0
    head = bytes(reader.data[:56])
    if has_magic(head) or not is_version_0(head):
        reader.number(Message("the magic number"), "i", MAGIC, MAGIC)
        version = reader.number(Message("the version"), "i", VERSION - 1, VERSION)
    settings: dict[str, Any] = {"version": version}
    for name in SETTINGS:
        settings[name] = reader.number(Message("{name}", name=name), "i", *LIMITS.get(name, ()))
    settings["subsample"] = reader.number(Message("the subsampling threshold"), "d", 0)
    settings["loss"] = LOSSES[settings["loss"]]
    settings["objective"] = OBJECTIVES[settings["objective"]]
    if version < VERSION and settings["objective"] == "supervised":
        settings["max_n"] = (
            0  # supervised models of that time have no character n-grams; fastText does the same
        )
    if settings["max_n"] and not settings["buckets"]:
        expected = Message("at least 1, for n-grams of up to {max_n} characters", max_n=settings["max_n"])
        raise reader.error(Message("buckets"), 0, expected, reader.at - 24)
    return settings


def _read_dictionary(reader: BinaryReader, settings: dict[str, Any]) -> Dictionary:
    size = reader.number(Message("the number of entries"), "i", 0)
    count = reader.number(Message("the number of words"), "i", 0, size)
    labels = reader.number(Message("the number of labels"), "i", size - count, size - count)
    reader.number(Message("the number of tokens"), "q", 0)
    pruned = -1
    if settings["version"] > 0:
        pruned = reader.number(Message("the number of kept buckets"), "q", -1, settings["buckets"])
    words, counts = _read_entries(reader, size, count)
    words = words[:count]
    counts = counts[:count]
    if pruned < 0:
        buckets = settings["buckets"]
        return Dictionary(words, counts, labels, buckets, slice(count, count + buckets), None)
    pairs = _read_kept_buckets(reader, pruned, settings["buckets"])
    return Dictionary(words, counts, labels, pruned, count + pairs[:, 1], pairs[:, 0].astype(np.int32))


def _read_entries(reader: BinaryReader, size: int, count: int) -> tuple[list[bytes], np.ndarray]:
    """Words and their counts; the first `count` entries are words, the others labels."""
    reader.require(Message("the dictionary"), size * (ENTRY.size + 1))
    words = list[bytes]()
    counts = np.zeros(size, np.int64)
    for number in range(size):
        end = reader.data.find(b"\0", reader.at)
        if end < 0 or end + 1 + ENTRY.size > len(reader.data):
            expected = Message("a word, a zero byte, a count and a kind")
            raise reader.error(_entry(number), Message("cut off"), expected)
        words.append(reader.data[reader.at : end])
        counts[number], kind = ENTRY.unpack_from(reader.data, end + 1)
        is_label = int(number >= count)
        if counts[number] < 0 or kind != is_label:
            found = Message("of count {count:,} and kind {kind}", count=int(counts[number]), kind=kind)
            raise reader.error(
                _entry(number), found, Message("a count of at least 0 and kind {kind}", kind=is_label)
            )
        reader.at = end + 1 + ENTRY.size
    return words, counts


def _entry(number: int) -> Message:
    return Message("entry {number:,} of the dictionary", number=number + 1)


def _read_kept_buckets(reader: BinaryReader, pruned: int, buckets: int) -> np.ndarray:
    """(bucket, row) of each bucket that a pruned model kept, by bucket."""
    field = Message("the list of kept buckets")
    start = reader.at
    pairs = reader.array(field, "<i4", pruned, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    kept = pairs[:, 0]
    rows = pairs[:, 1]
    if not pruned:
        return pairs
    valid = kept[0] >= 0 and kept[-1] < buckets and (np.diff(kept) != 0).all()
    if not valid or rows.min() < 0 or rows.max() >= pruned:
        expected = Message("each bucket once, with a row that exists")
        raise reader.error(field, Message("inconsistent"), expected, start)
    return pairs


def _report_left_out(path: Path, settings: dict[str, Any], dictionary: Dictionary, report: Report) -> None:
    if settings["objective"] == "supervised":
        report(
            Note(
                "{path} is a supervised model: its {labels:,} labels and their output matrix were left out.",
                path=path,
                labels=dictionary.labels,
            )
        )
    if not settings["max_n"] and settings["buckets"]:
        report(
            Note(
                "{path}: {buckets:,} buckets hold n-grams of words, not of characters; they were left out.",
                path=path,
                buckets=settings["buckets"],
            )
        )


def _read_matrix(reader: BinaryReader, matrix: Message, rows: int, dim: int, *, has_mark: bool) -> Matrix:
    if has_mark and reader.number(_mark(matrix), "B", 0, 1):
        return read_quantized(reader, matrix, rows, dim)
    reader.number(Message("the number of rows of {matrix}", matrix=matrix), "q", rows, rows)
    reader.number(Message("the number of columns of {matrix}", matrix=matrix), "q", dim, dim)
    return reader.array(matrix, "<f4", rows, dim)


def _mark(matrix: Message) -> Message:
    return Message("the mark that says whether {matrix} is quantized", matrix=matrix)


def _read_contexts(
    reader: BinaryReader, settings: dict[str, Any], dictionary: Dictionary, *, quantized: bool
) -> Matrix | None:
    """The output matrix, if its rows are words: those of hierarchical softmax are nodes of a tree, and those
    of a supervised model labels."""
    supervised = settings["objective"] == "supervised"
    rows = dictionary.labels if supervised else len(dictionary.words)
    if not quantized and settings["version"] > 0:
        reader.number(_mark(OUTPUT), "B", 0, 1)  # fastText ignores the mark unless the input is quantized
    matrix = _read_matrix(reader, OUTPUT, rows, settings["dim"], has_mark=quantized)
    return None if supervised or settings["loss"] == "hierarchical-softmax" else matrix


def _without_end_ngrams(matrix: np.ndarray, dictionary: Dictionary, settings: dict[str, Any]) -> np.ndarray:
    """The input matrix, where the word </s> has no n-grams. In files of 2016 it had some: its own row becomes
    the mean of them all."""
    if END not in dictionary.words:
        return matrix
    row = dictionary.words.index(END)
    matrix = np.array(matrix)
    ids = reference.ngrams(END, settings["min_n"], settings["max_n"], settings["buckets"], end=True)
    ngrams = matrix[dictionary.bucket_rows][ids].sum(axis=0)
    matrix[row] = (matrix[row] + ngrams) / np.float32(len(ids) + 1)
    return matrix
