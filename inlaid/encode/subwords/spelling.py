"""How subword vocabularies spell text: bytes as characters (GPT-2), "▁" before a word (SentencePiece)."""

from __future__ import annotations

import functools

MARK = "▁"


def spellings(kind: str, text: str) -> tuple[str, ...]:
    """How a text may be spelled in a vocabulary of this kind: alone, and after a space.

    >>> spellings("byte-level", "king")
    ('king', 'Ġking')
    >>> spellings("sentencepiece", "猫")
    ('猫', '▁猫')
    """
    if kind == "byte-level":
        return _in_bytes(text), _in_bytes(f" {text}")
    if kind == "sentencepiece":
        marked = text.replace(" ", MARK)
        return marked, MARK + marked
    return ()


def _in_bytes(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1").translate(_byte_names())


@functools.cache
def _byte_names() -> dict[int, str]:
    """Bytes that are not visible characters are written as the characters from U+0100 on, in order."""
    hidden = [
        byte for byte in range(256) if not (33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255)
    ]
    return {byte: chr(256 + place) for place, byte in enumerate(hidden)}
