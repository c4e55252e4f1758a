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

import ast
import dataclasses
import functools
import inspect
import itertools
import re
import sys
import textwrap
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from inlaid import habits, registry
from inlaid.errors import SettingError, SourceError, UnknownName, did_you_mean
from inlaid.messages import Listed, Message
from inlaid.untrusted import check_regular

T = TypeVar("T")
NOTHING = Message("")
PLAIN = {
    float: Message("a finite number"),
    int: Message("a whole number"),
    type(None): Message("None"),
    str: Message("text"),
    bool: Message("true or false"),
    Path: Message("a path"),
}
"""What a value of a type is called."""


@dataclass(frozen=True)
class Range:
    """Both ends belong to it; None leaves an end open."""

    low: float | int | None = None
    high: float | int | None = None

    def __contains__(self, value: float | int) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    @property
    def message(self) -> Message:
        """What a value is expected to be."""
        if self.high is None:
            return Message("at least {low}", low=self.low)
        if self.low is None:
            return Message("at most {high}", high=self.high)
        return Message("from {low} to {high}", low=self.low, high=self.high)

    def __str__(self) -> str:
        return str(self.message)


Positive = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
Fraction = Annotated[float, Range(0, 1)]
Dropout = Annotated[float, Range(0, 0.99)]
"""Where everything is dropped, nothing is learned."""
SEEDS = Range(0, (1 << 64) - 1)
Seed = Annotated[int, SEEDS]
"""What every random generator here takes: 64 bits."""
MAX_DIM = 1 << 16
MAX_WINDOW = 1 << 20
"""Beyond any use; a typing error with more zeros is refused instead of filling the memory."""
Window = Annotated[int, Range(1, MAX_WINDOW)]
MAX_EPOCHS = 1_000_000
Epochs = Annotated[int, Range(1, MAX_EPOCHS)]


def check(settings: object) -> None:
    """Raise SettingError naming the first field whose value its type or range does not allow."""
    hints = _hints(type(settings))
    for field in dataclasses.fields(typing.cast("Any", settings)):
        name = field.name
        # what may be left out is not written as None
        problem = _problem(getattr(settings, name), hints[name], name_none=field.default is not None)
        if problem:
            raise SettingError(
                "{name} is {value!r}; expected {expected}.",
                name=name,
                value=getattr(settings, name),
                expected=problem,
            )


def settings_of(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make `kind` from a mapping, as it came from TOML, JSON or keyword arguments."""
    known = {field.name for field in dataclasses.fields(typing.cast("Any", kind))}
    for name in values:
        if name not in known:
            raise unknown_setting(name, known)
    hints = _hints(kind)
    return kind(**{name: _shaped(value, hints[name]) for name, value in values.items()})


def with_values(settings: T, values: Mapping[str, Any]) -> T:
    """The settings with some values changed, as TOML, JSON or keyword arguments give them."""
    if not values:
        return settings
    fields = dataclasses.fields(typing.cast("Any", settings))
    before = {field.name: getattr(settings, field.name) for field in fields}
    return settings_of(type(settings), {**before, **values})


def changed_from_default(settings: object) -> list[str]:
    """The names of the settings that are not at their defaults."""
    fields = dataclasses.fields(typing.cast("Any", settings))
    defaults = type(settings)()
    return [each.name for each in fields if getattr(settings, each.name) != getattr(defaults, each.name)]


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields; resolving them takes longer than a search of a small vocabulary."""
    return typing.get_type_hints(kind, include_extras=True)


def unknown_setting(name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name that is no setting: its name here, who has it, or the closest one."""
    known = sorted(known)
    habit = habits.habit_of(name, known)
    if habit is not None and habit.setting:
        return UnknownName(
            "`{name}` is called `{ours}` here.{more}", name=name, ours=habit.setting, more=habit.more
        )
    if habit is not None:
        return UnknownName("There is no `{name}` here.{more}", name=name, more=habit.more)
    hint = setting_of_others(name, known) or did_you_mean(name, known)
    if not hint:
        hint = Message(" There are: {names}.", names=Listed(known))
    return UnknownName("No setting is called '{name}'.{hint}", name=name, hint=hint)


def setting_of_others(name: str, known: Iterable[str]) -> Message:
    """Which methods have the setting that `name` means here or elsewhere, where a training with the `known`
    settings has not; empty when no method has it."""
    if habits.TRAINING not in set(known):
        return NOTHING
    owners = dict[str, list[str]]()
    for entry in registry.entries("method", "classifier"):
        for field in dataclasses.fields(entry.load()):
            owners.setdefault(field.name, []).append(entry.name)
    habit = habits.habit_of(name, [*owners, habits.TRAINING])
    if habit is None or habit.setting not in owners:
        return NOTHING
    return Message(
        " `{setting}` is a setting of: {methods}.",
        setting=habit.setting,
        methods=Listed(owners[habit.setting]),
    )


def values_of(settings: object) -> dict[str, Any]:
    """The settings as plain values that JSON and TOML can hold; `settings_of` turns them back."""
    values = dataclasses.asdict(typing.cast("Any", settings))
    return {name: _plain(value) for name, value in values.items()}


def field_help(kind: type) -> dict[str, str]:
    """What each field of a settings class is for: the docstring below it."""
    found = dict[str, str]()
    for each in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        statements = typing.cast("ast.ClassDef", body).body
        for field, below in itertools.pairwise(statements):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
            ):
                text = ast.literal_eval(below.value) if isinstance(below.value, ast.Constant) else ""
                found[field.target.id] = " ".join(str(text).split())
    return found


MAX_PARTS = 200
"""Dots in a key of TOML. The time that a key takes grows with their square."""


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file; tables are left as they are."""
    check_regular(path, "settings")
    try:
        text = path.read_text("utf-8")
        parts = max(piece.count(".") for piece in re.split(r"[=,{\n]", text))
        if parts > MAX_PARTS:
            raise SettingError(
                "{path}: a key has {parts:,} parts; expected a setting.", path=path, parts=parts
            )
        return tomllib.loads(text)
    except SettingError:
        raise
    except OSError as error:
        raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, a number too long, lists too deep
        raise SettingError("{path} is not valid TOML: {reason}.", path=path, reason=error) from None


def _problem(value: Any, hint: Any, *, name_none: bool = True) -> Message:
    """What `hint` expects, if `value` is not that; otherwise nothing, which is false. Whether None is named
    among it is for the caller to say."""
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        ranges = [extra for extra in arguments[1:] if isinstance(extra, Range)]
        problem = _problem(value, arguments[0], name_none=name_none)
        if problem or value is None:
            return problem
        return next((each.message for each in ranges if value not in each), NOTHING)
    if origin is Literal:
        return NOTHING if value in arguments else Message("one of {known}", known=Listed(arguments))
    if origin in (typing.Union, types.UnionType):
        problems = {each: _problem(value, each) for each in arguments}
        if not all(problems.values()):
            return NOTHING
        return _either([problems[each] for each in arguments if name_none or each is not type(None)])
    if origin is tuple:
        wrong = not isinstance(value, tuple) or any(_problem(each, arguments[0]) for each in value)
        return Message("a list of {items}", items=_name(arguments[0])) if wrong else NOTHING
    return NOTHING if _is_plain(value, hint) else PLAIN.get(hint, Message("{type}", type=hint))


def _either(messages: Iterable[Message]) -> Message:
    return functools.reduce(lambda one, other: Message("{one} or {other}", one=one, other=other), messages)


def _name(hint: Any) -> Message:
    """What the items of a list are called: int, str or Path, lists of int."""
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return Message("lists of {items}", items=_name(arguments[0]))
    if get_origin(hint) is Annotated:
        return _name(arguments[0])
    return _either(Message("{type}", type=each.__name__) for each in arguments or (hint,))


def _is_plain(value: Any, hint: Any) -> bool:
    """Whether a value is of a type without parameters; a finite int is a float, and a bool is no number."""
    if hint in (int, float) and isinstance(value, bool):
        return False
    if hint is float:
        return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
    return isinstance(value, hint)


def _shaped(value: Any, hint: Any) -> Any:
    """TOML and JSON have lists for our tuples, strings for our paths, tables for our dataclasses."""
    if get_origin(hint) is Annotated:
        return _shaped(value, get_args(hint)[0])
    choices = (hint, *get_args(hint))
    origins = {get_origin(each) or each for each in choices}
    if isinstance(value, list) and tuple in origins:
        item = next((get_args(each)[0] for each in choices if get_origin(each) is tuple), Any)
        return tuple(_shaped(each, item) for each in typing.cast("list[Any]", value))
    if isinstance(value, dict):
        kind = next((each for each in choices if dataclasses.is_dataclass(each)), None)
        return value if kind is None else settings_of(typing.cast("Any", kind), typing.cast("Any", value))
    is_path = Path in origins and str not in origins
    return Path(value) if isinstance(value, str) and is_path else value


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in typing.cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value
