"""Sentences without a Chinese one, as lines for inlaid/catalogue/zh.json, and lines there that nothing uses.

    python docs/catalogue.py           lists them; fill in the Chinese
    python docs/catalogue.py --sort    puts the lines of the catalogue in order, after new ones were added

The sentences are those of the source (errors, notes, messages, stages of progress), the summaries of the
registry, and the help of every command, read as it is shown.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import string
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from inlaid import cli, errors, registry
from inlaid.commands import classify, terminal, vectors
from inlaid.commands.translated_help import read_help, wide
from inlaid.messages import catalogue, speaking
from inlaid.study.evaluate.world_tasks import world_groups
from inlaid.study.explain import traits

PACKAGE = Path(errors.__file__).parent
FILE = PACKAGE / "catalogue" / "zh.json"
SENTENCES = {"Message", "Note"} | {
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.InlaidError)
}
"""Classes whose first argument is a sentence; those derived from them elsewhere are added by `kinds`."""
WORDS: Mapping[str, tuple[int | str, ...]] = {
    "Progress": (0, 3),
    "counted": (1, "unit"),
    "said": (1,),
    "translated": (0,),
    "word": (0,),
}
"""Functions that are given words to show, and the arguments that are such words."""
NAMED = ("unit", "UNIT", "STAGE")
"""What holds a stage or a unit of progress."""


class Sentence(NamedTuple):
    """One message of the source: where it is, the sentence, and the names of its placeholders."""

    file: str
    line: int
    kind: str
    sentence: str
    placeholders: tuple[str, ...]


class Problem(NamedTuple):
    """A message that cannot be translated, and why."""

    file: str
    line: int
    why: str


# --- what the source holds ----------------------------------------------------------------------------------


def collect(folder: Path = PACKAGE) -> tuple[Sentence, ...]:
    """Every message that can be translated, in the order of the files."""
    return tuple(each for each in _messages(folder) if isinstance(each, Sentence))


def problems(folder: Path = PACKAGE) -> tuple[Problem, ...]:
    return tuple(each for each in _messages(folder) if isinstance(each, Problem))


def _messages(folder: Path) -> Iterator[Sentence | Problem]:
    sentences = kinds(folder)
    for path, tree in _trees(folder):
        file = path.relative_to(folder).as_posix()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) in sentences:
                yield _message(file, node)


def kinds(folder: Path) -> set[str]:
    """The classes whose first argument is a sentence, those that single files derive from them included."""
    found = set(SENTENCES)
    classes = [
        node for _, tree in _trees(folder) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    while True:
        derived = {each.name for each in classes if found & set(map(_name, each.bases))} - found
        if not derived:
            return found
        found |= derived


def _trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _message(file: str, call: ast.Call) -> Sentence | Problem:
    def problem(why: str) -> Problem:
        return Problem(file, call.lineno, why)

    if len(call.args) != 1:
        return problem("expected one sentence, then values by name")
    first = call.args[0]
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return problem(f"the sentence is not a literal: {ast.unparse(first)[:60]}")
    given = [keyword.arg for keyword in call.keywords]
    if None in given:
        return problem("values are given as **, so their names cannot be checked")
    try:
        named = placeholders(first.value)
    except ValueError as error:
        return problem(f"the sentence cannot be formatted: {error}")
    if set(named) != set(given):
        return problem(f"placeholders {sorted(named)}, values {sorted(filter(None, given))}")
    return Sentence(file, call.lineno, _name(call.func), first.value, named)


def placeholders(sentence: str) -> tuple[str, ...]:
    """The names in braces, each once.

    >>> placeholders("{path}:{line:,}: {path} is {{not}} closed")
    ('path', 'line')
    """
    fields = [field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None]
    return tuple(dict.fromkeys(field.partition(".")[0].partition("[")[0] for field in fields))


def _words(tree: ast.Module) -> Iterator[str]:
    """Stages, units and captions."""
    for node in ast.walk(tree):
        found = list[ast.expr | None]()
        if isinstance(node, ast.Call):
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            for place in WORDS.get(_name(node.func), ()):
                if isinstance(place, str):
                    found.append(named.get(place))
                elif place < len(node.args):
                    found.append(node.args[place])
        if isinstance(node, ast.Assign) and _name(node.targets[0]) in NAMED:
            found.append(node.value)
        for each in found:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value


def constants(folder: Path = PACKAGE) -> set[str]:
    """Every string of the source: what a word of the catalogue may be found by."""
    return {
        str(node.value)
        for _, tree in _trees(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


# --- what the help shows ------------------------------------------------------------------------------------


def pages_of_help() -> list[list[str]]:
    """What to type for the help of every command, method and picture."""
    analyses = [entry.name.replace("_", "-") for entry in registry.entries("analysis")]
    listings = ("train", "draw", "classify")
    pages = [[name] for name in (*cli.COMMANDS, *analyses) if name not in listings]
    pages += [["train", entry.name] for entry in registry.entries("method")]
    pages += [["draw", entry.name] for entry in registry.entries("picture")]
    pages += [["classify", "train", "--method", entry.name] for entry in registry.entries("classifier")]
    pages += [["classify", name] for name in classify.COMMANDS if name != "train"]
    return [[*page, "--help"] for page in pages]


def shown(words: list[str]) -> str:
    """What a command prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        cli.main(words)
    return output.getvalue()


def of_help() -> Iterator[str]:
    with wide():
        for page in pages_of_help():
            yield from read_help(shown([*page, "--lang", "en"])).sentences()


def of_tables() -> Iterator[str]:
    """Summaries and titles that are listed."""
    yield from (entry.summary for entry in registry.ENTRIES)
    yield from (entry.kind for entry in registry.ENTRIES)
    yield from cli.TITLES.values()
    yield from terminal.LINT.values()
    yield from (traits.NAMED.get(field, field) for field in world_groups("zh"))
    yield from ("log frequency", "length")
    yield from (*vectors.FIELDS, *vectors.COUNTS, *vectors.KINDS)
    yield from terminal.DROPPED.values()
    commands = [*map(cli._command, cli.COMMANDS), *classify.COMMANDS.values()]
    yield from ((command.__doc__ or "").splitlines()[0] for command in commands)


# --- the catalogue ------------------------------------------------------------------------------------------


def wanted() -> list[str]:
    """Everything that must be in the catalogue, sorted."""
    of_source = [each.sentence for each in collect()]
    words = [word for _, tree in _trees(PACKAGE) for word in _words(tree)]
    templates = {each for each in of_source if placeholders(each)}
    shown_in_help = [each for each in of_help() if not _is_filled(each, templates)]
    return sorted({each for each in (*of_source, *words, *of_tables(), *shown_in_help) if is_prose(each)})


def _is_filled(text: str, templates: Iterable[str]) -> bool:
    """Whether a line of help is a message with its values: the catalogue has the message."""
    starts = (each.partition("{")[0] for each in templates)
    return any(len(start) > 20 and text.startswith(start) for start in starts)


def is_prose(sentence: str) -> bool:
    """Whether a sentence has letters beside its placeholders.

    >>> is_prose("{path}:{line}"), is_prose("{count:,} words")
    (False, True)
    """
    try:
        literals = [literal for literal, *_ in string.Formatter().parse(sentence)]
    except ValueError:  # a sentence without values, shown as it is
        literals = [sentence]
    return any(map(str.isalpha, "".join(literals)))


def fields(sentence: str) -> list[tuple[str, str, str]]:
    """The placeholders of a sentence with their conversions and formats, sorted; none where it is shown as it
    is."""
    try:
        parsed = list(string.Formatter().parse(sentence))
    except ValueError:
        return []
    return sorted((name, how or "", form or "") for _, name, form, how in parsed if name is not None)


def missing() -> list[str]:
    return [each for each in wanted() if each not in catalogue("zh")]


def unused() -> list[str]:
    """Lines of the catalogue that are neither a sentence nor any string of the source."""
    known = constants() | set(wanted())
    return [each for each in catalogue("zh") if each not in known]


def write(lines: Mapping[str, str], path: Path = FILE) -> None:
    """The catalogue: a line for each sentence, in their order, so that branches merge."""
    path.write_text(json.dumps(dict(sorted(lines.items())), ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    if "--sort" in sys.argv:
        write(catalogue("zh"))
    with speaking("en"):
        sys.stdout.write(json.dumps(dict.fromkeys(missing(), ""), ensure_ascii=False, indent=0) + "\n")
        for each in unused():
            sys.stdout.write(f"nothing uses {each!r}\n")
