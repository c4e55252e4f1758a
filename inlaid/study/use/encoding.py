"""A text as the ids that a model reads, and tokens as a reader sees them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inlaid.encode.subwords.spelling import BYTE_LEVEL, SENTENCEPIECE, UNSPACED, WORDPIECE, mark_of, readable
from inlaid.errors import SettingError
from inlaid.report import Note, Report

if TYPE_CHECKING:
    from inlaid.neural.model import Model

UNKNOWN = ("[UNK]", "<unk>", "<|unk|>", "UNK")
"""What tokenizers call the token for characters that they do not know."""
SPACED = rf"(?<={UNSPACED.pattern}|[，。、；：！？]) (?={UNSPACED.pattern}|[，。、；：！？])"
"""A space between two characters of a script without spaces: WordPiece's decoder puts one there."""
HELD_BACK = "\ufffd"
"""What an incomplete character is decoded to."""


@dataclass(frozen=True)
class Encoded:
    """A text as ids; `segments` has one number for each."""

    ids: list[int]
    segments: list[int]


def encode(model: Model, text: str, report: Report, *, added_end: bool = True) -> Encoded:
    """The ids of a text, if the model can read it whole; otherwise an error says why.

    Without `added_end`, tokens that the tokenizer puts after every text are left out: a decoder continues the
    text, not what follows it.
    """
    if not text.strip():
        raise SettingError("The text is empty. Write at least one word.")
    encoding = _encoding(model, text)
    ids = list(encoding.ids)
    added = _added(encoding)
    _check_known(model, text, encoding, report)
    end = len(ids)
    while not added_end and end and added[end - 1]:
        end -= 1
    ids = ids[:end]
    limit = model.config.max_length
    if not ids:
        raise SettingError("The text {text!r} has no tokens for this model. Write another.", text=text)
    if limit is not None and len(ids) > limit:
        raise SettingError(
            "The text {text!r}... has {length:,} tokens; this model takes {limit:,}. Shorten it.",
            text=text[:30],
            length=len(ids),
            limit=limit,
        )
    _note_long(model, text, len(ids), report)
    return Encoded(ids, list(encoding.type_ids)[:end])


def _note_long(model: Model, text: str, length: int, report: Report) -> None:
    """Sinusoids go on for ever, but a model has learned nothing about those beyond its length."""
    positions = model.config.positions
    if positions.kind == "sinusoidal" and positions.max_length and length > positions.max_length:
        report(
            Note(
                "The text {text!r}... has {length:,} tokens, and the model was made for {limit:,}: expect "
                "little of the rest. Cut it into sentences.",
                text=text[:30],
                length=length,
                limit=positions.max_length,
            )
        )


def _encoding(model: Model, text: str) -> Any:
    from inlaid.neural.tokens import check_texts, encode_one

    return encode_one(model.tokenizer, check_texts([text])[0])


def _added(encoding: Any) -> list[bool]:
    """Which tokens of a text the tokenizer has added, such as [CLS]."""
    special = getattr(encoding, "special_tokens_mask", None)
    if special is not None:
        return [bool(each) for each in special]
    return [tuple(span) == (0, 0) for span in encoding.offsets]


def token_id(tokenizer: Any, token: str) -> int | None:
    """The id of a token by its name; None if there is none."""
    if hasattr(tokenizer, "token_to_id"):
        return tokenizer.token_to_id(token)
    return tokenizer.get_vocab().get(token)


def unknown_tokens(model: Model, texts: Sequence[str]) -> list[tuple[int, int]]:
    """For each text its tokens, without those that the tokenizer adds, and how many of them are unknown. A
    network that reads characters knows all."""
    from inlaid.neural.tokens import check_texts, ids_of

    if model.tokenizer is None:
        return [(1, 0)] * len(texts)  # embedding says what is missing
    unknown = set[int | None]()
    if not model.reads_characters:
        unknown = {token_id(model.tokenizer, name) for name in UNKNOWN} - {None}
    found = ids_of(model.tokenizer, check_texts(texts))
    return [(len(ids), sum(id in unknown for id in ids)) for ids in found]


def unknown_parts(model: Model, text: str, encoding: Any = None) -> list[str]:
    """What the tokenizer does not know of a text, each part once."""
    encoding = encoding or model.tokenizer.encode(text)
    spans = [encoding.offsets[place] for place in _unknown_places(model, encoding)]
    return [*dict.fromkeys(text[start:stop] for start, stop in spans)]


def _unknown_places(model: Model, encoding: Any) -> list[int]:
    unknown = {token_id(model.tokenizer, name) for name in UNKNOWN} - {None}
    return [place for place, id in enumerate(encoding.ids) if id in unknown]


def _check_known(model: Model, text: str, encoding: Any, report: Report) -> None:
    """Raise SettingError if nothing of a text is known to the tokenizer; note the parts that are not."""
    places = _unknown_places(model, encoding)
    if not places:
        return
    parts = " ".join(unknown_parts(model, text, encoding))
    own = sum(not added for added in _added(encoding))
    if len(places) == own:
        raise SettingError(
            "The tokenizer of this model knows nothing of the text {text!r}. Use a model of its language.",
            text=text[:60],
        )
    report(
        Note(
            "The tokenizer of this model does not know {parts}: the model reads them as an unknown token.",
            parts=parts or text[:60],
        )
    )


class Tokens:
    """The tokens of a model as a reader sees them: 中国, not ä¸ŃåĽ½; Ġ or ▁ stands for a space."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    @functools.cached_property
    def mark(self) -> str:
        return mark_of(self.tokenizer.get_vocab())

    def shown(self, id: int) -> str:
        """One token."""
        from inlaid.neural.tokens import target_word

        token = target_word(self.tokenizer, id) or f"<row {id}>"
        return readable([token])[0] if self.mark == BYTE_LEVEL else token

    def source(self, id: int) -> str:
        """One token of what a model reads; a translation model may have another vocabulary for that."""
        token = self.tokenizer.id_to_token(id) or f"<row {id}>"
        return readable([token])[0] if self.mark == BYTE_LEVEL else token

    def text(self, ids: Sequence[int]) -> str:
        """What tokens say, without special ones. Between Chinese characters there is no space."""
        text = self.tokenizer.decode_batch([list(ids)])[0]
        return re.sub(SPACED, "", text) if self.mark == WORDPIECE else text

    def continuation(self, before: Sequence[int], ids: Sequence[int]) -> str:
        """What `ids` add to the text of the tokens `before` them."""
        start = self.text(before) if before else ""
        whole = self.text([*before, *ids])
        return whole[len(start) :] if whole.startswith(start) else self.text(ids)


def visible(token: str) -> str:
    """A token for a reader: with the spaces before it, in quotes, where it has any.

    >>> print(visible("Ġking"), visible("▁国王"), visible("国王"), visible("##ing"))
    " king" " 国王" 国王 ##ing
    """
    rest = token.lstrip(BYTE_LEVEL + SENTENCEPIECE)
    spaces = len(token) - len(rest)
    return f'"{" " * spaces}{rest}"' if spaces else token


class GrowingText:
    """The text of tokens that come one by one. A character whose bytes are not all there is held back.

    >>> growing = GrowingText(Tokens(tokenizer), [])
    >>> [growing.add(id) for id in tokenizer.encode("山").ids]
    ['', '', '山']
    """

    def __init__(self, tokens: Tokens, before: Sequence[int]) -> None:
        self.tokens = tokens
        self.before = list(before)
        self.ids: list[int] = []
        self.given = ""

    def add(self, id: int) -> str:
        """What can be shown now."""
        self.ids.append(id)
        text = self.tokens.continuation(self.before, self.ids)
        if text.endswith(HELD_BACK) or not text.startswith(self.given):
            return ""
        return self._new(text)

    def finish(self) -> str:
        """What is left. If a decoder changed what was shown already, the whole text, on a new line."""
        text = self.tokens.continuation(self.before, self.ids)
        return self._new(text) if text.startswith(self.given) else f"\n{text}"

    def _new(self, text: str) -> str:
        new = text[len(self.given) :]
        self.given = text
        return new
