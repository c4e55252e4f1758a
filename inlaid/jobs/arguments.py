"""Arguments: what was asked of a training -> a Job and how its text is encoded, each made once.

A method is a name with settings beside it, or a settings object; settings of the encoding may be among them.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from inlaid import registry
from inlaid.collect.sources import Text
from inlaid.config import settings_of, unknown_setting, with_values
from inlaid.encode.corpus import Corpus, Encoding
from inlaid.encode.inputs import check_not_encoded, is_encoded
from inlaid.errors import SettingError
from inlaid.jobs.init_from import Continuing
from inlaid.jobs.job import Job
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import Abilities, Method, PreparesText, refusal
from inlaid.vectors import Vectors


def job_for(
    text: Text | Corpus,
    method: str | Method,
    encoding: Encoding | None,
    safety: Safety | None,
    init_from: Vectors | str | Path | None,
    freeze: bool,
    settings: dict[str, Any],
) -> tuple[Job, Encoding | None]:
    """The job that these arguments of `train` describe, and how its text is encoded."""
    if isinstance(method, type):
        method = cast("Method", method())
    if isinstance(method, str):
        entry = registry.entry("method", method)
        name = entry.name
        kind = entry.load()
    else:
        kind = type(method)
        name = registry.name_of("method", kind)
    if isinstance(init_from, str | Path):
        settings = {**settings, **_read_by_method(name, kind, Path(init_from), freeze)}
        init_from = None
        freeze = False
    continuing = Continuing(init_from=init_from, freeze=freeze)
    of_method, of_encoding = split_settings(settings, kind)
    chosen = method_of(method, of_method) if isinstance(method, str) else with_values(method, of_method)
    if of_encoding:
        encoding = with_values(encoding or default_encoding(kind), of_encoding)
    check_not_encoded(text, encoding, of_encoding)
    if isinstance(chosen, PreparesText) and not is_encoded(text):
        encoding = chosen.prepared(encoding or default_encoding(kind))
    if encoding is not None and encoding.phrases is not None and kind.abilities.model:
        raise SettingError(
            "phrases is for word vectors, and {method} trains a network. Leave it out.", method=name
        )
    chosen = cast("Method", chosen)
    return Job(name=name, method=chosen, safety=safety or Safety(), continuing=continuing), encoding


def _read_by_method(name: str, kind: Any, path: Path, freeze: bool) -> dict[str, Any]:
    """The settings of a network that starts from a folder or file, which it reads itself; other methods take
    vectors."""
    if "init_from" not in {field.name for field in dataclasses.fields(kind)}:
        if not kind.abilities.init_from:
            raise refusal(name, "init_from", "init_from")
        raise SettingError(
            "init_from is the path {path}, and this method continues from vectors. Read them first: "
            "init_from=inlaid.load({path!r}).",
            path=str(path),
        )
    return {"init_from": path, "freeze": freeze}


def split_settings(settings: dict[str, Any], kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the method, and settings of the encoding; no name belongs to both."""
    of_method = {field.name for field in dataclasses.fields(kind)}
    of_encoding = {field.name for field in dataclasses.fields(Encoding)}
    for name in settings:
        if name not in of_method | of_encoding:
            continues = getattr(kind, "abilities", Abilities()).init_from
            others = {"init_from", "freeze"} if continues else set[str]()
            raise unknown_setting(name, of_method | of_encoding | others)
    return (
        {name: value for name, value in settings.items() if name in of_method},
        {name: value for name, value in settings.items() if name in of_encoding},
    )


def method_of(name: str, settings: dict[str, Any]) -> Any:
    """The settings object of a method by its name; an alias such as `cbow` adds the settings it implies."""
    entry = registry.entry("method", name)
    preset = registry.accepted("method", name, entry.name) or {}
    method = settings_of(entry.load(), {**preset, **settings})
    check_alias(name, method)
    return method


def check_alias(name: str, method: Any) -> None:
    """Raise SettingError where settings contradict the name that was chosen, as `cbow` with skip-gram."""
    entry = registry.entry("method", name)
    preset = registry.accepted("method", name, entry.name) or {}
    for setting, value in preset.items():
        if getattr(method, setting) != value:
            raise SettingError(
                "{name} means {method} with {setting} {value}, but {setting} is {given}. Use "
                "`{method}`, or leave out {setting}.",
                name=name,
                method=entry.name,
                setting=setting,
                value=value,
                given=getattr(method, setting),
            )


def default_encoding(method: type) -> Encoding:
    """How text is encoded for a method unless something else is asked for."""
    return Encoding(**getattr(method, "encoding_defaults", {}))
