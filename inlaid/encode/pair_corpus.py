"""Pair corpus: pairs of sentences whose sides have vocabularies of their own, such as Chinese and English.

Sentences alternate as in any corpus of pairs: source, target, source, target. The ids of a target are those
of the target's vocabulary.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from inlaid.config import values_of
from inlaid.encode.content_hash import content_hash
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.vocabulary import Vocabulary, Words
from inlaid.errors import SourceError
from inlaid.report import Report


@dataclass(frozen=True, eq=False, kw_only=True)
class PairCorpus(Corpus):
    """A corpus of pairs; its vocabulary, manifest and tokenizer are those of the source."""

    target: Corpus
    """The sentences of the target alone, with their vocabulary and tokenizer."""


def encode_sides(sentences: Sequence[str], encoding: Encoding, report: Report) -> PairCorpus:
    """Encode the two sides of alternating sentences, each with a vocabulary learned from it alone."""
    source, target = (encode(list(sentences[side::2]), encoding, report) for side in (0, 1))
    return joined(source, target, len(sentences))


def corpus_of_ids(rows: Sequence[Sequence[int]], words: Sequence[str], encoding: Encoding) -> Corpus:
    """The corpus of sentences that are ids already: numbers of these words."""
    lengths = [len(row) for row in rows if len(row)]
    ids = np.array([id for row in rows for id in row], np.int32)
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    vocabulary = Vocabulary(Words.of(list(words)), np.bincount(ids, minlength=len(words)).astype(np.int64))
    manifest: dict[str, Any] = {
        "encoding": values_of(encoding) | {"normalize": list(encoding.steps)},
        "hash": content_hash([ids], [offsets], vocabulary),
    }
    return Corpus(ids, offsets, vocabulary, manifest)


def joined(source: Corpus, target: Corpus, sentences: int) -> PairCorpus:
    """One corpus of two sides, which have as many sentences in all as were given."""
    check_complete(len(source.offsets) + len(target.offsets) - 2, sentences)
    lengths = np.stack([np.diff(source.offsets), np.diff(target.offsets)], 1).ravel()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.empty(offsets[-1], np.int32)
    of_target = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    ids[~of_target] = source.ids
    ids[of_target] = target.ids
    both = source.manifest["hash"] + target.manifest["hash"]
    manifest = {**source.manifest, "hash": xxhash.xxh3_128_hexdigest(both.encode())}
    given = {field.name: getattr(source, field.name) for field in dataclasses.fields(Corpus)}
    return PairCorpus(**given | {"ids": ids, "offsets": offsets, "manifest": manifest}, target=target)


def check_complete(found: int, expected: int) -> None:
    """Raise SourceError unless all sentences of the pairs are still there, each with its pair."""
    if found != expected:
        raise SourceError(
            "{missing:,} of {expected:,} sentences have no tokens, so their pairs are lost. Use a tokenizer "
            "that keeps all of a text, such as bpe, or clean the pairs.",
            missing=expected - found,
            expected=expected,
        )
