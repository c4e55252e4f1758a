"""Words that are not words: text decoded in the wrong encoding, control characters, markup, unused tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from inlaid.messages import Message
from inlaid.study.doctor.findings import SHOWN, Finding, Severity, severity_of, words_of
from inlaid.vectors import Vectors

WORD_BLOCK = 1 << 16
ENTITY = re.compile(
    r"&(?:[a-z]{2,8}|#\d{1,7}|#x[0-9a-f]{1,6});|^&(?:[a-z]{2,8}|#\d+)$"
    r"|^</?(?:br|p|div|span|ref|td|tr|li|a|b|i|img|href)\b",
    re.I,
)
REPLACED = re.compile("\ufffd|锟斤拷|烫烫烫|屯屯屯|ï¿½")
"""What failed decoding leaves: the replacement character, and the same read as GBK or Latin-1."""
HAN = re.compile(r"[\u4e00-\u9fff]+")
UNUSED = re.compile(r"\[unused\d+\]|<unused\d+>|madeupword\d+")
JOINERS = frozenset("\u200c\u200d\ufe0f")
"""Invisible, but part of words: in Persian and Indic scripts, and in emoji."""


class Kind(NamedTuple):
    """A kind of broken word."""

    message: Callable[[Message], Message]
    """What was found, given how many words it concerns."""
    advice: Message
    harmless: float | None = None
    """The kind does no harm up to this share of the words; None where any share does."""


KINDS = {
    "mojibake": Kind(
        lambda words: Message("Text decoded in the wrong encoding: {words}.", words=words),
        Message("Decode the text in its real encoding (UTF-8, GB18030, ...) and train again."),
    ),
    "control characters": Kind(
        lambda words: Message("Control, private-use or invisible characters: {words}.", words=words),
        Message("Clean the text: these create duplicates that look the same."),
    ),
    "markup": Kind(
        lambda words: Message("Pieces of HTML: {words}.", words=words),
        Message("Remove the markup from the text and decode its entities, then train again."),
    ),
    "whitespace": Kind(
        lambda words: Message("Empty words, or words with whitespace inside: {words}.", words=words),
        Message("Check how the file was split into words; phrases are best joined by _."),
        harmless=0.01,
    ),
    "unused": Kind(
        lambda words: Message("Reserved tokens that were never trained: {words}.", words=words),
        Message("Leave them out before you search: they are near each other, and near many words."),
        harmless=0.5,
    ),
    "punctuation": Kind(
        lambda words: Message("Nothing but punctuation: {words}.", words=words),
        Message("Fine if you meant to keep it; the word tokenizer leaves it out."),
        harmless=0.5,
    ),
}


def broken(vectors: Vectors) -> list[Finding]:
    """Words that are not words: the text was decoded wrongly, or was not all text."""
    found: dict[str, list[str]] = {name: [] for name in KINDS}
    for words in word_blocks(vectors):
        for word in words:
            name = kind_of(word)
            if name:
                found[name].append(word)
    findings: list[Finding] = []
    for name, words in found.items():
        if words:
            kind = KINDS[name]
            message = kind.message(words_of(len(words), vectors))
            severity = _severity(kind, len(words) / len(vectors))
            examples = tuple(_visible(word) for word in words[:SHOWN])
            findings.append(Finding(name, severity, len(words), message, kind.advice, examples))
    return findings


def kind_of(word: str) -> str | None:
    """What is wrong with a word, or None.

    >>> kind_of("cafÃ©"), kind_of("&amp;"), kind_of("…"), kind_of("café")
    ('mojibake', 'markup', 'punctuation', None)
    """
    if word.isascii() and word.isalnum() and not word.startswith("madeupword"):
        return None
    if not word or word.isspace() or any(each.isspace() for each in word):
        return "whitespace"
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
    """Whether undoing a wrong decoding gives better text: UTF-8 read as Latin-1, cp1252 or GBK."""
    if word.isascii():
        return False
    if REPLACED.search(word):
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
        # Short Chinese words can be valid UTF-8 of other scripts by accident, but not of two or more Chinese
        # characters.
        return HAN.fullmatch(word.encode("gbk").decode("utf-8")) is not None
    except UnicodeError:
        return False


def word_blocks(vectors: Vectors) -> Iterator[list[str]]:
    for start in range(0, len(vectors), WORD_BLOCK):
        yield vectors.words[start : start + WORD_BLOCK]


def _severity(kind: Kind, share: float) -> Severity:
    if kind.harmless is None:
        return severity_of(share)
    return "serious" if share > kind.harmless else "note"


def _visible(word: str) -> str:
    """Invisible characters as escapes."""
    characters = [_escaped(each) if unicodedata.category(each)[0] in "CZ" else each for each in word]
    return "".join(characters) or '""'


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
