"""Messages can be translated: every error, note and message in the source is a literal sentence with named
placeholders, and its values are given by those names.

`python tests/contracts/test_messages.py` prints all sentences as JSON, for whoever writes a catalogue.
"""

from __future__ import annotations

import ast
import inspect
import json
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from inlaid import errors

PACKAGE = Path(errors.__file__).parent
KINDS = {"Message", "Note"} | {
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.InlaidError)
}
"""Classes whose first argument is a sentence."""


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


def collect(folder: Path = PACKAGE) -> tuple[Sentence, ...]:
    """Every sentence that can be translated, in the order of the files: the keys of a catalogue."""
    return tuple(each for each in _messages(folder) if isinstance(each, Sentence))


def problems(folder: Path = PACKAGE) -> tuple[Problem, ...]:
    return tuple(each for each in _messages(folder) if isinstance(each, Problem))


def _messages(folder: Path) -> Iterator[Sentence | Problem]:
    for path in sorted(folder.rglob("*.py")):
        file = path.relative_to(folder).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in KINDS:
                yield _message(file, node)


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


def test_every_message_is_a_literal_sentence_with_its_values():
    found = problems()
    assert not found, "\n".join(f"inlaid/{each.file}:{each.line}: {each.why}" for each in found)


def test_sentences_are_collected():
    found = collect()
    by_kind = {each.kind for each in found}
    assert {"MissingExtra", "Message"} <= by_kind
    needed = next(each for each in found if each.kind == "MissingExtra" and each.file == "errors.py")
    assert needed.sentence == "{module} is not installed: run `pip install 'inlaid[{extra}]'`"
    assert needed.placeholders == ("module", "extra")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("FormatError(f'{path} is empty.')", "not a literal"),
        ("FormatError('a' + b)", "not a literal"),
        ("Note('{count} words.'.format(count=3))", "not a literal"),
        ("report.Note(sentence)", "not a literal"),
        ("SettingError('{name} is {value}.', name=name)", "placeholders"),
        ("SettingError('{name}.', name=name, value=1)", "placeholders"),
        ("SettingError('{}.', name)", "one sentence"),
        ("SettingError('{name}.', **values)", "cannot be checked"),
        ("Message('an { open brace', path=path)", "cannot be formatted"),
    ],
)
def test_what_cannot_be_translated_is_found(code: str, why: str, tmp_path: Path):
    (tmp_path / "module.py").write_text(f"x = {code}\n", "utf-8")
    assert [why in each.why for each in problems(tmp_path)] == [True]
    assert not collect(tmp_path)


if __name__ == "__main__":
    rows = [each._asdict() for each in collect()]
    sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
