"""Cards in files: a card written by an older or newer Inlaid is read, too."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inlaid.config import check, settings_of
from inlaid.encode.corpus import refuse_misfit
from inlaid.encode.joining import JOINED, check_record
from inlaid.errors import InlaidError
from inlaid.messages import Listed
from inlaid.report import Note, Report
from inlaid.untrusted import parse_json, parse_json_part
from inlaid.vectors import Card, Outcome

ENCODING = {"normalize": [""], "spelling": "", "dictionary": [""]}
"""The parts of the encoding that words are looked up and cut by, with an example of each."""


def read_card(path: Path, text: str | bytes, report: Report) -> Card:
    """The card in a JSON object. Missing fields get defaults; unknown fields are ignored, with a note."""
    values = parse_json_part(path, "card", text)
    refuse_misfit(path, "card", values, {})
    fields = {field.name: field for field in dataclasses.fields(Card)}
    unknown = sorted(values.keys() - fields.keys())
    if unknown:
        report(
            Note(
                "{path}: its card has fields that this version of Inlaid does not know: {names}. "
                "They are ignored; the vectors are complete.",
                path=path,
                names=Listed(unknown),
            )
        )
    known = {name: value for name, value in values.items() if name in fields}
    _check_types(path, known)
    known["outcome"] = _outcome(path, known.get("outcome"), report)
    return settings_of(Card, known)


def _outcome(path: Path, values: Any, report: Report) -> Outcome | None:
    """How the training ended; None, with a note, where another version of Inlaid recorded it differently."""
    if values is None:
        return None
    try:
        outcome = settings_of(Outcome, values)
        for each in (outcome, *outcome.marks):
            check(each)
        return outcome
    except (InlaidError, AttributeError, TypeError, ValueError):
        report(
            Note(
                "{path}: how its training ended is recorded in a way that this version of Inlaid does not "
                "know. It is ignored; the vectors are complete.",
                path=path,
            )
        )
        return None


def _check_types(path: Path, values: Mapping[str, Any]) -> None:
    """The types that JSON gives the fields of a new card are the types they must have in a file."""
    expected = parse_json(json.dumps(dataclasses.asdict(Card()))) | {"notes": [""]}
    for name, value in values.items():
        if name != "outcome":
            refuse_misfit(path, f"card.{name}", value, expected[name])
    encoding = values.get("encoding", {})
    for name, example in ENCODING.items():
        if name in encoding:
            refuse_misfit(path, f"card.encoding.{name}", encoding[name], example)
    check_record(path, encoding.get(JOINED, []))
