"""Every analysis of the registry as a command: read its inputs, call it, print its rows or its JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import typing
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid import places, registry
from inlaid.commands.options import (
    FLAGS,
    OVERWRITE_HELP,
    config_values,
    format_help,
    reading_fields,
    reading_values,
)
from inlaid.commands.parsing import dashes_kept, parse, without_mark
from inlaid.commands.terminal import GrowingText, drawn, print_json, print_rows, words_by_dim
from inlaid.config import settings_of
from inlaid.encode.corpus import Corpus, open_corpus
from inlaid.errors import SettingError, need
from inlaid.messages import Message, speaking
from inlaid.neural.kinds import AnyModel, is_model_folder
from inlaid.report import Report
from inlaid.study.analysis import Analysis, HasVectors, Input, analysis_of
from inlaid.vectors import Vectors

SHORT = {"n": "-n", "output": "-o", "field": "--column"}
"""Flags that also have another form."""


def run(entry: registry.Entry, words: list[str]) -> None:
    """Parse the words typed after the name of an analysis, run it and print the result."""
    study = analysis_of(entry.load())
    defaults = _defaults(study, words)
    command = f"inlaid {command_name(entry.name)}"
    kind = _options(study, defaults)
    options: Any = parse(kind, dashes_kept(words, kind), command, study.summary)
    settings = None
    if study.settings is not None:
        names = [field.name for field in dataclasses.fields(study.settings)]
        settings = settings_of(study.settings, {name: getattr(options, name) for name in names})
    saved = None
    stream = GrowingText()
    bars_shown = not study.streams or getattr(options, "output", None) is not None
    with _claimed(study, options), drawn(bars_shown=bars_shown) as report:
        inputs = {each.name: _loaded(each, study, options, report) for each in study.inputs}
        named: dict[str, Any] = {"settings": settings} if study.settings is not None else {}
        if study.takes_overwrite:
            named["overwrite"] = options.overwrite
        if study.streams and not options.json:
            named["stream"] = stream
        result = study.function(**inputs, **named, report=report)
        if study.gives_vectors and options.output:
            saved = _saved(result, study, options, report)
    if options.json:
        with speaking("en"):  # programs read it
            print_json(result.to_dict())
        return
    if not stream.ended():
        print_rows(result.rows())
    if saved:
        print(saved)


def _claimed(study: Analysis, options: Any) -> contextlib.AbstractContextManager[None]:
    """The output, checked before any work and locked; most analyses have none."""
    from inlaid import storage

    output = getattr(options, "output", None)
    if output is None:
        return contextlib.nullcontext()
    folder = False
    if study.gives_vectors:
        folder = storage.is_folder_format(storage.output_format(output, options.format))
    models = [
        path
        for each in study.inputs
        if each.type is not str and each.name != "output"
        for path in _typed_paths(getattr(options, each.name))
    ]
    return places.claimed(output, models=models, folder=folder, overwrite=options.overwrite)


def _typed_paths(typed: Path | tuple[Path, ...] | None) -> tuple[Path, ...]:
    if typed is None:
        return ()
    return typed if isinstance(typed, tuple) else (typed,)


def _saved(result: HasVectors, study: Analysis, options: Any, report: Report) -> Message:
    """Write the vectors of the result, and say where."""
    from inlaid import storage

    names = [
        getattr(options, each.name).stem for each in study.inputs if each.type is Vectors and not each.many
    ]
    vectors = result.to_vectors(names, report=report)
    storage.save(vectors, options.output, format=options.format, overwrite=options.overwrite, report=report)
    return Message("{path}: {size}", path=options.output, size=words_by_dim(vectors))


def command_name(name: str) -> str:
    """odd_one_out is typed `inlaid odd-one-out`."""
    return name.replace("_", "-")


def _defaults(study: Analysis, words: list[str]) -> dict[str, Any]:
    """The settings of --config, checked; flags override them."""
    values = config_values(words)
    if study.settings is None:
        return {}
    made = settings_of(study.settings, values)
    return {field.name: getattr(made, field.name) for field in dataclasses.fields(study.settings)}


def _options(study: Analysis, defaults: dict[str, Any]) -> type:
    """A dataclass of everything the command takes: inputs, settings, and what all analyses share."""
    fields: list[Any] = [_input_field(each) for each in study.inputs]
    docs = study.settings_help()
    if study.settings is not None:
        hints = typing.get_type_hints(study.settings, include_extras=True)
        fields += [
            _flag(name, hints[name], docs.get(name, ""), default) for name, default in defaults.items()
        ]
    if any(Vectors in (each.type, *each.accepts) for each in study.inputs):
        formats = ", ".join(entry.name for entry in registry.entries("format"))
        text = Message("format of the vectors, where it is not recognized: {formats}", formats=formats)
        fields.append(_flag("source_format", str | None, str(text), None))
        fields += reading_fields(without=set(defaults))
    if any(AnyModel in each.accepts for each in study.inputs):
        fields.append(_flag("device", str, "where a model computes: cpu, cuda, cuda:1, mps", "cpu"))
    if study.gives_vectors:
        fields.append(_flag("output", Path | None, "save the result as vectors", None))
        fields.append(_flag("format", str | None, format_help(), None))
    if study.gives_vectors or study.takes_overwrite:
        fields.append(_flag("overwrite", bool, OVERWRITE_HELP, False))
    if study.settings is not None:
        fields.append(_flag("config", Path | None, "a TOML file of settings; flags override it", None))
    fields.append(_flag("json", bool, "print JSON instead of text", False))
    return dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)


def _input_field(given: Input) -> Any:
    """An input is typed as a path, or as text."""
    typed: Any = str if given.type is str else Path
    if given.many:
        typed = tuple[typed, ...]
    default = given.default
    if given.default is None:
        typed = typed | None
    if not given.flag:
        typed = Positional[typed]
    text = given.help or HELP[given.type]
    return _flag(given.name, typed, text, default, _metavar(given))


def _metavar(given: Input) -> str | None:
    """WORD... for several words, in brackets where none need be given; None leaves it to tyro."""
    if not given.many:
        return None
    one = HELP[given.type].split()[-1] if given.flag else given.name.removesuffix("s")
    several = f"{one.upper()}..."
    return several if given.flag or given.required else f"[{several}]"


HELP: dict[type, str] = {
    Vectors: "a file of vectors",
    AnyModel: "the folder of a model",
    Corpus: "the folder of a corpus",
    str: "a word",
    Path: "a path",
}


def _flag(name: str, typed: Any, text: str, default: Any, metavar: str | None = None) -> Any:
    aliases = [SHORT[name]] if name in SHORT else None
    flag = FLAGS.get(name, name.rstrip("_") if name.endswith("_") else None)
    documented = Annotated[typed, tyro.conf.arg(name=flag, help=text, aliases=aliases, metavar=metavar)]
    if default is inspect.Parameter.empty:
        return name, documented
    return name, documented, dataclasses.field(default=default)


def _loaded(given: Input, study: Analysis, options: Any, report: Report) -> Any:
    """The value of an input: vectors and corpora are opened, text and paths are passed on."""
    typed = getattr(options, given.name)
    if given.required and given.many and not typed:
        raise SettingError("{name}: expected at least one, found none.", name=given.name)
    if given.type is str and typed is not None:
        return tuple(map(without_mark, typed)) if given.many else without_mark(typed)
    if typed is None or given.type is Path:
        return typed
    if given.many:
        return tuple(_opened(given, path, study, options, report) for path in typed)
    return _opened(given, typed, study, options, report)


def _model(path: Path, device: str) -> Any:
    need("torch", extra="neural")
    from inlaid.neural.checkpoint import load_model

    return load_model(path, device=device)


def _opened(given: Input, path: Path, study: Analysis, options: Any, report: Report) -> Any:
    from inlaid import storage

    if given.type is Corpus:
        return open_corpus(path)
    is_model = AnyModel in given.accepts and (given.type is AnyModel or is_model_folder(path))
    if is_model:
        return _model(path, options.device)
    settings = () if study.settings is None else dataclasses.fields(study.settings)
    # A setting of the same name is about the analysis, except for the charset: that is one for all files.
    others = {field.name for field in settings} - {"charset"}
    return storage.load(
        path, format=options.source_format, report=report, **reading_values(options, without=others)
    )
