"""Cache: what the tour trained, kept on disk; checked when it is opened, and trained again if it is damaged.

Two runs may work at the same time: each writes a folder of its own and renames it, and the first stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from inlaid import files
from inlaid.errors import InlaidError, Unsynced, WriteError
from inlaid.report import Note, Report
from inlaid.untrusted import parse_json

T = TypeVar("T")
CHECKSUMS = "checksums.json"


class Storage(NamedTuple):
    """How something is written into a folder, and read from it."""

    save: Callable[[Any, Path], None]
    load: Callable[[Path], Any]


def cached(
    name: str,
    made_from: Mapping[str, Any],
    make: Callable[[], T],
    storage: Storage,
    *,
    fresh: bool,
    report: Report,
) -> T:
    """What an earlier run made from the same values; otherwise, or if it is `fresh`, made now and kept."""
    place = _place(name, made_from)
    if place is not None and not fresh:
        found = _opened(place, storage, report)
        if found is not None:
            return found
    made = make()
    if place is not None:
        _keep(place, made, storage, report)
    return made


def _place(name: str, made_from: Mapping[str, Any]) -> Path | None:
    """The folder of a result; None where nothing can be kept."""
    cache = files.private_cache()
    if cache is None:
        return None
    folder = cache / "tour"
    if not files.is_private(folder):
        return None
    key = files.checksum(json.dumps(made_from, sort_keys=True, default=str).encode())
    return folder / f"{name}-{key}"


def _opened(place: Path, storage: Storage, report: Report) -> Any:
    """What is kept in a folder; None if there is nothing, or if any of its files has changed."""
    try:
        expected = parse_json((place / CHECKSUMS).read_bytes())
        if expected == _checksums(place):
            return storage.load(place)
    except FileNotFoundError:
        if not place.exists():
            return None
    except (InlaidError, OSError, ValueError):
        pass
    report(Note("{path} is damaged: it is made again.", path=place))
    return None


def _keep(place: Path, made: Any, storage: Storage, report: Report) -> None:
    """Keep a result in place of an earlier one. Where that fails, the tour goes on, and trains next time."""
    try:
        files.remove_folder(place)
        with files.writing_folder(place) as part:
            storage.save(made, part)
            files.write_text(part / CHECKSUMS, json.dumps(_checksums(part)))
    except Unsynced:
        return
    except WriteError as error:
        if not place.exists():  # otherwise another run was first
            report(Note("What was trained could not be kept: {error}", error=error))


def _checksums(folder: Path) -> dict[str, str]:
    """A checksum of each file in a folder, by its name there."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
    return {path.relative_to(folder).as_posix(): files.checksum(path.read_bytes()) for path in found}
