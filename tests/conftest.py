"""Every test runs with shapes and types checked; in CI nothing may be skipped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

install_import_hook("inlaid", "beartype.beartype")

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a run in the background ignores Ctrl-C, and some tests press it

IN_CI = os.environ.get("CI", "").lower() == "true"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora and files that INLAID_DATA names."""
    if not os.environ.get("INLAID_DATA"):
        pytest.skip(
            "INLAID_DATA is not set: it names a folder of real data, which the project does not carry"
        )
    folder = Path(os.environ["INLAID_DATA"]).resolve()
    if not folder.is_dir():
        pytest.fail(f"INLAID_DATA names {folder}, which is not a folder")
    return folder


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """In CI a skip is a gap, so it fails."""
    outcome = yield
    report = outcome.get_result()
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
