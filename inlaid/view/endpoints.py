"""Endpoints: each registered analysis that makes sense for clients, with schemas from its dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from inlaid import registry
from inlaid.config import SEEDS, Range, settings_of, unknown_setting
from inlaid.encode.corpus import Corpus
from inlaid.errors import RequestError, SettingError
from inlaid.messages import Listed, Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Note
from inlaid.study.analysis import Analysis, Input, analysis_of
from inlaid.vectors import Vectors
from inlaid.view.spaces import Space, Spaces

SPACE = "space"
"""The field that names vectors or a model of those that are served."""
MOST = 10_000
"""The largest whole number of a setting without a limit of its own, such as the number of answers."""
NARROWING = ("top",)
"""Settings that leave words out: a large number takes no longer than none."""

PLAIN = (str, int, float)
KNOWN = 1000
"""Settings that are kept for each endpoint: checking them takes as long as a small search."""


@dataclass(frozen=True)
class Answer:
    """The result of an analysis, and the notes that a user should read."""

    result: dict[str, Any]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Endpoint:
    """One analysis as clients ask for it: what they may give, and how it is called."""

    name: str
    summary: str
    study: Analysis
    spaces: Mapping[str, Input]
    """Field -> the input of vectors or models that it names."""
    inputs: Mapping[str, Input]
    """Field -> an input of text."""
    settings: tuple[str, ...]

    @functools.cached_property
    def request(self) -> type[BaseModel]:
        """What a request may have, as a schema."""
        fields: dict[str, Any] = {}
        for name, given in self.spaces.items():
            text = "the name of a space that is served" + ("" if given.required else "; may be left out")
            optional = name == SPACE or not given.required
            kind = list[str] if given.many else str
            fields[name] = _field(kind, given.required and not optional, given, text)
        for name, given in self.inputs.items():
            fields[name] = _field(list[str] if given.many else str, given.required, given, given.help)
        fields |= dict(self._setting_fields())
        title = "".join(part.title() for part in self.name.split("_"))
        config = ConfigDict(extra="forbid", json_schema_extra={"examples": [self.example()]})
        return create_model(f"{title}Request", __config__=config, **fields)

    def _setting_fields(self) -> Iterator[tuple[str, Any]]:
        if self.study.settings is None:
            return
        hints = typing.get_type_hints(self.study.settings, include_extras=True)
        docs = self.study.settings_help()
        for field in dataclasses.fields(self.study.settings):
            if field.name in self.settings:
                kind = limited(hints[field.name], field)
                yield field.name, (kind, Field(default=default_of(field), description=docs.get(field.name)))

    def example(self) -> dict[str, Any]:
        """A request that is answered by some space; of words of the embedded world."""
        given = {name: EXAMPLES.get(each.name, "king") for name, each in self.inputs.items()}
        return {
            name: ([value] if self.inputs[name].many and isinstance(value, str) else value)
            for name, value in given.items()
            if self.inputs[name].required or name in SHOWN
        }

    @functools.cached_property
    def is_lookup(self) -> bool:
        """Whether the answer is a search of word vectors, which is the same whenever it is asked."""
        searches = self.study.function.__module__.startswith("inlaid.study.search.")
        return searches and all(set(each.accepts) == {Vectors} for each in self.spaces.values())

    def fields(self) -> list[str]:
        return [*self.spaces, *self.inputs, *self.settings]

    def arguments(self, body: Any, spaces: Spaces) -> dict[str, Any]:
        """What the function is called with; a SettingError says what is wrong with the body."""
        if not isinstance(body, dict):
            raise RequestError("Expected a JSON object with the fields of this endpoint.")
        given = typing.cast("dict[str, Any]", body)
        known = self.fields()
        for name in given:
            if name not in known:
                raise unknown_setting(name[:100], known)
        found = dict[str, Any]()
        for name, each in self.spaces.items():
            space = _named(name, each, given, spaces)
            if space is not None:
                found[each.name] = space
        for name, each in self.inputs.items():
            if given.get(name) is not None:
                found[each.name] = _text(name, each, given[name])
        for name, each in self.inputs.items():
            if each.required and each.name not in found:
                raise SettingError("{name} is missing. Give it.", name=name)
        if self.study.settings is not None:
            found["settings"] = self._settings({name: given[name] for name in self.settings if name in given})
        return found

    def _settings(self, values: Mapping[str, Any]) -> Any:
        """The settings of a request, checked; those that were asked for before are kept."""
        kind: Any = self.study.settings
        plain = all(isinstance(each, PLAIN) for each in values.values())
        key = tuple((name, type(each), each) for name, each in values.items()) if plain else None
        if key is not None and key in self._known:
            return self._known[key]
        _refuse_large(kind, values)
        made = settings_of(kind, values)
        if key is not None and len(self._known) < KNOWN:
            self._known[key] = made
        return made

    @functools.cached_property
    def _known(self) -> dict[Any, Any]:
        return {}

    def call(self, body: Any, spaces: Spaces, **more: Any) -> Answer:
        """Answer a request."""
        notes = list[Note]()

        def hear(event: Any) -> None:
            if isinstance(event, Note):
                notes.append(event)

        result = self.study.function(**self.arguments(body, spaces), **more, report=hear)
        return Answer(result.to_dict(), tuple(notes))


EXAMPLES: dict[str, Any] = {
    "words": ["king"],
    "formula": "king - man + woman",
    "texts": ["a text"],
    "text": "我喜欢吃___",
    "first": "king",
    "second": "queen",
    "other": "queen",
    "sentences": ["the king eats an apple"],
}
"""Values of inputs in the examples."""
SHOWN = ("words", "texts", "formula")
"""Inputs that an example has even where they may be left out."""


@functools.cache
def endpoints() -> dict[str, Endpoint]:
    """All analyses that clients can ask for, by name.

    Left out are those that need a file or a corpus of this machine, and those that make vectors to be saved.
    """
    found = (_endpoint(entry) for entry in registry.entries("analysis"))
    return {each.name: each for each in found if each is not None}


def _endpoint(entry: registry.Entry) -> Endpoint | None:
    study = analysis_of(entry.load())
    local = [each for each in study.inputs if is_local(study, each)]
    if study.gives_vectors or any(each.required for each in local):
        return None
    offered = [each for each in study.inputs if each not in local]
    of_spaces = [each for each in offered if each.type in (Vectors, AnyModel)]
    alone = len([each for each in of_spaces if each.required]) == 1
    named = {
        SPACE if alone and each.required and not each.many else field_of(each): each for each in of_spaces
    }
    return Endpoint(
        name=entry.name,
        summary=study.summary,
        study=study,
        spaces=named,
        inputs={field_of(each): each for each in offered if each.type is str},
        settings=_offered_settings(study),
    )


def is_local(study: Analysis, given: Input) -> bool:
    """Whether an input is a file of this machine."""
    return given.type in (Path, Corpus) or given.name in study.local


def field_of(given: Input) -> str:
    """`from_` is "from" in JSON."""
    return given.name.rstrip("_")


def _offered_settings(study: Analysis) -> tuple[str, ...]:
    if study.settings is None:
        return ()
    hints = typing.get_type_hints(study.settings, include_extras=True)
    return tuple(name for name, hint in hints.items() if name not in study.local and not _has_path(hint))


def _has_path(hint: Any) -> bool:
    return hint is Path or any(_has_path(each) for each in get_args(hint))


def default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default if field.default is not dataclasses.MISSING else ...


def _field(kind: Any, required: bool, given: Input, text: str) -> Any:
    description = Field(description=text) if required else Field(default=None, description=text)
    return (kind if required else kind | None, description)


def limited(hint: Any, field: dataclasses.Field[Any]) -> Any:
    """The type of a setting for a schema: our ranges as pydantic has them, whole numbers with a limit."""
    origin = get_origin(hint)
    if origin is Annotated:
        inside, *extras = get_args(hint)
        ranges = [each for each in extras if isinstance(each, Range)]
        if not ranges:
            return limited(inside, field)
        high = most(ranges[0], field) if inside is int else ranges[0].high
        return Annotated[inside, Field(ge=ranges[0].low, le=high)]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(limited(each, field) for each in get_args(hint))]  # noqa: UP007
    if origin is tuple:
        return list[limited(get_args(hint)[0], field)]
    return hint


def most(limits: Range, field: dataclasses.Field[Any]) -> float | int | None:
    """The largest number that clients may give: time and memory grow with most of them."""
    if limits.high is not None or limits is SEEDS or field.name in NARROWING:
        return limits.high
    default = default_of(field)
    return max(MOST, default) if isinstance(default, int) else MOST


def _refuse_large(kind: type, values: Mapping[str, Any]) -> None:
    """Raise SettingError for a number above what clients may give."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        value = values.get(field.name)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        limits = _range_of(hints[field.name])
        high = None if limits is None else most(limits, field)
        if high is not None and value > high:
            raise SettingError(
                "{name} is {value!r}; expected {expected}.",
                name=field.name,
                value=value,
                expected=Message("at most {low}", low=high),
            )


def _range_of(hint: Any) -> Range | None:
    if isinstance(hint, Range):
        return hint
    found = [_range_of(each) for each in get_args(hint)] if get_origin(hint) is not Literal else []
    return next((each for each in found if each is not None), None)


def _named(name: str, given: Input, body: Mapping[str, Any], spaces: Spaces) -> Any:
    """The vectors or models that a field names; the first space where there is a single input and no name."""
    value = body.get(name)
    if value is None:
        if name != SPACE:
            if given.required:
                raise SettingError("{name} is missing. Give it.", name=name)
            return None
        return _fitting(spaces.find(), given, spaces)
    if given.many:
        return tuple(_fitting(spaces.find(each), given, spaces) for each in texts_in(name, value))
    if not isinstance(value, str):
        raise SettingError(
            "{name} is {value!r}; expected {expected}.", name=name, value=value, expected=Message("text")
        )
    return _fitting(spaces.find(value), given, spaces)


def _fitting(space: Space, given: Input, spaces: Spaces) -> Any:
    accepted = given.accepts or (given.type,)
    if not isinstance(space.value, accepted):
        fitting = [each.name for each in spaces if isinstance(each.value, accepted)]
        names = Listed(fitting or ["-"])
        if given.type is AnyModel:
            raise SettingError(
                "'{name}' has vectors; this needs a model. There are: {names}.", name=space.name, names=names
            )
        raise SettingError(
            "'{name}' is a model; this needs vectors. There are: {names}.", name=space.name, names=names
        )
    return space.value


def _text(name: str, given: Input, value: Any) -> Any:
    if given.many:
        return texts_in(name, value)
    if not isinstance(value, str):
        raise SettingError(
            "{name} is {value!r}; expected {expected}.", name=name, value=value, expected=Message("text")
        )
    return value


def texts_in(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts; one text is a list of one."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
        raise SettingError(
            "{name} is {value!r}; expected {expected}.",
            name=name,
            value=value,
            expected=Message("a list of {items}", items=Message("text")),
        )
    return tuple(typing.cast("Sequence[str]", listed))
