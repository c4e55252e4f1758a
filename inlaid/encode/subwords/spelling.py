"""How the words of a subword vocabulary are written: as text, with a mark where a word starts or goes on.

Byte-level vocabularies (GPT-2) write bytes as letters: 中 is "ä¸Ń". Inlaid writes such a token as the text it
stands for, Ġ where it has a space and <0xE4> where it has a byte that is not a whole character.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

BYTE_LEVEL = "Ġ"
SENTENCEPIECE = "▁"
WORDPIECE = "##"
MARKS = (BYTE_LEVEL, SENTENCEPIECE, WORDPIECE)
"""The marks of subword vocabularies: Ġ and ▁ come before a word, ## before a piece that continues one."""
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Characters of scripts that put no space between words: Chinese, Japanese, Thai and its neighbors."""


def forms(mark: str, text: str) -> tuple[str, ...]:
    """How a text may be written in a vocabulary with this mark, the form that is a whole word first.

    In scripts without spaces a word seldom has a space before it, so the form without the mark comes first.
    "##" before the text asks for the piece that continues a word, in every vocabulary.

    >>> forms("Ġ", "king"), forms("Ġ", "国王"), forms("##", "king")
    (('Ġking', 'king'), ('国王', 'Ġ国王'), ('king', '##king'))
    >>> forms("▁", "##ing")
    ('##ing', 'ing')
    """
    if mark not in MARKS:
        return (text,)
    if mark == WORDPIECE:
        return text, WORDPIECE + text
    written = _escaped(text) if mark == BYTE_LEVEL else text.replace(" ", mark)
    if written.startswith(mark):
        return (written,)
    if written.startswith(WORDPIECE) and len(written) > len(WORDPIECE):
        return written, written.removeprefix(WORDPIECE)
    return (mark + written, written) if follows_space(text) else (written, mark + written)


def plain(word: str) -> str:
    """A word of any vocabulary without its mark.

    >>> plain("Ġking"), plain("##ing"), plain("国王")
    ('king', 'ing', '国王')
    """
    return word.removeprefix(WORDPIECE).lstrip(BYTE_LEVEL + SENTENCEPIECE)


def follows_space(text: str) -> bool:
    """Whether a word has a space before it in running text: it has in scripts with spaces, punctuation has
    not."""
    return text[:1].isalnum() and not UNSPACED.match(text)


def readable(words: Iterable[str]) -> list[str]:
    """Byte-level tokens as the text they stand for, all distinct.

    Special tokens, which are not written as bytes, stay as they are. Where two tokens would look the same,
    the second is not changed.

    >>> readable(["ä¸ŃåĽ½", "Ġä¸", "Ġking", "<|endoftext|>"])
    ['中国', 'Ġ<0xE4><0xB8>', 'Ġking', '<|endoftext|>']
    """
    listed = list(words)
    texts = [_text_of(word) for word in listed]
    taken = {word for word, text in zip(listed, texts, strict=True) if word == text}
    found: list[str] = []
    for id, (word, text) in enumerate(zip(listed, texts, strict=True)):
        if word == text:
            found.append(word)
            continue
        free = next(name for name in (text, word, f"<id {id}>") if name not in taken)
        taken.add(free)
        found.append(free)
    return found


def mark_of(vocabulary: Iterable[str]) -> str:
    """The mark of a vocabulary as its tokenizer writes it, told from its words; empty if it has none."""
    tokens = set(vocabulary)
    if tokens >= _alphabet().keys():
        return BYTE_LEVEL
    firsts = Counter(token[:1] for token in tokens)
    firsts[WORDPIECE] = sum(token.startswith(WORDPIECE) for token in tokens)
    mark = max(MARKS, key=lambda each: firsts[each])
    return mark if firsts[mark] * 50 > len(tokens) else ""


def _text_of(token: str) -> str:
    if token.removeprefix(BYTE_LEVEL).isascii():
        return token
    alphabet = _alphabet()
    if any(letter not in alphabet for letter in token):
        return token
    return _escaped(bytes(alphabet[letter] for letter in token).decode("utf-8", "surrogateescape"))


def _escaped(text: str) -> str:
    """Ġ for a space, the letters of GPT-2 for other ASCII controls, <0xE3> for each byte of other characters
    that cannot be seen, and for bytes that are not UTF-8."""
    return text if text.isascii() and text.isprintable() and " " not in text else "".join(map(_shown, text))


def _shown(character: str) -> str:
    point = ord(character)
    if point <= 32 or point == 127:
        return _letters()[point]
    is_byte = 0xDC80 <= point <= 0xDCFF  # as decoding with surrogateescape leaves it
    if not is_byte and unicodedata.category(character) not in ("Cc", "Cf", "Zs", "Zl", "Zp"):
        return character
    return "".join(f"<0x{byte:02X}>" for byte in character.encode("utf-8", "surrogateescape"))


@functools.cache
def _letters() -> tuple[str, ...]:
    """The letter of each byte: those that are not visible characters have letters from U+0100 on, in
    order."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = iter(range(256, 512))
    return tuple(chr(byte if byte in visible else next(hidden)) for byte in range(256))


@functools.cache
def _alphabet() -> Mapping[str, int]:
    return {letter: byte for byte, letter in enumerate(_letters())}
