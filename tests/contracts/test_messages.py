"""Messages can be translated: every error, note and message in the source is a literal sentence with named
placeholders, and its values are given by those names."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "catalogue.py"


def _script() -> Any:
    """docs/catalogue.py, which collects the sentences."""
    spec = importlib.util.spec_from_file_location("catalogue", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


collect = _script().collect
problems = _script().problems


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
