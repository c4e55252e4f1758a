"""Masked: a language model that finds hidden words from the words on both sides (BERT).

By default the network is BERT's, and its folder opens as such. Whole words are hidden, Chinese words
included. Devlin et al. 2019; Cui et al. 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from inlaid.config import Range
from inlaid.encode.corpus import Corpus
from inlaid.feed.masked_text import MaskedText, SpecialIds
from inlaid.feed.whole_words import WholeWords
from inlaid.fit.networks.method import held_out_every
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.neural.config import Config, make_config
from inlaid.report import Report, silent


@dataclass(frozen=True, kw_only=True)
class Masked(TransformerMethod):
    """A language model that finds hidden words (BERT). It fills blanks and gives words vectors in context."""

    encoding_defaults: ClassVar = {"tokenizer": "wordpiece"}
    roles: ClassVar = ("padding", "start", "end", "mask")
    kind: ClassVar = "encoder"
    surrounds: ClassVar = True
    next_steps: ClassVar = (
        'fill {path} "{blank}"',
        'embed {path} "{text}"',
        "inspect {path}",
    )

    mask_share: Annotated[float, Range(0.01, 0.9)] = 0.15
    """Share of the words that are to be found."""
    whole_words: bool = True
    """Hide whole words; Chinese words are those of rjieba. `--no-whole-words`: hide single tokens."""

    def config(self, words: int, special: Mapping[str, int]) -> Config:
        return make_config(self.encoder_fields(words, special) | {"head.kind": "masked", "head.bias": True})

    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> MaskedText:
        return MaskedText(
            corpus=data,
            special=SpecialIds(**special),
            max_length=self.max_length or 1,
            tokens=self.batch_tokens or 1,
            mask_share=self.mask_share,
            whole_words=_whole_words(data) if self.whole_words else None,
            held_out_every=held_out_every(len(data.offsets) - 1, self.held_out),
            seed=self.seed,
        )

    def loss(self) -> Any:
        from inlaid.fit.networks.losses import masked_loss

        return masked_loss


def _whole_words(data: Corpus) -> WholeWords | None:
    """Finds the words in tokens that are parts of words; None where each token is a word."""
    from inlaid.encode.subwords.tokenizer import Subwords  # imports the tokenizers library
    from inlaid.encode.tokenizers import Word

    kind = data.manifest["encoding"]["tokenizer"]
    if data.tokenizer_json is None and kind != "char":
        return None
    mark = "" if data.tokenizer_json is None else Subwords.from_json(data.tokenizer_json).mark
    return WholeWords(list(data.vocabulary.words), mark, Word())
