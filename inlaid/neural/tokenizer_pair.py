"""Tokenizers of translators: one for both languages, or one for each.

Two tokenizers learned here are in two folders: that of the source beside the weights, that of the target in
the folder `target`. Marian's are two SentencePiece models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from inlaid.encode.corpus import Encoding
from inlaid.encode.pair_corpus import PairCorpus, corpus_of_ids, joined
from inlaid.errors import SettingError
from inlaid.neural.config import Config
from inlaid.neural.families.family import Family
from inlaid.neural.vocabulary import ModelVocabulary, read_words, vocabulary_of
from inlaid.report import Report

TARGET = "target"
"""The folder of the target's tokenizer."""


@runtime_checkable
class PairTokenizer(Protocol):
    """A tokenizer with a vocabulary for the source and one for the target, which may be the same."""

    target_words: Mapping[int, str]
    target_vocabulary: Mapping[str, int]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The words of the source."""
        ...

    def encode_target(self, text: str) -> list[int]:
        """The ids of a text of the target language, and the end."""
        ...

    def ids_of(self, texts: Sequence[str], *, target: bool) -> list[list[int]]:
        """The ids of texts of one side, without any that the tokenizer adds."""
        ...


class TokenizerPair:
    """Two tokenizers of the library: texts are read with that of the source, and written with that of the
    target."""

    def __init__(self, source: Any, target: Any) -> None:
        self.source = source
        self.target = target

    @cached_property
    def target_vocabulary(self) -> Mapping[str, int]:
        return self.target.get_vocab(with_added_tokens=True)

    @cached_property
    def target_words(self) -> Mapping[int, str]:
        return {id: word for word, id in self.target_vocabulary.items()}

    def encode(self, text: str) -> Any:
        return self.source.encode(text)

    def encode_batch(self, texts: Sequence[str]) -> list[Any]:
        return self.source.encode_batch(list(texts))

    def encode_target(self, text: str) -> list[int]:
        return self.target.encode(text).ids

    def ids_of(self, texts: Sequence[str], *, target: bool) -> list[list[int]]:
        engine = self.target if target else self.source
        return [each.ids for each in engine.encode_batch(list(texts), add_special_tokens=False)]

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return self.target.decode_batch([list(row) for row in rows])

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self.source.get_vocab(with_added_tokens=with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return self.source.get_vocab_size(with_added_tokens=with_added_tokens)

    def id_to_token(self, id: int) -> str | None:
        return self.source.id_to_token(id)

    def token_to_id(self, token: str) -> int | None:
        return self.source.token_to_id(token)


def read_tokenizer(folder: Path, family: Family, config: Config) -> Any:
    """The tokenizer of a model's folder; None if it has none."""
    source = read_words(folder) or family.read_tokenizer(folder, config)
    beside = folder / TARGET
    if source is None or config.kind != "seq2seq" or not (beside / "tokenizer.json").is_file():
        return source
    return TokenizerPair(source, read_words(beside) or family.read_tokenizer(beside, config))


def encode_pairs(tokenizer: PairTokenizer, sentences: Sequence[str], encoding: Encoding) -> PairCorpus:
    """Alternating sentences as ids of a model's two vocabularies."""
    known = (tokenizer.get_vocab(), tokenizer.target_vocabulary)
    source, target = (
        corpus_of_ids(tokenizer.ids_of(sentences[side::2], target=bool(side)), _in_order(words), encoding)
        for side, words in enumerate(known)
    )
    return joined(source, target, len(sentences))


def _in_order(words: Mapping[str, int]) -> list[str]:
    """The words by their ids; an id without a word is called `<id 7>`."""
    found = [f"<id {id}>" for id in range(max(words.values()) + 1)]
    for word, id in words.items():
        found[id] = word
    return found


def vocabulary_of_pairs(corpus: PairCorpus, roles: Sequence[str], report: Report) -> ModelVocabulary:
    """The vocabularies of both sides, whose special tokens have the same ids: one padding serves both."""
    source = vocabulary_of(corpus, roles, report)
    target = vocabulary_of(corpus.target, roles, report)
    if source.special != target.special:
        raise SettingError(
            "The special tokens of the two vocabularies have different ids. Use a tokenizer that is learned "
            "from the text, such as bpe."
        )
    return ModelVocabulary(TokenizerPair(source.tokenizer, target.tokenizer), source.special)


def engines_of(tokenizer: Any) -> tuple[Any, ...]:
    """The tokenizers of the library that a tokenizer is made of."""
    return (tokenizer.source, tokenizer.target) if isinstance(tokenizer, TokenizerPair) else (tokenizer,)


def target_size(tokenizer: Any) -> int:
    """Words of the target's own vocabulary; 0 where both sides have one."""
    return max(tokenizer.target_words) + 1 if isinstance(tokenizer, TokenizerPair) else 0
