"""A text as a model reads it: its tokens, and the words that they are parts of.

Attention is computed between tokens: subwords, characters, bytes. People read words. A word is what the word
tokenizer finds (Chinese words through the segmenter). Tokens of one word are merged; a token that reaches
over several words joins them, so that every token is in one word and nothing is counted twice.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inlaid.encode.tokenizers import Tokenizer, Word
from inlaid.errors import SettingError
from inlaid.report import Report
from inlaid.study.use.encoding import Tokens, encode
from inlaid.study.use.masks import BLANK, MASKS

if TYPE_CHECKING:
    from inlaid.neural.model import Model

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Reading:
    """The tokens of a text, and the word that each belongs to."""

    text: str
    ids: list[int]
    segments: list[int]
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    groups: np.ndarray
    """(token,): the number of its word."""
    special: np.ndarray
    """(word,): whether it is a token that the tokenizer added, such as [CLS]."""
    spans: tuple[Span, ...]
    """(word,): where it is in the text; (0, 0) for special tokens."""

    def merged_rows(self, rows: np.ndarray) -> np.ndarray:
        """The mean over the tokens of each word: (..., token, any) -> (..., word, any)."""
        return (self._members / self._members.sum(1, keepdims=True)) @ rows

    def merged_columns(self, columns: np.ndarray) -> np.ndarray:
        """The sum over the tokens of each word: (..., any, token) -> (..., any, word)."""
        return columns @ self._members.T

    @property
    def _members(self) -> np.ndarray:
        return (self.groups == np.arange(len(self.words))[:, None]).astype(np.float64)

    def tokens_of(self, word: int) -> np.ndarray:
        """The places of the tokens of a word."""
        return np.flatnonzero(self.groups == word)

    def find(self, word: str) -> int:
        """The number of a word by its spelling, or by a number in brackets that counts from 0: 苹果, [2]."""
        if word.startswith("[") and word[1:-1].isdecimal() and word not in self.words:
            number = int(word[1:-1])
            if number < len(self.words):
                return number
        found = [place for place, each in enumerate(self.words) if each == word]
        found = found or [place for place, each in enumerate(self.words) if each.lower() == word.lower()]
        if not found:
            raise SettingError(
                "The text has no word '{word}'. Its words are: {words}.",
                word=word,
                words=" ".join(f"{each} [{place}]" for place, each in enumerate(self.words)),
            )
        return found[0]


def read_text(
    model: Model, text: str, report: Report, *, tokenizer: Tokenizer | None = None, merge: bool = True
) -> Reading:
    """The text that a model reads; of a seq2seq, its source."""
    from inlaid.neural.tokens import encode_one

    text = _with_masks(model, text)
    encoded = encode(model, text, report, added_end=model.config.kind != "decoder")
    encoding = encode_one(model.tokenizer, text)
    length = len(encoded.ids)
    spans = [(int(start), int(end)) for start, end in encoding.offsets[:length]]
    shown = Tokens(model.tokenizer)
    tokens = tuple(shown.source(id) for id in encoded.ids)
    added = added_tokens(encoding)[:length]
    words = (tokenizer or Word()) if merge else None
    return _reading(text, encoded.ids, encoded.segments, tokens, spans, added, words)


def _with_masks(model: Model, text: str) -> str:
    """The text with its blanks, such as ___, as the mask of a masked model; other models take it as it is."""
    if model.config.kind != "encoder" or model.network.head is None:
        return text
    known = model.tokenizer.get_vocab()
    mask = next((each for each in MASKS if each in known), None)
    return text if mask is None else BLANK.sub(mask, text)


def read_target(
    model: Model, text: str, *, tokenizer: Tokenizer | None = None, merge: bool = True
) -> Reading:
    """What the decoder of a seq2seq has read when it has written `text`: the start token, then the text."""
    from inlaid.neural.tokenizer_pair import PairTokenizer, TokenizerPair
    from inlaid.neural.tokens import check_texts, target_ids

    ids = target_ids(model.tokenizer, check_texts([text])[0], model.config.special)
    limit = model.config.max_length
    if limit is not None and len(ids) > limit:
        raise SettingError(
            "The target {text!r}... has {length:,} tokens; this model takes {limit:,}. Shorten it.",
            text=text[:30],
            length=len(ids),
            limit=limit,
        )
    shown = Tokens(model.tokenizer)
    tokens = tuple(shown.shown(id) for id in ids)
    engine = model.tokenizer.target if isinstance(model.tokenizer, TokenizerPair) else model.tokenizer
    if isinstance(engine, PairTokenizer):  # SentencePiece models without offsets on this side
        spans = spelled_spans(tokens[1:], text)
        added = [False] * len(spans)
    else:
        encoding = engine.encode(text)
        spans = [(int(start), int(end)) for start, end in encoding.offsets[: len(ids) - 1]]
        added = added_tokens(encoding)[: len(ids) - 1]
    words = (tokenizer or Word()) if merge else None
    return _reading(text, ids, [0] * len(ids), tokens, [(0, 0), *spans], [True, *added], words)


def added_tokens(encoding: Any) -> list[bool]:
    """Which tokens the tokenizer has added, such as [CLS]."""
    special = getattr(encoding, "special_tokens_mask", None)
    if special is not None:
        return [bool(each) for each in special]
    return [tuple(span) == (0, 0) for span in encoding.offsets]


def is_punctuation(token: str) -> bool:
    bare = token.strip("▁Ġ# ")
    return bool(bare) and all(unicodedata.category(each).startswith("P") for each in bare)


def spelled_spans(tokens: Sequence[str], text: str) -> list[Span]:
    """Where tokens are in a text, by their spelling; (0, 0) for one that is not found."""
    here = 0
    spans: list[Span] = []
    for token in tokens:
        bare = token.strip("▁")
        start = text.find(bare, here) if bare else -1
        if start < 0:
            spans.append((here, here))
            continue
        here = start + len(bare)
        spans.append((start, here))
    return spans


def _reading(
    text: str,
    ids: list[int],
    segments: list[int],
    tokens: tuple[str, ...],
    spans: Sequence[Span],
    added: Sequence[bool],
    words: Tokenizer | None,
) -> Reading:
    numbers = np.arange(len(ids)) if words is None else _grouped(text, spans, added, words)
    labels: list[str] = []
    covered: list[Span] = []
    for number in range(int(numbers.max()) + 1):
        inside: list[int] = np.flatnonzero(numbers == number).tolist()
        ends = [spans[place] for place in inside if not added[place] and spans[place][1] > spans[place][0]]
        span = (min(each[0] for each in ends), max(each[1] for each in ends)) if ends else (0, 0)
        label = text[slice(*span)].strip() if words is not None else ""
        labels.append(label or tokens[inside[0]])
        covered.append(span)
    special = np.zeros(len(labels), bool)
    special[numbers[np.flatnonzero(added)]] = True
    return Reading(text, ids, segments, tokens, tuple(labels), numbers, special, tuple(covered))


def _grouped(text: str, spans: Sequence[Span], added: Sequence[bool], words: Tokenizer) -> np.ndarray:
    """(token,): the number of the group of each token, in the order of the text."""
    first = list(range(len(spans)))
    """The first token of each token's group; later groups are joined to earlier ones."""

    def join(places: Sequence[int]) -> None:
        roots = {first[place] for place in places}
        for place, root in enumerate(first):
            if root in roots:
                first[place] = min(roots)

    own = [place for place in range(len(spans)) if not added[place]]
    for word in words.tokenize(text):
        inside = [place for place in own if spans[place][0] < word.end and spans[place][1] > word.start]
        if inside:
            join(inside)
    for one, two in itertools.pairwise(own):
        empty = spans[one][0] == spans[one][1]  # such as the ▁ before a text
        overlaps = spans[two][0] < spans[one][1] and spans[two][1] > spans[one][0]  # bytes of one character
        if two == one + 1 and (empty or overlaps):
            join([one, two])
    return np.unique(first, return_inverse=True)[1]
