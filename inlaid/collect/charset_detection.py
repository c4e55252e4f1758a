"""Which charset a text is in: by its byte order mark, or by how common its characters would be."""

from __future__ import annotations

import codecs
import functools
import itertools

UTF8 = "utf-8"
CODECS = {
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
"""The codec of a charset, where another one is not meant: files have the characters that vendors added."""
MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; that of UTF-32 starts with that of UTF-16."""
CANDIDATES = ("gb18030", "big5", "cp950", "shift_jis", "euc_kr", "cp1252")
"""cp950 is Big5 with kana and Cyrillic at other places, as Python and Windows write them."""
SAMPLE = 1 << 16
"""Bytes by which a charset is recognized."""
TOLERATED = 0.1
"""The largest share of the bytes that are not ASCII that damage makes invalid. Beyond it, the text is in
another charset."""
REPLACEMENT = "\ufffd"
DOUBTFUL = 100
"""Bytes that are not ASCII; fewer leave doubts about the charset."""
FREQUENT = frozenset(
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都"
    "然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同已老从动两长知分什儿回位其此外美因进间工高第全部"
    "這個國說們為來時後會過學對裡麼沒於還發當開見經頭動兩長從与與無"
    "のにはをたがでてとしれさいるなり이다는을를가의에고하지기도로한사은인서"
)
"""The most frequent characters of Chinese, both scripts, and of Japanese and Korean: 30 to 60 % of a text."""


def codec_of(charset: str) -> str:
    return CODECS.get(charset, charset)


def marked(head: bytes) -> str | None:
    """The charset that the byte order mark at the start of a text says; None without one.

    Binary files may start with the bytes of a mark: characters must follow that of UTF-16 or UTF-32.
    """
    for mark, charset in MARKS:
        if head.startswith(mark):
            text = head[len(mark) : 64].decode(charset, "replace").removesuffix(REPLACEMENT)
            odd = any(each == REPLACEMENT or (each < " " and not each.isspace()) for each in text)
            return charset if charset == UTF8 or (text and not odd) else None
    return None


def is_utf8(data: bytes) -> bool:
    """Whether this is the start of a text in UTF-8; its last character may be cut."""
    try:
        data.decode(UTF8)
    except UnicodeDecodeError as error:
        return error.end == len(data) and error.reason == "unexpected end of data"
    return True


def likely(data: bytes) -> str | None:
    """The charset that a text seems to be in, by how common its characters would be; None if none fits.

    A few invalid bytes do not matter: UTF-8 that is damaged is still UTF-8.
    """
    by_mark = marked(data)
    if by_mark is not None:
        return by_mark
    sample = _telling(data)
    if b"\0" in data:
        scores = {charset: _score(data[:SAMPLE], charset) for charset in ("utf-16-le", "utf-16-be")}
    elif _share_of_utf8(sample) > 1 - TOLERATED:
        return UTF8
    else:
        scores = {charset: _score(sample, charset) for charset in CANDIDATES}
    best = max(scores, key=lambda charset: scores[charset])
    return best if scores[best] > 0 else None


def better_big5(data: bytes) -> str:
    """The kind of Big5 that a text is in, by how common its characters would be: big5, or cp950."""
    sample = _telling(data)
    return max(("big5", "cp950"), key=lambda charset: _score(sample, charset))


def seems_other(data: bytes, charset: str) -> str | None:
    """The charset that a text is in rather than in this one, where there can be no doubt; otherwise None."""
    if (
        charset not in CANDIDATES
        or count_high(data[:SAMPLE]) < DOUBTFUL
        or _score(_telling(data), charset) > 0
    ):
        return None
    guess = likely(data)
    return None if guess in (charset, "cp1252") else guess


def _telling(data: bytes) -> bytes:
    """The first lines with bytes that are not ASCII, whole where possible."""
    if data.isascii():
        return data[:SAMPLE]
    lines = itertools.islice((line for line in data.split(b"\n") if not line.isascii()), 10_000)
    return b"\n".join(lines)[:SAMPLE]


def _share_of_utf8(data: bytes) -> float:
    """The share of the bytes that are not ASCII that are valid UTF-8."""
    found = data.decode(UTF8, "ignore").encode()
    return 1 - (len(data) - len(found)) / max(count_high(data), 1)


def count_high(data: bytes) -> int:
    """Bytes that are not ASCII."""
    return len(data) - len(data.decode("ascii", "ignore"))


def _score(data: bytes, charset: str) -> float:
    """How common the characters would be that are not ASCII, -1 to 1; -1 where it cannot be this charset."""
    text = data.decode(codec_of(charset), "replace").removesuffix(REPLACEMENT)
    others = [character for character in text if character > "\x7f"]
    invalid = others.count(REPLACEMENT) + text.count("\0")
    if not others or invalid > 0.02 * len(others):
        return -1.0
    if charset == "cp1252" and not 3 <= len(others) <= len(text) // 2:
        return -1.0  # Latin text is mostly ASCII; one or two bytes may be anything
    return sum(map(_commonness, others)) / len(others)


@functools.lru_cache(maxsize=1 << 16)
def _commonness(character: str) -> float:
    if character in FREQUENT:
        return 1.0
    if "\u4e00" <= character <= "\u9fff":
        return 0.25 if _is_level_one(character) else -1.0
    if "\u3000" <= character <= "\u3011" or "\uff01" <= character <= "\uff5e" or character in "‘’“”—…·":
        return 0.25
    if "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7a3":
        return 0.2
    if "\xc0" <= character <= "\u024f" and character.isalpha():
        return 0.1
    return -1.0


def _is_level_one(character: str) -> bool:
    """Whether it is among the 3,755 common characters of GB 2312 or the 5,401 of Big5: they have the low
    bytes."""
    for codec, last in (("gb2312", 0xD7), ("big5", 0xC6)):
        encoded = character.encode(codec, "ignore")
        if encoded and encoded[0] <= last:
            return True
    return False
