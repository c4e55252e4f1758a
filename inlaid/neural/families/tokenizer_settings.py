"""Tokenizer settings: tokenizer_config.json beside a tokenizer.json, which may contradict it.

For some families `transformers` takes only the words of tokenizer.json, and builds the rest again by the
settings of tokenizer_config.json. So these win; here they win too, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers

from inlaid.errors import FormatError
from inlaid.messages import Message
from inlaid.untrusted import library_errors, read_json_object

SETTINGS = "tokenizer_config.json"
SPECIAL_TOKENS = "special_tokens_map.json"
"""Older folders have the special tokens here."""
NOT_KEPT = ("auto_map", "tokenizer_class", "processor_class", "name_or_path")
"""Settings that do not hold for the folders we write."""
BERT_DEFAULTS: Mapping[str, bool | None] = {
    "do_lower_case": True,
    "tokenize_chinese_chars": True,
    "strip_accents": None,
}
BERT_FIELDS = {
    "do_lower_case": "lowercase",
    "tokenize_chinese_chars": "handle_chinese_chars",
    "strip_accents": "strip_accents",
}
"""Their keys -> the fields of the normalizer in tokenizer.json."""


def read_settings(folder: Path) -> dict[str, Any]:
    """What the files beside a tokenizer say; empty if there are none."""
    found: dict[str, Any] = {}
    for name in (SPECIAL_TOKENS, SETTINGS):
        if (folder / name).is_file():
            found |= read_json_object(folder / name)
    return found


def apply_settings(tokenizer: Any, settings: Mapping[str, Any], default_class: str) -> list[str]:
    """Change a tokenizer as the settings say; returns what they contradict, for the card.

    `default_class` is that of tokenizers whose settings name none; empty: the family takes tokenizer.json as
    it is.
    """
    if not isinstance(tokenizer, Tokenizer):
        return []
    given = settings.get("tokenizer_class") or default_class
    name = given.removesuffix("Fast") if isinstance(given, str) else ""
    changed = CLASSES[name](tokenizer, settings) if default_class and name in CLASSES else []
    decided = [
        Message("tokenizer_config.json, not tokenizer.json, decides: {setting}", setting=each)
        for each in changed
    ]
    return [str(each) for each in [*decided, *_ignored(tokenizer, settings)]]


def _ignored(tokenizer: Tokenizer, settings: Mapping[str, Any]) -> Iterator[Message]:
    """Start and end tokens are where tokenizer.json puts them, as in `transformers` 5; version 4 let the
    settings of some classes decide."""
    if not isinstance(settings.get("add_bos_token", settings.get("add_eos_token")), bool):
        return
    with library_errors(_damaged):
        ids = tokenizer.encode("a").ids
    for key, name, found in (
        ("add_bos_token", "bos_token", ids[:1]),
        ("add_eos_token", "eos_token", ids[-1:]),
    ):
        token = settings.get(name)
        content = token.get("content") if isinstance(token, dict) else token
        wanted = settings.get(key)
        if isinstance(wanted, bool) and isinstance(content, str):
            added = found == [tokenizer.token_to_id(content)]
            if added != wanted:
                yield Message(
                    "{key} of tokenizer_config.json is {wanted}; tokenizer.json decides otherwise",
                    key=key,
                    wanted=wanted,
                )


def _damaged(reason: str) -> FormatError:
    return FormatError("The tokenizer.json cannot encode a text: {reason}. Get it again.", reason=reason)


def _apply_to_bert(tokenizer: Tokenizer, settings: Mapping[str, Any]) -> list[str]:
    own = tokenizer.normalizer
    if not isinstance(own, normalizers.BertNormalizer):
        return []
    wanted = {key: settings.get(key, default) for key, default in BERT_DEFAULTS.items()}
    changed = [key for key, value in wanted.items() if getattr(own, BERT_FIELDS[key]) != value]
    for key in changed:
        setattr(own, BERT_FIELDS[key], wanted[key])
    if changed:
        tokenizer.normalizer = own
    return [f"{key} {wanted[key]}" for key in changed]


def _apply_to_byte_level(tokenizer: Tokenizer, settings: Mapping[str, Any]) -> list[str]:
    own = tokenizer.pre_tokenizer
    prefix = bool(settings.get("add_prefix_space", False))
    if not isinstance(own, pre_tokenizers.ByteLevel) or own.add_prefix_space == prefix:
        return []
    own.add_prefix_space = prefix
    tokenizer.pre_tokenizer = own
    return [f"add_prefix_space {prefix}"]


CLASSES: Mapping[str, Callable[[Tokenizer, Mapping[str, Any]], list[str]]] = {
    "BertTokenizer": _apply_to_bert,
    "DistilBertTokenizer": _apply_to_bert,
    "ElectraTokenizer": _apply_to_bert,
    "MPNetTokenizer": _apply_to_bert,
    "RobertaTokenizer": _apply_to_byte_level,
    "GPT2Tokenizer": _apply_to_byte_level,
}
"""Classes of `transformers` that are built from the settings."""


def settings_to_write(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A tokenizer_config.json: the settings as they were read, and defaults for what they lack. Its class is
    one that takes tokenizer.json as it is."""
    kept = {key: value for key, value in settings.items() if key not in NOT_KEPT and value is not None}
    return {**defaults, **kept, "tokenizer_class": "PreTrainedTokenizerFast"}
