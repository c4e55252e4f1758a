"""Tokens: texts turned into ids and padded batches by a model's tokenizer, and the tokenizer's files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from tokenizers import Tokenizer, normalizers
from torch import Tensor

from inlaid.encode.subwords.forking import prepare_for_forks
from inlaid.errors import FormatError, SettingError
from inlaid.messages import Advice, Message
from inlaid.neural.config import Config, SpecialTokens
from inlaid.neural.families.tokenizer_settings import SETTINGS, settings_to_write
from inlaid.neural.tokenizer_pair import TARGET, PairTokenizer, TokenizerPair
from inlaid.neural.vocabulary import CutsWords, word_files
from inlaid.untrusted import library_errors

prepare_for_forks()

TOKENIZER = "tokenizer.json"
CHUNK = 1024
"""Texts encoded in one call: what a call returns takes many times the memory of its ids."""


@runtime_checkable
class HasFiles(Protocol):
    """A tokenizer that is written as the files it was read from."""

    files: Mapping[str, bytes]
    """By name."""


@dataclass(frozen=True)
class Batch:
    """Texts as a network takes them: ids and mask (text, token), and each token's span in its text."""

    ids: Tensor
    mask: Tensor
    spans: list[list[tuple[int, int]]]
    """Start and end of each token in its text; (0, 0) for those the tokenizer adds, such as [CLS]."""
    segments: Tensor | None = None


def check_tokenizer(tokenizer: Any, path: Path, config: Config) -> None:
    """Raise FormatError for a tokenizer with words that the tables have no rows for."""
    sizes = [(max(tokenizer.get_vocab().values(), default=-1) + 1, config.vocab_size)]
    if isinstance(tokenizer, PairTokenizer):
        sizes.append((max(tokenizer.target_words) + 1, config.output_vocab_size))
    for words, rows in sizes:
        if words > rows:
            raise FormatError(
                "{path}: the tokenizer has {words:,} words, but the table only {rows:,} rows. "
                "Use the tokenizer the model was trained with.",
                path=path,
                words=words,
                rows=rows,
            )


def tokenizer_files(
    tokenizer: Any, config: Config, settings: Mapping[str, Any] | None = None
) -> dict[str, bytes]:
    """The files from which Inlaid and `transformers` read the same tokenizer again; `settings` are those it
    was read with."""
    if tokenizer is None:
        return {}
    if isinstance(tokenizer, HasFiles):
        return dict(tokenizer.files)
    if isinstance(tokenizer, TokenizerPair):
        target = tokenizer_files(tokenizer.target, config, settings)
        beside = {f"{TARGET}/{name}": content for name, content in target.items()}
        return tokenizer_files(tokenizer.source, config, settings) | beside
    ids = {
        "pad_token": config.special.padding,
        "eos_token": config.special.end[0] if config.special.end else None,
        "bos_token": config.special.start,
    }
    defaults: dict[str, Any] = {"model_max_length": config.positions.max_length}
    for name, id in ids.items():
        known = id is not None and 0 <= id < config.vocab_size
        token = tokenizer.id_to_token(id) if known else None
        if token:
            defaults[name] = token
    settings = settings_to_write(settings or {}, defaults)
    if isinstance(tokenizer, CutsWords):
        found = word_files(tokenizer)
    else:
        found = {TOKENIZER: tokenizer.to_str().encode("utf-8")}
    return found | {SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False).encode("utf-8")}


def check_texts(texts: Any) -> list[str]:
    """The texts of any iterable, as a list. One text, or anything that is no text, raises SettingError."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise SettingError(
            "Expected a list of texts; found {found!r}. A single text is a list of one.", found=texts
        )
    listed = list(texts)
    if not listed:
        raise SettingError("There are no texts: give at least one.")
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise SettingError(
                "Text {place:,} is {found!r}; expected a string. Places count from 0.",
                place=place,
                found=text,
            )
        if not text.isascii():
            _refuse_surrogates(place, text)
    return listed


def _refuse_surrogates(place: int, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SettingError(
            "Text {place:,} has a lone surrogate, {found}, at character {start:,}: half of a character, and "
            "no text in Unicode. Read the text again with its right encoding, or leave it out.",
            place=place,
            found=ascii(text[error.start]),
            start=error.start,
        ) from None


@dataclass(frozen=True)
class EncodedTexts:
    """The ids of texts, and how many texts were cut to have no more than the limit."""

    ids: list[np.ndarray]
    segments: list[np.ndarray]
    """Empty if the tokenizer puts every token into segment 0."""
    truncated: int = 0
    characters: np.ndarray | None = None
    """Where ids are numbers of words that are read by their characters: (word, character)."""


def encode_texts(
    tokenizer: Any, texts: Sequence[str], *, limit: int | None, truncate: bool = False, side: str = "right"
) -> EncodedTexts:
    """Encode texts without padding. One of more than `limit` tokens is cut at `side`, or an error."""
    ids: list[np.ndarray] = []
    segments: list[np.ndarray] = []
    for start in range(0, len(texts), CHUNK):
        encodings = _encode_chunk(tokenizer, texts[start : start + CHUNK])
        ids += [np.array(encoding.ids, np.int32) for encoding in encodings]
        if any(encodings[0].type_ids):  # by the tokenizer's template: the same in every text
            segments += [np.array(encoding.type_ids, np.int32) for encoding in encodings]
    lengths = [len(row) for row in ids]
    if not min(lengths):
        raise SettingError("The text {text!r} has no tokens. Leave it out.", text=texts[lengths.index(0)])
    longest = max(lengths)
    if limit is None or longest <= limit:
        return EncodedTexts(ids, segments)
    long = [place for place, length in enumerate(lengths) if length > limit]
    if not truncate:
        refuse_long(texts[lengths.index(longest)], longest, limit, len(long), len(texts))
    for place in long:
        encoding = _cut(tokenizer, texts[place], limit, side)
        ids[place] = np.array(encoding.ids, np.int32)
        if segments:
            segments[place] = np.array(encoding.type_ids, np.int32)
    return EncodedTexts(ids, segments, len(long))


def _encode_chunk(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)  # without spans
    with library_errors(_cannot_encode):
        return encode(list(texts))


def ids_of(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """The ids of texts, without any that the tokenizer adds."""
    with library_errors(_cannot_encode):
        if isinstance(tokenizer, PairTokenizer):
            return tokenizer.ids_of(list(texts), target=False)
        return [each.ids for each in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def encode_one(tokenizer: Any, text: str) -> Any:
    """The encoding of one text, with its spans."""
    with library_errors(_cannot_encode):
        return tokenizer.encode_batch([text])[0]


def _cut(tokenizer: Any, text: str, limit: int, side: str) -> Any:
    """The tokens that fit between those the tokenizer adds, such as [CLS] and [SEP]."""
    if isinstance(tokenizer, TokenizerPair):
        tokenizer = tokenizer.source
    if not isinstance(tokenizer, Tokenizer):
        raise SettingError("This model's tokenizer cannot cut a text. Shorten it, and leave out truncate.")
    added = tokenizer.num_special_tokens_to_add(False)
    if limit <= added:
        raise SettingError(
            "The limit is {limit} tokens, and the tokenizer adds {added} to every text. Raise it.",
            limit=limit,
            added=added,
        )
    encoding = tokenizer.encode(text, add_special_tokens=False)
    encoding.truncate(limit - added, direction=side)
    return tokenizer.post_process(encoding)


def refuse_long(text: str, length: int, limit: int, long: int, count: int) -> None:
    raise SettingError(
        "The text {text!r}... has {length:,} tokens; this model takes {limit:,} ({long:,} of {count:,} texts "
        "have more). Shorten it, or cut it with {option}: texts are never truncated silently.",
        text=text[:30],
        length=length,
        limit=limit,
        long=long,
        count=count,
        option=Advice(typed=Message("--truncate"), called=Message("truncate=True of embed")),
    )


def prompt_tokens(tokenizer: Any, prompt: str) -> int:
    """Tokens at the start of a text that belong to the prompt; a token that ends every text does not."""
    encoding = tokenizer.encode(prompt)
    special = {id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    ends = encoding.special_tokens_mask[-1] or encoding.ids[-1] in special
    return len(encoding.ids) - int(bool(ends))


def target_ids(tokenizer: Any, text: str, special: SpecialTokens) -> list[int]:
    """What a decoder reads to predict a text: the start token, then the text without its end."""
    if special.start is None:
        raise SettingError("This model's config names no token that a decoder starts from.")
    if isinstance(tokenizer, PairTokenizer):
        ids = tokenizer.encode_target(text)
    else:
        ids = tokenizer.encode(text).ids
    while ids and ids[-1] in special.end:
        ids = ids[:-1]
    return [special.start, *ids]


def target_word(tokenizer: Any, id: int) -> str:
    if isinstance(tokenizer, PairTokenizer):
        return tokenizer.target_words.get(id, f"<row {id}>")
    return tokenizer.id_to_token(id)


def lower_cased(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer; text is lower-cased before anything else."""
    first = normalizers.Lowercase()
    own = tokenizer.normalizer
    tokenizer.normalizer = normalizers.Sequence([first] if own is None else [first, own])
    return tokenizer


def make_batch(
    tokenizer: Any, texts: Iterable[str], *, padding: int | None, side: Literal["left", "right"] = "right"
) -> Batch:
    """Encode texts and pad the shorter ones on one side."""
    texts = check_texts(texts)
    encodings = encodings_of(tokenizer, texts)
    for text, encoding in zip(texts, encodings, strict=True):
        if not encoding.ids:
            raise SettingError("The text {text!r} has no tokens. Leave it out.", text=text)
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = torch.full((len(texts), longest), padding or 0)
    mask = torch.zeros(len(texts), longest, dtype=torch.bool)
    segments = torch.zeros(len(texts), longest, dtype=torch.int64)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        columns = slice(0, length) if side == "right" else slice(longest - length, longest)
        ids[row, columns] = torch.tensor(encoding.ids)
        segments[row, columns] = torch.tensor(encoding.type_ids)
        mask[row, columns] = True
    spans = [[tuple(span) for span in encoding.offsets] for encoding in encodings]
    return Batch(ids, mask, spans, segments)


def encodings_of(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    """The ids of texts and their spans, as the library has them."""
    with library_errors(_cannot_encode):
        return tokenizer.encode_batch(list(texts))


def _cannot_encode(reason: str) -> FormatError:
    return FormatError(
        "The tokenizer of this model cannot encode a text: {reason}. If its file is damaged, get it again.",
        reason=reason,
    )


def words_in_order(tokenizer: Any, rows: int, *, target: bool = False) -> list[str]:
    """The word of each row; rows the tokenizer has no word for are called `<row N>`.

    `target`: the words of the target vocabulary, where the tokenizer has one of its own.
    """
    words = [f"<row {row}>" for row in range(rows)]
    known: Mapping[str, int] = {}
    if target and isinstance(tokenizer, PairTokenizer):
        known = tokenizer.target_vocabulary
    elif tokenizer is not None:
        known = tokenizer.get_vocab(with_added_tokens=True)
    for word, id in known.items():
        words[id] = word
    return words
