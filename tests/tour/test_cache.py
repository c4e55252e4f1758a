"""What was trained is kept, checked, and made again if it is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid import files
from inlaid.report import Event, Note, silent
from inlaid.tour.cache import Storage, cached

TEXT = Storage(
    lambda made, folder: files.write_text(folder / "made.txt", made),
    lambda folder: (folder / "made.txt").read_text("utf-8"),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "inlaid" / "tour"


def made(text: str, *, size: int = 1, fresh: bool = False, heard: list[Event] | None = None) -> str:
    report = silent if heard is None else heard.append
    return cached("word", {"size": size}, lambda: text, TEXT, fresh=fresh, report=report)


def test_what_is_kept_is_opened_by_its_settings(place: Path):
    assert made("first") == "first"
    assert made("second") == "first"
    assert made("other size", size=2) == "other size"
    assert len(list(place.iterdir())) == 2


def test_fresh_replaces_what_is_kept(place: Path):
    made("first")
    assert made("second", fresh=True) == "second"
    assert made("third") == "second"


@pytest.mark.parametrize("damage", ["changed", "cut", "no checksums", "more", "nonsense"])
def test_a_damaged_result_is_made_again(damage: str, place: Path):
    made("first")
    (folder,) = place.iterdir()
    match damage:
        case "changed":
            (folder / "made.txt").write_text("other", "utf-8")
        case "cut":
            (folder / "made.txt").write_text("", "utf-8")
        case "no checksums":
            (folder / "checksums.json").unlink()
        case "more":
            (folder / "foreign.txt").write_text("x", "utf-8")
        case _:
            (folder / "checksums.json").write_text("[" * 10_000, "utf-8")
    heard: list[Event] = []
    assert made("second", heard=heard) == "second"
    assert any(isinstance(event, Note) and "damaged" in event.text for event in heard)
    assert made("third") == "second"


def test_two_runs_at_a_time_keep_one_result(place: Path):
    def make() -> str:
        made("of the other run")  # which ends while this one works
        return "of this run"

    assert cached("word", {"size": 1}, make, TEXT, fresh=False, report=silent) == "of this run"
    assert made("third") in ("of this run", "of the other run")


def test_without_a_place_to_keep_it_the_tour_goes_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "private_cache", lambda: None)
    assert made("first") == "first"
    assert made("second") == "second"
