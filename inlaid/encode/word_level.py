"""A tokenizer.json whose tokens are whole words: how other libraries may cut text into the words of our
vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine
from tokenizers.models import WordLevel

from inlaid.collect.normalize import HALF_WIDTH
from inlaid.encode.chinese import HAN
from inlaid.encode.vocabulary import Words
from inlaid.report import Note, Report

UNKNOWN = "[UNK]"
LETTER = f"(?:(?![{HAN}])[\\p{{L}}\\p{{N}}\\p{{M}}])"
PATTERNS = {
    "whitespace": r"\S+",
    "char": r"\S\p{M}*",
    "word": f"{LETTER}+(?:(?:['’]|(?<=\\d)[.,](?=\\d)){LETTER}+)*",
}
"""What a word looks like where it stands between others; the last is that of the word tokenizer, Chinese left
out."""


@dataclass(frozen=True)
class Made:
    """A tokenizer, and how many rows its table needs: one more than there are words, where none of them was
    the unknown one."""

    json: str
    rows: int


def tokenizer_for(words: Words, encoding: Mapping[str, Any], report: Report) -> Made:
    """Words found by the pattern of the vectors' tokenizer, as ids of a WordLevel model; all others are added
    tokens.

    Added tokens are looked for in the text first, the longest at each place: Chinese words anywhere, others
    (new_york, c++) only between characters that belong to no word. So Chinese is cut by the longest match,
    which is not always the cut of the training text; what is left of a run of Chinese is dropped.
    """
    kind = encoding.get("tokenizer", "word")
    pattern = PATTERNS.get(str(kind), PATTERNS["word"])
    listed = list(words)
    ids = {word: id for id, word in enumerate(listed)}
    ids.setdefault(UNKNOWN, len(listed))
    engine = Engine(WordLevel(ids, unk_token=UNKNOWN))
    engine.normalizer = _normalizer(encoding.get("normalize", ()), report)
    engine.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    cut = engine.pre_tokenizer.pre_tokenize_str
    whole = re.compile(r"[A-Za-z]+")
    apart = [
        word
        for word in listed
        if not whole.fullmatch(word) and word != UNKNOWN and [piece for piece, _ in cut(word)] != [word]
    ]
    engine.add_tokens(
        [AddedToken(word, single_word=_stands_alone(word), normalized=True) for word in apart if word.strip()]
    )
    return Made(engine.to_str(), len(ids))


def _stands_alone(word: str) -> bool:
    """Whether a word may not be found inside another: it has letters, and they are not Chinese."""
    return not re.search(f"[{HAN}]", word) and any(character.isalnum() for character in word)


def _normalizer(names: tuple[str, ...] | list[str], report: Report) -> Any:
    steps: list[Any] = []
    for name in names:
        if name == "width":
            steps += [normalizers.Replace(chr(point), chr(half)) for point, half in HALF_WIDTH.items()]
        elif name in STEPS:
            steps.append(STEPS[name]())
        else:
            report(
                Note(
                    f"A tokenizer.json has no step '{name}': give the folder text that has passed through it."
                )
            )
    return normalizers.Sequence(steps) if steps else None


STEPS = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC, "lower": normalizers.Lowercase}
