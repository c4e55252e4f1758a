"""What machines do to encode text together: plain functions, each a task that can be done again anywhere.

piece --count_piece--> ids of its own words, counts
ids, vocabulary --write_piece--> shard --digest_shard--> hash
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from inlaid import arrays
from inlaid.cluster.word_counts import WordCounts, divided
from inlaid.collect.compression import BLOCK, DecompressedFile
from inlaid.collect.sources import Input, Source
from inlaid.collect.text_pieces import PieceSource, TextPiece, first_line
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.content_hash import PartDigests, digests_of
from inlaid.encode.renumbering import Totals, renumber, totals_read, totals_used
from inlaid.encode.scanning import Scanned, scan
from inlaid.encode.shards import Shard, shard_name, write_shard
from inlaid.encode.subwords import scanning as subword_scanning
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import InlaidError
from inlaid.files import Spool
from inlaid.report import Event, Note

Result = TypeVar("Result")


@dataclass(frozen=True)
class Reading:
    """How every piece is read."""

    source: Source
    """The settings of the source; its text is not used."""
    cleaner: Cleaner
    tokenizer_json: str | None
    """A subword tokenizer, if there is one."""
    parts: int
    """Parts that the words are divided into."""


class PieceIds(NamedTuple):
    """A piece as ids in order of first occurrence, with an END after each sentence, and their words."""

    ids: np.ndarray
    words: list[bytes]
    """Empty for subwords, whose ids are those of the vocabulary."""


class PieceFacts(NamedTuple):
    """What reading a piece found, apart from its words."""

    totals: Totals
    inputs: list[Input]
    notes: list[Note]
    counts: np.ndarray
    """Of the subwords; empty for words."""


class CountedPiece(NamedTuple):
    """All that comes of reading a piece."""

    facts: PieceFacts
    ids: PieceIds
    counts: list[WordCounts]
    """The words in parts."""
    line_hashes: list[np.ndarray]
    """The hashes of the lines in as many parts."""


class _LineHashes:
    """Collects the hashes of lines: only those of all pieces show which lines are repeated."""

    count = 0

    def __init__(self) -> None:
        self.found = list[np.ndarray]()

    def add(self, hashes: np.ndarray) -> None:
        self.found.append(hashes)

    def divided(self, parts: int) -> list[np.ndarray]:
        hashes = np.concatenate([np.empty(0, np.uint64), *self.found])
        owners = hashes % np.uint64(parts)
        return [hashes[owners == part] for part in range(parts)]


def count_piece(reading: Reading, piece: TextPiece) -> CountedPiece:
    """Tokenize a piece, number its words and count them."""
    return _with_line_numbers(piece, lambda line: _count_piece(reading, piece, line))


def _with_line_numbers(piece: TextPiece, read: Callable[[int], Result]) -> Result:
    """Read a piece; only an error needs to know at which line it begins."""
    try:
        return read(2)
    except InlaidError:
        if not piece.start:
            raise
    return read(first_line(piece))


def _count_piece(reading: Reading, piece: TextPiece, line: int) -> CountedPiece:
    notes = list[Note]()

    def listen(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event)

    given = reading.source
    source = PieceSource(
        [piece.path], given.field, listen, given.charset, given.invalid, piece=piece, line=line
    )
    lines = _LineHashes()
    scanned = _scanned(reading, source, lines)
    totals = totals_read(source, scanned)
    if piece.is_part:
        totals += Totals(documents=int(piece.start == 0))
    ids = np.concatenate([np.empty(0, np.int32), *scanned.ids.pieces()])
    if reading.tokenizer_json is not None:
        facts = PieceFacts(totals, source.inputs, notes, scanned.counts)
        return CountedPiece(facts, PieceIds(ids, []), [], [])
    words = scanned.words(np.arange(len(scanned.counts)))
    facts = PieceFacts(totals, source.inputs, notes, np.empty(0, np.int64))
    counts = divided(words, scanned.counts, reading.parts)
    return CountedPiece(facts, PieceIds(ids, words), counts, lines.divided(reading.parts))


def _scanned(reading: Reading, source: PieceSource, lines: _LineHashes) -> Scanned:
    if reading.tokenizer_json is None:
        return scan(source.blocks(), reading.cleaner, 1, None, source.report, lines)
    from inlaid.encode.subwords.tokenizer import Subwords  # imports the tokenizers library

    tokenizer = Subwords.from_json(reading.tokenizer_json)
    return subword_scanning.scan(source, tokenizer, reading.cleaner, None)


def hash_file(path: Path) -> Input:
    """A file that was read in parts, for the manifest."""
    with DecompressedFile(path) as file:
        while file.read(BLOCK):
            pass
        file.finish()
        return Input(path.name, file.raw.size, file.raw.digest.hexdigest())


# ---- Ids of the vocabulary


class IdRule(NamedTuple):
    """Which id each word gets."""

    vocabulary: Vocabulary
    unknown: int
    """The id of words outside the vocabulary; -1 drops them."""
    unused: frozenset[bytes]
    """Words of the vocabulary that no token becomes: special words that are too rare in the text."""

    def ids_of(self, words: Sequence[bytes]) -> np.ndarray:
        ids = self.vocabulary.words.ids_of_bytes(words).astype(np.int32)
        for word in self.unused:
            ids[[n for n, each in enumerate(words) if each == word]] = -1
        ids[ids < 0] = self.unknown
        return ids


class WrittenPiece(NamedTuple):
    """A piece as a shard of the corpus; None where no word of it is in the vocabulary."""

    shard: Shard | None
    totals: Totals


def write_piece(rule: IdRule, piece: PieceIds, folder: Path, number: int) -> WrittenPiece:
    """Write the ids that the vocabulary gives the words of a piece."""
    new_ids = rule.ids_of(piece.words) if piece.words else np.arange(len(rule.vocabulary), dtype=np.int32)
    spool = Spool(np.int32)
    spool.append(piece.ids)
    counts = np.zeros(len(new_ids), np.int64)
    known = np.arange(len(new_ids), dtype=np.int32)
    scanned = Scanned(spool, [0], [known], counts, counts, lambda _: [], {})
    renumbered = renumber(scanned, new_ids, None)
    totals = totals_used(renumbered)
    if not totals.tokens_used:
        return WrittenPiece(None, totals)
    ids = renumbered.ids.whole()
    offsets = renumbered.offsets.whole()
    return WrittenPiece(write_shard(folder, shard_name(number), ids, offsets), totals)


class Place(NamedTuple):
    """Where a shard is in the whole text."""

    tokens: int
    """Before it."""
    sentences: int


def digest_shard(folder: Path, shard: Shard, place: Place) -> tuple[PartDigests, PartDigests]:
    """What the ids and the offsets of a shard add to the hash of the corpus."""
    opened = arrays.open_arrays(folder / shard.name)
    ids = opened.whole("ids")
    offsets = opened.whole("offsets") + place.tokens
    bound = place.sentences
    if place.sentences:
        offsets = offsets[1:]  # the first one is the last of the shard before
        bound += 1
    return (
        digests_of([ids], place.tokens * ids.itemsize),
        digests_of([offsets], bound * offsets.itemsize),
    )


def placed(shards: Sequence[Shard]) -> list[Place]:
    """The place of each shard."""
    found = [Place(0, 0)]
    for shard in shards:
        last = found[-1]
        found.append(Place(last.tokens + shard.tokens, last.sentences + shard.sentences))
    return found[:-1]
