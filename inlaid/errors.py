"""Everything Inlaid raises on purpose; need() for optional dependencies."""

from __future__ import annotations

import difflib
import errno
import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from inlaid.messages import Language, Message, catalogue, render, shown_language

Kind = TypeVar("Kind", bound="InlaidError")

SPACE = Message("Free some space")
PERMISSIONS = Message("Check the permissions")
OTHER_ADVICE = Message("Check the disk")
ADVICE = {
    errno.ENOSPC: SPACE,
    errno.EDQUOT: SPACE,
    errno.EFBIG: Message("Write less, or raise the limit on the size of files (`ulimit -f`)"),
    errno.EACCES: PERMISSIONS,
    errno.EPERM: PERMISSIONS,
    errno.EROFS: Message("The file system is read-only: mount it for writing"),
    errno.ENAMETOOLONG: Message("Use a shorter name"),
    errno.EMFILE: Message("Raise the limit on open files (`ulimit -n`)"),
    errno.ENFILE: Message("End other programs"),
}
"""What to do about each error of a write."""


class InlaidError(Exception):
    """An error that a user can fix: its sentence says what was found, what was expected and what to do.

    The sentence has named placeholders, and the error keeps their values (see `messages`):

    >>> str(FormatError("{path}: expected {expected} numbers.", path="a.txt", expected=5))
    'a.txt: expected 5 numbers.'
    """

    def __init__(self, sentence: str = "", /, **values: Any) -> None:
        super().__init__()  # without args: who shows an error by them would show the placeholders
        self.sentence = sentence
        self.values = values

    @classmethod
    def from_parts(cls: type[Kind], sentence: str, values: Mapping[str, Any]) -> Kind:
        """An error of this kind with the sentence and the values of another, or from another process."""
        return cls(sentence, **values)

    def in_language(self, language: Language) -> str:
        """The sentence in a language, with its values filled in."""
        return render(self.sentence, self.values, catalogue(language))

    def __str__(self) -> str:
        return self.in_language(shown_language())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.sentence, self.values, self.__dict__)


class SettingError(InlaidError, ValueError):
    """A setting outside what it may be."""


class UnknownName(InlaidError):
    """A method, format, tokenizer, flag or key that does not exist."""


class OutOfVocabulary(InlaidError, KeyError):
    """A word the vectors have no row for. A KeyError too, as a dict raises; it is shown as a sentence, where
    KeyError alone would show the repr of it."""


class SourceError(InlaidError):
    """Text that is missing, empty or cannot be read."""


class FormatError(InlaidError):
    """A file that is not what it says it is."""


class WriteError(InlaidError):
    """A result that could not be written; the file that was there before is unchanged."""


class Unsynced(WriteError):
    """A result that is in place, but may not survive a power cut."""


class Diverged(InlaidError):
    """A training whose loss or tables became NaN or infinite, or whose loss rose without bound."""

    outcome: Any = None
    """The outcome of the last good state, which the training is restored to; None where there is none."""
    result: Any = None
    """The vectors or model of that state."""


class MissingExtra(InlaidError):
    """An optional dependency that is not installed."""


class RequestError(InlaidError):
    """A request over HTTP that no handler can read."""


class NotFound(RequestError):
    """A path that nothing is at."""


class WrongMethod(RequestError):
    """A path that is not asked this way."""


class Forbidden(RequestError):
    """A request by another name of this machine, or from a page of another site."""


class KeyNeeded(RequestError):
    """A request without an API key that is known."""


class WrongEncoding(RequestError):
    """A body in an encoding that is not taken, such as a compressed one."""


class TooLarge(RequestError):
    """A request above a limit of the server."""


class TooSlow(RequestError):
    """A request that did not arrive in time."""


class TooBusy(RequestError):
    """A request above what is worked on at the same time; it may be repeated."""


def _rebuilt(
    kind: type[InlaidError], sentence: str, values: dict[str, Any], more: dict[str, Any]
) -> InlaidError:
    """An error that came from another process."""
    error = kind.from_parts(sentence, values)
    error.__dict__.update(more)
    return error


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra installs it.

    >>> need("umap", extra="umap")
    MissingExtra: umap is not installed: run `pip install 'inlaid[umap]'`
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is installed, but one of its own imports fails
        raise MissingExtra(
            "{module} is not installed: run `pip install 'inlaid[{extra}]'`", module=module, extra=extra
        ) from None


def advice(error: OSError) -> Message:
    """What to do about a file that cannot be written."""
    return ADVICE.get(error.errno or 0, OTHER_ADVICE)


def did_you_mean(name: str, known: Iterable[str]) -> Message:
    """A sentence naming the closest of `known`; an empty message, which is false, when none is close."""
    longest = max(2, len(name) // 2)  # letters more or fewer: baby is not a misspelling of probably
    similar = [each for each in known if abs(len(each) - len(name)) <= longest]
    close = difflib.get_close_matches(name, similar, n=1, cutoff=0.6)
    return Message(" Did you mean '{close}'?", close=close[0]) if close else Message("")
