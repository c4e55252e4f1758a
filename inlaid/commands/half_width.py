"""What a Chinese input method makes of flags: －－ｄｉｍ ３００ and ——dim 300 are --dim 300."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from pathlib import Path
from typing import Any

from inlaid.collect.normalize import width
from inlaid.commands.options import FLAGS

DASHES = re.compile(r"^[-－—–]{1,4}(?=[A-Za-z\uff21-\uff3a\uff41-\uff5a])")


def half_width(words: list[str], kind: Any) -> list[str]:
    """Flags, numbers and choices in half-width characters; words, texts and paths stay as they are.

    >>> half_width(["－－dim", "３００", "——epochs＝５", "Ａ"], type(SGNS()))
    ['--dim', '300', '--epochs=5', 'Ａ']
    """
    options = option_names(kind)
    numbers = _options_without_text(kind)
    end = words.index("--") if "--" in words else len(words)
    typed = list[str]()
    option = ""
    for word in words[:end]:
        if named := _option(word, options):
            flag, equals, value = named
            option = "" if equals else flag
            typed.append(flag + equals + (width(value) if _name(flag) in numbers else value))
        else:
            typed.append(width(word) if _name(option) in numbers else word)
            option = ""
    return typed + words[end:]


def _option(word: str, options: list[str]) -> tuple[str, str, str] | None:
    """An option as it is spelled here, and the value after its equals sign; None for any other word."""
    dashes = DASHES.match(word)
    if dashes is None:
        return None
    parts = re.fullmatch(r"([^=＝]*)([=＝]?)(.*)", word[dashes.end() :], re.DOTALL)
    assert parts is not None  # every word is of this form
    name = width(parts[1])
    if dashes[0].startswith("-"):
        return dashes[0] + name, parts[2] and "=", parts[3]
    if _name(name) not in options and len(dashes[0]) == 1:
        return None
    return ("-" if len(name) == 1 else "--") + name, parts[2] and "=", parts[3]


def _name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def option_names(kind: Any) -> list[str]:
    """The names of all options of a command, those of its groups of settings included."""
    if not dataclasses.is_dataclass(kind):
        return list(inspect.signature(kind).parameters)
    names: list[str] = []
    for field in dataclasses.fields(kind):
        group = dataclasses.is_dataclass(field.default)
        names += option_names(type(field.default)) if group else [flag_of(field.name)]
    return names


def flag_of(name: str) -> str:
    """What a field is called on the command line: `from_` is --from."""
    return FLAGS.get(name, name.rstrip("_"))


def _options_without_text(kind: Any) -> set[str]:
    """The names of options whose values are numbers or choices."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if not dataclasses.is_dataclass(kind):
        return {name for name, hint in hints.items() if not _may_be_text(hint)}
    names = set[str]()
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.default):
            names |= _options_without_text(type(field.default))
        elif not _may_be_text(hints[field.name]):
            names.add(flag_of(field.name))
    return names


def _may_be_text(hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Literal:
        return False
    inside = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Annotated:
        return _may_be_text(inside[0])
    return any(map(_may_be_text, inside)) if inside else hint in (str, Path, Any)
