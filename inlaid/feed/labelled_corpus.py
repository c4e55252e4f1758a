"""Labelled texts encoded for a classifier: ids of all words, rare ones too, and a label for each text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlaid.collect.sources import TextBlock
from inlaid.config import values_of
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.content_hash import content_hash
from inlaid.encode.corpus import Corpus, Encoding
from inlaid.encode.numbering import FastNumbering
from inlaid.encode.scripts import settled
from inlaid.encode.tokenizers import Word
from inlaid.encode.vocabulary import Vocabulary, Words, by_count
from inlaid.errors import SettingError, SourceError
from inlaid.feed.bags import TokenIds, tokens_of
from inlaid.feed.labelled import Labelled
from inlaid.report import Note, Progress, Report, silent

SHOWN_TO_DECIDE = 1 << 20
"""Bytes of text by which the defaults of the normalization are decided."""
CHUNK = 20_000
"""Texts encoded at a time."""


@dataclass(frozen=True, eq=False)
class LabelledCorpus(Corpus):
    """A corpus whose sentences are texts with labels. Ids from the size of the vocabulary on are rare words:
    their spelling may count, they themselves do not. It is not saved."""

    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    """The place of the label of each text in `names`."""
    names: tuple[str, ...] = ()
    rare: Words = field(default_factory=lambda: Words.of_bytes([]))
    """The words outside the vocabulary, in the order of their ids."""

    @property
    def tokens(self) -> TokenIds:
        return TokenIds(np.asarray(self.ids), np.asarray(self.offsets))


def encode_labelled(labelled: Labelled, encoding: Encoding, report: Report = silent) -> LabelledCorpus:
    """Tokenize texts and number their words and labels."""
    _refuse_encoding(encoding)
    names = tuple(sorted(set(labelled.labels), key=_natural))
    _check_labels(labelled, names, report)
    shown = "\n".join(labelled.texts)[:SHOWN_TO_DECIDE].encode("utf-8", "replace")
    encoding = settled(encoding, [TextBlock(shown, "texts", 1).data], report)
    tokenizer = encoding.make_tokenizer()
    cleaner = Cleaner(tokenizer, encoding.steps, "line", "replace")
    numbering = FastNumbering()
    tokens = _tokens(labelled.texts, cleaner, numbering, report)
    counts = numbering.counts()
    words = numbering.words(np.arange(numbering.known))
    ranked = by_count(words, counts)
    frequent = counts[ranked] >= encoding.min_count
    if encoding.max_size is not None:
        frequent[encoding.max_size :] = False
    size = int(frequent.sum())
    if not size:
        raise SourceError(
            "No word occurs {min_count} times in these texts. Lower min_count, or add texts.",
            min_count=encoding.min_count,
        )
    new = np.empty(len(ranked), np.int32)
    new[ranked] = np.arange(len(ranked), dtype=np.int32)
    ordered = [words[place] for place in ranked.tolist()]
    vocabulary = Vocabulary(Words.of_bytes(ordered[:size]), counts[ranked[:size]])
    ids = new[tokens.ids]
    places = {name: place for place, name in enumerate(names)}
    labels = np.array([places[label] for label in labelled.labels], np.int32)
    recorded = values_of(encoding) | {"normalize": list(encoding.steps)}
    recorded["dictionary"] = list(tokenizer.dictionary) if isinstance(tokenizer, Word) else []
    manifest = {
        "encoding": recorded,
        "hash": content_hash([ids, labels], [tokens.offsets], vocabulary),
    }
    return LabelledCorpus(
        ids,
        tokens.offsets,
        vocabulary,
        manifest,
        labels=labels,
        names=names,
        rare=Words.of_bytes(ordered[size:]),
    )


def _tokens(texts: Any, cleaner: Cleaner, numbering: FastNumbering, report: Report) -> TokenIds:
    """The tokens of all texts, some texts at a time."""
    parts: list[np.ndarray] = []
    ends: list[np.ndarray] = [np.zeros(1, np.int64)]
    total = 0
    for start in range(0, len(texts), CHUNK):
        some = tokens_of(texts[start : start + CHUNK], cleaner, numbering)
        parts.append(some.ids)
        ends.append(some.offsets[1:] + total)
        total += len(some.ids)
        report(Progress("encoding", min(start + CHUNK, len(texts)), len(texts), "texts"))
    return TokenIds(np.concatenate(parts), np.concatenate(ends))


def _refuse_encoding(encoding: Encoding) -> None:
    if encoding.phrases is not None:
        raise SettingError("phrases is for word vectors; a classifier has word_ngrams. Leave it out.")
    if encoding.has_subwords:
        raise SettingError(
            "A classifier reads words, and {tokenizer} makes subwords. Use the tokenizer word, whitespace or "
            "char; min_n and max_n add n-grams of characters.",
            tokenizer=encoding.tokenizer_file or encoding.tokenizer,
        )
    if encoding.special or encoding.unknown is not None:
        raise SettingError("A classifier has no use for special and unknown. Leave them out.")


def _check_labels(labelled: Labelled, names: tuple[str, ...], report: Report) -> None:
    """Raise SettingError for a single label; note labels with one text."""
    if len(names) < 2:
        raise SettingError(
            "All {count:,} texts have the label '{label}': there is nothing to tell apart. Add texts of "
            "another label.",
            count=len(labelled),
            label=names[0] if names else "",
        )
    single = [name for name, count in Counter(labelled.labels).items() if count == 1]
    if single:
        report(
            Note(
                "{count:,} of {total:,} labels have one text each, such as '{label}': too few to learn from.",
                count=len(single),
                total=len(names),
                label=single[0],
            )
        )


def _natural(label: str) -> tuple[bool, float, str]:
    """Numbers by value, before other labels in the order of their characters."""
    number = label.isdecimal()
    return not number, float(label) if number else 0.0, label
