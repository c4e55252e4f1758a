"""BiLM: two LSTM language models, one from the left and one from the right, over characters (ELMo).

The forward model predicts the next word, the backward model the previous one. Both read words by a CNN over
their characters, so that no word is out of vocabulary, and share it and the output layer. Peters et al. 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from inlaid.config import Dropout, Range
from inlaid.encode.corpus import Corpus
from inlaid.encode.word_characters import CHARACTERS, characters_of, count_long, with_boundaries
from inlaid.errors import SettingError
from inlaid.feed.bidirectional_text import BidirectionalText
from inlaid.fit.networks.method import Dim, Layers, NetworkMethod, held_out_every
from inlaid.jobs.training import Training
from inlaid.neural.config import Config, make_config
from inlaid.report import Note, Report, silent

CHARACTER_DIM = 16
CLIP = 3.0
"""Cells and outputs of the LSTMs are clipped to plus and minus this, as in ELMo."""


class Preset(NamedTuple):
    """The size of a biLM, and of its batches."""

    dim: int
    cell_dim: int
    max_length: int
    batch_tokens: int


PRESETS = {
    "tiny": Preset(dim=64, cell_dim=256, max_length=128, batch_tokens=1024),
    "small": Preset(dim=128, cell_dim=512, max_length=256, batch_tokens=4096),
    "base": Preset(dim=512, cell_dim=4096, max_length=512, batch_tokens=16_384),
}


class Filters(NamedTuple):
    """The character CNN: how many filters there are of widths 1, 2, ..., and its highway layers."""

    counts: tuple[int, ...]
    highways: int


FILTERS = {
    "tiny": Filters((16, 16, 32, 64), highways=1),
    "small": Filters((32, 32, 64, 128, 256), highways=1),
    "base": Filters((32, 32, 64, 128, 256, 512, 1024), highways=2),
}


@dataclass(frozen=True, kw_only=True)
class BiLM(NetworkMethod):
    """Two LSTM language models over characters, forward and backward (ELMo): words get vectors in context."""

    encoding_defaults: ClassVar = {}
    roles: ClassVar = ("start", "end")
    kind: ClassVar = "bilm"
    surrounds: ClassVar = True
    next_steps: ClassVar = ('embed {path} "{text}"', "inspect {path}")
    compile: ClassVar = False  # pyright: ignore[reportIncompatibleVariableOverride]  # step by step

    dim: Dim | None = None
    """Dimension of word vectors and of the outputs of each direction, which are concatenated; by default 64,
    128 or 512."""
    cell_dim: Dim | None = None
    """Dimension of the cells of the LSTMs; by default 256, 512 or 4096."""
    layers: Layers | None = None
    """LSTM layers of each direction; by default 2."""
    characters: bool = True
    """Read words by their characters, with a CNN. `--no-characters`: from a table of the vocabulary."""
    max_characters: Annotated[int, Range(3, 10_000)] | None = None
    """Bytes of a word that are read, with its two boundaries; by default 50."""
    dropout: Dropout | None = None
    """Dropout of the input of each LSTM and of the output layer; by default 0.1, or as the model that
    training starts from has it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_characters is not None and not self.characters:
            raise SettingError(
                "max_characters is {found}, but characters are not read. Leave out one of the two settings.",
                found=self.max_characters,
            )

    def preset_sizes(self) -> dict[str, int]:
        preset = PRESETS[self.preset]
        sizes = preset._asdict() | {"layers": 2, "cell_dim": preset.cell_dim}
        return sizes | ({"max_characters": 50} if self.characters else {})

    def sizes_of(self, config: Config) -> dict[str, Any]:
        if config.head.kind != "linear":
            raise SettingError(
                "{path} has no output layer, so it cannot go on predicting words. Start from a folder that "
                "`inlaid train bilm` wrote.",
                path=self.init_from,
            )
        sizes = {
            "dim": config.dim,
            "cell_dim": config.cell_dim,
            "layers": config.layers,
            "characters": bool(config.characters.vocab_size),
        }
        return sizes | ({"max_characters": config.characters.max_length} if sizes["characters"] else {})

    def config(self, words: int, special: Mapping[str, int]) -> Config:
        end = special.get("end")
        return make_config(
            {
                "kind": self.kind,
                "vocab_size": words,
                "dim": self.dim,
                "layers": self.layers,
                "dropout": self.dropout,
                "lstm.cell_dim": self.cell_dim,
                "lstm.cell_clip": CLIP,
                "lstm.projection_clip": CLIP,
                "positions.kind": "none",
                "head.tied": False,
                "head.bias": True,
                "special.start": special.get("start"),
                "special.end": () if end is None else (end,),
                **(self._cnn() if self.characters else {}),
            }
        )

    def _cnn(self) -> dict[str, Any]:
        filters = FILTERS[self.preset]
        return {
            "characters.vocab_size": CHARACTERS,
            "characters.dim": CHARACTER_DIM,
            "characters.max_length": self.max_characters,
            "characters.filter_widths": tuple(range(1, len(filters.counts) + 1)),
            "characters.filter_counts": filters.counts,
            "characters.highways": filters.highways,
        }

    def start(self, data: Corpus, report: Report = silent) -> Training:
        sized = self.for_corpus(data)
        if isinstance(sized, BiLM) and sized.max_characters is not None:
            long = count_long(list(data.vocabulary.words), sized.max_characters)
            if long:
                report(
                    Note(
                        "{long:,} of {words:,} words have more than {limit} bytes; only these are read.",
                        long=long,
                        words=len(data.vocabulary),
                        limit=sized.max_characters - 2,
                    )
                )
        return super().start(data, report)

    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> BidirectionalText:
        start = special["start"]
        end = special["end"]
        characters = None
        if self.max_characters is not None:
            words = with_boundaries(list(data.vocabulary.words), start, end)
            characters = characters_of(words, self.max_characters)
        return BidirectionalText(
            corpus=data,
            start=start,
            end=end,
            characters=characters,
            max_length=self.max_length or 1,
            tokens=self.batch_tokens or 1,
            held_out_every=held_out_every(len(data.offsets) - 1, self.held_out),
            seed=self.seed,
        )

    def loss(self) -> Any:
        from inlaid.fit.networks.losses import both_directions_loss

        return both_directions_loss
