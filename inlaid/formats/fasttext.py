"""fastText's models: .bin read and written, .ftz (compressed) read; matrices mapped, n-grams kept.

A file is: magic and version, settings, dictionary, input matrix (words, then buckets), output matrix. Every
size is checked against the bytes that are left before anything is made of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.encode.ngrams import Mixed, NGrams
from inlaid.errors import FormatError, SettingError
from inlaid.formats.binary import Mapped, Source
from inlaid.formats.reading import ALL, Reading, Start, keep_words, packing
from inlaid.kernels.text import reference
from inlaid.report import Note, Report, counted, silent
from inlaid.shapes import LazyTable, Rows, Table
from inlaid.vectors import Card, Vectors

SUFFIXES = (".bin", ".ftz")
MAGIC = 793712314
VERSION = 12
ARGS = (
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
    "rate_updates",
)
LOSSES = {1: "hierarchical-softmax", 2: "negative-sampling", 3: "softmax", 4: "one-vs-all"}
OBJECTIVES = {1: "cbow", 2: "skipgram", 3: "supervised"}
ENTRY = struct.Struct("<qb")
END = b"</s>"
CODES = 256
"""Centroids of each part of a compressed row."""
LONGEST = 1000
"""Characters of the max_n n-gram a file may ask for: anything beyond is damage."""
BLOCK = 1 << 13


def recognizes(start: Start) -> bool:
    return start.head[:4] == struct.pack("<i", MAGIC) or _is_old(start.head)


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """The words of a model. The output matrix becomes `contexts` where its rows are words."""
    source = Source(path, report)
    args = _args(source)
    words = _dictionary(source, args, report)
    matrix = _matrix(
        source, "the input matrix", len(words.words) + words.buckets, args["dim"], may_be_packed=not words.old
    )
    contexts = _contexts(source, args, words, packed=isinstance(matrix, Quantized))
    source.finish()
    kept = keep_words(path, words.words[: reading.top], reading, report)
    rows = slice(0, len(kept.words)) if kept.rows is None else kept.rows
    found = Vectors(
        kept.words, _lazy(matrix[rows]), words.counts[rows], Card(method="fasttext", settings=args)
    )
    if contexts is not None:
        found = replace(found, contexts=_lazy(contexts[rows]))
    if not args["max_n"]:
        return found
    raw = words.words[rows] if isinstance(rows, slice) else [words.words[row] for row in rows.tolist()]
    ngrams = NGrams(
        own=_with_end(matrix, words, args)[rows],
        buckets=matrix[words.rows],
        size=args["buckets"],
        min_n=args["min_n"],
        max_n=args["max_n"],
        kept=words.kept,
    )
    table = Mixed(
        ngrams, np.frombuffer(b"".join(raw), np.uint8), np.cumsum([0, *map(len, raw)])
    )  # n-grams are of bytes as they are here
    return replace(found, stored=table, subwords=ngrams)


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    """A .bin that fastText loads; what the vectors lack and the file must have is made up, and said."""
    if path.suffix.lower() == ".ftz" or path.stem.lower().endswith(".ftz"):
        raise SettingError(f"{path}: compressed models are read, not written. Write {path.stem}.bin.")
    ngrams = _whole_ngrams(vectors, report)
    words = vectors.words.all_bytes()
    counts = vectors.counts
    if counts is None:
        counts = np.arange(len(vectors), 0, -1)
        report(
            Note(
                "The vectors have no counts: the file says as many as there are words for the first, one less for each that follows."
            )
        )
    if vectors.contexts is None:
        report(
            Note(
                "The vectors have no contexts: the output matrix is zeros. fastText can look words up in the file, but not train on."
            )
        )
    broken = next((word for word in words if b"\0" in word), None)
    if broken is not None:
        raise FormatError(
            f"The word {broken!r} holds a zero byte, which ends a word in this format. Leave it out."
        )
    inputs = [vectors.stored] if ngrams is None else [ngrams.own, ngrams.buckets]
    with packing(path) as file:
        file.write(_header(vectors, ngrams, counts))
        file.write(
            b"".join(
                word + b"\0" + ENTRY.pack(count, 0)
                for word, count in zip(words, counts.tolist(), strict=True)
            )
        )
        for name, tables in (("input", inputs), ("output", [vectors.contexts])):
            size = sum(len(vectors) if table is None else table.shape[0] for table in tables)
            file.write(struct.pack("<?2q", False, size, vectors.dim))
            for block in counted(
                _blocks(tables, len(vectors), vectors.dim),
                f"writing the {name} matrix",
                unit="blocks",
                report=report,
            ):
                file.write(np.ascontiguousarray(block, "<f4").data)


@dataclass(frozen=True, eq=False)
class Quantized:
    """Rows of a compressed model: each part of a row is the nearest of 256 centroids, and the length may be
    one, too."""

    codes: np.ndarray
    """(row, part) u1: which centroid."""
    centroids: Sequence[np.ndarray]
    """For each part (256, width) f4."""
    lengths: np.ndarray | None
    """Of each row, where rows were scaled to length 1 first: (row,) u1, a code of `scales`."""
    scales: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.codes), sum(part.shape[1] for part in self.centroids)

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        codes = self.codes[np.asarray(ids)]
        rows = np.concatenate([part[codes[:, number]] for number, part in enumerate(self.centroids)], axis=1)
        return rows if self.lengths is None else rows * self.scales[self.lengths[np.asarray(ids)]][:, None]

    def whole(self) -> Table:
        return self.rows(np.arange(len(self.codes)))

    def __getitem__(self, ids: slice | np.ndarray) -> Quantized:
        lengths = None if self.lengths is None else self.lengths[ids]
        return Quantized(self.codes[ids], self.centroids, lengths, self.scales)


def _is_old(head: bytes) -> bool:
    """Whether these are the settings that files of 2016 start with, which have no magic."""
    if len(head) < 56:
        return False
    args = dict(zip(ARGS, struct.unpack_from("<12i", head), strict=True))
    return (
        0 < args["dim"] < 1 << 16
        and args["loss"] in LOSSES
        and args["objective"] in OBJECTIVES
        and 0 <= args["min_n"] <= LONGEST
        and 0 <= args["max_n"] <= LONGEST
        and args["buckets"] >= 0
    )


def _args(source: Source) -> dict[str, Any]:
    """The settings, by our names; `version` 0 is a file without magic."""
    version = 0
    if not _is_old(bytes(source.data[:56])) or source.data[:4] == struct.pack("<i", MAGIC):
        source.number("the magic number", "i", MAGIC, MAGIC)
        version = source.number("the version", "i", VERSION - 1, VERSION)
    args: dict[str, Any] = {"version": version}
    limits = {
        "dim": (1, 1 << 24),
        "loss": (1, 4),
        "objective": (1, 3),
        "min_n": (0, LONGEST),
        "max_n": (0, LONGEST),
        "buckets": (0,),
    }
    for name in ARGS:
        args[name] = source.number(name, "i", *limits.get(name, ()))
    args["sample"] = source.number("sample", "d", 0)
    args["loss"], args["objective"] = LOSSES[args["loss"]], OBJECTIVES[args["objective"]]
    if version < VERSION and args["objective"] == "supervised":
        args["max_n"] = 0  # these models were made before labels had n-grams, and fastText reads them so
    if args["max_n"] and not args["buckets"]:
        raise source.fail(
            "buckets", 0, f"at least 1, for n-grams of up to {args['max_n']} characters", source.at - 24
        )
    return args


@dataclass(frozen=True)
class _Dictionary:
    words: list[bytes]
    counts: np.ndarray
    labels: int
    buckets: int
    """Rows of the input matrix behind those of the words."""
    rows: slice | np.ndarray
    """Which rows are those of the buckets, in the order of `kept`."""
    kept: np.ndarray | None
    old: bool


def _dictionary(source: Source, args: dict[str, Any], report: Report) -> _Dictionary:
    old = args["version"] == 0
    size = source.number("the number of entries", "i", 0)
    count = source.number("the number of words", "i", 0, size)
    labels = source.number("the number of labels", "i", size - count, size - count)
    source.number("the number of tokens", "q", 0)
    pruned = -1 if old else source.number("the number of kept buckets", "q", -1, args["buckets"])
    source.claim("the dictionary", size * (ENTRY.size + 1))
    words = list[bytes]()
    counts = np.zeros(size, np.int64)
    for number in range(size):
        end = source.data.find(b"\0", source.at)
        if end < 0 or end + 1 + ENTRY.size > len(source.data):
            raise source.fail(
                f"entry {number + 1:,} of the dictionary",
                "cut off",
                "a word, a zero byte, a count and a kind",
            )
        words.append(source.data[source.at : end])
        counts[number], kind = ENTRY.unpack_from(source.data, end + 1)
        if counts[number] < 0 or kind != (number >= count):
            expected = f"a count of at least 0 and kind {int(number >= count)}"
            raise source.fail(
                f"entry {number + 1:,} of the dictionary",
                f"of count {counts[number]:,} and kind {kind}",
                expected,
            )
        source.at = end + 1 + ENTRY.size
    if args["objective"] == "supervised":
        report(
            Note(
                f"A supervised model: its {labels:,} labels, and the matrix that predicts them, are left out."
            )
        )
    if not args["max_n"] and args["buckets"]:
        report(
            Note(f"{args['buckets']:,} buckets hold n-grams of words, not of characters; they are left out.")
        )
    if pruned < 0:
        return _Dictionary(
            words[:count],
            counts[:count],
            labels,
            args["buckets"],
            slice(count, count + args["buckets"]),
            None,
            old,
        )
    pairs = source.array("the list of kept buckets", "<i4", pruned, 2)
    order = np.argsort(pairs[:, 0], kind="stable")
    kept = pairs[order, 0]
    rows = pairs[order, 1]
    if pruned and (
        kept[0] < 0
        or kept[-1] >= args["buckets"]
        or (np.diff(kept) == 0).any()
        or rows.min() < 0
        or rows.max() >= pruned
    ):
        raise source.fail(
            "the list of kept buckets",
            "inconsistent",
            "each bucket once, with a row that exists",
            source.at - pairs.nbytes,
        )
    return _Dictionary(
        words[:count], counts[:count], labels, pruned, count + rows, kept.astype(np.int32), old
    )


def _matrix(
    source: Source, field: str, rows: int, dim: int, *, may_be_packed: bool
) -> np.ndarray | Quantized:
    if may_be_packed and source.number(f"the mark that says whether {field} is compressed", "B", 0, 1):
        return _quantized(source, field, rows, dim)
    source.number(f"the number of rows of {field}", "q", rows, rows)
    source.number(f"the number of columns of {field}", "q", dim, dim)
    return source.array(field, "<f4", rows, dim)


def _quantized(source: Source, field: str, rows: int, dim: int) -> Quantized:
    scaled = source.number(f"the mark of lengths of {field}", "B", 0, 1)
    source.number(f"the number of rows of {field}", "q", rows, rows)
    source.number(f"the number of columns of {field}", "q", dim, dim)
    size = source.number(f"the size of the codes of {field}", "i", 0)
    codes = source.array(f"the codes of {field}", "u1", size)
    centroids = _centroids(source, field, dim)
    if size != rows * len(centroids):
        raise source.fail(
            f"the size of the codes of {field}", f"{size:,}", f"{rows:,} rows times {len(centroids)} parts"
        )
    lengths = None
    scales = np.ones(1, np.float32)
    if scaled:
        lengths = source.array(f"the lengths of {field}", "u1", rows)
        scales = _centroids(source, f"the lengths of {field}", 1)[0][:, 0]
    return Quantized(codes.reshape(rows, len(centroids)), centroids, lengths, scales)


def _centroids(source: Source, field: str, dim: int) -> list[np.ndarray]:
    """For each part of a row (256, width); the last part may be narrower."""
    source.number(f"the dim of the centroids of {field}", "i", dim, dim)
    parts = source.number(f"the number of parts of {field}", "i", 1, dim)
    width = source.number(f"the width of a part of {field}", "i", 1, dim)
    rest = dim - (parts - 1) * width
    source.number(f"the width of the last part of {field}", "i", max(rest, 1), min(max(rest, 1), width))
    at = source.at
    numbers = np.array(
        source.array(f"the centroids of {field}", "<f4", dim * CODES)
    )  # few, and used all the time: at an even address
    if not np.isfinite(numbers).all():
        raise source.fail(
            f"the centroids of {field}",
            "not finite",
            "numbers",
            at + 4 * int(np.flatnonzero(~np.isfinite(numbers))[0]),
        )
    bounds = [min(part * width, dim) * CODES for part in range(parts)] + [dim * CODES]
    return [numbers[start:stop].reshape(CODES, -1) for start, stop in pairwise(bounds)]


def _contexts(
    source: Source, args: dict[str, Any], words: _Dictionary, *, packed: bool
) -> np.ndarray | Quantized | None:
    """The output matrix, if its rows are words: those of a tree (hierarchical softmax) and of labels are
    not."""
    field = "the output matrix"
    supervised = args["objective"] == "supervised"
    rows = words.labels if supervised else len(words.words)
    if not packed and not words.old:
        source.number(
            f"the mark that says whether {field} is compressed", "B", 0, 1
        )  # fastText heeds it only where the input is
    matrix = _matrix(source, field, rows, args["dim"], may_be_packed=packed)
    return None if supervised or args["loss"] == "hierarchical-softmax" else matrix


def _with_end(
    matrix: np.ndarray | Quantized, words: _Dictionary, args: dict[str, Any]
) -> np.ndarray | Quantized:
    """The input matrix. In files of 2016 the word </s> had n-grams, and since then it has none: its own row
    becomes their mean."""
    if not words.old or END not in words.words or isinstance(matrix, Quantized):
        return matrix
    place = words.words.index(END)
    matrix = np.array(matrix)
    ids = reference.ngrams(END, args["min_n"], args["max_n"], args["buckets"], end=True)
    matrix[place] = (matrix[place] + matrix[words.rows][ids].sum(axis=0)) / np.float32(len(ids) + 1)
    return matrix


def _lazy(table: np.ndarray | Quantized) -> LazyTable:
    return Mapped(table) if isinstance(table, np.ndarray) else table


def _whole_ngrams(vectors: Vectors, report: Report) -> NGrams | None:
    """The n-grams, if a .bin can hold them: with a row for every bucket."""
    ngrams = vectors.subwords
    if ngrams is None:
        return None
    if not isinstance(ngrams, NGrams) or not ngrams.has_rows_for(vectors.words):
        what = (
            "n-grams, most of which were thrown away" if isinstance(ngrams, NGrams) else type(ngrams).__name__
        )
        report(
            Note(
                f"Unseen words get their vectors from {what}; a .bin cannot hold that, so it is written for the known words alone."
            )
        )
        return None
    if ngrams.own.shape[0] != len(vectors):
        raise FormatError(
            f"{len(vectors):,} words need as many rows of their own beside n-grams; found {ngrams.own.shape[0]:,}."
        )
    if ngrams.kept is not None:
        missing = f"{ngrams.size - len(ngrams.kept):,} of {ngrams.size:,} buckets have no row and are written as zeros"
        report(
            Note(
                f"{missing}: fastText divides by those, too, so an unseen word may get a shorter vector there, in the same direction."
            )
        )
    return ngrams.spread()


def _header(vectors: Vectors, ngrams: NGrams | None, counts: np.ndarray) -> bytes:
    """Magic, version, settings (those on the card, where it has them) and the head of the dictionary."""
    known = {
        name: value
        for name, value in vectors.card.settings.items()
        if isinstance(value, int) and 0 < value < 1 << 31
    }
    defaults = {
        "window": 5,
        "epochs": 5,
        "min_count": 1,
        "negatives": 5,
        "word_ngrams": 1,
        "rate_updates": 100,
    }
    args = defaults | {name: known[name] for name in defaults if name in known and name != "word_ngrams"}
    args |= {
        "dim": vectors.dim,
        "loss": 2,
        "objective": 1 if vectors.card.settings.get("objective") == "cbow" else 2,
    }
    args |= {"buckets": 0, "min_n": 0, "max_n": 0}
    if ngrams is not None:
        args |= {"buckets": ngrams.size, "min_n": ngrams.min_n, "max_n": ngrams.max_n}
    numbers = [args[name] for name in ARGS]
    return struct.pack(
        "<14id3i2q", MAGIC, VERSION, *numbers, 1e-4, len(vectors), len(vectors), 0, int(counts.sum()), -1
    )


def _blocks(tables: Sequence[np.ndarray | LazyTable | None], words: int, dim: int) -> Iterator[np.ndarray]:
    """Rows of some tables one behind the other, a few thousand at a time; None is zeros, one for each
    word."""
    for table in tables:
        size = words if table is None else table.shape[0]
        for start in range(0, size, BLOCK):
            ids = np.arange(start, min(start + BLOCK, size))
            yield (
                np.zeros((len(ids), dim), np.float32)
                if table is None
                else table[ids]
                if isinstance(table, np.ndarray)
                else table.rows(ids)
            )
