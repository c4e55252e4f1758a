"""Inputs of an encoding: the files it reads, and text that is already encoded, which takes no settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inlaid.collect.sources import Text, places_of
from inlaid.config import changed_from_default
from inlaid.encode.corpus import Corpus, Encoding, is_corpus
from inlaid.encode.dictionary import names_file, parts_of
from inlaid.errors import SettingError
from inlaid.messages import Listed, Message


def places_read(text: Text | Corpus, encoding: Encoding | None) -> list[Path | None]:
    """The files and folders that encoding a text reads."""
    named = [] if isinstance(text, Corpus) else places_of(text)
    if encoding is None:
        return [*named]
    dictionaries = [Path(each) for each in parts_of(encoding.dictionary) if names_file(each)]
    return [*named, *dictionaries, encoding.tokenizer_file, encoding.phrases]


def is_encoded(text: Text | Corpus) -> bool:
    """Whether a text is a corpus, or the folder of one."""
    return isinstance(text, Corpus) or (isinstance(text, (str, Path)) and is_corpus(Path(text)))


def check_not_encoded(
    text: Text | Corpus, encoding: Encoding | None, settings: Mapping[str, Any], out: object = None
) -> None:
    """Raise SettingError, with the names of the settings, where a corpus is to be encoded once more."""
    if encoding is None and not settings and out is None:
        return
    if not is_encoded(text):
        return
    shown = Message("This text") if isinstance(text, Corpus) else text
    given = list(settings)
    if encoding is not None:
        given += [name for name in changed_from_default(encoding) if name not in settings]
    if out is not None and not given:
        raise SettingError("{text} is already a corpus. Copy the folder to have it twice.", text=shown)
    raise SettingError(
        "{text} is already a corpus, and its encoding cannot be changed: leave out {names}, or encode the "
        "text again.",
        text=shown,
        names=Listed(given) or "encoding",
    )
