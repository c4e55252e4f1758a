"""ELMo's own files: options.json and lm_weights.hdf5, as NumPy arrays by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.errors import FormatError, SourceError, need

OPTIONS = "options.json"
WEIGHTS = "*weights.hdf5"


def recognizes(folder: Path) -> bool:
    return (folder / OPTIONS).is_file() and any(folder.glob(WEIGHTS))


def read_options(folder: Path) -> dict[str, Any]:
    path = folder / OPTIONS
    try:
        options = json.loads(path.read_text("utf-8"))
        return {"lstm": dict(options["lstm"]), "char_cnn": dict(options["char_cnn"])}
    except OSError as error:
        raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            "{path}: expected a JSON object with ELMo's options `lstm` and `char_cnn` ({error}). "
            "Get the file again.",
            path=path,
            error=repr(error),
        ) from None


def read_weights(folder: Path) -> dict[str, np.ndarray]:
    """Every array of the file by its path inside it, such as `CNN_proj/W_proj`."""
    h5py = need("h5py", extra="elmo")
    found = sorted(folder.glob(WEIGHTS))
    if len(found) != 1:
        raise FormatError(
            "{folder}: expected one file {pattern}, found {count}. Keep only the one to load.",
            folder=folder,
            pattern=WEIGHTS,
            count=len(found),
        )
    arrays: dict[str, np.ndarray] = {}

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[...]

    try:
        with h5py.File(found[0], "r") as file:
            file.visititems(keep)
    except OSError as error:
        raise FormatError(
            "{path}: not a readable HDF5 file ({error}). Get the file again.", path=found[0], error=str(error)
        ) from None
    return arrays
