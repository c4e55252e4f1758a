"""A tokenizer.json whose tokens are whole words, so that other libraries tokenize as our vectors need it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine
from tokenizers.models import WordLevel

from inlaid.collect.normalize import HALF_WIDTH, simplified_characters
from inlaid.encode.chinese import HAN
from inlaid.encode.subwords.characters_map import mapping_normalizer
from inlaid.encode.vocabulary import Words
from inlaid.report import Note, Report

UNKNOWN = "[UNK]"
LETTER = f"(?:(?![{HAN}])[\\p{{L}}\\p{{N}}\\p{{M}}])"
PATTERNS = {
    "whitespace": r"\S+",
    "char": r"\S\p{M}*",
    "word": f"{LETTER}+(?:(?:['’]|(?<=\\d)[.,](?=\\d)){LETTER}+)*",
}
"""The pattern of a word of each tokenizer; that of the word tokenizer is without Chinese."""


@dataclass(frozen=True)
class FolderTokenizer:
    """A tokenizer.json, and the rows its table needs: one more than there are words, unless [UNK] is one."""

    json: str
    rows: int


def tokenizer_for(words: Words, encoding: Mapping[str, Any], report: Report) -> FolderTokenizer:
    """A WordLevel model for words that the tokenizer's pattern finds; all other words are added tokens.

    Added tokens are matched first, the longest at each position: Chinese words anywhere, others (new_york,
    c++) only between characters that are not part of a word. So Chinese is segmented by longest match, which
    is not always the segmentation of the training text; the rest of a Chinese run is dropped.
    """
    kind = encoding.get("tokenizer", "word")
    pattern = PATTERNS.get(str(kind), PATTERNS["word"])
    listed = list(words)
    ids = {word: id for id, word in enumerate(listed)}
    ids.setdefault(UNKNOWN, len(listed))
    engine = Engine(WordLevel(ids, unk_token=UNKNOWN))
    engine.normalizer = library_normalizer(encoding.get("normalize", ()), report)
    engine.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    cut = engine.pre_tokenizer.pre_tokenize_str
    whole = re.compile(r"[A-Za-z]+")
    apart = [
        word
        for word in listed
        if not whole.fullmatch(word) and word != UNKNOWN and [piece for piece, _ in cut(word)] != [word]
    ]
    added = [
        AddedToken(word, single_word=_is_single_word(word), normalized=True) for word in apart if word.strip()
    ]
    engine.add_tokens(added)
    return FolderTokenizer(engine.to_str(), len(ids))


def with_normalizer(tokenizer_json: str, encoding: Mapping[str, Any], report: Report) -> str:
    """A tokenizer.json that also normalizes text as the encoding did, before its own normalization."""
    engine = Engine.from_str(tokenizer_json)
    before = library_normalizer(encoding.get("normalize", ()), report)
    steps = [each for each in (before, engine.normalizer) if each is not None]
    if steps:
        engine.normalizer = normalizers.Sequence(steps)
    return engine.to_str()


def _is_single_word(word: str) -> bool:
    """Whether a word must not match inside another one: it has letters, and none is Chinese."""
    return not re.search(f"[{HAN}]", word) and any(character.isalnum() for character in word)


def library_normalizer(names: tuple[str, ...] | list[str], report: Report) -> Any:
    """Our normalization steps as the library has them; None if there are none. Traditional Chinese becomes
    simplified character by character there."""
    steps: list[Any] = []
    for name in names:
        if name == "width":
            steps += [normalizers.Replace(chr(point), chr(half)) for point, half in HALF_WIDTH.items()]
        elif name == "simplified":
            steps.append(mapping_normalizer(simplified_characters()))
        elif name in STEPS:
            steps.append(STEPS[name]())
        else:
            report(
                Note(
                    "A tokenizer.json has no normalization step '{name}'. Apply it to your text first.",
                    name=name,
                )
            )
    return normalizers.Sequence(steps) if steps else None


STEPS = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC, "lower": normalizers.Lowercase}
