"""Translation: an encoder and a decoder that turn a sentence into its translation.

By default the network is that of Marian, the original Transformer, and its folder opens as such. It learns by
teacher forcing: the decoder reads the right translation, and predicts each next token. Vaswani et al. 2017.

A decoder alone (GPT-2's) translates by prompt: it reads the source and a separator, and goes on with the
translation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from inlaid.collect.pairs import Columns, read_pairs
from inlaid.config import Fraction
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.pair_corpus import PairCorpus, encode_sides
from inlaid.errors import SettingError
from inlaid.feed.pair_text import PairText
from inlaid.feed.prompt_text import PromptText
from inlaid.fit.networks.method import Layers, NetworkMethod, held_out_every
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.neural.config import Config, make_config
from inlaid.neural.families import family_of
from inlaid.neural.tokenizer_pair import PairTokenizer, encode_pairs, read_tokenizer
from inlaid.report import Report, silent

SPECIAL_WORDS = ("[PAD]", "[SEP]")
"""Words with the first ids in separate vocabularies of words, so that both sides have the same."""


@dataclass(frozen=True, kw_only=True)
class Translation(TransformerMethod):
    """A translator: reads pairs of sentences, in a file of two columns or in two files."""

    surrounds: ClassVar = True
    next_steps: ClassVar = ('translate {path} "..."', "inspect {path}")

    layers: Layers | None = None
    """Blocks of the encoder, and as many of the decoder; by default 2, 3 or 6. Those of a decoder alone: 4, 6
    or 12."""
    network: Literal["encoder-decoder", "decoder"] | None = None
    """An encoder and a decoder, or a decoder alone that continues a source and a separator with the
    translation; by default the first, or as the model that training starts from."""
    predict_source: bool = False
    """A decoder alone: learn to predict the source, too, not only the translation."""
    source_column: str = "1"
    """Column of the source sentences: a name, or a number in files without a header."""
    target_column: str = "2"
    """Column of the translations."""
    vocabularies: Literal["joint", "separate"] | None = None
    """One vocabulary and one table of token vectors for both languages, or one for each; by default joint, or
    as the model that training starts from has it."""
    reverse: bool = False
    """Translate the other way: from the target to the source."""
    warmup: Fraction = 0.2
    """Share of the run in which the learning rate rises linearly from 0. Long, because a network with norms
    after its residual sums can stop learning in a short one."""
    label_smoothing: Fraction = 0.1
    """Share of the probability that the loss spreads over all tokens."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_decoder and self.vocabularies == "separate":
            raise SettingError(
                "network is decoder, which reads both languages from one table, and vocabularies is "
                "separate. Leave out one of them."
            )
        if self.predict_source and not self.is_decoder:
            raise SettingError(
                "predict_source is for the network decoder: an encoder reads the source and predicts "
                "nothing. Leave it out, or set network to decoder."
            )

    @property
    def is_decoder(self) -> bool:
        """Whether a decoder alone translates."""
        if self.network is not None or not self.starts_from_model:
            return self.network == "decoder"
        folder: Any = self.init_from
        return family_of(folder).read_folder(folder).kind == "decoder"

    @property
    def kind(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "decoder" if self.is_decoder else "seq2seq"

    @property
    def roles(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self.is_decoder:
            return ("padding", "end")
        # those of others have no token for padding, and need none: what comes after a line is not read
        return ("end", "separator") if self.starts_from_model else ("padding", "end", "separator")

    @property
    def last_role(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "separator" if self.is_decoder else "end"

    def sentences(self, text: Any, encoding: Encoding, report: Report = silent) -> list[str]:
        """The sentences of the pairs: source, target, source, target."""
        columns = Columns(self.source_column, self.target_column)
        pairs = read_pairs(text, columns, report, encoding.charset)
        if self.reverse:
            return [side for pair in pairs for side in (pair.target, pair.source)]
        return [side for pair in pairs for side in pair]

    def prepared(self, encoding: Encoding) -> Encoding:
        encoding = super().prepared(encoding)
        if self.vocabularies != "separate" or self.starts_from_model:
            return encoding
        if encoding.tokenizer_file is not None:
            raise SettingError(
                "vocabularies is separate, and tokenizer_file names one tokenizer. Leave out one of them."
            )
        if encoding.has_subwords:  # their special tokens have the first ids
            return encoding
        return dataclasses.replace(encoding, special=(*SPECIAL_WORDS, *encoding.special))

    def encode_pairs(self, sentences: Sequence[str], encoding: Encoding, report: Report = silent) -> Corpus:
        """Both sides with one tokenizer, or each with its own: learned from it, or that of a model."""
        if self.starts_from_model:
            folder: Any = self.init_from
            family = family_of(folder)
            tokenizer = read_tokenizer(folder, family, family.read_folder(folder))
            if isinstance(tokenizer, PairTokenizer):
                return encode_pairs(tokenizer, sentences, encoding)
        elif self.vocabularies == "separate":
            return encode_sides(sentences, encoding, report)
        return encode(list(sentences), encoding, report)

    def for_corpus(self, data: Corpus) -> NetworkMethod:
        if self.vocabularies == "separate" and not isinstance(data, PairCorpus):
            raise SettingError(
                "vocabularies is separate, and this corpus was encoded with one vocabulary. Train on the "
                "files of the pairs."
            )
        return super().for_corpus(data)

    def preset_sizes(self) -> dict[str, Any]:
        sizes = super().preset_sizes()
        if not self.is_decoder:  # half of the blocks on each side; base has those of the original
            sizes["layers"] //= 2
        return {**sizes, "vocabularies": "joint", "network": "encoder-decoder"}

    def sizes_of(self, config: Config) -> dict[str, Any]:
        vocabularies = "separate" if config.target_vocab_size else "joint"
        network = "decoder" if config.kind == "decoder" else "encoder-decoder"
        return {**super().sizes_of(config), "vocabularies": vocabularies, "network": network}

    def config(self, words: int, special: Mapping[str, int]) -> Config:
        padding = special.get("padding")
        if self.is_decoder:
            fields = self.decoder_fields(words, special)
            start = special.get("separator")
            return make_config(fields | {"special.padding": padding, "special.start": start})
        end = special.get("end")
        return make_config(
            {
                **self.sizes(),
                "vocab_size": words,
                "decoder_layers": self.layers,
                "embedding_scale": True,
                "attention.dropout": 0.0,
                "feed_forward.activation": self.activation or "relu",
                "norm.placement": self.norm or "post",
                "norm.final": self.norm == "pre",
                "positions.kind": self.positions or "sinusoidal",
                "positions.layout": "halves",
                "head.bias": True,
                "special.padding": padding,
                "special.start": padding,
                "special.end": () if end is None else (end,),
                "special.banned": () if padding is None else (padding,),
            }
        )

    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> PairText:
        settings: dict[str, Any] = {
            "corpus": data,
            "padding": special.get("padding", special["end"]),
            "end": special["end"],
            "max_length": self.max_length or 1,
            "tokens": self.batch_tokens or 1,
            "held_out_every": held_out_every((len(data.offsets) - 1) // 2, self.held_out),
            "seed": self.seed,
        }
        if self.is_decoder:
            separator = special["separator"]
            found = PromptText(**settings, separator=separator, predicts_source=self.predict_source)
        else:
            found = PairText(**settings, source_end=special.get("source_end"))
        found.note(report)
        return found

    def loss(self) -> Any:
        from inlaid.fit.networks.losses import PromptLoss, TranslationLoss

        kind = PromptLoss if self.is_decoder else TranslationLoss
        return kind(self.label_smoothing)
