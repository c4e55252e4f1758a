"""TOML and flags -> checked frozen dataclasses.

A setting lives in one frozen dataclass: its type, range, default and help. Whoever makes one gets it checked:

    @dataclass(frozen=True, kw_only=True)
    class PPMI:
        window: Positive = 5
        \"\"\"Words on each side of a center that count as its contexts.\"\"\"

        def __post_init__(self) -> None:
            check(self)
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from inlaid.errors import SettingError, SourceError, UnknownName, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """Both ends belong to it; None leaves an end open."""

    low: float | int | None = None
    high: float | int | None = None

    def __contains__(self, value: float | int) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low}"
        return f"at most {self.high}" if self.low is None else f"from {self.low} to {self.high}"


Positive = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
Fraction = Annotated[float, Range(0, 1)]


def check(settings: object) -> None:
    """Raise SettingError naming the first field whose value its type or range does not allow."""
    for name, hint in typing.get_type_hints(type(settings), include_extras=True).items():
        problem = _problem(getattr(settings, name), hint)
        if problem:
            raise SettingError(f"{name} is {getattr(settings, name)!r}; expected {problem}.")


def settings_of(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make `kind` from a mapping, as it came from TOML, JSON or keyword arguments."""
    known = {field.name for field in dataclasses.fields(typing.cast("Any", kind))}
    for name in values:
        if name not in known:
            raise unknown_setting(name, known)
    hints = typing.get_type_hints(kind, include_extras=True)
    return kind(**{name: _shaped(value, hints[name]) for name, value in values.items()})


def unknown_setting(name: str, known: Iterable[str]) -> UnknownName:
    hint = did_you_mean(name, known) or f" There are: {', '.join(sorted(known))}."
    return UnknownName(f"No setting is called '{name}'.{hint}")


def values_of(settings: object) -> dict[str, Any]:
    """The settings as plain values that JSON and TOML can hold; `settings_of` turns them back."""
    values = dataclasses.asdict(typing.cast("Any", settings))
    return {name: _plain(value) for name, value in values.items()}


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file; tables are left as they are."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SourceError(f"Cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not valid TOML: {error}.") from None


def _problem(value: Any, hint: Any) -> str:
    """What `hint` expects, if `value` is not that; otherwise nothing."""
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        ranges = [extra for extra in arguments[1:] if isinstance(extra, Range)]
        return _problem(value, arguments[0]) or next(
            (str(each) for each in ranges if value is not None and value not in each), ""
        )
    if origin is Literal:
        return "" if value in arguments else f"one of {', '.join(map(str, arguments))}"
    if origin in (typing.Union, types.UnionType):
        problems = [_problem(value, each) for each in arguments]
        return "" if not all(problems) else " or ".join(problems)
    if origin is tuple:
        wrong = not isinstance(value, tuple) or any(_problem(each, arguments[0]) for each in value)
        return f"a list of {arguments[0].__name__}" if wrong else ""
    return _plain_problem(value, hint)


def _plain_problem(value: Any, hint: Any) -> str:
    if hint is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "" if number and math.isfinite(value) else "a finite number"
    if hint is int:
        return "" if isinstance(value, int) and not isinstance(value, bool) else "a whole number"
    if hint is type(None):
        return "" if value is None else "None"
    return (
        ""
        if isinstance(value, hint)
        else {str: "text", bool: "true or false", Path: "a path"}.get(hint, str(hint))
    )


def _shaped(value: Any, hint: Any) -> Any:
    """TOML and JSON have lists where we have tuples, and text where we have paths."""
    wanted = {get_origin(each) or each for each in (hint, *get_args(hint))}
    if isinstance(value, list) and tuple in wanted:
        return tuple(typing.cast("list[Any]", value))
    return Path(value) if isinstance(value, str) and Path in wanted else value


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(typing.cast("tuple[Any, ...]", value))
    return str(value) if isinstance(value, Path) else value
