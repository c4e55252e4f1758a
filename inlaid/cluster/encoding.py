"""Text encoded by a cluster: a corpus of shards, whose ids and vocabulary are those of one machine.

Pieces of the text are read, tokenized and counted wherever a core is free. The counts are divided by the
hashes of the words and added up. The vocabulary is made here, and the pieces become shards. What is sent here
are some numbers for each piece and the words that are frequent enough. A task whose machine is lost is done
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid import files
from inlaid.cluster import encoding_tasks as tasks
from inlaid.cluster.ray_session import Session, session
from inlaid.cluster.word_counts import FrequentWords, WordCounts, added, frequent, repeated
from inlaid.collect.samples import spread_over
from inlaid.collect.sources import Input, Source, Text
from inlaid.collect.text_pieces import TextPiece, pieces_of
from inlaid.encode.content_hash import hash_of
from inlaid.encode.corpus import Corpus, Encoding, open_corpus, write_parts
from inlaid.encode.encoder import check_workers, cleaner_of
from inlaid.encode.renumbering import ReadWords, Totals, manifest_of
from inlaid.encode.scripts import note_scripts, settled
from inlaid.encode.selection import all_words, select_words
from inlaid.encode.shards import Shard
from inlaid.encode.subwords import scanning as subword_scanning
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import SettingError
from inlaid.report import Progress, Report

PIECE = 1 << 28
"""Bytes of text in a piece: a minute of work, and a shard that can be mapped."""
PIECES_A_PART = 8
MOST_PARTS = 256
"""Words are divided into a part for every 8 pieces, up to 256."""
FAN_IN = 16
"""Counts that one task adds up."""


def encode_on_cluster(
    text: Text,
    encoding: Encoding,
    address: str,
    out: Path,
    report: Report,
    *,
    workers: int | None = None,
    piece: int = PIECE,
) -> Corpus:
    """Encode the text of files in pieces of about `piece` bytes, and write a corpus of shards into `out`.

    The files and the folder of `out` must be visible on every machine of the cluster under the same paths.
    `workers` are the cores that a cluster on this machine uses; another one uses all that it has.
    """
    check_workers(workers)
    if encoding.phrases is not None:
        raise SettingError(
            "phrases cannot be joined on a cluster. Encode without them, and then use `inlaid phrases`."
        )
    files.can_write(out, folder=True)
    source = Source(text, encoding.field, report, encoding.charset, encoding.invalid)
    pieces = [each for each in pieces_of(source, piece) if each.stored or not each.is_part]
    encoding = settled(encoding, spread_over(source) or [], report)
    reading, mark = _reading(source, encoding, len(pieces))
    with session(address, workers) as cluster, files.writing_folder(out) as folder:
        counted = _count(cluster, reading, encoding, pieces, report)
        words = _select(counted, reading, encoding)
        vocabulary = words.selected.vocabulary
        note_scripts(encoding, vocabulary, report)
        rule = _rule(encoding, vocabulary, counted)
        written = _write(cluster, rule, counted.ids, folder.resolve(), report)
        totals = sum((each.totals for each in written), counted.totals)
        shards = [each.shard for each in written if each.shard is not None]
        hashed = _hash(cluster, folder.resolve(), shards, vocabulary)
        manifest = manifest_of(encoding, reading.cleaner, counted.inputs, totals, words, hashed)
        if reading.tokenizer_json is not None:
            manifest["tokenizer"] = files.checksum(reading.tokenizer_json.encode())
            manifest["encoding"]["spelling"] = mark
        write_parts(folder, {}, vocabulary, manifest, reading.tokenizer_json, shards)
    return open_corpus(out)


def _reading(source: Source, encoding: Encoding, pieces: int) -> tuple[tasks.Reading, str]:
    """How pieces are read; with subwords, their tokenizer and how it marks words."""
    cleaner = cleaner_of(encoding)
    parts = min(max(pieces // PIECES_A_PART, 1), MOST_PARTS)
    bare = Source((), source.field, charset=source.charset, invalid=source.invalid)
    if not encoding.has_subwords:
        return tasks.Reading(bare, cleaner, None, parts), ""
    tokenizer = subword_scanning.tokenizer_for(
        source, encoding.tokenizer, encoding.tokenizer_file, encoding.subwords, cleaner
    )
    return tasks.Reading(bare, cleaner, tokenizer.to_json(), 0), tokenizer.mark


# ---- Pieces -> counts


class _Counted(NamedTuple):
    """All pieces read, and their words counted."""

    ids: list[Any]
    """References to the ids of the pieces."""
    totals: Totals
    inputs: list[Input]
    words: list[FrequentWords]
    subwords: np.ndarray
    """The counts of subwords."""


def _count(
    cluster: Session,
    reading: tasks.Reading,
    encoding: Encoding,
    pieces: Sequence[TextPiece],
    report: Report,
) -> _Counted:
    parts = reading.parts
    shared = cluster.share(reading)
    count = cluster.task(_count_piece, 2 + 2 * parts)
    hashes = {piece.path: cluster.task(tasks.hash_file)(piece.path) for piece in pieces if piece.is_part}
    started = [count(shared, piece) for piece in pieces]
    facts = list[tasks.PieceFacts | None]([None] * len(pieces))
    done = 0
    size = sum(piece.stored for piece in pieces)
    for number, found in cluster.results([references[0] for references in started]):
        facts[number] = found
        done += pieces[number].stored
        report(Progress("reading", done, size, "bytes"))
    known = [each for each in facts if each is not None]
    for each in known:
        for note in each.notes:
            report(note)
    words = [_added(cluster, [each[2 + part] for each in started]) for part in range(parts)]
    listed = [cluster.task(frequent)(each, encoding.min_count) for each in words]
    lines = [cluster.task(_repeated)(*(each[2 + parts + part] for each in started)) for part in range(parts)]
    totals = sum((each.totals for each in known), Totals())
    if parts:
        totals += Totals(lint={"repeated_lines": sum(cluster.result(each) for each in lines)})
    return _Counted(
        ids=[references[1] for references in started],
        totals=totals,
        inputs=_inputs(cluster, pieces, known, hashes),
        words=[cluster.result(each) for each in listed],
        subwords=sum((each.counts for each in known), np.zeros(1, np.int64)),
    )


def _count_piece(reading: tasks.Reading, piece: TextPiece) -> tuple[Any, ...]:
    """`count_piece`, with a result for every part."""
    found = tasks.count_piece(reading, piece)
    return found.facts, found.ids, *found.counts, *found.line_hashes


def _added(cluster: Session, references: list[Any]) -> Any:
    """A reference to the sum of the counts that some references lead to, added up by many machines."""
    add = cluster.task(_added_up)
    while len(references) > 1:
        groups = range(0, len(references), FAN_IN)
        references = [add(*references[start : start + FAN_IN]) for start in groups]
    return references[0]


def _added_up(*counts: WordCounts) -> WordCounts:
    return added(counts)


def _repeated(*hashes: np.ndarray) -> int:
    return repeated(hashes)


def _inputs(
    cluster: Session,
    pieces: Sequence[TextPiece],
    facts: Sequence[tasks.PieceFacts],
    hashes: dict[Path, Any],
) -> list[Input]:
    """The files that were read, in order."""
    found = list[Input]()
    for piece, known in zip(pieces, facts, strict=True):
        found += known.inputs
        if piece.is_part and piece.start == 0:
            found.append(cluster.result(hashes[piece.path]))
    return found


# ---- Counts -> vocabulary


def _select(counted: _Counted, reading: tasks.Reading, encoding: Encoding) -> ReadWords:
    """The vocabulary: of subwords that of their tokenizer, otherwise the words that are frequent enough."""
    if reading.tokenizer_json is not None:
        from inlaid.encode.subwords.tokenizer import Subwords  # imports the tokenizers library

        words = Subwords.from_json(reading.tokenizer_json).vocabulary
        return ReadWords(len(words), all_words(counted.subwords, words))
    listed = [word for part in counted.words for word in part.counts.words]
    counts = np.concatenate([part.counts.counts for part in counted.words])
    rare = sum(part.rare for part in counted.words)
    selected = select_words(counts, lambda ids: [listed[id] for id in ids], encoding, rare)
    return ReadWords(sum(part.distinct for part in counted.words), selected)


def _rule(encoding: Encoding, vocabulary: Vocabulary, counted: _Counted) -> tasks.IdRule:
    """Which id each word of the text gets."""
    unknown = -1
    if encoding.unknown is not None:
        found = vocabulary.words.find(encoding.unknown)
        unknown = -1 if found is None else found
    unused = {word.encode() for word in encoding.special}
    if encoding.unknown is not None:
        unused.add(encoding.unknown.encode())
    for part in counted.words:
        for word, count in zip(part.counts.words, part.counts.counts.tolist(), strict=True):
            if count >= encoding.min_count:
                unused.discard(word)
    return tasks.IdRule(vocabulary, unknown, frozenset(unused))


# ---- Vocabulary -> shards


def _write(
    cluster: Session, rule: tasks.IdRule, ids: Sequence[Any], folder: Path, report: Report
) -> list[tasks.WrittenPiece]:
    shared = cluster.share(rule)
    write = cluster.task(tasks.write_piece)
    started = [write(shared, piece, folder, number) for number, piece in enumerate(ids)]
    written = dict[int, tasks.WrittenPiece]()
    for number, found in cluster.results(started):
        written[number] = found
        report(Progress("writing", len(written), len(started), "shards"))
    return [written[number] for number in range(len(started))]


def _hash(cluster: Session, folder: Path, shards: Sequence[Shard], vocabulary: Vocabulary) -> str:
    """The content hash, from what each shard adds to it."""
    digest = cluster.task(tasks.digest_shard)
    places = tasks.placed(shards)
    started = [digest(folder, shard, place) for shard, place in zip(shards, places, strict=True)]
    found = [cluster.result(each) for each in started]
    return hash_of((ids for ids, _ in found), (offsets for _, offsets in found), vocabulary)
