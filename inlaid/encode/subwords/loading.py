"""Subword tokenizers loaded from files: tokenizer.json, GPT-2, BERT, SentencePiece."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, processors

from inlaid.encode.subwords import marian, sentencepiece
from inlaid.encode.subwords.tokenizer import (
    SPECIAL,
    UNKNOWN,
    Subwords,
    bert_like,
    byte_level,
    check_ids,
    engine_from,
)
from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.messages import Listed
from inlaid.untrusted import library_errors, read_json_object

FORMS = (
    "tokenizer.json; vocab.json with merges.txt, or encoder.json with vocab.bpe (GPT-2); vocab.txt (BERT); "
    "a file with the suffix .model or .spm (SentencePiece)"
)
_SPECIAL_NAME = re.compile(r"\[.+\]|<.+>")
PARTNERS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}


def load(path: Path, *, lower: bool | None = None) -> Subwords:
    """The tokenizer of a file or folder: tokenizer.json, GPT-2's two files, BERT's vocab.txt, SentencePiece's
    .model.

    In a folder, tokenizer.json comes first, because it is complete. A vocab.txt does not record whether text
    is lower-cased first: a tokenizer_config.json beside it does, or `lower`. Without both, text is
    lower-cased if no word of the vocabulary has a capital letter, as in bert-base-chinese.
    """
    path = _file_in(path) if path.is_dir() else path
    if not path.is_file():
        raise SourceError(
            "There is no tokenizer {path}. Expected a folder or one of: {forms}.", path=path, forms=FORMS
        )
    engine = _engine(path, lower)
    try:
        return Subwords(engine)
    except FormatError as error:
        raise FormatError("{path}: {error}", path=path, error=error) from None


def of_model(
    folder: Path, *, reads_both_ways: bool, around: tuple[str, str] = ("[CLS]", "[SEP]")
) -> Engine | marian.SentencePieces | None:
    """The tokenizer in a model's folder, as `transformers` builds it: names of special tokens become tokens.

    None if the folder has no tokenizer. A vocab.txt is used for bidirectional models, as BERT's: the two
    tokens `around` surround a text, which is lower-cased unless a tokenizer_config.json says otherwise.
    """
    if marian.recognizes(folder) and not (folder / "tokenizer.json").is_file():
        return marian.SentencePieces(folder)
    names = ["tokenizer.json"]
    if reads_both_ways:
        names.append("vocab.txt")
    names += [name for name, partner in PARTNERS.items() if (folder / partner).is_file()]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return None
    if path.name == "vocab.txt":
        engine = _engine(path, bool(_config_beside(path).get("do_lower_case", True)))
        engine.post_processor = _surrounded(engine, path, around)
    else:
        engine = _engine(path, None)
    engine.no_padding()
    engine.no_truncation()  # a text is never cut silently
    return engine


def _surrounded(engine: Engine, path: Path, around: tuple[str, str]) -> processors.BertProcessing:
    first, last = around
    first_id = engine.token_to_id(first)
    last_id = engine.token_to_id(last)
    if first_id is None or last_id is None:
        raise FormatError(
            "{path} is not this model's vocabulary: expected {first} and {last} among its words.",
            path=path,
            first=first,
            last=last,
        )
    return processors.BertProcessing((last, last_id), (first, first_id))


def _engine(path: Path, lower: bool | None) -> Engine:
    read = _reader_of(path)
    if lower is not None and read is not _read_bert:
        raise SettingError(
            "lower applies to a vocab.txt only; {path} itself says how text is normalized. Remove lower.",
            path=path,
        )

    def failed(reason: str) -> FormatError:
        return FormatError(
            "{path} is damaged, or not what its name says: {reason}. Download or copy the file again.",
            path=path,
            reason=reason,
        )

    with library_errors(failed):
        return _read_bert(path, lower) if read is _read_bert else read(path)


def _file_in(folder: Path) -> Path:
    """The one file that a folder's tokenizer is read from."""
    if (folder / "tokenizer.json").is_file():
        return folder / "tokenizer.json"
    names = {path.name for path in folder.iterdir()}
    found = sorted(
        name
        for name in names
        if name == "vocab.txt" or PARTNERS.get(name) in names or name.endswith((".model", ".spm"))
    )
    if not found:
        raise FormatError(
            "{folder} holds no tokenizer. Expected one of: {forms}.", folder=folder, forms=FORMS
        )
    if len(found) > 1:
        raise FormatError(
            "{folder} holds {count} tokenizers: {names}. Name the one to load.",
            folder=folder,
            count=len(found),
            names=Listed(found),
        )
    return folder / found[0]


def _reader_of(path: Path) -> Callable[..., Engine]:
    if path.suffix in (".model", ".spm"):
        return sentencepiece.read
    if path.name in PARTNERS or path.name in PARTNERS.values():
        return _read_gpt2
    if path.suffix == ".json":
        return _read_tokenizer_json
    if path.suffix == ".txt":
        return _read_bert
    raise FormatError(
        "{path} does not have the name of a tokenizer file. Expected one of: {forms}.", path=path, forms=FORMS
    )


# ---- One reader for each form


def _read_tokenizer_json(path: Path) -> Engine:
    if not isinstance(read_json_object(path).get("model"), dict):
        raise FormatError(
            "{path} is JSON, but not a tokenizer.json: it has no 'model'. Expected one of: {forms}.",
            path=path,
            forms=FORMS,
        )
    return engine_from(_text(path))


def _read_gpt2(path: Path) -> Engine:
    """Byte-level BPE. A word that is neither a byte nor the result of a merge is a special token."""
    name = next(name for name, partner in PARTNERS.items() if path.name in (name, partner))
    vocabulary = read_json_object(path.with_name(name))
    merges = _merges(path.with_name(PARTNERS[name]))
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    if not alphabet <= vocabulary.keys() or "a</w>" in vocabulary:
        raise FormatError(
            "{path} is not a byte-level vocabulary like GPT-2's. Load its tokenizer.json.",
            path=path.with_name(name),
        )
    config = _config_beside(path)
    engine = byte_level(models.BPE(vocabulary, merges), prefix_space=config.get("add_prefix_space", False))
    merged = {left + right for left, right in merges}
    special = vocabulary.keys() - alphabet - merged
    engine.add_special_tokens(sorted(special, key=lambda word: vocabulary[word]))
    return engine


def _merges(path: Path) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(_lines(path), start=1):
        parts = line.split(" ")
        if number == 1 and line.startswith("#version"):
            continue
        if len(parts) != 2:
            raise FormatError(
                "{path}:{line}: expected two words separated by a space, found '{found}'. "
                "Download or copy the file again.",
                path=path,
                line=number,
                found=line,
            )
        merges.append((parts[0], parts[1]))
    return merges


def _read_bert(path: Path, lower: bool | None) -> Engine:
    words = _lines(path)
    vocabulary = {word: id for id, word in enumerate(words)}
    if UNKNOWN not in vocabulary:
        raise FormatError(
            "{path} is not BERT's vocabulary: expected one word per line, {unknown} among them.",
            path=path,
            unknown=UNKNOWN,
        )
    if len(vocabulary) < len(words):
        repeated = next(word for id, word in enumerate(words) if vocabulary[word] != id)
        raise FormatError(
            "{path}: the word '{word}' is on more than one line. Each word needs one id.",
            path=path,
            word=repeated,
        )
    config = _config_beside(path)
    engine = bert_like(
        models.WordPiece(vocabulary, unk_token=UNKNOWN),
        lower=_lower_cases(path, vocabulary, config.get("do_lower_case"), lower),
        clean=True,
        chinese=config.get("tokenize_chinese_chars", True),
        accents=config.get("strip_accents"),
    )
    engine.add_special_tokens([name for name in SPECIAL if name in vocabulary])
    return engine


def _lower_cases(path: Path, words: Iterable[str], config: bool | None, lower: bool | None) -> bool:
    if None not in (lower, config) and lower != config:
        raise SettingError(
            "lower is {lower}, but the tokenizer_config.json beside {path} says {config}. Remove lower.",
            lower=lower,
            path=path,
            config=config,
        )
    known = config if lower is None else lower
    if known is not None:
        return known
    # names of special tokens, as [CLS] and <S>, have capitals in every vocabulary
    return all(word == word.lower() or _SPECIAL_NAME.fullmatch(word) for word in words)


# ---- The words alone


def vocabulary_of(folder: Path) -> dict[str, int]:
    """Token -> id, from tokenizer.json, vocab.json or vocab.txt; empty if a folder has none of them.

    Only the words are read, so this works for tokenizers that cannot be used here.
    """
    names = ("tokenizer.json", "vocab.json", "encoder.json", "vocab.txt")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return {}
    if path.name == "vocab.txt":
        return {word: id for id, word in enumerate(_lines(path))}
    content = read_json_object(path)
    try:
        words = _words_of_json(path, content)
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError(
            "{path} lists no words: expected a model with a vocab ({reason}). "
            "Download or copy the file again.",
            path=path,
            reason=repr(error),
        ) from None
    check_ids(path, words)
    return words


def _words_of_json(path: Path, content: dict[str, Any]) -> dict[str, int]:
    if path.name != "tokenizer.json":
        added = path.with_name("added_tokens.json")
        return content | read_json_object(added) if added.is_file() else dict(content)
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, list):  # unigram: pieces with their scores
        words = {piece[0]: id for id, piece in enumerate(vocabulary)}
    else:
        words = dict(vocabulary)
    return words | {added["content"]: added["id"] for added in content.get("added_tokens") or []}


# ---- Files


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise SourceError(
            "Cannot read {path}: {reason}. The tokenizer needs it.", path=path, reason=error.strerror
        ) from None
    except UnicodeDecodeError as error:
        raise FormatError(
            "{path} is not text in UTF-8: {reason}. Download or copy the file again.",
            path=path,
            reason=str(error),
        ) from None


def _lines(path: Path) -> list[str]:
    """Not splitlines, which also splits at characters that are words of some vocabularies."""
    text = _text(path).removesuffix("\n")
    return text.split("\n") if text else []


def _config_beside(path: Path) -> dict[str, Any]:
    config = path.with_name("tokenizer_config.json")
    return read_json_object(config) if config.is_file() else {}
