"""Paired text: the sentences of pairs, for methods that read pairs, and a check that no pair was lost."""

from __future__ import annotations

from typing import Any

from inlaid.encode.corpus import Corpus, Encoding
from inlaid.encode.inputs import is_encoded
from inlaid.encode.pair_corpus import check_complete
from inlaid.errors import SourceError
from inlaid.jobs.training import Method, ReadsPairs
from inlaid.report import Report


def as_sentences(text: Any, method: Method, encoding: Encoding | None, report: Report) -> Any:
    """A text as its sentences where a method reads pairs; any other text as it is."""
    if not isinstance(method, ReadsPairs) or is_encoded(text):
        return text
    return method.sentences(text, encoding or Encoding(), report)


def check_pairs(encoded: Corpus, text: Any, method: Method) -> None:
    """Raise SourceError unless the sentences of a corpus are still those of the pairs, each with its pair;
    methods that read no pairs take any corpus."""
    if not isinstance(method, ReadsPairs):
        return
    found = len(encoded.offsets) - 1
    if not isinstance(text, list) and found % 2:
        raise SourceError(
            "This corpus has {found:,} sentences, an odd number: it is no corpus of pairs, in which a source "
            "and a target follow each other. Train on the pairs themselves.",
            found=found,
        )
    expected = len(text) if isinstance(text, list) else found
    check_complete(found, expected)
