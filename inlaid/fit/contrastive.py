"""Contrastive: sentence embeddings from pairs of texts that belong together (InfoNCE).

A question and its answer, a sentence and its paraphrase or translation: the vectors of a pair are pulled
together, those of the other pairs of the batch are pushed apart. By default the network is BERT's with mean
pooling; it may start from any encoder, or be a table of word vectors alone. The folder opens in
sentence-transformers. Henderson et al. 2017; Reimers and Gurevych 2019; Kusupati et al. 2022.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from inlaid.collect.pairs import Columns, read_pairs
from inlaid.config import Positive, Range
from inlaid.encode.corpus import Corpus, Encoding, encoding_of
from inlaid.errors import SettingError, need
from inlaid.feed.contrastive_text import ContrastiveText
from inlaid.fit.networks.earlier import network_folder, read_vectors
from inlaid.fit.networks.method import (
    BYTES,
    OF_FILES,
    UNKNOWN,
    WORDS,
    LearningRate,
    NetworkMethod,
    encoding_of_words,
)
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.jobs.training import Training
from inlaid.neural.config import Config, make_config
from inlaid.neural.families import family_of
from inlaid.report import Report, silent
from inlaid.untrusted import read_json_object

TRANSFORMER = "sentence_bert_config.json"
VECTORS_LEARNING_RATE = 1e-2
"""Where training starts from word vectors."""
LONGEST = 1 << 16
"""Tokens of a text of word vectors, which have no positions, at most."""


@dataclass(frozen=True, kw_only=True)
class Contrastive(TransformerMethod):
    """Sentence embeddings from pairs of texts, in a file of two columns or in two files."""

    encoding_defaults: ClassVar = {"tokenizer": "wordpiece"}
    roles: ClassVar = ("padding", "start", "end")
    kind: ClassVar = "encoder"
    surrounds: ClassVar = True
    reads_pairs: ClassVar = True
    next_steps: ClassVar = (
        'embed {path} "{text}"',
        "evaluate {path} world-sentences",
    )
    batch_tokens: ClassVar = None  # pyright: ignore[reportIncompatibleVariableOverride]  # it counts pairs
    tied: ClassVar = False  # pyright: ignore[reportIncompatibleVariableOverride]  # it has no output layer

    batch_pairs: Annotated[int, Range(2)] = 64
    """Pairs of a batch: each has the others as its negatives, so more of them are a harder question."""
    scale: Annotated[float, Range(1e-3)] = 20.0
    """Factor of the cosines in the loss, the inverse of its temperature."""
    symmetric: bool = False
    """Also find the source of each target, not only the target of each source."""
    dims: tuple[Positive, ...] = ()
    """Numbers of first components that are good vectors by themselves (Matryoshka), such as 256 128 64;
    all components always are."""
    pooling: Literal["mean", "cls", "max", "lasttoken"] | None = None
    """How the hidden states of a text become one vector; by default as the model that training starts from
    has it, or mean."""
    source_column: str = "1"
    """Column of the sources: a name, or a number in files without a header."""
    target_column: str = "2"
    """Column of the targets."""
    learning_rate: LearningRate | None = None
    """Peak learning rate, reached after the warm-up; by default 5e-5 from a model, 1e-2 from vectors, and
    1e-3 for a fresh network."""
    epochs: Annotated[int, Range(1, 1_000_000)] = 3
    """Passes over the pairs."""

    @property
    def network_folder(self) -> Path | None:
        """The folder of the network that training starts from."""
        return None if self.init_from is None else network_folder(self.init_from)

    @property
    def starts_from_model(self) -> bool:
        return self.network_folder is not None

    @property
    def starts_from_vectors(self) -> bool:
        """Whether the network is a table of word vectors alone."""
        return self.init_from is not None and self.network_folder is None

    # ---- Text

    def sentences(self, text: Any, encoding: Encoding, report: Report = silent) -> list[str]:
        """The texts of the pairs: source, target, source, target."""
        columns = Columns(self.source_column, self.target_column)
        pairs = read_pairs(text, columns, report, encoding.charset)
        return [side for pair in pairs for side in pair]

    def prepared(self, encoding: Encoding) -> Encoding:
        """The encoding of the text: that of the model or of the vectors that training starts from."""
        if self.init_from is None:
            return super().prepared(encoding)
        kept = {name: getattr(encoding, name) for name in OF_FILES} | {"min_count": 1}
        folder = self.network_folder
        if folder is not None and (folder / WORDS).is_file():
            own = encoding_of_words(folder, encoding)
            self.refuse_other_tokenizer(encoding, own)
            return own
        self.refuse_other_tokenizer(encoding)
        if folder is not None:
            lower = ("lower",) if _lower_cases(folder) else None
            return dataclasses.replace(Encoding(tokenizer_file=folder, normalize=lower), **kept)
        return dataclasses.replace(self._encoding_of_vectors(), **kept)

    def _encoding_of_vectors(self) -> Encoding:
        """As the text of the vectors was encoded; words as they are written where nothing is known about
        that."""
        path: Any = self.init_from
        if path.is_dir():
            return Encoding(tokenizer_file=path)
        vectors = read_vectors(path, silent)
        if vectors.tokenizer_json is not None:
            raise SettingError(
                "The words of {path} are subwords. Make a folder of it, which has their tokenizer in a file: "
                "`inlaid convert {path} FOLDER --format static-embedding`, and start from that.",
                path=path,
            )
        if not vectors.card.encoding:
            return Encoding(unknown=UNKNOWN, normalize=("nfc", "width"))
        own = encoding_of(vectors.card.encoding)
        return dataclasses.replace(own, unknown=UNKNOWN, max_size=None, special=())

    # ---- Network

    def for_corpus(self, data: Corpus) -> NetworkMethod:
        """The same settings with every size set: by what training starts from, or by the preset."""
        if self.starts_from_vectors:
            return self._sized_as_vectors()
        folder = self.network_folder
        if folder is None:
            return super().for_corpus(data)
        limited = dataclasses.replace(self, max_length=self.max_length or _longest(folder))
        return limited.sized_as(family_of(folder).read_folder(folder))

    def _sized_as_vectors(self) -> Contrastive:
        path: Any = self.init_from
        dim = read_vectors(path, silent).dim
        sizes = ("dim", "layers", "heads", "feed_forward_dim")
        parts = ("positions", "norm", "activation", "dropout", "pooling", "gradient_checkpointing")
        for name in (*sizes, *parts):
            if getattr(self, name) not in (None, False, dim if name == "dim" else None):
                raise SettingError(
                    "{name} is given, but the network is the table of {path} alone, with the mean of its "
                    "vectors. Leave out {name}.",
                    name=name,
                    path=path,
                )
        rate = self.learning_rate or VECTORS_LEARNING_RATE
        return dataclasses.replace(self, dim=dim, max_length=self.max_length or LONGEST, learning_rate=rate)

    def memory_for(self, data: Corpus) -> int:
        if self.init_from is None or self.starts_from_model:
            return super().memory_for(data)
        vectors = read_vectors(self.init_from, silent)
        return BYTES * len(vectors) * vectors.dim

    def start(self, data: Corpus, report: Report = silent) -> Training:
        need("torch", extra="neural")
        from inlaid.fit.networks.sentence_training import start_sentence_training

        sized: Any = self.for_corpus(data)
        return start_sentence_training(sized, data, report)

    def config(self, words: int, special: Mapping[str, int]) -> Config:
        return make_config(self.encoder_fields(words, special) | {"head.kind": "none"})

    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> ContrastiveText:
        raise NotImplementedError  # its batches need the tokenizer of the model

    def loss(self) -> Any:
        from inlaid.fit.networks.losses import ContrastiveLoss

        dims = () if not self.dims else tuple(dict.fromkeys((self.dim or 1, *self.dims)))
        return ContrastiveLoss(self.scale, dims, symmetric=self.symmetric)


def _settings_of_transformer(folder: Path) -> dict[str, Any]:
    path = folder / TRANSFORMER
    return read_json_object(path) if path.is_file() else {}


def _lower_cases(folder: Path) -> bool:
    """Whether a folder of sentence-transformers lower-cases text before its tokenizer does anything."""
    return bool(_settings_of_transformer(folder).get("do_lower_case"))


def _longest(folder: Path) -> int | None:
    """The most tokens of a text, as a folder of sentence-transformers says."""
    found = _settings_of_transformer(folder).get("max_seq_length")
    return found if isinstance(found, int) and found > 0 else None
