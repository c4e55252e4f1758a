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
NOT_YET = frozenset(
    {
        "arrays.py",
        "cli.py",
        "collect/packed.py",
        "collect/sources.py",
        "collect/world.py",
        "commands/explain.py",
        "config.py",
        "encode/cleaning.py",
        "encode/corpus.py",
        "encode/encoder.py",
        "encode/marian.py",
        "encode/ngrams.py",
        "encode/phrases.py",
        "encode/processes.py",
        "encode/sentencepiece.py",
        "encode/subword_files.py",
        "encode/subword_scanning.py",
        "encode/subword_training.py",
        "encode/subwords.py",
        "encode/tokenizers.py",
        "encode/vocabulary.py",
        "encode/word_level.py",
        "feed/windows.py",
        "files.py",
        "fit/fasttext.py",
        "fit/onehot.py",
        "fit/ppmi.py",
        "fit/sgns.py",
        "formats/binary.py",
        "formats/elmo.py",
        "formats/fasttext.py",
        "formats/folder.py",
        "formats/huggingface.py",
        "formats/lines.py",
        "formats/native.py",
        "formats/npz.py",
        "formats/parquet.py",
        "formats/projector.py",
        "formats/reading.py",
        "formats/text.py",
        "formats/word2vec.py",
        "jobs/checkpoint.py",
        "jobs/onto.py",
        "jobs/plan.py",
        "jobs/run.py",
        "jobs/training.py",
        "neural/architecture.py",
        "neural/attention.py",
        "neural/bilm.py",
        "neural/checkpoint.py",
        "neural/embedding.py",
        "neural/families.py",
        "neural/loss.py",
        "neural/model.py",
        "neural/optimizer.py",
        "neural/positions.py",
        "neural/rope.py",
        "neural/stack.py",
        "neural/tables.py",
        "neural/tokens.py",
        "neural/weights.py",
        "neural/writer.py",
        "pipeline.py",
        "registry.py",
        "study/compare/align.py",
        "study/compare/compare.py",
        "study/compare/dictionaries.py",
        "study/compare/procrustes.py",
        "study/doctor/shape_checks.py",
        "study/evaluate/evaluate.py",
        "study/evaluate/task_files.py",
        "study/explain/axis.py",
        "study/explain/dimensions.py",
        "study/explain/explain.py",
        "study/explain/fill.py",
        "study/explain/inspect.py",
        "study/map/layout.py",
        "study/map/pictures.py",
        "study/search/approximate.py",
        "study/search/csls.py",
        "study/search/formulas.py",
        "study/search/geometry.py",
        "study/search/neighbors.py",
        "terminal.py",
        "vectors.py",
    }
)
"""Files that still have messages of another kind. The list only shrinks."""


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
    found = [each for each in problems() if each.file not in NOT_YET]
    assert not found, "\n".join(f"inlaid/{each.file}:{each.line}: {each.why}" for each in found)


def test_files_that_are_clean_leave_the_list():
    left = NOT_YET - {each.file for each in problems()}
    assert not left, f"take these off NOT_YET, all their messages can be translated: {sorted(left)}"


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
