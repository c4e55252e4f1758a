"""Blocks of text -> words between blanks, sentences between newlines: the fast road, and the plain one that
defines it.

The plain road is the tokenizer itself. The fast road is a kernel that knows every character's class; it does
the lines it can do exactly and hands the others (characters that compose, broken UTF-8) to the plain one.
Chinese it sets apart, to be cut by rjieba, many runs in one call.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.collect.normalize import normalizer
from inlaid.collect.sentences import split
from inlaid.collect.sources import Block
from inlaid.encode import chinese
from inlaid.encode.numbering import PADDING, padded
from inlaid.encode.tokenizers import Tokenizer, Whitespace, Word, word_pattern
from inlaid.errors import SourceError
from inlaid.kernels.text import clean_text as text_cpu

FAST_STEPS = {"nfc", "lower"}
"""Normalisation the kernel can do by itself."""
POINTS = 0x110000
CUT = 1 << 15
"""Bytes of Chinese cut in one call: enough to forget the call, few enough that the words stay in the
cache."""
DECODING = {"error": "strict", "replace": "replace", "skip": "ignore"}


@dataclass(frozen=True)
class Cleaned:
    """A block ready to be numbered: text[:size] ends with a newline and is followed by padding."""

    text: np.ndarray
    size: int
    invalid: int = 0
    """Bytes that were not UTF-8."""
    plain: float = 0.0
    """The share that Python had to do."""


@dataclass(frozen=True)
class Cleaning:
    """How blocks are cleaned."""

    tokenizer: Tokenizer
    normalize: tuple[str, ...] = ()
    sentences: Literal["line", "split"] = "line"
    invalid: Literal["error", "replace", "skip"] = "error"

    @property
    def fast(self) -> bool:
        """Whether the kernel can normalise; otherwise Python does, before the kernel looks."""
        return FAST_STEPS.issuperset(self.normalize)

    def clean(self, block: Block) -> Cleaned:
        data = block.data if block.data.endswith((b"\n", b"\r")) else block.data + b"\n"
        invalid = 0
        if self.sentences == "split" or not self.fast:
            text, invalid = self._decoded(data, block, 0)
            text = "\n".join(split(text)) + "\n" if self.sentences == "split" else text
            text = text if self.fast else normalizer(self.normalize)(text)
            data = text.encode("utf-8", "surrogatepass")
        if not isinstance(self.tokenizer, (Whitespace, Word)):
            return self._plain(data, block, invalid)
        steps = frozenset(self.normalize) if self.fast else frozenset[str]()
        known = classes(isinstance(self.tokenizer, Word), steps)
        text = padded(data)
        runs = np.empty(len(data) + 1 + PADDING, np.uint8)
        # memory never touched is never taken
        hard = np.empty((len(data) // 2 + 1, 2), np.int64)
        state = np.zeros(2, np.int64)
        text_cpu.clean(text, len(data), known.kinds, known.lowered, "lower" in steps, text, runs, hard, state)
        found, waiting = state.tolist()
        cleaned = Cleaned(text, len(data), invalid, float(self.sentences == "split" or not self.fast))
        if found:
            cleaned = self._mended(data, text, hard[:found], block, invalid)
        return self._woven(cleaned, runs[:waiting], len(data)) if waiting else cleaned

    def _woven(self, cleaned: Cleaned, runs: np.ndarray, size: int) -> Cleaned:
        """The runs of Chinese cut, many in one call, and put where their marks stand."""
        assert isinstance(self.tokenizer, Word)
        cut = chinese.cutter(self.tokenizer.dictionary)
        data = runs.tobytes()
        pieces = [" ".join(cut(data[start:stop].decode())).encode() for start, stop in _pieces(data)]
        words = padded(b"".join(pieces))
        out = np.empty(cleaned.size + len(words) + PADDING, np.uint8)
        filled = text_cpu.weave(cleaned.text, cleaned.size, words, out)
        out[filled : filled + PADDING] = text_cpu.NEWLINE
        return Cleaned(out, filled, cleaned.invalid, max(cleaned.plain, len(runs) / size))

    def lines(self, block: Block) -> tuple[list[str], int]:
        """The sentences of a block, normalised and not cut, as a subword tokenizer reads them; bytes that
        were not UTF-8."""
        text, invalid = self._decoded(block.data, block, 0)
        sentences = split(text) if self.sentences == "split" else text.replace("\r", "\n").split("\n")
        return list(map(normalizer(self.normalize), sentences)), invalid

    def _plain(self, data: bytes, block: Block, invalid: int) -> Cleaned:
        """Every line the plain way."""
        text, more = self._decoded(data, block, 0)
        lines = self._words_of(text.replace("\r", "\n").removesuffix("\n").split("\n"))
        done = f"{lines}\n".encode("utf-8", "surrogatepass")
        return Cleaned(padded(done), len(done), invalid + more, 1.0)

    def _mended(
        self, data: bytes, cleaned: np.ndarray, hard: np.ndarray, block: Block, invalid: int
    ) -> Cleaned:
        """The kernel's work, with the hard lines done the plain way and put in their places."""
        places: list[tuple[int, int]] = [(start, stop) for start, stop in hard.tolist()]
        decoded = [self._decoded(data[start:stop], block, start) for start, stop in places]
        words = self._words_of([text for text, _ in decoded]).encode("utf-8", "surrogatepass").split(b"\n")
        done = list[bytes | memoryview]()
        raw = memoryview(cleaned)
        here = 0
        for (start, stop), line in zip(places, words, strict=True):
            done += (raw[here:start], line)
            here = stop
        joined = b"".join([*done, raw[here : len(data)], bytes([text_cpu.NEWLINE]) * PADDING])
        share = float((hard[:, 1] - hard[:, 0]).sum()) / len(data)
        return Cleaned(
            np.frombuffer(joined, np.uint8),
            len(joined) - PADDING,
            invalid + sum(bad for _, bad in decoded),
            share,
        )

    def _words_of(self, lines: list[str]) -> str:
        """The words of each line between blanks, the plain way."""
        if self.fast:
            lines = list(
                map(normalizer(self.normalize), lines)
            )  # line by line: only those that need composing pay for it
        if isinstance(self.tokenizer, Word):
            return words_of_lines("\n".join(lines), self.tokenizer.dictionary)
        return "\n".join(" ".join(self.tokenizer.words(line)) for line in lines)

    def _decoded(self, data: bytes, block: Block, start: int) -> tuple[str, int]:
        """Text, and how many bytes were not UTF-8; the policy says whether that is an error."""
        try:
            return data.decode("utf-8"), 0
        except UnicodeDecodeError as error:
            if self.invalid == "error":
                place = start + error.start
                line = block.line + block.data.count(b"\n", 0, place)
                column = place - block.data.rfind(b"\n", 0, place)
                raise SourceError(
                    f"{block.name}:{line}: byte {column} of the line is not UTF-8. Convert the file, or say --invalid replace or skip."
                ) from None
            kept = data.decode("utf-8", "ignore")
            return data.decode("utf-8", DECODING[self.invalid]), len(data) - len(kept.encode("utf-8"))


def _pieces(runs: bytes) -> Iterator[tuple[int, int]]:
    """Pieces of CUT bytes or a little less, each beginning with the newline of a run."""
    start = 0
    while start < len(runs):
        stop = len(runs) if len(runs) - start <= CUT else runs.rfind(b"\n", start + 1, start + CUT)
        stop = stop if stop > 0 else runs.find(b"\n", start + CUT)  # one run alone is longer
        yield start, len(runs) if stop < 0 else stop
        start = len(runs) if stop < 0 else stop


def words_of_lines(text: str, dictionary: tuple[str, ...] = ()) -> str:
    """`Word.words` of each line, joined by blanks: all Chinese runs are cut in one call, and what stands
    between is remembered.

    >>> words_of_lines("我喜欢苹果。\\nI like apples!")
    '我 喜欢 苹果 \\n I like apples '
    """
    pieces = _han().split(text)
    runs = " ".join(chinese.cutter(dictionary)("\n".join(pieces[1::2]))).split("\n")
    others = map(_between_han, pieces[::2])
    return "".join(
        itertools.chain.from_iterable(
            itertools.zip_longest(others, runs if len(pieces) > 1 else (), fillvalue="")
        )
    )


@functools.lru_cache(maxsize=1 << 16)
def _between_han(text: str) -> str:
    """Words of a stretch without Chinese; mostly one comma, which is why it is worth remembering."""
    return "\n".join(
        f" {' '.join(found[0] for found in word_pattern().finditer(line))} " for line in text.split("\n")
    )


@functools.cache
def _han() -> re.Pattern[str]:
    return re.compile(f"([{chinese.HAN}]+)")


@dataclass(frozen=True)
class Classes:
    """By code point: what the kernel takes a character for, and its lower case. The last entry is for broken
    UTF-8."""

    kinds: np.ndarray
    lowered: np.ndarray


PLAIN = (
    (0x3400, 0x4DC0, text_cpu.HAN),
    (0x4E00, 0xA000, text_cpu.HAN),
    (0xAC00, 0xD7A4, text_cpu.LETTER),
    (0x20000, 0x2F800, text_cpu.HAN),
    (0x2FA20, 0x40000, text_cpu.HAN),
)
"""Ranges that are one class throughout: Chinese, and the syllables of Korean."""
VARIED = (
    (0, 0x3400),
    (0x4DC0, 0x4E00),
    (0xA000, 0xAC00),
    (0xD7A4, 0xD800),
    (0xF900, 0x20000),
    (0x2F800, 0x2FA20),
    (0xE0000, 0xE0200),
)
"""The rest of what Unicode has assigned, but for characters of private use, which are no letters."""


@functools.cache
def classes(words: bool, steps: frozenset[str]) -> Classes:
    """Classes for the word tokenizer (or the whitespace tokenizer) under some normalisation.

    A character is hard where one character alone does not decide: it composes with others, its lower case is
    longer or depends on what follows.
    """
    kinds = np.full(POINTS + 1, text_cpu.BLANK if words else text_cpu.LETTER, np.uint8)
    lowered = np.arange(POINTS + 1, dtype=np.int32)
    for start, stop, kind in PLAIN:
        kinds[start:stop] = kind if words else text_cpu.LETTER
    for point in itertools.chain.from_iterable(range(start, stop) for start, stop in VARIED):
        character = chr(point)
        lower = character.lower() if "lower" in steps else character
        if len(lower.encode()) != len(character.encode()) or len(lower) > 1 or character == "Σ":
            kinds[point] = text_cpu.HARD if lower != character or character == "Σ" else kinds[point]
            continue
        lowered[point] = ord(lower)
        kinds[point] = (
            text_cpu.HARD if "nfc" in steps and _composes(character, lower) else _kind(lower, words)
        )
    kinds[POINTS] = text_cpu.HARD
    return Classes(kinds, lowered)


def _kind(character: str, words: bool) -> int:
    if not words:
        return text_cpu.BLANK if character.isspace() else text_cpu.LETTER
    if _han().match(character):
        return text_cpu.HAN
    if character.isalnum():
        return text_cpu.DIGIT if character.isdecimal() else text_cpu.LETTER
    if unicodedata.category(character)[0] == "M":
        return text_cpu.LETTER
    return {"'": text_cpu.APOSTROPHE, "’": text_cpu.APOSTROPHE, ".": text_cpu.POINT, ",": text_cpu.POINT}.get(
        character, text_cpu.BLANK
    )


def _composes(character: str, lower: str) -> bool:
    """Whether NFC may change the character, or join it to the one before."""
    jamo = "\u1161" <= character <= "\u1175" or "\u11a8" <= character <= "\u11c2"
    marked = unicodedata.combining(character) or unicodedata.category(character)[0] == "M"
    return bool(jamo or marked) or not unicodedata.is_normalized("NFC", character + lower)
