"""Subword tokenizers from the files people have: tokenizer.json, GPT-2, BERT, SentencePiece."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, processors

from inlaid.encode import marian, sentencepiece
from inlaid.encode.subwords import SPECIAL, UNKNOWN, Subwords, bert_like, byte_level, engine_from, refusing
from inlaid.errors import FormatError, SettingError, SourceError

FORMS = (
    "tokenizer.json; vocab.json with merges.txt, or encoder.json with vocab.bpe (GPT-2); vocab.txt (BERT); "
    "a file ending in .model or .spm (SentencePiece)"
)
PARTNERS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}


def load(path: Path, *, lower: bool | None = None) -> Subwords:
    """The tokenizer of a file or a folder: tokenizer.json, GPT-2's two files, BERT's vocab.txt,
    SentencePiece's .model.

    In a folder, tokenizer.json comes first: it is complete. A vocab.txt does not say whether its text was
    lower-cased: a tokenizer_config.json beside it does, or `lower`.
    """
    path = _file_in(path) if path.is_dir() else path
    if not path.is_file():
        raise SourceError(f"There is no tokenizer {path}. Expected a folder or one of: {FORMS}.")
    engine = _engine(path, lower)
    try:
        return Subwords(engine)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def of_model(folder: Path, *, reads_both_ways: bool) -> Engine | marian.SentencePieces | None:
    """The tokenizer a model's folder carries, as `transformers` makes it: the name of a special token becomes
    that token.

    None where the folder carries none. A vocab.txt is taken for that of a model that reads both ways, as
    BERT: "[CLS]" and "[SEP]" go around a text, which is lower-cased unless a tokenizer_config.json says
    otherwise.
    """
    if marian.recognizes(folder) and not (folder / "tokenizer.json").is_file():
        return marian.SentencePieces(folder)
    pairs = [name for name, partner in PARTNERS.items() if (folder / partner).is_file()]
    names = ["tokenizer.json", *(["vocab.txt"] if reads_both_ways else []), *pairs]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return None
    bert = path.name == "vocab.txt"
    engine = _engine(path, bool(_config_beside(path).get("do_lower_case", True)) if bert else None)
    if bert:
        engine.post_processor = _around(engine, path)
    engine.no_padding()
    engine.no_truncation()  # never silently
    return engine


def _around(engine: Engine, path: Path) -> processors.BertProcessing:
    first, last = (engine.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    if first is None or last is None:
        raise FormatError(f"{path} is not BERT's vocabulary: expected [CLS] and [SEP] among its words.")
    return processors.BertProcessing(("[SEP]", last), ("[CLS]", first))


def _engine(path: Path, lower: bool | None) -> Engine:
    read = _reader_of(path)
    if lower is not None and read is not _read_bert:
        raise SettingError(
            f"lower goes with a vocab.txt, but {path} says itself how it reads text. Leave lower out."
        )
    with refusing(f"{path} is damaged, or not what its name says", "Get the file again."):
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
        raise FormatError(f"{folder} holds no tokenizer. Expected one of: {FORMS}.")
    if len(found) > 1:
        raise FormatError(
            f"{folder} holds {len(found)} tokenizers: {', '.join(found)}. Name the one to load."
        )
    return folder / found[0]


def _reader_of(path: Path) -> Callable[..., Engine]:
    if path.suffix in (".model", ".spm"):
        return sentencepiece.read
    if path.name in PARTNERS or path.name in PARTNERS.values():
        return _read_gpt2
    if path.suffix in (".json", ".txt"):
        return _read_tokenizer_json if path.suffix == ".json" else _read_bert
    raise FormatError(f"{path} has a name no tokenizer has. Expected one of: {FORMS}.")


def _read_tokenizer_json(path: Path) -> Engine:
    if not isinstance(_json(path).get("model"), dict):
        raise FormatError(
            f"{path} is JSON, but not a tokenizer.json: it has no 'model'. Expected one of: {FORMS}."
        )
    return engine_from(_text(path))


def _read_gpt2(path: Path) -> Engine:
    """Byte-level BPE. What is neither a byte nor made by a merge is a special token."""
    name = next(name for name, partner in PARTNERS.items() if path.name in (name, partner))
    vocabulary = _json(path.with_name(name))
    merges = _merges(path.with_name(PARTNERS[name]))
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    if not alphabet <= vocabulary.keys() or "a</w>" in vocabulary:
        raise FormatError(
            f"{path.with_name(name)} is not of GPT-2's kind, whose words are made of bytes. Load its tokenizer.json."
        )
    config = _config_beside(path)
    engine = byte_level(models.BPE(vocabulary, merges), prefix_space=config.get("add_prefix_space", False))
    made = {left + right for left, right in merges}
    engine.add_special_tokens(sorted(vocabulary.keys() - alphabet - made, key=lambda word: vocabulary[word]))
    return engine


def _merges(path: Path) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(_lines(path), start=1):
        parts = line.split(" ")
        if number == 1 and line.startswith("#version"):
            continue
        if len(parts) != 2:
            raise FormatError(f"{path}:{number}: expected two words with a space between, found '{line}'.")
        merges.append((parts[0], parts[1]))
    return merges


def _read_bert(path: Path, lower: bool | None) -> Engine:
    words = _lines(path)
    vocabulary = {word: id for id, word in enumerate(words)}
    if UNKNOWN not in vocabulary:
        raise FormatError(f"{path} is not BERT's vocabulary: expected one word a line, {UNKNOWN} among them.")
    if len(vocabulary) < len(words):
        again = next(word for id, word in enumerate(words) if vocabulary[word] != id)
        raise FormatError(f"{path}: the word '{again}' stands on more than one line. Each word needs one id.")
    config = _config_beside(path)
    engine = bert_like(
        models.WordPiece(vocabulary, unk_token=UNKNOWN),
        lower=_lower_cases(path, config.get("do_lower_case"), lower),
        clean=True,
        chinese=config.get("tokenize_chinese_chars", True),
        accents=config.get("strip_accents"),
    )
    engine.add_special_tokens([name for name in SPECIAL if name in vocabulary])
    return engine


def _lower_cases(path: Path, config: bool | None, lower: bool | None) -> bool:
    if lower is None and config is None:
        raise SettingError(
            f"{path} does not say whether text is lower-cased first. Say it: lower=True (uncased) or lower=False (cased)."
        )
    if None not in (lower, config) and lower != config:
        raise SettingError(
            f"lower is {lower}, but the tokenizer_config.json beside {path} says {config}. Leave lower out."
        )
    return bool(config if lower is None else lower)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise SourceError(f"Cannot read {path}: {error.strerror}. The tokenizer needs it.") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not text in UTF-8: {error}. Get the file again.") from None


def _lines(path: Path) -> list[str]:
    """Without splitlines, which also cuts at characters that are words of some vocabularies."""
    text = _text(path).removesuffix("\n")
    return text.split("\n") if text else []


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON: {error}. Get the file again.") from None
    if not isinstance(found, dict):
        raise FormatError(
            f"{path} holds a JSON {type(found).__name__}; expected an object. Get the file again."
        )
    return found


def _config_beside(path: Path) -> dict[str, Any]:
    config = path.with_name("tokenizer_config.json")
    return _json(config) if config.is_file() else {}


def vocabulary_of(folder: Path) -> dict[str, int]:
    """Token -> id, from tokenizer.json, vocab.json or vocab.txt; empty where a folder has none of them.

    Only the words are read: this works for tokenizers that cannot cut text here.
    """
    name = next(
        (
            name
            for name in ("tokenizer.json", "vocab.json", "encoder.json", "vocab.txt")
            if (folder / name).is_file()
        ),
        None,
    )
    if name is None:
        return {}
    if name == "vocab.txt":
        return {word: id for id, word in enumerate(_lines(folder / name))}
    content = _json(folder / name)
    try:
        found = (
            content["model"]["vocab"] if name == "tokenizer.json" else content | _added_beside(folder / name)
        )
        words = {piece[0]: id for id, piece in enumerate(found)} if isinstance(found, list) else dict(found)
        if name == "tokenizer.json":
            words |= {added["content"]: added["id"] for added in content.get("added_tokens") or []}
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError(
            f"{folder / name} lists no words: expected a model with a vocab ({error!r}). Get the file again."
        ) from None
    if not all(isinstance(word, str) and isinstance(id, int) for word, id in words.items()):
        raise FormatError(
            f"{folder / name}: expected words and whole numbers as their ids. Get the file again."
        )
    return words


def _added_beside(path: Path) -> dict[str, Any]:
    added = path.with_name("added_tokens.json")
    return _json(added) if added.is_file() else {}
