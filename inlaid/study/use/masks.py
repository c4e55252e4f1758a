"""Words for the masks of a text, by a masked language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inlaid.errors import SettingError
from inlaid.marked import Marked
from inlaid.messages import Listed, Message
from inlaid.report import Report
from inlaid.study.analysis import Row, plain
from inlaid.study.use.encoding import Tokens, encode, token_id

if TYPE_CHECKING:
    from inlaid.neural.model import Model

MASKS = ("[MASK]", "<mask>")
"""What tokenizers call the mask."""
BLANK = re.compile(r"[_＿]{2,}|" + "|".join(map(re.escape, MASKS)))
"""How a blank may be written."""


@dataclass(frozen=True)
class MaskedWord:
    """A token for a mask: as the model has it, and the text with it in this place."""

    word: str
    id: int
    probability: float


@dataclass(frozen=True, kw_only=True)
class FilledMasks:
    """Tokens for each mask of a text, the likeliest first. Each mask is filled by itself: the others stay
    masks."""

    text: str
    """With the mask of the model."""
    sentence: Marked
    """The text as it was written, with the likeliest token in each blank, marked."""
    masks: tuple[tuple[MaskedWord, ...], ...]

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.sentence, ""]
        for number, words in enumerate(self.masks, 1):
            if len(self.masks) > 1:
                rows.append(Message("mask {number}", number=number))
            rows += [(f"{each.probability:.4f}", each.word) for each in words]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


def fill_masks(model: Model, text: str, n: int, report: Report) -> FilledMasks:
    """The `n` likeliest tokens for each mask of a text, written as the model's mask or as ___."""
    from inlaid.neural.encoder import DetectorHead
    from inlaid.neural.predict import masked_distributions

    if isinstance(model.network.head, DetectorHead):
        raise SettingError(
            "This model tells whether words were replaced, and predicts none. Use the generator of ELECTRA."
        )
    mask = next((each for each in MASKS if token_id(model.tokenizer, each) is not None), None)
    if mask is None:
        raise SettingError(
            "The tokenizer of this model has no mask ({masks}), so it cannot fill a blank. Use a masked "
            "language model.",
            masks=Listed(MASKS),
        )
    if BLANK.search(text) is None:
        raise SettingError(
            "The text holds no blank. Write it as {mask} or ___: '{text}'.", mask=mask, text=text
        )
    asked = BLANK.sub(mask, text)
    encoded = encode(model, asked, report)
    id = token_id(model.tokenizer, mask)
    assert id is not None
    if id not in encoded.ids:
        raise SettingError(
            "The tokenizer of this model does not read {mask} as one token. Its tokenizer.json must list it "
            "as a special token.",
            mask=mask,
        )
    tokens = Tokens(model.tokenizer)
    found = []
    for row in masked_distributions(model, encoded.ids, encoded.segments, id):
        best, ids = row.topk(min(n, len(row)))
        pairs = zip(ids.tolist(), best.tolist(), strict=True)
        found.append(tuple(MaskedWord(tokens.shown(each), each, value) for each, value in pairs))
    likeliest = [words[0].word for words in found]
    return FilledMasks(text=asked, sentence=_filled(text, likeliest), masks=tuple(found))


def _filled(text: str, words: Sequence[str]) -> Marked:
    """The text with a word in each of its blanks, marked.

    >>> str(_filled("a ___ cat", ["black"]))
    'a **black** cat'
    """
    filled = ""
    marks: list[tuple[int, int]] = []
    end = 0
    for blank, word in zip(BLANK.finditer(text), words, strict=True):
        filled += text[end : blank.start()]
        marks.append((len(filled), len(filled) + len(word)))
        filled += word
        end = blank.end()
    return Marked(filled + text[end:], tuple(marks))
