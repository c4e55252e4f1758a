"""Co-occurrence counts for the original GloVe program: cooccurrence.bin and vocab.txt in one folder.

glove -input-file counts/cooccurrence.bin -vocab-file counts/vocab.txt -save-file vectors
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from inlaid import files
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import WriteError
from inlaid.feed.cooccurrence import Cells

COUNTS = "cooccurrence.bin"
VOCABULARY = "vocab.txt"
CELL = np.dtype([("word", "<i4"), ("context", "<i4"), ("count", "<f8")])
"""A record as the program reads it; ids start from 1."""
BLOCK = 1 << 20
"""Cells written at a time."""
WHITESPACE = re.compile(rb"\s")


def write_counts(folder: Path, cells: Cells, vocabulary: Vocabulary) -> None:
    """Write all cells, both triangles of the table, and the words with their counts."""
    words = vocabulary.words.all_bytes()
    for word in words:
        if not word or WHITESPACE.search(word):
            raise WriteError(
                "Cannot write {path}: the word {word!r} is empty or contains whitespace, which ends a word "
                "in {vocabulary}. Use another joiner.",
                path=folder,
                word=word.decode(errors="replace"),
                vocabulary=VOCABULARY,
            )
    rows = np.repeat(np.arange(1, cells.size + 1, dtype=np.int32), np.diff(cells.starts))
    with files.writing_folder(folder) as part:
        with files.writing(part / COUNTS) as file:
            for start in range(0, len(cells), BLOCK):
                held = slice(start, start + BLOCK)
                block = np.empty(len(rows[held]), CELL)
                block["word"] = rows[held]
                block["context"] = cells.columns[held] + 1
                block["count"] = cells.counts[held]
                file.write(block.tobytes())
        lines = (b"%s %d\n" % each for each in zip(words, vocabulary.counts.tolist(), strict=True))
        files.write_bytes(part / VOCABULARY, b"".join(lines))
