"""Spelled texts: texts as a biLM over characters reads them, word by word, between sentence boundaries.

The tokenizer of the model cuts a text into words. Words that its vocabulary lacks are spelled as they are in
the text, after normalization: a character CNN makes a vector of any word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inlaid.encode.subwords.spelling import BYTE_LEVEL, mark_of, readable
from inlaid.encode.word_characters import characters_of, count_long, cropped, with_boundaries
from inlaid.errors import SettingError
from inlaid.neural.batches import PackedBatch
from inlaid.neural.bilm import BiLM
from inlaid.neural.config import Config
from inlaid.neural.tokens import Batch, EncodedTexts, encodings_of, words_in_order
from inlaid.neural.vocabulary import CutsWords
from inlaid.report import Note, Report


@dataclass(frozen=True)
class SpelledTexts:
    """Texts as numbers of their distinct words, boundaries included."""

    ids: list[np.ndarray]
    words: list[str]
    spans: list[list[tuple[int, int]]]
    """Start and end of each word in its text; (0, 0) for boundaries."""

    def encoded(self, max_length: int) -> EncodedTexts:
        """For packed batches."""
        return EncodedTexts(self.ids, [], characters=characters_of(self.words, max_length))

    def batch(self, max_length: int) -> Batch:
        """For one padded batch: ids (text, token, character)."""
        characters = torch.from_numpy(characters_of(self.words, max_length))
        longest = max(map(len, self.ids))
        ids = torch.zeros(len(self.ids), longest, max_length, dtype=torch.int64)
        for text, row in zip(ids, self.ids, strict=True):
            text[: len(row)] = characters[torch.from_numpy(row)]
        return Batch(ids, ids.any(-1), self.spans)


def spelled_texts(tokenizer: Any, texts: Sequence[str], config: Config, report: Report) -> SpelledTexts:
    """The words of texts. A note says how many of them are too long to be read whole."""
    known = _spellings(tokenizer, config)
    unknown = _unknown_id(tokenizer)
    numbers: dict[str, int] = {}
    ids: list[np.ndarray] = []
    spans: list[list[tuple[int, int]]] = []
    for text, encoding in zip(texts, encodings_of(tokenizer, texts), strict=True):
        words = [known[id] for id in encoding.ids]
        for place in [place for place, id in enumerate(encoding.ids) if id == unknown]:
            start, end = encoding.offsets[place]
            words[place] = _normalized(tokenizer, text[start:end])
        ids.append(np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32))
        spans.append([tuple(span) for span in encoding.offsets])
    found = SpelledTexts(ids, list(numbers), spans)
    limit = config.characters.max_length
    long = count_long(found.words, limit)
    if long:
        report(
            Note(
                "{long:,} of {words:,} words have more than {limit} bytes; only these are read.",
                long=long,
                words=len(found.words),
                limit=limit - 2,
            )
        )
    return found


def _spellings(tokenizer: Any, config: Config) -> list[str]:
    """The words of the vocabulary as they were read in training."""
    words = words_in_order(tokenizer, config.vocab_size)
    if mark_of(words) == BYTE_LEVEL:
        words = readable(words)
    start = config.special.start
    return words if start is None else with_boundaries(words, start, config.special.end[0])


def _unknown_id(tokenizer: Any) -> int | None:
    """The id of all words that a vocabulary of words lacks."""
    if not isinstance(tokenizer, CutsWords):
        return None
    unknown = tokenizer.encoding_of_words.get("unknown")
    return None if unknown is None else tokenizer.token_to_id(unknown)  # pyright: ignore


def _normalized(tokenizer: Any, word: str) -> str:
    return word if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(word)


def has_boundaries(config: Config) -> bool:
    """Whether a biLM reads texts between boundaries, which are no words of the text."""
    return config.special.start is not None and bool(config.special.end)


def hidden_runs(network: BiLM, packed: PackedBatch, encoded: EncodedTexts, layer: int) -> Iterator[Tensor]:
    """Hidden states (text, token, 2 dim) after a layer, without boundaries, for each length of a batch."""
    device = next(network.parameters()).device
    ids = packed.ids[0]
    if encoded.characters is None:
        words = network.word_vectors(ids.to(device))
    else:
        distinct, places = ids.unique(return_inverse=True)
        widest = max(network.config.characters.filter_widths)
        characters = torch.from_numpy(cropped(encoded.characters[distinct.numpy()], widest))
        words = network.word_vectors(characters.to(device))[places.to(device)]
    sizes = [texts * length for texts, length in packed.runs]
    for part, run in zip(words.split(sizes), packed.runs, strict=True):
        hidden = network.read(part.view(*run, -1)).layers[layer]
        yield hidden[:, 1:-1] if has_boundaries(network.config) else hidden


def check_words(texts: Sequence[str], encoded: EncodedTexts, config: Config) -> None:
    """Raise SettingError for a text without words, which is nothing but boundaries."""
    around = 2 if has_boundaries(config) else 0
    for text, ids in zip(texts, encoded.ids, strict=True):
        if len(ids) <= around:
            raise SettingError("The text {text!r} has no tokens. Leave it out.", text=text)
