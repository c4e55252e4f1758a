"""Tokenize: one text as a corpus would be tokenized, with the position of each token."""

from __future__ import annotations

import functools
from typing import Any

from inlaid.collect.normalize import normalizer, original_span, origins
from inlaid.config import settings_of
from inlaid.encode.corpus import Corpus, Encoding, encoding_of
from inlaid.encode.joining import JoiningTokenizer, read_phrases
from inlaid.encode.tokenizers import HasIds, Tokenized, Tokenizer
from inlaid.errors import SettingError, SourceError
from inlaid.messages import Listed


def tokenize(text: str, *, corpus: Corpus | None = None, **settings: Any) -> Tokenized:
    """Normalize and tokenize one text as a corpus with these settings would, or as `corpus` was encoded, with
    the position of each token.

    >>> [token.text for token in tokenize("我喜欢Apple手机").tokens]
    ['我', '喜欢', 'apple', '手机']
    """
    if corpus is not None and settings:
        raise SettingError(
            "{names} are settings of the encoding, and this corpus is already encoded. Leave them out.",
            names=Listed(settings),
        )
    _refuse_surrogates(text)
    encoding, tokenizer = _made(settings) if corpus is None else _of_corpus(corpus)
    normalized = normalizer(encoding.steps)(text)
    places = origins(text, encoding.steps)
    tokens = tokenizer.tokenize(normalized)
    ids = tokenizer.ids(normalized) if isinstance(tokenizer, HasIds) else None
    original = None
    if places is not None:
        original = [original_span(places, token.start, token.end) for token in tokens]
    return Tokenized(normalized, tokens, original, ids)


def _made(settings: dict[str, Any]) -> tuple[Encoding, Tokenizer]:
    """How text is encoded by these settings; without any it is made once, since texts are many."""
    if not settings:
        return _made_by_default()
    encoding = settings_of(Encoding, settings)
    tokenizer = encoding.make_tokenizer()
    if encoding.phrases is not None:
        tokenizer = JoiningTokenizer(tokenizer, read_phrases(encoding.phrases))
    return encoding, tokenizer


@functools.cache
def _made_by_default() -> tuple[Encoding, Tokenizer]:
    encoding = Encoding()
    return encoding, encoding.make_tokenizer()


def _of_corpus(corpus: Corpus) -> tuple[Encoding, Tokenizer]:
    return encoding_of(corpus.manifest["encoding"]), corpus.tokenizer()


def _refuse_surrogates(text: str) -> None:
    """Raise SourceError for what is no text: a terminal without UTF-8 passes bytes on as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(
            "Character {place:,} of the text is {found!a}, not a character. In a terminal, use UTF-8: "
            "`export LC_ALL=C.UTF-8`.",
            place=error.start + 1,
            found=text[error.start],
        ) from None
