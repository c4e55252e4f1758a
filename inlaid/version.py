"""The version of this package, looked up once: a training needs it at its end, and must not fail there."""

from __future__ import annotations

from importlib import metadata

UNKNOWN = "unknown"
"""Where Inlaid runs from a folder of its sources that was not installed."""


def installed_version() -> str:
    """What the metadata of the package says; `unknown` where there is none, or where it has no version."""
    try:
        return metadata.version("inlaid") or UNKNOWN
    except (metadata.PackageNotFoundError, KeyError):
        return UNKNOWN


VERSION = installed_version()
