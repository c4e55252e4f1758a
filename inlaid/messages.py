"""Messages: English sentences with named placeholders, and the values that fill them.

    message = Message("{path}:{line}: expected {expected} numbers, found {found}.", path=path, line=3, ...)

A sentence is formatted only when it is shown. So a program can read the values, and a catalogue can map the
sentence to another language: the sentence itself is the key (`catalogue/zh.json`).

    with speaking("zh"):
        print(message)                # as the command line does, in the language of its user
    message.in_language("en")         # whatever is spoken: logs and JSON are in English
"""

from __future__ import annotations

import contextlib
import functools
import json
import locale
import os
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from importlib.resources import files as resources
from typing import Any, Literal, TypeVar, get_args

Kind = TypeVar("Kind", bound="Message")
Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
VARIABLE = "INLAID_LANG"
"""The variable that chooses the language of the command line, before the locale does."""


class Message:
    """A sentence and its values. Without values the sentence is shown as it is, braces included."""

    def __init__(self, sentence: str, /, **values: Any) -> None:
        self.sentence = sentence
        self.values = values

    @classmethod
    def from_parts(cls: type[Kind], sentence: str, values: Mapping[str, Any]) -> Kind:
        """A message of this kind with the sentence and the values of another."""
        return cls(sentence, **values)

    def in_language(self, language: Language) -> str:
        """The sentence in a language, with its values filled in."""
        return render(self.sentence, self.values, catalogue(language))

    def __str__(self) -> str:
        return self.in_language(shown_language())

    def __repr__(self) -> str:
        return f"Message({self.in_language('en')!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.in_language("en") == other.in_language("en")

    def __hash__(self) -> int:
        return hash(self.in_language("en"))

    def __bool__(self) -> bool:
        return bool(self.sentence)


def word(text: str) -> Message:
    """A word of ours that a sentence names, such as a kind or a role; the catalogue has it by itself."""
    return Message.from_parts(text, {})


class Listed:
    """Names in a row, with the comma of the language that they are shown in: a, b and a、b.

    >>> str(Listed(["sgns", "glove"]))
    'sgns, glove'
    """

    def __init__(self, names: Iterable[object], comma: str = ", ") -> None:
        self.names = tuple(names)
        self.comma = comma

    def joined(self, catalogue: Mapping[str, str] | None = None) -> str:
        """The names, each shown in the language of the catalogue."""
        comma = (catalogue or {}).get(self.comma, self.comma)
        return comma.join(str(_shown(name, catalogue)) for name in self.names)

    def __str__(self) -> str:
        return self.joined(catalogue(shown_language()))

    def __bool__(self) -> bool:
        return bool(self.names)


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


REASONS = frozenset(
    (
        *(
            "No such file or directory",
            "File exists",
            "Is a directory",
            "Not a directory",
            "Directory not empty",
        ),
        *("Permission denied", "Operation not permitted", "Read-only file system", "File name too long"),
        *("No space left on device", "Disk quota exceeded", "File too large", "Input/output error"),
        *("Too many open files", "Cannot allocate memory", "Address already in use", "Broken pipe"),
        *("Cannot assign requested address", "Too many levels of symbolic links", "Invalid argument"),
    )
)
"""Why the operating system refused something, as Python has it: in English whatever the locale."""


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
    if isinstance(value, str) and value in REASONS:
        return (catalogue or {}).get(value, value)
    return value.joined(catalogue) if isinstance(value, Listed) else value


# --- languages ----------------------------------------------------------------------------------------------

_spoken: ContextVar[Language | None] = ContextVar("inlaid_language", default=None)
"""What `speaking` chose; each thread and each task of a server has its own."""


_asked: ContextVar[Language | None] = ContextVar("inlaid_asked_language", default=None)
"""The language that was asked for by name, such as --lang."""


@contextlib.contextmanager
def speaking(language: Language, *, asked: bool = False) -> Iterator[None]:
    """What is shown meanwhile, by this thread or task, is in this language; if it was asked for by name,
    pictures and pages are, too, whatever the language of the text in them."""
    token = _spoken.set(language)
    asked_token = _asked.set(language if asked else _asked.get())
    try:
        yield
    finally:
        _asked.reset(asked_token)
        _spoken.reset(token)


def asked_language() -> Language | None:
    """The language that was asked for by name; None where it follows from the system or the text."""
    return _asked.get()


def shown_language() -> Language:
    """The language of messages: what `speaking` chose; otherwise English, as a program reads them."""
    return _spoken.get() or "en"


def spoken_language() -> Language:
    """The language of the user: what `speaking` chose, then the variable INLAID_LANG, then the locale."""
    chosen = _spoken.get() or _known(os.environ.get(VARIABLE))
    if chosen is not None:
        return chosen
    named = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG")
    chinese = (named or locale.getlocale()[0] or "").lower().startswith("zh")
    return "zh" if chinese else "en"


def _known(code: str | None) -> Language | None:
    """The language of a code such as zh or zh_CN.UTF-8; None for any other, which says nothing."""
    return next((each for each in LANGUAGES if (code or "").lower().startswith(each)), None)


@functools.cache
def catalogue(language: Language) -> Mapping[str, str]:
    """Sentence in the source -> sentence in this language; English needs none."""
    if language == "en":
        return {}
    return json.loads((resources("inlaid") / "catalogue" / f"{language}.json").read_text("utf-8"))


def translated(text: str) -> str:
    """A word or a line of help in the language that is shown; what the catalogue lacks stays as it is."""
    return catalogue(shown_language()).get(text, text)


def said(language: Language, sentence: str, /, **values: object) -> str:
    """A sentence of a picture or a page, which may be in another language than the terminal."""
    return render(sentence, values, catalogue(language))
