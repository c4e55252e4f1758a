"""Inlaid's own format: one safetensors file, mapped and checksummed (.inlaid).

Opening reads the header alone; words and rows are verified when they are used. The table lies there as
float32, as float16 (half the space) or as int8 with a scale a row (a quarter of it). N-grams, where the
vectors have them, lie there in the same form: most of the space is theirs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from inlaid import arrays
from inlaid.config import settings_of
from inlaid.encode.ngrams import NGrams
from inlaid.encode.vocabulary import Words, pack_words, unpack_words
from inlaid.errors import FormatError
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.report import Note, Report, silent
from inlaid.shapes import Rows, Table
from inlaid.vectors import Card, Int8Table, LazyTable, Vectors

SUFFIXES = (".inlaid",)
Numbers = Literal["float32", "float16", "int8"]
BLOCK = 1 << 13
NGRAMS = ("size", "min_n", "max_n")


def recognizes(start: Start) -> bool:
    """A safetensors header starts with its length and a brace; the rest is checked on reading."""
    head = start.head
    return start.path.suffix in SUFFIXES or (len(head) >= 9 and head[8:9] == b"{" and head[4:8] == bytes(4))


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    opened = arrays.open_arrays(path)
    try:
        card = settings_of(Card, json.loads(opened.metadata["card"]))
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"{path}: the card that says how the vectors came to be is missing or unreadable ({error})."
        ) from None
    counts = opened.whole("counts") if "counts" in opened else None
    vectors = Vectors(
        unpack_words(opened),
        _Kept(opened, "table"),
        counts,
        card,
        _optional(opened, "contexts"),
        _ngrams(opened),
    )
    return vectors if reading.top is None or reading.top >= len(vectors) else _first(vectors, reading.top)


def write(vectors: Vectors, path: Path, report: Report = silent, *, numbers: Numbers = "float32") -> None:
    content: dict[str, np.ndarray | arrays.Stream] = {
        **_packed("table", vectors.stored, numbers),
        **pack_words(vectors.words),
    }
    if vectors.counts is not None:
        content["counts"] = vectors.counts
    if vectors.contexts is not None:
        content |= _packed("contexts", vectors.contexts, numbers)
    metadata = {"card": json.dumps(asdict(vectors.card), ensure_ascii=False)}
    ngrams = vectors.subwords
    if isinstance(ngrams, NGrams):
        content |= {
            **_packed("ngrams.own", ngrams.own, numbers),
            **_packed("ngrams.buckets", ngrams.buckets, numbers),
        }
        if ngrams.kept is not None:
            content["ngrams.kept"] = ngrams.kept
        metadata["ngrams"] = json.dumps({name: getattr(ngrams, name) for name in NGRAMS})
    elif ngrams is not None:
        report(
            Note(
                f"What gives unseen words a vector here ({type(ngrams).__name__}) has no place in this format; it is left out."
            )
        )
    arrays.write(path, content, metadata)


@dataclass(frozen=True, eq=False)
class _Kept:
    """A table that lies in the file, in any of the three forms."""

    opened: arrays.Arrays
    name: str

    @property
    def scales(self) -> str:
        return f"{self.name}.scales"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.opened.unverified(self.name).shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        rows = self.opened.rows(self.name, ids)
        if self.scales in self.opened:
            return rows * self.opened.rows(self.scales, ids)[:, None]
        return rows.astype(np.float32)

    def whole(self) -> Table:
        table = self.opened.whole(self.name)
        if self.scales in self.opened:
            return table * self.opened.whole(self.scales)[:, None]
        return table.astype(np.float32, copy=False)

    def codes(self) -> Int8Table | None:
        """The table as it lies there, if that is int8."""
        return (
            Int8Table(self.opened.whole(self.name), self.opened.whole(self.scales))
            if self.scales in self.opened
            else None
        )


def _optional(opened: arrays.Arrays, name: str) -> _Kept | None:
    return _Kept(opened, name) if name in opened else None


def _ngrams(opened: arrays.Arrays) -> NGrams | None:
    if "ngrams" not in opened.metadata:
        return None
    try:
        settings = {name: int(json.loads(opened.metadata["ngrams"])[name]) for name in NGRAMS}
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{opened.path}: the settings of its n-grams are missing or unreadable ({error})."
        ) from None
    kept = opened.whole("ngrams.kept") if "ngrams.kept" in opened else None
    return NGrams(
        own=_Kept(opened, "ngrams.own"), buckets=_Kept(opened, "ngrams.buckets"), kept=kept, **settings
    )


def _packed(
    name: str, stored: Table | LazyTable, numbers: Numbers
) -> Mapping[str, np.ndarray | arrays.Stream]:
    if numbers == "float32":  # as it lies, a block at a time: the table may be larger than memory
        starts = range(0, stored.shape[0], BLOCK)
        blocks = (_rows(stored, np.arange(start, min(start + BLOCK, stored.shape[0]))) for start in starts)
        return {name: arrays.Stream(blocks, np.dtype("<f4"), stored.shape)}
    table = stored if isinstance(stored, np.ndarray) else stored.whole()
    if numbers == "int8":
        codes = Int8Table.of(table)
        return {name: codes.codes, f"{name}.scales": codes.scales}
    if numbers == "float16" and np.abs(table).max(initial=0) > np.finfo(np.float16).max:
        raise FormatError(
            f"The largest number of the {name} is {np.abs(table).max():g}, too large for float16. Write float32 or int8."
        )
    return {name: table.astype(numbers)}


def _first(vectors: Vectors, top: int) -> Vectors:
    """The first words alone; only their rows are ever read."""
    ids = np.arange(top)
    words = Words.of_bytes([vectors.words.bytes_of(id) for id in range(top)])
    counts = None if vectors.counts is None else vectors.counts[:top]
    contexts = None if vectors.contexts is None else _rows(vectors.contexts, ids)
    subwords = vectors.subwords.first(top) if isinstance(vectors.subwords, NGrams) else vectors.subwords
    return replace(
        vectors,
        words=words,
        stored=_rows(vectors.stored, ids),
        counts=counts,
        contexts=contexts,
        subwords=subwords,
    )


def _rows(stored: Table | LazyTable, ids: np.ndarray) -> Rows:
    return stored[ids] if isinstance(stored, np.ndarray) else stored.rows(ids)
