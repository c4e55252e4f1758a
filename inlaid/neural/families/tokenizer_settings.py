"""Tokenizer settings: tokenizer_config.json beside a tokenizer.json, which may contradict it.

For some families `transformers` takes only the words of tokenizer.json, and builds the rest again by the
settings of tokenizer_config.json. So these win; here they win too, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

from inlaid.errors import FormatError
from inlaid.messages import Message
from inlaid.neural.families.family import Family
from inlaid.neural.families.tokenizer_classes import BYTES, CLASSES, kind_of, rebuild, token_of
from inlaid.untrusted import library_errors, read_json_object

CONFIG = "config.json"
SETTINGS = "tokenizer_config.json"
SPECIAL_TOKENS = "special_tokens_map.json"
"""Older folders have the special tokens here."""
NOT_KEPT = ("auto_map", "tokenizer_class", "processor_class", "name_or_path")
"""Settings that do not hold for the folders we write."""
AS_STORED = ("PreTrainedTokenizer", "TokenizersBackend")
"""Classes, without "Fast", that name no tokenizer of their own."""
NAMED = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
LISTED = ("additional_special_tokens", "extra_special_tokens")
"""Where settings name special tokens."""


def read_settings(folder: Path) -> dict[str, Any]:
    """What the files beside a tokenizer say; empty if there are none. Some name its class in config.json."""
    config = read_json_object(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    found: dict[str, Any] = {key: config[key] for key in ("tokenizer_class",) if config.get(key)}
    for name in (SPECIAL_TOKENS, SETTINGS):
        if (folder / name).is_file():
            found |= read_json_object(folder / name)
    return found


def apply_settings(tokenizer: Any, settings: Mapping[str, Any], family: Family, rows: int) -> list[str]:
    """Change a tokenizer as the settings say; returns what they contradict, for the card. `rows` is the size
    of the input table."""
    if not isinstance(tokenizer, Tokenizer):
        return []
    notes: list[Message] = []
    name = _class_of(tokenizer, settings, family, notes)
    if family.tokenizer_class and name in CLASSES:
        with library_errors(_damaged):
            notes += _rebuilt(tokenizer, name, settings)
        special = CLASSES[name].special
        words = {f"{each}_token": token for each, token in special.items() if _is_word(tokenizer, token)}
        settings = {**words, **settings}
    notes += _ignored(tokenizer, settings)
    notes += _add_special_tokens(tokenizer, settings, rows)
    return [each.in_language("en") for each in notes]


def _class_of(tokenizer: Tokenizer, settings: Mapping[str, Any], family: Family, notes: list[Message]) -> str:
    """The class a tokenizer is built by, without "Fast"; one that is named and not used gets a note."""
    own = family.tokenizer_class
    given = settings.get("tokenizer_class") or own
    name = given.removesuffix("Fast") if isinstance(given, str) else ""
    # As in `transformers`: a byte-level vocabulary under this name has a tokenizer.json that is right.
    is_llama3 = name == "LlamaTokenizer" and kind_of(tokenizer) == BYTES
    if not family.tokenizer_class_fixed or is_llama3 or name == own:
        return name
    if name not in AS_STORED:
        notes.append(
            Message(
                "not used: {name} of tokenizer_config.json; models of this family have a {own}",
                name=name,
                own=own,
            )
        )
    return own


def _rebuilt(tokenizer: Tokenizer, name: str, settings: Mapping[str, Any]) -> Iterator[Message]:
    if kind_of(tokenizer) != CLASSES[name].kind:
        yield Message(
            "tokenizer.json, not tokenizer_config.json, decides: {found} is no vocabulary for {name}",
            found=kind_of(tokenizer),
            name=name,
        )
        return
    for setting in rebuild(tokenizer, name, settings):
        yield Message("tokenizer_config.json, not tokenizer.json, decides: {setting}", setting=setting)


def _add_special_tokens(tokenizer: Tokenizer, settings: Mapping[str, Any], rows: int) -> Iterator[Message]:
    """Special tokens that only the settings name: a text that spells one has that token, not its pieces. One
    that is no word yet is added after the others, if the table has a row for it."""
    listed = [each for key in LISTED if isinstance(settings.get(key), list) for each in settings[key]]
    entries = {name: settings.get(f"{name}_token") for name in NAMED}
    entries |= {str(number): each for number, each in enumerate(listed)}
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    for token in filter(None, (token_of(entries, key) for key in entries)):
        if token in known:
            continue
        if not _is_word(tokenizer, token) and tokenizer.get_vocab_size() >= rows:
            yield Message("not used: {token} of tokenizer_config.json has no row in the table", token=token)
            continue
        tokenizer.add_tokens([AddedToken(token, normalized=False)])  # not special: decoding keeps words


def _is_word(tokenizer: Tokenizer, token: str) -> bool:
    return tokenizer.token_to_id(token) is not None


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
        token = token_of(settings, name)
        wanted = settings.get(key)
        if isinstance(wanted, bool) and token:
            added = found == [tokenizer.token_to_id(token)]
            if added != wanted:
                yield Message(
                    "{key} of tokenizer_config.json is {wanted}; tokenizer.json decides otherwise",
                    key=key,
                    wanted=wanted,
                )


def _damaged(reason: str) -> FormatError:
    return FormatError("The tokenizer.json cannot encode a text: {reason}. Get it again.", reason=reason)


def settings_to_write(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A tokenizer_config.json: the settings as they were read, and defaults for what they lack. Its class is
    one that takes tokenizer.json as it is."""
    kept = {key: value for key, value in settings.items() if key not in NOT_KEPT and value is not None}
    return {**defaults, **kept, "tokenizer_class": "PreTrainedTokenizerFast"}
