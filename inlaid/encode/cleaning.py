"""Blocks of text -> words separated by spaces, sentences by newlines.

The tokenizer itself, in Python, is the definition. The fast path is a kernel that knows the class of every
character. It cleans the lines it can clean exactly and leaves the others (characters that compose, invalid
UTF-8) to Python. Chinese runs are collected and segmented by rjieba, many in one call.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.collect.charsets import UTF8, not_decodable, refuse_loss
from inlaid.collect.normalize import normalizer
from inlaid.collect.sentences import split
from inlaid.collect.sources import TextBlock
from inlaid.encode.characters import character_classes, han_pattern
from inlaid.encode.chinese import Segmenter
from inlaid.encode.numbering import PADDING, padded
from inlaid.encode.patterns import MARK, word_pattern
from inlaid.encode.tokenizers import Tokenizer, Whitespace, Word
from inlaid.kernels.text import clean_text

KERNEL_STEPS = {"nfc", "lower"}
"""Normalization steps the kernel can apply; for words also `width`."""
SEGMENT_BYTES = 1 << 15
"""Bytes of Chinese segmented in one call: enough to hide its cost, few enough to stay in the cache."""
HARD_LINES = 1 << 12
"""Hard lines of a block for which there is room at first. A block with more is cleaned twice; Python, which
cleans these lines, takes much longer than that."""
DECODE_ERRORS = {"error": "strict", "replace": "replace", "skip": "ignore"}


@dataclass(frozen=True)
class CleanedBlock:
    """A block ready for numbering: text[:size] ends with a newline and is followed by padding."""

    text: np.ndarray
    size: int
    invalid: int = 0
    """Bytes that were not UTF-8."""
    python_share: float = 0.0
    """The share of the text that Python had to clean."""


@dataclass(frozen=True)
class Cleaner:
    """Cleans blocks: decodes, splits sentences, normalizes, tokenizes."""

    tokenizer: Tokenizer
    normalize: tuple[str, ...] = ()
    sentences: Literal["line", "split", "document"] = "line"
    invalid: Literal["error", "replace", "skip"] = "error"

    @property
    def kernel_normalizes(self) -> bool:
        """Otherwise Python normalizes before the kernel runs."""
        steps = KERNEL_STEPS | {"width"} if isinstance(self.tokenizer, Word) else KERNEL_STEPS
        return steps.issuperset(self.normalize) and not self.marks

    @property
    def marks(self) -> bool:
        """Whether there are tokens that the kernel does not know. Each is a MARK while the kernel runs."""
        return isinstance(self.tokenizer, Word) and self.tokenizer.special is not None

    def clean(self, block: TextBlock) -> CleanedBlock:
        data = block.data if block.data.endswith((b"\n", b"\r")) else block.data + b"\n"
        invalid = 0
        in_python = self.sentences == "split" or not self.kernel_normalizes
        special: list[str] = []
        if in_python:
            text, invalid = self._prepared(data, block)
            if isinstance(self.tokenizer, Word) and self.tokenizer.special is not None:
                text, special = self.tokenizer.special.mark(text)
            data = text.encode("utf-8", "surrogatepass")
        if isinstance(self.tokenizer, (Whitespace, Word)):
            cleaned = self._clean_by_kernel(data, block, invalid, float(in_python))
            cleaned = _unmarked(cleaned, special) if special else cleaned
        else:
            cleaned = self._clean_in_python(data, block, invalid)
        if cleaned.invalid:
            refuse_loss(block.name, cleaned.invalid, block.data, UTF8, block.line)
        return cleaned

    def _prepared(self, data: bytes, block: TextBlock) -> tuple[str, int]:
        """Sentences split and text normalized, where the kernel cannot do it; bytes that were not UTF-8."""
        text, invalid = self._decode(data, block, 0)
        if self.sentences == "split":
            text = "\n".join(split(text)) + "\n"
        if not self.kernel_normalizes:
            text = normalizer(self.normalize)(text)
        return text, invalid

    def _clean_by_kernel(
        self, data: bytes, block: TextBlock, invalid: int, python_share: float
    ) -> CleanedBlock:
        steps = frozenset(self.normalize) if self.kernel_normalizes else frozenset[str]()
        characters = character_classes(isinstance(self.tokenizer, Word), steps, self.marks)
        size = len(data)
        runs = np.empty(size + 1 + PADDING, np.uint8)
        room = HARD_LINES
        while True:
            text = padded(data)
            hard = np.empty((room, 2), np.int64)
            output = clean_text.CleanOutput(text, runs, hard)
            found = clean_text.clean(text, size, characters, "lower" in steps, output)
            if found.hard_lines <= room:
                break
            room = found.hard_lines
        cleaned = CleanedBlock(text, size, invalid, python_share)
        if found.hard_lines:
            cleaned = self._with_hard_lines(data, text, hard[: found.hard_lines], block, invalid)
        if found.run_bytes:
            cleaned = self._with_chinese(cleaned, runs[: found.run_bytes], size)
        return cleaned

    def _clean_in_python(self, data: bytes, block: TextBlock, invalid: int) -> CleanedBlock:
        """Every line by the tokenizer itself."""
        text, more = self._decode(data, block, 0)
        lines = self._words_of_lines(text.replace("\r", "\n").removesuffix("\n").split("\n"))
        done = f"{lines}\n".encode("utf-8", "surrogatepass")
        return CleanedBlock(padded(done), len(done), invalid + more, 1.0)

    def _with_hard_lines(
        self, data: bytes, cleaned: np.ndarray, hard: np.ndarray, block: TextBlock, invalid: int
    ) -> CleanedBlock:
        """The kernel's output with the hard lines replaced by what the tokenizer makes of them."""
        spans: list[tuple[int, int]] = [(start, stop) for start, stop in hard.tolist()]
        decoded = [self._decode(data[start:stop], block, start) for start, stop in spans]
        lines = self._words_of_lines([text for text, _ in decoded]).encode("utf-8", "surrogatepass")
        parts = list[bytes | memoryview]()
        kernel_output = memoryview(cleaned)
        here = 0
        for (start, stop), line in zip(spans, lines.split(b"\n"), strict=True):
            parts += (kernel_output[here:start], line)
            here = stop
        parts += (kernel_output[here : len(data)], bytes([clean_text.NEWLINE]) * PADDING)
        joined = b"".join(parts)
        share = float((hard[:, 1] - hard[:, 0]).sum()) / len(data)
        invalid += sum(bad for _, bad in decoded)
        return CleanedBlock(np.frombuffer(joined, np.uint8), len(joined) - PADDING, invalid, share)

    def _with_chinese(self, cleaned: CleanedBlock, runs: np.ndarray, size: int) -> CleanedBlock:
        """The runs of Chinese segmented, many in one call, and inserted where the kernel marked them."""
        assert isinstance(self.tokenizer, Word)
        segment = self.tokenizer.segment
        data = runs.tobytes()
        pieces = [" ".join(segment(data[start:stop].decode())).encode() for start, stop in _pieces(data)]
        words = padded(b"".join(pieces))
        out = np.empty(cleaned.size + len(words) + PADDING, np.uint8)
        filled = clean_text.weave(cleaned.text, cleaned.size, words, out)
        out[filled : filled + PADDING] = clean_text.NEWLINE
        return CleanedBlock(out, filled, cleaned.invalid, max(cleaned.python_share, len(runs) / size))

    def lines(self, block: TextBlock) -> tuple[list[str], int]:
        """The sentences of a block, normalized but not tokenized, for subwords; bytes that were not UTF-8.

        With "document" a block, which is at least a line and at most some megabytes, is one sentence.
        """
        text, invalid = self._decode(block.data, block, 0)
        if invalid:
            refuse_loss(block.name, invalid, block.data, UTF8, block.line)
        if self.sentences == "document":
            sentences = [text.replace("\r\n", "\n")]
        elif self.sentences == "split":
            sentences = split(text)
        else:
            sentences = text.replace("\r", "\n").split("\n")
        return list(map(normalizer(self.normalize), sentences)), invalid

    def _words_of_lines(self, lines: list[str]) -> str:
        """The words of each line separated by spaces, by the tokenizer itself."""
        if self.kernel_normalizes:
            # line by line: normalizing is fast for lines that need no composing
            lines = list(map(normalizer(self.normalize), lines))
        if isinstance(self.tokenizer, Word):
            return words_of_lines("\n".join(lines), self.tokenizer.segment, self.marks)
        return "\n".join(" ".join(self.tokenizer.words(line)) for line in lines)

    def _decode(self, data: bytes, block: TextBlock, start: int) -> tuple[str, int]:
        """The text, and the number of bytes that were not UTF-8; `invalid` says whether that is an error."""
        try:
            return data.decode("utf-8"), 0
        except UnicodeDecodeError as error:
            if self.invalid == "error":
                place = start + error.start
                raise not_decodable(block.name, block.data, place, UTF8, block.line) from None
            valid = data.decode("utf-8", "ignore")
            return data.decode("utf-8", DECODE_ERRORS[self.invalid]), len(data) - len(valid.encode("utf-8"))


def _pieces(runs: bytes) -> Iterator[tuple[int, int]]:
    """Pieces of at most SEGMENT_BYTES, each starting with the newline of a run; a longer run is one piece."""
    start = 0
    while start < len(runs):
        stop = len(runs)
        if stop - start > SEGMENT_BYTES:
            stop = runs.rfind(b"\n", start + 1, start + SEGMENT_BYTES)
            if stop < 0:
                stop = runs.find(b"\n", start + SEGMENT_BYTES)
            if stop < 0:
                stop = len(runs)
        yield start, stop
        start = stop


def _unmarked(cleaned: CleanedBlock, special: list[str]) -> CleanedBlock:
    """The block with the special tokens where their marks are."""
    pieces = cleaned.text[: cleaned.size].tobytes().split(MARK.encode())
    tokens = [token.encode() for token in special]
    joined = b"".join(itertools.chain.from_iterable(zip(pieces, [*tokens, b""], strict=True)))
    return dataclasses.replace(cleaned, text=padded(joined), size=len(joined))


def words_of_lines(text: str, segment: Segmenter, marked: bool = False) -> str:
    """`Word.words` of each line, joined by spaces. All Chinese runs are segmented in one call.

    >>> words_of_lines("我喜欢苹果。\\nI like apples!", segmenter())
    '我 喜欢 苹果 \\n I like apples '
    """
    pieces = han_pattern().split(text)  # other text and Chinese runs alternate, other text first
    runs = " ".join(segment("\n".join(pieces[1::2]))).split("\n") if len(pieces) > 1 else []
    others = [_words_between_runs(piece, marked) for piece in pieces[::2]]
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(others, runs, fillvalue="")))


@functools.lru_cache(maxsize=1 << 16)
def _words_between_runs(text: str, marked: bool) -> str:
    """The words of text without Chinese. Mostly that is one comma, so caching pays."""
    find = word_pattern(marked).finditer
    lines = (" ".join(found[0] for found in find(line)) for line in text.split("\n"))
    return "\n".join(f" {words} " for words in lines)
