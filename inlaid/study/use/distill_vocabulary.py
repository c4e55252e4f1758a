"""The vocabulary of distilled vectors: the tokens of a model's tokenizer, and words added to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import AddedToken

from inlaid.encode.subwords.spelling import follows_space
from inlaid.encode.subwords.tokenizer import Subwords, engine_from
from inlaid.errors import SettingError

UNUSED = re.compile(r"\[unused\d+\]|<extra_id_\d+>|<\|reserved_special_token_\d+\|>|<id \d+>")
"""Tokens that stand for nothing in a text."""


@dataclass(frozen=True)
class Around:
    """The ids that a tokenizer puts before and after every text, such as [CLS] and [SEP]."""

    before: list[int]
    after: list[int]

    @classmethod
    def of(cls, engine: Any) -> Around:
        encoding = engine.encode("a", add_special_tokens=True)
        inside = [place for place, mask in enumerate(encoding.special_tokens_mask) if not mask]
        if not inside:
            return cls([], [])
        return cls(encoding.ids[: inside[0]], encoding.ids[inside[-1] + 1 :])

    def put(self, ids: Sequence[int]) -> list[int]:
        return [*self.before, *ids, *self.after]


@dataclass(frozen=True)
class Vocabulary:
    """Every row of the table to be: what the model reads for it, and which rows have a vector."""

    tokenizer: Subwords
    """It knows the words that were added, too."""
    ids: list[list[int]]
    """For each row the ids that the model reads; without those around a text."""
    used: np.ndarray
    """Whether a row is something that a text can hold: not a special or an unused token."""
    added: int
    """Words added after the tokens."""
    unmatched: list[str]
    """Words that the tokenizer could not be made to find in a text."""

    @property
    def words(self) -> list[str]:
        return self.tokenizer.vocabulary


def vocabulary_for(engine: Any, words: Iterable[str]) -> Vocabulary:
    """The tokens of a tokenizer in the order of their ids, then the words that are not single tokens.

    A word of several tokens is added to the tokenizer, which then finds it in texts before it cuts them into
    tokens: the longest word at each place, Chinese words anywhere, others between spaces and punctuation.
    """
    own = Subwords.from_json(engine.to_str())
    tokens = len(own.vocabulary)
    read = _read(own, words)
    unknown = {word for word, ids in read.items() if not ids}
    extended, unmatched = _extended(own, [word for word in read if word not in unknown])
    unmatched |= unknown
    ids = [[id] for id in range(tokens)]
    ids += [read[word] for word in read if word not in unmatched]
    used = np.ones(len(extended.vocabulary), bool)
    used[[id for id in own.special.values() if id < len(used)]] = False
    used[[id for id, word in enumerate(extended.vocabulary[:tokens]) if UNUSED.fullmatch(word)]] = False
    if not used.any():
        raise SettingError("The tokenizer of this model has no token that a text can hold.")
    return Vocabulary(extended, ids, used, len(ids) - tokens, sorted(unmatched))


def _read(tokenizer: Subwords, words: Iterable[str]) -> dict[str, list[int]]:
    """The ids of each word that is more than one token; none where a part of it is unknown."""
    unknown = {id for name, id in tokenizer.special.items() if "unk" in name.lower()}
    listed = list(dict.fromkeys(word.strip() for word in words if word.strip()))
    known = set(tokenizer.vocabulary)
    found: dict[str, list[int]] = {}
    for word, ids in zip(listed, tokenizer.ids_of(listed), strict=True):
        if not unknown.isdisjoint(ids):
            found[word] = []
        elif len(ids) > 1 and word not in known:
            found[word] = ids
    return found


def _extended(tokenizer: Subwords, words: list[str]) -> tuple[Subwords, set[str]]:
    """A tokenizer that has these words as tokens, and the words that it does not find in a text.

    Words are matched in the normalized text, so in any case, or all as they are written where the
    normalization puts a mark before every text.
    """
    normalized = _with(tokenizer, words, normalized=True)
    if all(_is_found(normalized, word) for word in words):
        return normalized, set()
    written = _with(tokenizer, words, normalized=False)
    unmatched = {word for word in words if not _is_found(written, word)}
    found = [word for word in words if word not in unmatched]
    return _with(tokenizer, found, normalized=False), unmatched


def _with(tokenizer: Subwords, words: list[str], *, normalized: bool) -> Subwords:
    engine = engine_from(tokenizer.to_json())
    engine.add_tokens([_added(word, normalized) for word in words])
    return Subwords(engine)


def _added(word: str, normalized: bool) -> AddedToken:
    """Words of scripts with spaces match only as whole words, and take the space before them along."""
    spaced = follows_space(word)
    return AddedToken(word, single_word=spaced, lstrip=spaced, normalized=normalized, special=False)


def _is_found(tokenizer: Subwords, word: str) -> bool:
    return word in tokenizer.words(f"a {word} b")
