"""What the library says while it works."""

from __future__ import annotations

import logging

import pytest

from inlay.report import Note, Progress, counted, log


def test_counted_passes_items_on_and_ends_at_the_total():
    events: list[Progress] = []
    assert list(counted(range(25), "reading", unit="lines", report=events.append, every=10)) == list(range(25))  # pyright: ignore[reportArgumentType]
    assert [(event.done, event.total) for event in events] == [(10, 25), (20, 25), (25, 25)]


def test_notes_reach_a_program_that_set_up_nothing(caplog: pytest.LogCaptureFixture):
    log(Note("three words were left out"))
    assert caplog.record_tuples == [("inlay", logging.WARNING, "three words were left out")]
