"""Causal: a language model that predicts each token from those before it (GPT).

The text is one stream of tokens; a window of it is predicted at all its positions at once, under a causal
mask. By default the network is GPT-2's, and its folder opens as such. Radford et al. 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from inlaid.encode.corpus import Corpus
from inlaid.feed.token_stream import TokenStream
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.neural.config import Config, make_config
from inlaid.report import Report, silent


@dataclass(frozen=True, kw_only=True)
class Causal(TransformerMethod):
    """A language model that predicts the next token (GPT). It continues texts: `inlaid generate`."""

    roles: ClassVar = ("end",)
    kind: ClassVar = "decoder"
    next_steps: ClassVar = ('generate {path} "{start}"', 'next {path} "{start}"', "inspect {path}")

    def config(self, words: int, special: Mapping[str, int]) -> Config:
        return make_config(self.decoder_fields(words, special))

    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> TokenStream:
        length = self.max_length or 1
        return TokenStream(
            corpus=data,
            end=special["end"],
            length=length,
            rows=max((self.batch_tokens or 1) // length, 1),
            held_out_share=self.held_out,
            whole_batches=self.compile,  # a network is compiled again for a smaller batch
            seed=self.seed,
        )

    def loss(self) -> Any:
        from inlaid.fit.networks.losses import next_token_loss

        return next_token_loss
