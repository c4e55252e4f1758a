"""Renumbering: ids in order of first occurrence -> ids of the vocabulary, and what the manifest records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid import files
from inlaid.collect.sources import Input, Source
from inlaid.config import values_of
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.corpus import Encoding
from inlaid.encode.numbering import END
from inlaid.encode.scanning import Scanned
from inlaid.encode.selection import Selected
from inlaid.encode.tokenizers import Word
from inlaid.errors import InlaidError
from inlaid.kernels.text import hash_table
from inlaid.shapes import Ids

VERSION = 1
LONG_WORD = 100
LONG_SENTENCE = 10_000
"""Bytes and tokens above which words and sentences are counted in the report; they are kept all the same."""


@dataclass(frozen=True)
class Renumbered:
    """Ids of the vocabulary and offsets, without dropped words and the sentences this leaves empty."""

    ids: files.Spool
    offsets: files.Spool
    sentences: int
    """Sentences that had any word before words were dropped."""


def renumber(scanned: Scanned, new_ids: Ids, folder: Path | None) -> Renumbered:
    ids = files.Spool(np.int32, folder)
    offsets = files.Spool(np.int64, folder)
    offsets.append(np.zeros(1, np.int64))
    progress = hash_table.RenumberProgress(0, 0, 0, 0, 0, 0)
    maps = [new_ids[map] for map in scanned.maps]
    last = (np.full(1, END, np.int32), 0)  # the text may stop without an END
    for piece, owner in itertools.chain(zip(scanned.ids.pieces(), scanned.owners, strict=True), [last]):
        kept = np.empty(len(piece), np.int32)
        ends = np.empty(len(piece), np.int64)
        progress = hash_table.renumber(piece, maps[owner], kept, ends, progress)
        ids.append(kept[: progress.ids].copy())
        offsets.append(ends[: progress.ends].copy())
    return Renumbered(ids, offsets, progress.sentences)


# ---- What the manifest records


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What was counted in a text; the totals of its parts add up to it."""

    documents: int = 0
    sentences_read: int = 0
    sentences_used: int = 0
    tokens_read: int = 0
    tokens_used: int = 0
    lint: Mapping[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: Totals) -> Totals:
        names = (each.name for each in fields(self) if each.name != "lint")
        summed = {name: getattr(self, name) + getattr(other, name) for name in names}
        lint = dict(self.lint)
        for name, found in other.lint.items():
            lint[name] = lint.get(name, 0) + found
        return Totals(**summed, lint=lint)


def totals_read(source: Source, scanned: Scanned) -> Totals:
    """What reading found, before words are dropped."""
    long_words = {"long_words": int(scanned.counts[scanned.lengths > LONG_WORD].sum())}
    replaced = {"invalid_bytes": scanned.lint["invalid_bytes"] + source.replaced} if source.replaced else {}
    return Totals(
        documents=source.documents,
        tokens_read=int(scanned.counts.sum()),
        lint=scanned.lint | long_words | replaced,
    )


def totals_used(renumbered: Renumbered) -> Totals:
    """What is left when words are dropped."""
    return Totals(
        sentences_read=renumbered.sentences,
        sentences_used=renumbered.offsets.size - 1,
        tokens_used=renumbered.ids.size,
        lint={"long_sentences": _long_sentences(renumbered.offsets)},
    )


class ReadWords(NamedTuple):
    """How many distinct words were read, and which are used."""

    read: int
    selected: Selected


def manifest_of(
    encoding: Encoding,
    cleaner: Cleaner | None,
    inputs: Sequence[Input],
    totals: Totals,
    words: ReadWords,
    hash: str,
) -> dict[str, Any]:
    """How a corpus was made, as its file records it."""
    tokens = {
        "read": totals.tokens_read,
        "used": totals.tokens_used,
        "dropped": words.selected.dropped,
    }
    _check_account(tokens)
    charsets = {each.charset for each in inputs}
    charset = charsets.pop() if len(charsets) == 1 else encoding.charset
    recorded = {"normalize": list(encoding.steps), "charset": charset, "dictionary": _dictionary(cleaner)}
    return {
        "version": VERSION,
        "encoding": values_of(encoding) | recorded,
        "inputs": [asdict(each) for each in inputs],
        "documents": totals.documents,
        "sentences": {"read": totals.sentences_read, "used": totals.sentences_used},
        "tokens": tokens,
        "words": {"read": words.read, "used": len(words.selected.vocabulary)},
        "lint": dict(totals.lint),
        "hash": hash,
    }


def _dictionary(cleaner: Cleaner | None) -> list[str]:
    """The words that the text was segmented by: their files may change, or be elsewhere."""
    tokenizer = None if cleaner is None else cleaner.tokenizer
    return list(tokenizer.dictionary) if isinstance(tokenizer, Word) else []


def _check_account(tokens: dict[str, Any]) -> None:
    """Tokens read, used and dropped are counted in three places; they must add up."""
    dropped = sum(tokens["dropped"].values())
    if tokens["read"] != tokens["used"] + dropped:
        raise InlaidError(
            "Encoding lost tokens: {read:,} were read, {used:,} used and {dropped:,} dropped. "
            "This is a bug in Inlaid: please report it, with the text if you can.",
            read=tokens["read"],
            used=tokens["used"],
            dropped=dropped,
        )


def _long_sentences(offsets: files.Spool) -> int:
    last = 0
    found = 0
    for piece in offsets.pieces():
        found += int((np.diff(piece, prepend=last) > LONG_SENTENCE).sum())
        last = int(piece[-1]) if len(piece) else last
    return found
