"""What an analysis is: a function, its frozen settings, and a result with rows() and to_dict().

    @dataclass(frozen=True, kw_only=True)
    class NeighborsSettings:
        n: Positive = 10
        \"\"\"How many neighbors to return.\"\"\"

    @analysis
    def neighbors(
        vectors: Vectors,
        words: Sequence[str],
        settings: NeighborsSettings | None = None,
        *,
        report: Report = silent,
    ) -> NeighborLists:
        \"\"\"The words nearest to each word.\"\"\"

One line in `registry.py` makes it the command `inlaid neighbors`, with flags, help and JSON, and the Python
name `inlaid.neighbors`. The contract:

- Inputs are typed `Vectors`, `AnyModel`, `Corpus`, `str`, `Path`, or a sequence of one of these. Positional
  parameters are typed in their order on the command line. A keyword-only parameter, or one whose default is
  None, is a flag. Keyword-only parameters of other types are for Python callers only.
- `Vectors | AnyModel` takes either: the command line opens a path as what it is.
- `settings` is a frozen dataclass or None for the defaults. Each field has a range and a docstring, which is
  its help. Python callers may pass the fields as keywords: `neighbors(vectors, "cat", n=5)`.
- A sequence that is typed by position takes all words that follow, so it is the last input.
  Python callers may give words one by one, too: `similarity(vectors, "cat", "dog")`.
- An input whose name is a Python keyword ends in an underscore, which the flag does not have: `from_` is
  `--from`.
- A result that has `to_vectors` can be saved: the command offers `--output` (see `HasVectors`).
- `report` is keyword-only; notes and progress go there. An analysis prints nothing: a caller who gives no
  `report` sees a bar (`progress.py`), one who gives None hears nothing. One that has a parameter
  `stream` may pass text to it, piece by piece, as it is made: the command then shows these pieces instead of
  the rows.
- What names files of this machine, or is about them, is named by `@local_only("tasks", "charset")` below
  `@analysis`; a server does not offer it to clients. What is typed Path or Corpus is known to be such.
- The docstring's first paragraph is the help of the command; an `Args:` section explains the inputs, and an
  `Examples:` section has two commands.
- The result is a frozen dataclass with `rows()`, for a terminal, and `to_dict()`, for JSON (see `Result`).
  Python's prompt and notebooks show the rows too.
- Annotations are resolved when the function is decorated, so its types are defined above it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, get_args, get_origin, runtime_checkable

from inlaid.config import field_help, settings_of, unknown_setting
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.marked import Marked
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.notebook import html_of, text_of
from inlaid.progress import shows_progress
from inlaid.report import Report, automatic, silent
from inlaid.vectors import Vectors

R = TypeVar("R")


class OneByOne(tuple[str, ...]):
    """Words that a caller gave one by one, not as a list."""


Cell = str | Message | Marked
"""A message where words are shown; a string for what comes from the data: words, names, numbers; marked text
where some words of it matter."""
Row = Cell | tuple[Cell, ...]
INPUT_TYPES = (Vectors, AnyModel, Corpus, str, Path)
"""What an input may be. Where a union allows several, the first of them is read from the command line."""


@runtime_checkable
class Result(Protocol):
    """The answer of an analysis."""

    def rows(self) -> Sequence[Row]:
        """What a terminal shows: lines, and tables as tuples of cells, the header first. All words, titles of
        columns too, are literals of messages, so that a catalogue can translate them."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The same for programs: what JSON can hold, so no NaN and no NumPy. `plain` helps."""
        ...


@runtime_checkable
class HasVectors(Protocol):
    """A result that can be saved as vectors: its command offers `--output`."""

    def to_vectors(self, names: Sequence[str], *, report: Report = silent) -> Vectors:
        """The vectors to save; `names` are those of the input files, in their order."""
        ...


@dataclass(frozen=True)
class Input:
    """One input of an analysis, as its signature declares it."""

    name: str
    type: type
    """Vectors, AnyModel, Corpus, str or Path."""
    many: bool
    """A sequence of them."""
    flag: bool
    """Typed as `--name`, not by position."""
    default: Any
    """`inspect.Parameter.empty` where the input is required."""
    help: str
    accepts: tuple[type, ...] = ()
    """All types that a single value may have, where vectors and models are both taken."""

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Analysis:
    """What a decorated function says about itself; commands and endpoints are made from this."""

    name: str
    function: Callable[..., Any]
    """The decorated function."""
    summary: str
    """The first paragraph of its docstring."""
    examples: tuple[str, ...]
    """The lines of its docstring that show what to type."""
    inputs: tuple[Input, ...]
    settings: type | None
    """The dataclass of its settings; None where it has none."""
    gives_vectors: bool = False
    """Whether its result has `to_vectors` (see `HasVectors`)."""
    takes_overwrite: bool = False
    """Whether it writes a file itself and has a parameter `overwrite`, which the command offers as a flag."""
    streams: bool = False
    """Whether it has a parameter `stream`, for text that is shown while it is made."""
    variadic: int | None = None
    """The position of the words that may be given one by one; None where there are none."""
    local: tuple[str, ...] = ()
    """Inputs and settings that name files or processors of this machine (see `local_only`)."""
    returns: Any = None
    """The class of its result, or a union of classes."""

    def settings_help(self) -> dict[str, str]:
        """The docstring of every setting."""
        return {} if self.settings is None else field_help(self.settings)


def local_only(*names: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Inputs and settings of an analysis that are for users of this machine alone: text that may name a file,
    or the number of its processors."""

    def marked(function: Callable[..., R]) -> Callable[..., R]:
        typing.cast("Any", function).local_only = names
        return function

    return marked


def analysis(function: Callable[..., R]) -> Callable[..., R]:
    """Let callers pass settings as keywords, checked by name and range, and record what the function
    takes."""
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    kind = _settings_type(hints)

    declared = tuple(_inputs(function, hints))
    variadic = _variadic(declared)

    @shows_progress
    @functools.wraps(function)
    def called(*inputs: Any, **named: Any) -> R:
        if variadic is not None:
            inputs = _collected(inputs, variadic)
        values = {name: value for name, value in named.items() if name not in parameters}
        if values:
            inputs_by_name = {name: value for name, value in named.items() if name in parameters}
            inputs_by_name["settings"] = _settings_from(kind, values, named.get("settings"))
            return function(*inputs, **inputs_by_name)
        return function(*inputs, **named)

    _show_rows(hints.get("return"))
    typing.cast("Any", called).__signature__ = _signature(function, kind)
    typing.cast("Any", called).analysis = Analysis(
        name=function.__name__,
        function=called,
        summary=_summary(function),
        examples=_examples(function),
        inputs=declared,
        settings=kind,
        variadic=variadic,
        takes_overwrite="overwrite" in parameters,
        streams="stream" in parameters,
        gives_vectors=hasattr(hints.get("return"), "to_vectors"),
        local=getattr(function, "local_only", ()),
        returns=hints.get("return"),
    )
    return called


def _show_rows(returned: Any) -> None:
    """Let the classes of results show their rows, at Python's prompt and in notebooks. A class that has HTML
    of its own keeps it, and a number stays one at the prompt."""
    for kind in _members(returned):
        if not isinstance(kind, type) or not hasattr(kind, "rows"):
            continue
        shown = typing.cast("Any", kind)
        if not hasattr(kind, "_repr_html_"):
            shown._repr_html_ = _html
        if dataclasses.is_dataclass(kind):
            shown.__repr__ = _text


def _html(result: Result) -> str:
    return html_of(result.rows())


def _text(result: Result) -> str:
    return text_of(result.rows()) or f"{type(result).__name__}()"


def analysis_of(function: Any) -> Analysis:
    """What a function decorated with `@analysis` says about itself."""
    return function.analysis


def _settings_type(hints: Mapping[str, Any]) -> type | None:
    """The dataclass in `settings: Kind | None`."""
    found = [each for each in _members(hints.get("settings")) if isinstance(each, type)]
    return next((each for each in found if dataclasses.is_dataclass(each)), None)


def _settings_from(kind: type | None, values: Mapping[str, Any], given: Any) -> Any:
    """Settings made from keywords; unknown names raise UnknownName with the closest known one."""
    if kind is None:
        raise unknown_setting(next(iter(values)), ())
    if given is not None:
        raise SettingError(
            "{name} is given beside `settings`. Put it into the settings, or pass keywords only.",
            name=next(iter(values)),
        )
    return settings_of(kind, values)


def _signature(function: Callable[..., Any], kind: type | None) -> inspect.Signature:
    """The signature with the settings as keywords, for help() and editors."""
    signature = inspect.signature(function)
    keywords = [
        inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=_default(each), annotation=each.type
        )
        for each in (dataclasses.fields(typing.cast("Any", kind)) if kind else ())
    ]
    own = list(signature.parameters.values())
    positional = [each for each in own if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    keyword_only = [_shown(each) for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    return signature.replace(parameters=[*positional, *keywords, *keyword_only])


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """What a caller gets who gives no `report`."""
    if parameter.name != "report":
        return parameter
    return parameter.replace(default=automatic, annotation="Report | None")


def _variadic(inputs: Sequence[Input]) -> int | None:
    """The position of the last positional input, if it is a sequence of words."""
    positional = [each for each in inputs if not each.flag]
    last = positional[-1]
    return len(positional) - 1 if last.many and last.type is str else None


def _collected(inputs: tuple[Any, ...], first: int) -> tuple[Any, ...]:
    """Words given one by one become one sequence."""
    words = inputs[first:]
    if len(words) < 2 or not all(isinstance(each, str) for each in words):
        return inputs
    return (*inputs[:first], OneByOne(words))


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty


def _inputs(function: Callable[..., Any], hints: Mapping[str, Any]) -> Iterator[Input]:
    docs = _argument_docs(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("settings", "report"):
            continue
        found = _input_type(hints[name])
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if found is None and keyword:
            continue  # for Python callers only
        if found is None:
            raise TypeError(f"{function.__name__}: no command line can give `{name}`; make it keyword-only")
        flag = keyword or parameter.default is None
        accepts = tuple(each for each in _elements(hints[name]) if each in (Vectors, AnyModel))
        yield Input(name, found[0], found[1], flag, parameter.default, docs.get(name, ""), accepts)


def _input_type(hint: Any) -> tuple[type, bool] | None:
    """The type of an input, and whether there may be many; None where no command line can give it."""
    single = [each for each in _members(hint) if each in INPUT_TYPES]
    several = [
        element
        for each in _members(hint)
        if get_origin(each) in (tuple, Sequence, list)
        for element in _members(get_args(each)[0])
        if element in INPUT_TYPES
    ]
    for wanted in INPUT_TYPES:
        if wanted in several:
            return wanted, True
        if wanted in single:
            return wanted, False
    return None


def _elements(hint: Any) -> list[Any]:
    """The types of a union, and those in the sequences among them."""
    found = _members(hint)
    inside = [each for each in found if get_origin(each) in (tuple, Sequence, list)]
    return found + [element for each in inside for element in _members(get_args(each)[0])]


def _members(hint: Any) -> list[Any]:
    """The types of a union, through Annotated; a list of one for anything else."""
    if get_origin(hint) is Annotated:
        return _members(get_args(hint)[0])
    if get_origin(hint) in (typing.Union, types.UnionType):
        return [member for each in get_args(hint) for member in _members(each)]
    return [hint]


# --- docstrings


def _summary(function: Callable[..., Any]) -> str:
    paragraph = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def _examples(function: Callable[..., Any]) -> tuple[str, ...]:
    """The `Examples:` section of a docstring, line by line."""
    _, _, section = inspect.cleandoc(function.__doc__ or "").partition("\nExamples:\n")
    return tuple(line.strip() for line in section.splitlines() if line.strip())


def _argument_docs(function: Callable[..., Any]) -> dict[str, str]:
    """The `Args:` section of a docstring, by name."""
    section = re.search(
        r"^Args:\n(.*?)(?=^\S|\Z)", inspect.cleandoc(function.__doc__ or ""), re.DOTALL | re.MULTILINE
    )
    if section is None:
        return {}
    found = re.findall(r"^(\w+): (.*?)(?=^\w+: |\Z)", textwrap.dedent(section[1]), re.DOTALL | re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


# --- what results share


def plain(value: Any) -> Any:
    """Dataclasses, arrays, paths and what is made of them, as JSON can hold them; NaN and infinity become
    null, messages are in English."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):  # a NamedTuple
        return plain(typing.cast("Any", value)._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in typing.cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in typing.cast("Sequence[Any]", value)]
    if isinstance(value, Message):
        return value.in_language("en")
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(typing.cast("Any", value).tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
