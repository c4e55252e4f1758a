"""Pieces: tokenizers from SentencePiece files alone, as `transformers` builds them for T5 and for Llama.

Newer folders have a tokenizer.json, which is complete and comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from inlaid.encode.subwords.sentencepiece import Piece, parsed
from inlaid.errors import FormatError
from inlaid.messages import Listed
from inlaid.untrusted import library_errors, read_json_object

JSON = Mapping[str, Any]
UNIGRAM = 1
BPE = 2
MAX_SENTINELS = 10_000
UNKNOWN = "<unk>"
START = "<s>"
END = "</s>"
T5_SPECIAL = ["<pad>", END, UNKNOWN]
LLAMA_SPECIAL = [UNKNOWN, START, END]


def of_pieces(path: Path, build: Callable[[Path, JSON], Tokenizer]) -> Tokenizer | None:
    """What `build` makes of a SentencePiece file and the tokenizer_config.json beside it; None if there is no
    such file."""
    if not path.is_file():
        return None
    beside = path.with_name("tokenizer_config.json")
    settings = read_json_object(beside) if beside.is_file() else {}

    def failed(reason: str) -> FormatError:
        return FormatError(
            "{path} is damaged: {reason}. Download or copy the file again.", path=path, reason=reason
        )

    with library_errors(failed):
        return build(path, settings)


def t5_pieces(path: Path, settings: JSON) -> Tokenizer:
    """T5's: words are split at white space first, sentinels come after the vocabulary, "</s>" after each
    text."""
    sentinels = settings.get("extra_ids", 100)
    if not isinstance(sentinels, int) or not 0 <= sentinels <= MAX_SENTINELS:
        raise FormatError(
            "{path}: extra_ids beside it is {found}; expected 0 to {most}.",
            path=path,
            found=sentinels,
            most=MAX_SENTINELS,
        )
    model = parsed(path.read_bytes(), path)
    names = [piece.piece for piece in model.pieces]
    if names[:3] != T5_SPECIAL or model.trainer_spec.model_type != UNIGRAM:
        raise FormatError(
            "{path}: expected a unigram model that begins with {expected}; found {found}. Get "
            "tokenizer.json.",
            path=path,
            expected=Listed(T5_SPECIAL),
            found=Listed(names[:3]),
        )
    extra = [f"<extra_id_{number}>" for number in reversed(range(sentinels))]
    _check_special_tokens(path, settings, {*names, *extra})
    pieces = [(piece.piece, piece.score) for piece in model.pieces]
    tokenizer = Tokenizer(models.Unigram([*pieces, *((name, 0.0) for name in extra)], names.index(UNKNOWN)))
    if model.normalizer_spec.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, names.index(END))]
    )
    special = [AddedToken(name, special=True, normalized=False) for name in [*T5_SPECIAL, *extra]]
    tokenizer.add_special_tokens(special)
    return tokenizer


def llama_pieces(path: Path, settings: JSON) -> Tokenizer:
    """Llama's: byte pairs are merged in the order of their ids, other characters are bytes, and the settings
    say what is put around a text."""
    model = parsed(path.read_bytes(), path)
    words = {piece.piece: id for id, piece in enumerate(model.pieces)}
    if model.trainer_spec.model_type != BPE or list(words)[:3] != LLAMA_SPECIAL:
        raise FormatError(
            "{path}: expected byte pairs that begin with {expected}; found {found}. Get tokenizer.json.",
            path=path,
            expected=Listed(LLAMA_SPECIAL),
            found=Listed(list(words)[:3]),
        )
    _check_special_tokens(path, settings, words)
    merges = [
        (word[:cut], word[cut:])
        for word in words
        for cut in range(1, len(word))
        if word[:cut] in words and word[cut:] in words
    ]
    tokenizer = Tokenizer(models.BPE(words, merges, fuse_unk=True, byte_fallback=True))
    prefix = settings.get("add_prefix_space") is not False
    place = "always" if settings.get("legacy") else "first"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        prepend_scheme=place if prefix else "never", split=False
    )
    spaces = [decoders.Strip(" ", 1, 0)] if prefix else []
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *spaces]
    tokenizer.decoder = decoders.Sequence(steps)
    special = [piece.piece for piece in model.pieces if piece.type in (Piece.UNKNOWN, Piece.CONTROL)]
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    user = [piece.piece for piece in model.pieces if piece.type == Piece.USER_DEFINED]
    tokenizer.add_tokens([AddedToken(name, normalized=False) for name in user])
    tokenizer.post_processor = _around(settings, words)
    return tokenizer


def _around(settings: JSON, words: Mapping[str, int]) -> processors.TemplateProcessing:
    """The start before a text and the end after it, where the settings say so."""
    start = _content(settings.get("bos_token")) or START
    end = _content(settings.get("eos_token")) or END
    before = f"{start} " if settings.get("add_bos_token") else ""
    after = f" {end}" if settings.get("add_eos_token") else ""
    return processors.TemplateProcessing(
        single=f"{before}$A{after}",
        pair=f"{before}$A{after} {before}$B{after}",
        special_tokens=[(token, words[token]) for token in {start, end}],
    )


def _content(entry: Any) -> str:
    """A token, which may be written with its properties."""
    found = entry.get("content") if isinstance(entry, dict) else entry
    return found if isinstance(found, str) else ""


def _check_special_tokens(path: Path, settings: JSON, words: Collection[str]) -> None:
    """Raise FormatError for special tokens that are not among the words of an older tokenizer file: their ids
    are in tokenizer.json."""
    listed = settings.get("additional_special_tokens") or []
    entries = [value for name, value in settings.items() if name.endswith("_token")] + [*listed]
    tokens = {_content(entry) for entry in entries} - {""}
    absent = sorted(tokens - {*words})
    if absent:
        raise FormatError(
            "{path}: the tokenizer_config.json beside it adds {tokens}, which are not among its words. Get "
            "tokenizer.json as well.",
            path=path,
            tokens=Listed(absent),
        )
