"""Cards in files: a card written by an older or newer Inlaid is read, too."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inlaid.config import settings_of
from inlaid.errors import FormatError
from inlaid.report import Note, Report
from inlaid.vectors import Card, Outcome

REQUIRED_IN_OUTCOME = {
    field.name for field in dataclasses.fields(Outcome) if field.default is dataclasses.MISSING
}


def read_card(path: Path, text: str | bytes, report: Report) -> Card:
    """The card in a JSON object. Missing fields get defaults; unknown fields are ignored, with a note."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise FormatError(
            "{path}: its card is not valid JSON ({error}). Restore the file from a copy.",
            path=path,
            error=error,
        ) from None
    if not isinstance(values, dict):
        raise FormatError(
            "{path}: its card is a JSON {found}; expected an object. Restore the file from a copy.",
            path=path,
            found=type(values).__name__,
        )
    known, unknown = _known_fields(Card, values)
    if isinstance(known.get("outcome"), dict):
        outcome, more = _known_fields(Outcome, known["outcome"])
        unknown += [f"outcome.{name}" for name in more]
        # another version may record other things: without these there is no outcome to show
        known["outcome"] = outcome if outcome.keys() >= REQUIRED_IN_OUTCOME else None
    if unknown:
        report(
            Note(
                "{path}: its card has fields that this version of Inlaid does not know: {names}. "
                "They are ignored; the vectors are complete.",
                path=path,
                names=", ".join(unknown),
            )
        )
    _check_types(path, known)
    return settings_of(Card, known)


def _known_fields(kind: type, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values of fields that `kind` has, and the names of the others."""
    fields = {field.name for field in dataclasses.fields(kind)}
    known = {name: value for name, value in values.items() if name in fields}
    return known, sorted(values.keys() - fields)


def _check_types(path: Path, values: Mapping[str, Any]) -> None:
    """The types that JSON gives the fields of a new card are the types they must have in a file."""
    expected = json.loads(json.dumps(dataclasses.asdict(Card())))
    for name, value in values.items():
        if expected[name] is not None and value is not None and type(value) is not type(expected[name]):
            raise FormatError(
                "{path}: the field '{name}' of its card is a JSON {found}; expected {expected}. "
                "Restore the file from a copy.",
                path=path,
                name=name,
                found=type(value).__name__,
                expected=type(expected[name]).__name__,
            )
