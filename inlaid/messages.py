"""Messages: English sentences with named placeholders, and the values that fill them.

    message = Message("{path}:{line}: expected {expected} numbers, found {found}.", path=path, line=3, ...)

A sentence is formatted only when it is shown. So a program can read the values, and a catalogue can map the
sentence to another language: the sentence itself is the key.
"""

from __future__ import annotations

import contextlib
import locale
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar

Kind = TypeVar("Kind", bound="Message")
Language = Literal["zh", "en"]


class Message:
    """A sentence and its values. Without values the sentence is shown as it is, braces included."""

    def __init__(self, sentence: str, /, **values: Any) -> None:
        self.sentence = sentence
        self.values = values

    @classmethod
    def from_parts(cls: type[Kind], sentence: str, values: Mapping[str, Any]) -> Kind:
        """A message of this kind with the sentence and the values of another."""
        return cls(sentence, **values)

    def __str__(self) -> str:
        return render(self.sentence, self.values)

    def __repr__(self) -> str:
        return f"Message({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> bool:
        return bool(self.sentence)


class Advice:
    """Advice that differs for someone in a terminal and for a program in Python: each is shown its own.

    >>> str(Advice(typed=Message("--overwrite"), called=Message("overwrite=True")))
    'overwrite=True'
    """

    def __init__(self, *, typed: Message, called: Message) -> None:
        self.typed = typed
        self.called = called

    @property
    def sentence(self) -> str:
        return self._chosen.sentence

    @property
    def values(self) -> dict[str, Any]:
        return self._chosen.values

    @property
    def _chosen(self) -> Message:
        return self.typed if _in_terminal else self.called

    def __str__(self) -> str:
        return str(self._chosen)


def option(name: str, value: str = "") -> Advice:
    """How a setting is given: as a flag in a terminal, by keyword in Python.

    >>> str(option("tokenizer_file", "t.json"))
    "tokenizer_file='t.json'"
    """
    flag = name.replace("_", "-")
    if not value:
        return Advice(typed=Message("--{flag}", flag=flag), called=Message("{name}=", name=name))
    return Advice(
        typed=Message("--{flag} {value}", flag=flag, value=value),
        called=Message("{name}={value!r}", name=name, value=value),
    )


_in_terminal = False


@contextlib.contextmanager
def in_terminal() -> Iterator[None]:
    """What is shown meanwhile is read by someone who types commands."""
    global _in_terminal
    before = _in_terminal
    _in_terminal = True
    try:
        yield
    finally:
        _in_terminal = before


def render(sentence: str, values: Mapping[str, Any], catalogue: Mapping[str, str] | None = None) -> str:
    """The sentence, in the catalogue's language if it is there, with its values filled in.

    Values may be messages themselves.

    >>> render("{count:,} words in {path}.", {"count": 1234, "path": "a.txt"})
    '1,234 words in a.txt.'
    """
    found = (catalogue or {}).get(sentence, sentence)
    if not values:
        return found
    return found.format(**{name: _shown(value, catalogue) for name, value in values.items()})


def _shown(value: Any, catalogue: Mapping[str, str] | None) -> Any:
    """A nested message or error is rendered in the same language; anything else keeps its own format."""
    sentence = getattr(value, "sentence", None)
    values = getattr(value, "values", None)
    if isinstance(sentence, str) and isinstance(values, dict):
        return render(sentence, values, catalogue)
    return value


def spoken_language() -> Language:
    """Chinese where the user's locale is Chinese, otherwise English."""
    named = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG")
    chinese = (named or locale.getlocale()[0] or "").lower().startswith("zh")
    return "zh" if chinese else "en"
