"""Embedded texts on their way to a file: collected outside memory, written as npz, parquet or .inlaid."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from inlaid import files
from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError, need
from inlaid.formats import native
from inlaid.messages import Listed
from inlaid.report import Note, Progress, Report
from inlaid.vectors import Card, Vectors

LISTED = 100
"""Most texts without a vector that are kept."""
ROWS = 8192
"""Rows written at a time."""
WAITING = 1 << 24
"""Bytes of vectors, and of texts, that wait in memory before they go to a file."""
WIDEST = 1 << 30
"""Bytes of the texts of an npz: NumPy gives every text the room of the longest."""


class EmbeddedTexts:
    """Texts and their vectors. With a folder they wait there, in unnamed files, and not in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.table = files.Spool(np.float32, folder, keep=WAITING)
        self.blob = files.Spool(np.uint8, folder, keep=WAITING)
        self.lengths: list[np.ndarray] = []
        self.numbers: list[np.ndarray] = []
        self.dim = 0
        self.count = 0
        """Texts with a vector."""
        self.done = 0
        """Texts seen."""
        self.without: list[tuple[int, str]] = []
        """The first texts without a vector, by number."""

    def add(self, texts: Sequence[str], table: np.ndarray, known: np.ndarray) -> None:
        """Some more texts, and a vector for those that are `known`."""
        for place in np.flatnonzero(~known).tolist()[: LISTED - len(self.without)]:
            self.without.append((self.done + place, texts[place]))
        kept = np.flatnonzero(known)
        encoded = [texts[place].encode("utf-8", "surrogatepass") for place in kept.tolist()]
        self.blob.append(np.frombuffer(b"".join(encoded), np.uint8))
        self.lengths.append(np.array([len(each) for each in encoded], np.int64))
        self.numbers.append(self.done + kept)
        self.table.append(np.ascontiguousarray(table[kept], np.float32).reshape(-1))
        self.dim = table.shape[1]
        self.count += len(kept)
        self.done += len(texts)

    def whole(self) -> WholeTexts:
        """All of them; nothing can be added afterwards."""
        lengths = np.concatenate(self.lengths)
        return WholeTexts(
            numbers=np.concatenate(self.numbers),
            table=self.table.whole().reshape(self.count, self.dim),
            blob=self.blob.whole(),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
        )


@dataclass(frozen=True, eq=False)
class WholeTexts:
    """Texts with a vector, in their order; arrays may be mapped from a file."""

    numbers: np.ndarray
    """Which of the texts given each is."""
    table: np.ndarray
    blob: np.ndarray
    """The UTF-8 of the texts; text i is blob[offsets[i]:offsets[i + 1]]."""
    offsets: np.ndarray
    components: np.ndarray | None = None
    """What was removed from all vectors (component, dim); an npz keeps it."""

    def __len__(self) -> int:
        return len(self.table)

    def encoded(self, start: int, stop: int) -> list[bytes]:
        """Some texts as UTF-8."""
        bounds = self.offsets[start : stop + 1]
        raw = self.blob[bounds[0] : bounds[-1]].tobytes()
        return [raw[one:other] for one, other in pairwise((bounds - bounds[0]).tolist())]

    def texts(self, start: int, stop: int) -> list[str]:
        return [each.decode("utf-8", "surrogatepass") for each in self.encoded(start, stop)]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Starts and stops of blocks of rows."""
        for start in range(0, len(self), ROWS):
            yield start, min(start + ROWS, len(self))


def check_output(path: Path) -> None:
    """Raise an error now for a file that could not be written after hours of work."""
    if path.suffix not in WRITERS:
        raise SettingError(
            "{path}: embedded texts are written as {suffixes}. Use one of these suffixes.",
            path=path,
            suffixes=Listed(WRITERS),
        )
    if path.suffix == ".parquet":
        need("pyarrow.parquet", extra="parquet")
    files.can_write(path)


def save(whole: WholeTexts, path: Path, report: Report) -> None:
    """Write texts and vectors in the format of the suffix."""
    files.check_space(path, whole.table.nbytes)
    WRITERS[path.suffix](whole, path, report)


def _write_parquet(whole: WholeTexts, path: Path, report: Report) -> None:
    """Columns `number`, `text` and `vector`; every text that has a vector is there, repeated ones too."""
    arrow = need("pyarrow", extra="parquet")
    parquet = need("pyarrow.parquet", extra="parquet")
    dim = whole.table.shape[1]
    schema = arrow.schema(
        [("number", arrow.int64()), ("text", arrow.string()), ("vector", arrow.list_(arrow.float32(), dim))]
    )
    with (
        files.writing(path) as file,
        parquet.ParquetWriter(file, schema, use_dictionary=["text"]) as writer,
    ):
        for start, stop in whole.blocks():
            values = arrow.array(whole.table[start:stop].reshape(-1))
            columns = [
                arrow.array(whole.numbers[start:stop]),
                arrow.array(whole.texts(start, stop)),
                arrow.FixedSizeListArray.from_arrays(values, dim),
            ]
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            report(Progress("writing", stop, len(whole), "texts"))


def _write_npz(whole: WholeTexts, path: Path, report: Report) -> None:
    """Arrays `numbers`, `table` and `words`, the texts; every text that has a vector is there. `components`
    has what was removed from all vectors."""
    longest = 1
    ends_in_zero = False
    for start, stop in whole.blocks():
        texts = whole.texts(start, stop)
        longest = max(longest, max(map(len, texts)))
        ends_in_zero = ends_in_zero or any(text.endswith("\0") for text in texts)
    with files.writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        _write_array(archive, "numbers", whole.numbers.dtype, whole.numbers.shape, [whole.numbers])
        if whole.components is not None:
            shape = whole.components.shape
            _write_array(archive, "components", whole.components.dtype, shape, [whole.components])
        tables = (whole.table[start:stop] for start, stop in whole.blocks())
        _write_array(archive, "table", whole.table.dtype, whole.table.shape, tables)
        if 4 * longest * len(whole) > WIDEST or ends_in_zero:
            report(
                Note(
                    "{path}: the texts are left out, because NumPy gives each the room of the longest; "
                    "`numbers` tells which text a row belongs to. A .parquet file keeps them.",
                    path=path,
                )
            )
            return
        dtype = np.dtype(f"<U{longest}")
        words = (np.array(whole.texts(start, stop), dtype) for start, stop in whole.blocks())
        _write_array(archive, "words", dtype, (len(whole),), words)


def _write_array(
    archive: zipfile.ZipFile,
    name: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    parts: Iterable[np.ndarray],
) -> None:
    """One array of an npz, part by part."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(entry, header)
        for part in parts:
            entry.write(np.ascontiguousarray(part).tobytes())


def _write_native(whole: WholeTexts, path: Path, report: Report) -> None:
    """Vectors whose words are the texts; of equal texts the first."""
    first: dict[bytes, int] = {}
    for start, stop in whole.blocks():
        for row, text in enumerate(whole.encoded(start, stop), start):
            first.setdefault(text, row)
    table = whole.table
    if len(first) < len(whole):
        table = table[np.fromiter(first.values(), np.int64, len(first))]
        report(
            Note(
                "{path}: {count:,} texts occur before and are left out: words are distinct. A .parquet file "
                "keeps them.",
                path=path,
                count=len(whole) - len(first),
            )
        )
    words = Words.of([text.decode("utf-8", "surrogatepass") for text in first])
    native.write(Vectors(words, np.asarray(table), card=Card(method="embed")), path, report)


WRITERS: dict[str, Callable[[WholeTexts, Path, Report], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".inlaid": _write_native,
}
