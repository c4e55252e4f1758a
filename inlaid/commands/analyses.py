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
from inlaid.commands.parsing import dashes_kept, option_names, parse, without_mark
from inlaid.commands.streams import (
    PIPE,
    answers_of,
    lines_of_stdin,
    print_json_line,
    refuse_unquoted,
    with_lines,
)
from inlaid.commands.terminal import GrowingText, print_json, print_rows, words_by_dim
from inlaid.config import settings_of
from inlaid.encode.corpus import Corpus, open_corpus
from inlaid.errors import OutOfVocabulary, SettingError, need
from inlaid.messages import Message, speaking
from inlaid.neural.kinds import AnyModel, is_model_folder
from inlaid.progress import drawn
from inlaid.report import Note, Report, silent
from inlaid.study.analysis import Analysis, HasVectors, Input, analysis_of
from inlaid.vectors import Vectors

JSON_LINES_HELP = "print JSON instead of text; for lines of standard input, a line of JSON for each"
PIPED_HELP = "; - reads lines of standard input"
SHORT = {"n": "-n", "output": "-o", "field": "--column"}
"""Flags that also have another form."""


def run(entry: registry.Entry, words: list[str]) -> None:
    """Parse the words typed after the name of an analysis, run it and print the result."""
    study = analysis_of(entry.load())
    defaults = _defaults(study, words)
    command = f"inlaid {command_name(entry.name)}"
    kind = _options(study, defaults)
    if study.inputs[0].type is Vectors:
        if any(each.name == "formula" for each in study.inputs):
            refuse_unquoted(words, command, options=option_names(kind))
        else:
            refuse_unquoted(words, "inlaid analogy")
    options: Any = parse(kind, dashes_kept(words, kind), command, study.summary)
    settings = None
    if study.settings is not None:
        names = [field.name for field in dataclasses.fields(study.settings)]
        settings = settings_of(study.settings, {name: getattr(options, name) for name in names})
    named: dict[str, Any] = {"settings": settings} if study.settings is not None else {}
    if study.takes_overwrite:
        named["overwrite"] = options.overwrite
    piped = _piped(study, options)
    bars_shown = piped is None and (not study.streams or getattr(options, "output", None) is not None)
    with _claimed(study, options), drawn(bars_shown=bars_shown) as report:
        inputs = {each.name: _loaded(each, study, options, report) for each in study.inputs}
        if piped is not None:
            _answer_lines(study, options, {**inputs, **named}, piped, report)
            return
        answer = _Answer(study, options, {**inputs, **named}, report)
    answer.print()


class _Answer:
    """The result of one call, and how the command prints it."""

    def __init__(self, study: Analysis, options: Any, named: dict[str, Any], report: Report) -> None:
        self.json = options.json
        self.stream = GrowingText()
        if study.streams and not options.json:
            named["stream"] = self.stream
        if getattr(options, "skip_oov", False):
            _leave_out_unknown(study, named, report)
        self.inputs = _lines_read(study, options, named)
        self.result = study.function(**named, report=report)
        self.saved = ""
        if study.gives_vectors and options.output:
            self.saved = _saved(self.result, study, options, report)

    def print(self) -> None:
        if self.json:
            with speaking("en"):  # programs read it
                self._print_json()
        else:
            if not self.stream.ended():
                print_rows(self.result.rows())
            if self.saved:
                print(self.saved)

    def _print_json(self) -> None:
        if not self.inputs:
            print_json(self.result.to_dict())
            return
        for answer in answers_of(self.result, self.inputs):
            print_json_line(answer)


def _piped(study: Analysis, options: Any) -> str | None:
    """The input that is one word or text and comes from standard input, line by line; None without any."""
    single = [each.name for each in study.inputs if each.type is str and not each.many]
    found = [name for name in single if getattr(options, name) == PIPE]
    if len(found) > 1:
        raise SettingError("Standard input can be read once: only one of {names} may be '-'.", names=found)
    return found[0] if found else None


def _answer_lines(study: Analysis, options: Any, named: dict[str, Any], piped: str, report: Report) -> None:
    """Answer each line of standard input as soon as it is there; as JSON, an answer is one line."""
    for line in lines_of_stdin():
        try:
            result = study.function(**{**named, piped: line}, report=report)
        except OutOfVocabulary as error:
            if not getattr(options, "skip_oov", False):
                raise
            report(Note("Skipped. {error}", error=error))
            continue
        if options.json:
            with speaking("en"):
                print_json_line({piped: line, **result.to_dict()})
        else:
            print_rows(result.rows())
            print(flush=True)


def _lines_read(study: Analysis, options: Any, named: dict[str, Any]) -> int:
    """How many inputs there are where standard input is among them; 0 where it is not."""
    many = [each.name for each in study.inputs if each.type is str and each.many]
    return sum(len(named[name]) for name in many if PIPE in (getattr(options, name) or ()))


def _leave_out_unknown(study: Analysis, named: dict[str, Any], report: Report) -> None:
    """Drop words out of the vocabulary, with a note; a single word of a question cannot be left out."""
    from inlaid.study.search.queries import asked_for

    vectors = named[study.inputs[0].name]
    unknown = list[str]()
    for word in named["words"] or ():
        try:
            asked_for(vectors, word, silent)
        except OutOfVocabulary:
            unknown.append(word)
    if not unknown:
        return
    named["words"] = tuple(word for word in named["words"] if word not in unknown)
    report(
        Note(
            "Out of vocabulary and skipped: {count:,} of {total:,} words, such as '{first}'.",
            count=len(unknown),
            total=len(unknown) + len(named["words"]),
            first=unknown[0],
        )
    )
    if not named["words"]:
        raise OutOfVocabulary("None of the {count:,} words is in the vocabulary.", count=len(unknown))


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
    if _can_skip(study):
        text = "leave out words that are out of vocabulary, with a note, instead of stopping"
        fields.append(_flag("skip_oov", bool, text, False))
    if study.settings is not None:
        fields.append(_flag("config", Path | None, "a TOML file of settings; flags override it", None))
    piped = any(each.type is str and not each.flag for each in study.inputs)
    fields.append(_flag("json", bool, JSON_LINES_HELP if piped else "print JSON instead of text", False))
    return dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)


def _can_skip(study: Analysis) -> bool:
    """Whether words may be left out: those of a list, or lines of standard input that are words."""
    words = [each.name for each in study.inputs if each.type is str and not each.flag]
    return study.inputs[0].type is Vectors and words in (["words"], ["formula"])


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
    if given.type is str and not given.flag:
        text += PIPED_HELP
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
    if given.type is str and typed is not None and given.many:
        # an analysis that also takes a file of texts answers every line of it, and so it does here
        as_file = given.name == "texts" and any(each.name == "file" for each in study.inputs)
        return tuple(map(without_mark, with_lines(typed, empty=as_file)))
    if given.type is str and typed is not None:
        return without_mark(typed)
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
