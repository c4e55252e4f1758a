"""Checks of the vocabulary: words in several spellings, common words that are missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from inlaid.collect.normalize import nfkc, simplified
from inlaid.encode.corpus import Corpus
from inlaid.messages import Message
from inlaid.study.doctor.broken_words import HAN, word_blocks
from inlaid.study.doctor.findings import SHOWN, Finding, severity_of, words_of
from inlaid.vectors import Vectors

FEW = 0.001
"""Every text has words in a second spelling up to this share: km2 and km²."""
MANY = 0.1
FREQUENT = 10_000
"""The most frequent words of a corpus are expected to have vectors."""


# --- spelling -----------------------------------------------------------------------------------------------


class Spelling(NamedTuple):
    """A way in which two spellings of a word differ."""

    normalized: Callable[[list[str]], list[str]]
    message: Callable[[Message], Message]
    """What was found, given how many words it concerns."""
    advice: Message


def _simplified(words: list[str]) -> list[str]:
    """In simplified characters; one call for many words, since each call costs more than the words."""
    converted = simplified("\n".join(words)).split("\n")
    return converted if len(converted) == len(words) else [simplified(word) for word in words]


SPELLINGS = {
    "case": Spelling(
        lambda words: [word.lower() for word in words],
        lambda words: Message("Words that differ from another in case alone: {words}.", words=words),
        Message("If case means nothing to you, train with `lower`; for scores, fold case."),
    ),
    "width": Spelling(
        lambda words: [nfkc(word) for word in words],
        lambda words: Message("Words that differ from another in width alone: {words}.", words=words),
        Message("Train with `nfkc` or `width`, so that full-width and half-width forms are one word."),
    ),
    "script": Spelling(
        _simplified,
        lambda words: Message("Words that differ from another in script alone: {words}.", words=words),
        Message("Train with `simplified`, so that traditional and simplified characters are one word."),
    ),
}


def case(vectors: Vectors) -> list[Finding]:
    return _spelled_twice(vectors, "case")


def width(vectors: Vectors) -> list[Finding]:
    return _spelled_twice(vectors, "width")


def script(vectors: Vectors) -> list[Finding]:
    return _spelled_twice(vectors, "script")


def _spelled_twice(vectors: Vectors, name: str) -> list[Finding]:
    """Words that differ from another in case, width or script alone."""
    spelling = SPELLINGS[name]
    first: dict[str, str] = {}
    pairs: list[str] = []
    for words in word_blocks(vectors):
        for word, normalized in zip(words, spelling.normalized(words), strict=True):
            other = first.setdefault(normalized, word)
            if other != word:
                pairs.append(f"{other} = {word}")
    share = len(pairs) / len(vectors)
    if share <= FEW:
        return []
    message = spelling.message(words_of(len(pairs), vectors))
    severity = "warning" if share > MANY else "note"
    return [Finding(name, severity, len(pairs), message, spelling.advice, tuple(pairs[:SHOWN]))]


# --- missing words ------------------------------------------------------------------------------------------


class CommonWords(NamedTuple):
    """Words that a vocabulary of a language has, or lacks for a reason."""

    script: re.Pattern[str]
    groups: dict[str, list[str]]
    name: Message
    """The language, in messages."""


def _words(text: str) -> list[str]:
    return text.split()


GROUPS = {
    "function words": Message("function words"),
    "days": Message("names of days"),
    "numerals": Message("numerals"),
}
"""The groups of common words, in messages."""
ENGLISH = CommonWords(
    re.compile(r"[A-Za-z'’-]+"),
    {
        "function words": _words("the of and to in a is that for it with as was on be by at from this not"),
        "days": _words("monday tuesday wednesday thursday friday saturday sunday"),
        "numerals": _words("one two three four five six seven eight nine ten"),
    },
    Message("English"),
)
CHINESE = CommonWords(
    HAN,
    {
        "function words": _words("的 了 在 是 我 不 他 有 这 和 也 就 都 而 与 对 从 把 被 到"),
        "days": _words("星期一 星期二 星期三 星期四 星期五 星期六 星期日"),
        "numerals": _words("一 二 三 四 五 六 七 八 九 十"),
    },
    Message("Chinese"),
)
FUNCTION_WORDS = 0.75
IN_SCRIPT = 0.2
FIRST = 1000
"""A vocabulary is of a language if it has this share of its function words, and if this share of its first
words is in its script: `the` and `of` occur in Chinese text too."""


def missing(vectors: Vectors) -> list[Finding]:
    """Common words that are missing, in the languages of the vocabulary."""
    findings: list[Finding] = []
    for common in (ENGLISH, CHINESE):
        lacking = {
            group: [word for word in words if not _has(vectors, word)]
            for group, words in common.groups.items()
        }
        if not _is_language_of(vectors, common, lacking["function words"]):
            continue
        for group, words in lacking.items():
            if words:
                message = Message(
                    "{missing} of {total} {language} {group} are missing.",
                    missing=len(words),
                    total=len(common.groups[group]),
                    language=common.name,
                    group=GROUPS[group],
                )
                advice = Message(
                    "Fine if the text is of a narrow domain, or if such words were removed on purpose."
                )
                examples = tuple(words[:SHOWN])
                findings.append(Finding(f"missing {group}", "note", len(words), message, advice, examples))
    return findings


def _is_language_of(vectors: Vectors, common: CommonWords, lacking: list[str]) -> bool:
    first = vectors.words[:FIRST]
    in_script = sum(common.script.fullmatch(word) is not None for word in first) / max(len(first), 1)
    most_missing = (1 - FUNCTION_WORDS) * len(common.groups["function words"])
    return in_script >= IN_SCRIPT and len(lacking) <= most_missing


def _has(vectors: Vectors, word: str) -> bool:
    return any(vectors.find(form) is not None for form in (word, word.capitalize(), word.upper()))


def missing_in_corpus(vectors: Vectors, corpus: Corpus) -> list[Finding]:
    """Frequent words of a corpus that have no vectors."""
    words = corpus.vocabulary.words
    counts = corpus.vocabulary.counts
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT]
    lacking = np.array([id for id in frequent.tolist() if vectors.find(words[id]) is None], np.int64)
    if not len(lacking):
        return []
    share = float(counts[lacking].sum() / max(1, counts[frequent].sum()))
    message = Message(
        "{missing:,} of the {frequent:,} most frequent words of the corpus have no vector: {share:.1%} of "
        "their tokens.",
        missing=len(lacking),
        frequent=len(frequent),
        share=share,
    )
    advice = Message("Train on text of the same kind, with the same tokenizer and normalization.")
    severity = severity_of(share, warning=0.02, serious=0.2)
    examples = tuple(words[id] for id in lacking[:SHOWN].tolist())
    return [Finding("missing in corpus", severity, share, message, advice, examples)]


CHECKS = (case, width, script, missing)
