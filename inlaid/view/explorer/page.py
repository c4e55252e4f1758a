"""Page: the built explorer, with headers that let it load nothing from anywhere else."""

from __future__ import annotations

from importlib.resources import files as resources
from typing import NamedTuple

from inlaid.errors import MissingExtra

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
TYPES = {
    "index.html": "text/html; charset=utf-8",
    "explorer.js": "text/javascript; charset=utf-8",
    "explorer.css": "text/css; charset=utf-8",
}
"""The files of the page: no other one can be asked for."""


class PageFile(NamedTuple):
    """One file of the page."""

    content: bytes
    type: str


def page_file(name: str) -> PageFile:
    """A file of the built page; MissingExtra where the package was made without it."""
    found = resources("inlaid.view.explorer") / "page" / name
    if not found.is_file():
        raise MissingExtra(
            "This installation has no page of the explorer: it was made where npm could not be reached. "
            "Install a published package, or in a checkout run `make page`."
        )
    return PageFile(found.read_bytes(), TYPES[name])
