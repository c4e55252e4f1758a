"""What the library says while it works."""

from __future__ import annotations

import logging

import pytest

from inlaid.report import Note, Progress, bytes_in_words, counted, log, time_in_words


def test_counted_passes_items_on_and_ends_at_the_total():
    events: list[Progress] = []
    assert list(counted(range(25), "reading", unit="lines", report=events.append, every=10)) == list(
        range(25)
    )  # pyright: ignore[reportArgumentType]
    assert [(event.done, event.total) for event in events] == [(10, 25), (20, 25), (25, 25)]


def test_notes_reach_a_program_that_set_up_nothing(caplog: pytest.LogCaptureFixture):
    log(Note("three words were left out"))
    assert caplog.record_tuples == [("inlaid", logging.WARNING, "three words were left out")]


def test_times_and_sizes_in_words():
    assert [str(time_in_words(seconds)) for seconds in (-1, 0.4, 59.4, 59.6, 3599, 3600, 360_000)] == [
        "0 s",
        "under 1 s",
        "59 s",
        "1 min 00 s",
        "59 min 59 s",
        "1 h 00 min",
        "100 h 00 min",
    ]
    assert [bytes_in_words(size) for size in (0, 999, 1000, 2.5e6, 1.23e12)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "2.5 MB",
        "1,230.0 GB",
    ]
