"""Scanning: what was odd is counted exactly, or the report says where the count stops being exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inlaid import cli
from inlaid.collect.sources import blocks_of
from inlaid.encode import scanning
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.corpus import Encoding, encode
from inlaid.encode.scanning import RepeatedLines, scan
from inlaid.encode.tokenizers import Whitespace
from inlaid.report import Event, Note


def repeated_among(hashes: np.ndarray, pieces: int = 7) -> RepeatedLines:
    repeated = RepeatedLines()
    for piece in np.array_split(hashes, pieces):
        repeated.add(piece)
    return repeated


def distinct_hashes(count: int) -> np.ndarray:
    """Odd numbers, because the table ignores the lowest bit."""
    scrambled = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return scrambled | np.uint64(1)


@pytest.mark.parametrize("distinct", [10, 1000, 1_500_000])
def test_repeated_lines_are_counted_exactly(distinct: int):
    """Past 1,048,576 distinct lines too, where the first table is full."""
    hashes = np.unique(distinct_hashes(distinct))
    repeated = repeated_among(np.concatenate([hashes, hashes[::-1], hashes[:3]]))
    assert repeated.count == len(hashes) + 3
    assert repeated.exact


def test_the_table_has_a_largest_size_and_reports_when_it_is_full(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scanning, "FIRST_SLOTS", 64)
    monkeypatch.setattr(scanning, "MOST_SLOTS", 1024)
    hashes = np.unique(distinct_hashes(10_000))
    repeated = repeated_among(np.concatenate([hashes, hashes]), pieces=1000)
    assert not repeated.exact
    assert len(repeated.table) == 1024
    assert 0 < repeated.count < len(hashes)
    exact = repeated.exact_lines or 0
    assert 400 < exact <= 512
    assert repeated_among(hashes[:exact]).exact


def test_a_lower_bound_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scanning, "FIRST_SLOTS", 64)
    monkeypatch.setattr(scanning, "MOST_SLOTS", 64)
    text = [f"line {number}" for number in range(100)] * 2
    events: list[Event] = []
    scanned = scan(blocks_of(text), Cleaner(Whitespace()), 1, None, events.append)
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len(notes) == 1
    assert notes[0].startswith(f"At least {scanned.lint['repeated_lines']} lines repeat an earlier one.")
    assert scanned.lint["repeated_lines_exact_until"] == 0
    assert 0 < scanned.lint["repeated_lines"] < 100


def test_the_command_line_counts_repeated_lines_past_a_million(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lines = [f"w{number}" for number in range(1_100_000)]
    (tmp_path / "t.txt").write_text("\n".join([*lines, *lines[-10:], "a " * 5]) + "\n")
    assert cli.main(["corpus", str(tmp_path / "t.txt"), "-o", str(tmp_path / "c"), "--workers", "1"]) == 0
    assert "lines that repeat an earlier one: 10\n" in capsys.readouterr().out


def test_exact_counts_have_no_note():
    events: list[Event] = []
    corpus = encode(["a b", "a b", "c"], Encoding(min_count=1), events.append)
    assert corpus.manifest["lint"]["repeated_lines"] == 1
    assert "repeated_lines_exact_until" not in corpus.manifest["lint"]
    assert not [event for event in events if isinstance(event, Note)]
