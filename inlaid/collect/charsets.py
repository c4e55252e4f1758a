"""Charsets: text in GB18030, Big5, UTF-16 or any other codec of Python -> UTF-8, and which one a file is in.

`charset` (the flag --encoding) is how characters become bytes; `Encoding` is how text becomes ids.
"""

from __future__ import annotations

import codecs
import functools
import io
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from inlaid.collect.charset_detection import (
    CANDIDATES,
    REPLACEMENT,
    SAMPLE,
    TOLERATED,
    UTF8,
    better_big5,
    codec_of,
    count_high,
    is_utf8,
    likely,
    marked,
    seems_other,
)
from inlaid.errors import SettingError, SourceError, did_you_mean
from inlaid.messages import Advice, Message
from inlaid.report import Note, Report, silent

AUTO = "auto"
Invalid = Literal["error", "replace", "skip"]
BROADER = {
    "ascii": UTF8,
    "utf-8-sig": UTF8,
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
"""Charsets that are read as another one, which has all their characters at the same bytes."""
NOT_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}
SURE = 8
"""Characters of two or more bytes that are valid UTF-8: text in another charset does not have so many."""
FEW = 32
"""Invalid bytes that are skipped or replaced wherever that is asked for."""
CHUNK = 1 << 18


@runtime_checkable
class ByteStream(Protocol):
    """Bytes that can be read in order."""

    def read(self, size: int = -1, /) -> bytes: ...


# ---- Names


def canonical(name: str) -> str:
    """The name that a charset has here: gbk and gb2312 are read as gb18030, which has all their characters.

    >>> canonical("GBK"), canonical("utf8"), canonical("auto")
    ('gb18030', 'utf-8', 'auto')
    """
    if name.lower() == AUTO:
        return AUTO
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True) or _is_escaping(found.name):
        known = [AUTO, UTF8, "utf-16", "gbk", *CANDIDATES]
        raise SettingError(
            "encoding is '{name}'; expected auto, or a text encoding of Python such as utf-8, gb18030, big5 "
            "or utf-16.{hint}",
            name=name,
            hint=did_you_mean(name, known),
        )
    return BROADER.get(found.name, found.name)


def _is_escaping(codec: str) -> bool:
    return codec.replace("_", "-") in NOT_CHARSETS


@functools.cache
def splits_at_ascii(charset: str) -> bool:
    """Whether spaces and newlines are single bytes, so that the words of a line can be decoded one by one."""
    ascii_bytes = bytes(range(128))
    stateful = charset.startswith(("iso2022", "hz", "utf-7"))
    return not stateful and ascii_bytes.decode(codec_of(charset), "replace") == ascii_bytes.decode("ascii")


# ---- Errors


def refuse_utf8(path: Path | str, data: bytes, charset: str) -> None:
    """Raise SourceError for UTF-8 that would be read as another charset: most of them give mojibake, no
    error."""
    if not is_utf8(data):
        return
    leads = sum(byte >= 0xC0 for byte in data[:SAMPLE])
    if leads >= SURE and not charset.startswith(("utf-16", "utf-32")):
        raise SourceError(
            "{path} is UTF-8, and encoding {charset} would garble it. {advice}, which decides for each file.",
            path=path,
            charset=charset,
            advice=Advice(
                typed=Message("Leave out --encoding, or pass --encoding auto"),
                called=Message("Leave out charset, or pass charset='auto'"),
            ),
        )


def refuse_other(path: Path | str, data: bytes, charset: str) -> None:
    """Raise SourceError for text in another charset than it would be read in, UTF-8 or not."""
    refuse_utf8(path, data, charset)
    guess = seems_other(data, charset)
    if guess is not None:
        raise SourceError(
            "{path} looks like {shown}, and encoding {charset} would garble it. {advice}, which decides for "
            "each file.",
            path=path,
            shown=guess.upper(),
            charset=charset,
            advice=Advice(
                typed=Message("Pass --encoding {guess}, or --encoding auto", guess=guess),
                called=Message("Pass charset={guess!r}, or charset='auto'", guess=guess),
            ),
        )


def is_loss(invalid: int, high: int, total: int | None) -> bool:
    """Whether so much is invalid that skipping it would destroy text: more than damage does, by the part that
    is not ASCII (`high`); a few are no loss unless they are most of it all (`total`, if it is known)."""
    most = total is not None and 2 * invalid > total > 0
    return invalid > TOLERATED * high and (invalid >= FEW or most)


def refuse_loss(name: Path | str, invalid: int, data: bytes, charset: str, first_line: int) -> None:
    """Raise SourceError where skipping or replacing the invalid bytes of `data` would destroy text."""
    # Of the end of a file, which may be short, most may be damaged.
    if not is_loss(invalid, count_high(data), len(data) if first_line == 1 else None):
        return
    place = _first_invalid(data, charset)
    raise SourceError(
        "{place}: {invalid:,} bytes are not {charset}, too many to skip or replace. {hint}",
        place=_place(name, data, place, first_line),
        invalid=invalid,
        charset=charset.upper(),
        hint=_hint(data, place, charset)
        or Advice(
            typed=Message("Name its encoding with --encoding, or repair it."),
            called=Message("Name its encoding with charset, or repair it."),
        ),
    )


def not_decodable(
    name: Path | str, data: bytes, place: int, charset: str, first_line: int = 1, *, alone: bool = True
) -> SourceError:
    """The error for the byte at `place` of `data`, which starts with `first_line` of a file; `alone` if no
    other file is read in the same charset."""
    return SourceError(
        "{place}: byte {column} of the line is not {charset}. {hint}",
        place=_place(name, data, place, first_line),
        column=place - data.rfind(b"\n", 0, place),
        charset=charset.upper(),
        hint=_hint(data, place, charset, alone=alone) or advice(None),
    )


def _first_invalid(data: bytes, charset: str) -> int:
    try:
        data.decode(codec_of(charset))
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _place(name: Path | str, data: bytes, place: int, first_line: int) -> Message:
    return Message("{name}:{line}", name=name, line=first_line + data.count(b"\n", 0, place))


def _hint(data: bytes, place: int, charset: str, *, alone: bool = True) -> Message | Advice | None:
    """What the text from `place` on looks like, and whether the text before it is in another charset; None
    if it looks like nothing."""
    start = data.rfind(b"\n", 0, place) + 1
    end = data.find(b"\n", place)
    line = data[start : end if end >= 0 else len(data)]
    before = data[max(start - SAMPLE, 0) : start]
    guess = likely(line) if count_high(line) >= SURE else likely(data[start:])
    if guess is None or guess == charset:
        return None
    if count_high(before) >= SURE and likely(before) == charset:
        return Message(
            "The lines before it are {charset}, this one looks like {guess}: the file mixes encodings. "
            "Convert one part of it.",
            charset=charset.upper(),
            guess=guess.upper(),
        )
    return advice(guess, alone=alone)


def advice(guess: str | None, *, alone: bool = True) -> Advice:
    """What to do about text that is not in the charset it was read in; `alone` if no other file is read in
    the same one."""
    if guess is None:
        return Advice(
            typed=Message(
                "If the file is in another encoding, name it with --encoding; if it is damaged, use "
                "--invalid replace or --invalid skip."
            ),
            called=Message(
                "If the file is in another encoding, name it with charset='gb18030' or the like; if it is "
                "damaged, use invalid='replace' or invalid='skip'."
            ),
        )
    named = guess if alone else AUTO
    return Advice(
        typed=Message("It looks like {shown}: pass --encoding {named}.", shown=guess.upper(), named=named),
        called=Message("It looks like {shown}: pass charset={named!r}.", shown=guess.upper(), named=named),
    )


# ---- Reading


class Recoder(io.RawIOBase):
    """The bytes of a stream as UTF-8, decoded as they are read."""

    def __init__(self, file: ByteStream, head: bytes, path: Path, charset: str, invalid: Invalid) -> None:
        self.file = file
        self.head = head
        self.path = path
        self.charset = charset
        self.invalid: Invalid = invalid
        self.decoder: codecs.IncrementalDecoder | None = None
        if charset != UTF8:
            errors = "strict" if invalid == "error" else "replace"
            self.decoder = codecs.getincrementaldecoder(codec_of(charset))(errors)
        self.output = memoryview(b"")
        self.lines = 0
        """Line ends before the bytes that are decoded next."""
        self.started = False
        self.checked = False
        """Whether text that is not ASCII was compared with what it would be in other charsets."""
        self.ended = False
        self.replaced = 0
        """Characters that could not be decoded."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self.output and not self.ended:
            data = self.head or self.file.read(CHUNK)
            self.head = b""
            self.ended = not data
            self.output = memoryview(self._recoded(data))
        count = min(len(buffer), len(self.output))
        buffer[:count] = self.output[:count]
        self.output = self.output[count:]
        return count

    def _recoded(self, data: bytes) -> bytes:
        if self.decoder is None:
            return data
        self._check(data)
        try:
            text = self.decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise self._error(error) from None
        if not self.started and text:
            text = text.removeprefix("\ufeff")
            self.started = True
        invalid = text.count(REPLACEMENT) if self.invalid != "error" else 0
        if invalid:
            self.replaced += invalid
            refuse_loss(self.path, invalid, data, self.charset, self.lines + 1)
            text = text.replace(REPLACEMENT, "") if self.invalid == "skip" else text
        self.lines += text.count("\n")
        return text.encode(UTF8, "surrogatepass")

    def _check(self, data: bytes) -> None:
        """Refuse text in another charset where the file stops being ASCII, which may be far from its start:
        most single-byte charsets decode anything."""
        if self.checked or count_high(data) < SURE or not splits_at_ascii(self.charset):
            return
        self.checked = True
        first = next(place for place, byte in enumerate(data) if byte > 0x7F)
        refuse_other(self.path, data[data.rfind(b"\n", 0, first) + 1 :], self.charset)

    def _error(self, error: UnicodeDecodeError) -> SourceError:
        if splits_at_ascii(self.charset):
            return not_decodable(
                self.path, bytes(error.object), error.start, self.charset, first_line=self.lines + 1
            )
        before = bytes(error.object[: error.start]).decode(codec_of(self.charset), "ignore")
        return SourceError(
            "{path}:{line}: not {charset}. {hint}",
            path=self.path,
            line=self.lines + before.count("\n") + 1,
            charset=self.charset.upper(),
            hint=advice(None),
        )


def decide(head: bytes, charset: str) -> str:
    """The charset that a file is read in: what its mark says, or else what is asked for; `auto` looks."""
    asked = canonical(charset)
    if asked == AUTO:
        return likely(head) or UTF8
    if asked == "big5":
        asked = better_big5(head)
    return marked(head) or asked


def decoded(path: Path, data: bytes, charset: str = UTF8, report: Report = silent) -> str:
    """The text of a small file that is read beside others, without its byte order mark; SourceError names the
    first line that is not text."""
    chosen = decide(data, charset)
    if chosen != UTF8:
        refuse_other(path, data, chosen)
        report_charset(path, chosen, charset, report)
    try:
        return data.decode(codec_of(chosen)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise not_decodable(path, data, error.start, chosen, alone=False) from None


def report_charset(path: Path, charset: str, asked: str, report: Report) -> None:
    """Say which charset a file is read in, where that was not asked for."""
    if charset not in (UTF8, canonical(asked)):
        report(Note("{path} is read as {charset}.", path=path, charset=charset.upper()))
