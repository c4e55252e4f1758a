"""Earlier models and vectors that a training starts from: which of them a path is; no torch needed."""

from __future__ import annotations

from pathlib import Path

from inlaid import registry
from inlaid.errors import SettingError, SourceError
from inlaid.formats.folder import first_module, is_static
from inlaid.formats.huggingface import CONFIG
from inlaid.formats.reading import Reading, Start
from inlaid.report import Report
from inlaid.vectors import Vectors


def network_folder(path: Path) -> Path | None:
    """The folder with the network of a model: itself, or the one that its modules.json names. None if a path
    is vectors, in a file or in a folder."""
    if not path.exists():
        raise SourceError("There is no file or folder '{path}'.", path=path)
    if not path.is_dir() or is_static(path):
        return None
    place = first_module(path)
    return place if (place / CONFIG).is_file() else None


def read_vectors(path: Path, report: Report) -> Vectors:
    """The vectors of a file or folder, in any format."""
    start = Start.of(path, Reading().recoded)
    entry = next((each for each in registry.entries("format") if each.load().recognizes(start)), None)
    if entry is None:
        raise SettingError(
            "{path} is neither a folder of a model nor a file of vectors. Name one of them.", path=path
        )
    return entry.load().read(path, Reading(), report)
