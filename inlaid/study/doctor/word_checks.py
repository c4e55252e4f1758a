"""What looks wrong with the words of a vocabulary: broken ones, doubles in another spelling, common ones that
are missing."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from inlaid.collect.normalize import nfkc, simplified
from inlaid.encode.corpus import Corpus
from inlaid.study.doctor.findings import SHOWN, Finding, Severity, by_share, some_words
from inlaid.vectors import Vectors

BLOCK = 1 << 16
ENTITY = re.compile(
    r"&(?:[a-z]{2,8}|#\d{1,7}|#x[0-9a-f]{1,6});|^&(?:[a-z]{2,8}|#\d+)$|^</?(?:br|p|div|span|ref|td|tr|li|a|b|i|img|href)\b",
    re.I,
)
LOST = re.compile("\ufffd|锟斤拷|烫烫烫|屯屯屯|ï¿½")
HAN = re.compile(r"[\u4e00-\u9fff]+")
UNUSED = re.compile(r"\[unused\d+\]|<unused\d+>|madeupword\d+")
JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Not seen, but part of words: of Persian and Indian ones, and of emoji."""
RARE = 0.001
"""Words in a second spelling up to this share are in every text: km2 and km²."""
FREQUENT = 10_000
"""The most frequent words of a corpus are expected to have vectors."""

COMMON = {
    "English": {
        "function words": "the of and to in a is that for it with as was on be by at from this not",
        "days": "monday tuesday wednesday thursday friday saturday sunday",
        "numerals": "one two three four five six seven eight nine ten",
    },
    "Chinese": {
        "function words": "的 了 在 是 我 不 他 有 这 和 也 就 都 而 与 对 从 把 被 到",
        "days": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
        "numerals": "一 二 三 四 五 六 七 八 九 十",
    },
}
"""Language -> group -> words that a vocabulary of that language has, or lacks for a reason."""
SCRIPTS = {"English": re.compile(r"[A-Za-z'’-]+"), "Chinese": HAN}


def broken(vectors: Vectors) -> list[Finding]:
    """Words that are no words: the text was decoded wrongly, or was not all text."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for word in _each(vectors):
        kind = kind_of(word)
        if kind:
            found[kind].append(word)
    findings: list[Finding] = []
    for kind, words in found.items():
        if words:
            share = len(words) / len(vectors)
            severity = (
                by_share(share) if kind not in HARMLESS else "serious" if share > HARMLESS[kind] else "note"
            )
            sentence = f"{KINDS[kind][0]}: {some_words(len(words), vectors)}."
            findings.append(
                Finding(
                    kind, severity, len(words), sentence, KINDS[kind][1], tuple(map(_visible, words[:SHOWN]))
                )
            )
    return findings


KINDS = {
    "mojibake": (
        "Text decoded in the wrong encoding",
        "Decode the text as what it is (UTF-8, GB18030, ...) and train again.",
    ),
    "control characters": (
        "Control, private or unseen characters",
        "Clean the text: these make doubles that look the same.",
    ),
    "markup": (
        "Pieces of HTML",
        "Take the markup out of the text and decode its entities, then train again.",
    ),
    "blanks": (
        "Empty words, or blanks inside",
        "Check how the file was split into words; phrases are best joined by _.",
    ),
    "unused": (
        "Places kept for words to come, never trained",
        "Leave them out before you search: they are near to each other, and to many.",
    ),
    "punctuation": (
        "Nothing but punctuation",
        "Fine if you meant to keep it; the word tokenizer leaves it out.",
    ),
}
HARMLESS = {"unused": 0.5, "punctuation": 0.5, "blanks": 0.01}
"""Kinds that do no harm, up to these shares of words."""
SPOKEN = 0.75
WRITTEN = 0.2
FIRST = 1000
"""A vocabulary speaks a language if it has this share of its function words, and if this share of its first
words is in the script of that language: `the` and `of` stand in Chinese text too."""


def kind_of(word: str) -> str | None:
    """What is wrong with a word, or None.

    >>> kind_of("cafÃ©"), kind_of("&amp;"), kind_of("…"), kind_of("café")
    ('mojibake', 'markup', 'punctuation', None)
    """
    if word.isascii() and word.isalnum() and not word.startswith("madeupword"):
        return None
    if not word or word.isspace() or any(each.isspace() for each in word):
        return "blanks"
    if is_mojibake(word):
        return "mojibake"
    if any(unicodedata.category(each) in ("Cc", "Cf", "Co", "Cn") and each not in JOINERS for each in word):
        return "control characters"
    if UNUSED.fullmatch(word):
        return "unused"
    if ENTITY.search(word):
        return "markup"
    if all(unicodedata.category(each)[0] == "P" for each in word):
        return "punctuation"
    return None


def is_mojibake(word: str) -> bool:
    """Whether a word becomes better text when its wrong decoding is undone: UTF-8 read as Latin-1, cp1252 or
    GBK."""
    if word.isascii():
        return False
    if LOST.search(word):
        return True
    for wrong in ("latin-1", "cp1252"):
        try:
            word.encode(wrong).decode("utf-8")
        except UnicodeError:
            continue
        return True
    if len(word) < 3 or not HAN.match(word):
        return False
    try:
        # Short Chinese words can be UTF-8 by accident, as letters of other scripts; two or more characters of
        # Chinese are not.
        return HAN.fullmatch(word.encode("gbk").decode("utf-8")) is not None
    except UnicodeError:
        return False


def spelled_twice(vectors: Vectors, kinds: Sequence[str] = ("case", "width", "script")) -> list[Finding]:
    """Words that differ from another in case, width or script alone."""
    findings: list[Finding] = []
    for check in kinds:
        form, advice = SPELLINGS[check]
        first: dict[str, str] = {}
        doubles: list[str] = []
        for words in _blocks(vectors):
            for word, plain in zip(words, form(words), strict=True):
                other = first.setdefault(plain, word)
                if other != word:
                    doubles.append(f"{other} = {word}")
        share = len(doubles) / len(vectors)
        if share > RARE:
            sentence = (
                f"Words that differ from another in {check} alone: {some_words(len(doubles), vectors)}."
            )
            findings.append(
                Finding(
                    check,
                    "warning" if share > 0.1 else "note",
                    len(doubles),
                    sentence,
                    advice,
                    tuple(doubles[:SHOWN]),
                )
            )
    return findings


def _same_script(words: list[str]) -> list[str]:
    """All in simplified characters; one call for many, as each call costs more than the words."""
    converted = simplified("\n".join(words)).split("\n")
    return converted if len(converted) == len(words) else [simplified(word) for word in words]


SPELLINGS: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "case": (
        lambda words: [word.lower() for word in words],
        "If that says nothing to you, train with `lower`; to score, fold case.",
    ),
    "width": (
        lambda words: [nfkc(word) for word in words],
        "Train with `nfkc` or `width`, so that full-width and half-width are one.",
    ),
    "script": (
        _same_script,
        "Train with `simplified`, so that traditional and simplified characters are one.",
    ),
}


def missing(vectors: Vectors) -> list[Finding]:
    """Common words that are not there, in the languages the vocabulary speaks."""
    findings: list[Finding] = []
    first = vectors.words[:FIRST]
    for language, groups in COMMON.items():
        lacking = {
            group: [word for word in words.split() if not _knows(vectors, word)]
            for group, words in groups.items()
        }
        written = sum(SCRIPTS[language].fullmatch(word) is not None for word in first) / max(len(first), 1)
        if written < WRITTEN or len(lacking["function words"]) > (1 - SPOKEN) * len(
            groups["function words"].split()
        ):
            continue  # not a language of this vocabulary
        for group, words in lacking.items():
            if words:
                sentence = f"{len(words)} of {len(groups[group].split())} common {language} words ({group}) are missing."
                advice = "Fine if the text is of a narrow field, or if such words were left out on purpose."
                findings.append(
                    Finding(f"missing {group}", "note", len(words), sentence, advice, tuple(words[:SHOWN]))
                )
    return findings


def missing_in_corpus(vectors: Vectors, corpus: Corpus) -> list[Finding]:
    """Frequent words of a corpus that have no vectors."""
    words = corpus.vocabulary.words
    counts = corpus.vocabulary.counts
    order = np.argsort(-counts, kind="stable")[:FREQUENT]
    lacking = np.array([id for id in order.tolist() if vectors.find(words[id]) is None], np.int64)
    if not len(lacking):
        return []
    share = float(counts[lacking].sum() / max(1, counts[order].sum()))
    severity: Severity = "serious" if share > 0.2 else "warning" if share > 0.02 else "note"
    sentence = f"{len(lacking):,} of the {len(order):,} most frequent words of the corpus have no vector: {share:.1%} of their tokens."
    advice = "Train on text of the same kind, cut by the same tokenizer and normalised alike."
    return [
        Finding(
            "missing in corpus",
            severity,
            share,
            sentence,
            advice,
            tuple(words[id] for id in lacking[:SHOWN].tolist()),
        )
    ]


CHECKS: tuple[Callable[[Vectors], list[Finding]], ...] = (
    broken,
    *(functools.partial(spelled_twice, kinds=(kind,)) for kind in SPELLINGS),
    missing,
)


def _knows(vectors: Vectors, word: str) -> bool:
    return any(vectors.find(form) is not None for form in (word, word.capitalize(), word.upper()))


def _visible(word: str) -> str:
    """With what cannot be seen written out."""
    shown = "".join(
        each if unicodedata.category(each)[0] not in "CZ" else f"\\u{ord(each):04x}" for each in word
    )
    return shown or '""'


def _blocks(vectors: Vectors) -> Iterator[list[str]]:
    for start in range(0, len(vectors), BLOCK):
        yield vectors.words[start : start + BLOCK]


def _each(vectors: Vectors) -> Iterator[str]:
    for words in _blocks(vectors):
        yield from words
