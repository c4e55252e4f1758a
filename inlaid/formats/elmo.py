"""ELMo's own files: options.json and lm_weights.hdf5, as NumPy arrays by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.errors import FormatError, need
from inlaid.messages import Message
from inlaid.untrusted import check_size, read_json_object, reading_file

OPTIONS = "options.json"
WEIGHTS = "*weights.hdf5"
FLOAT_BYTES = (2, 4, 8)


def recognizes(folder: Path) -> bool:
    return (folder / OPTIONS).is_file() and any(folder.glob(WEIGHTS))


def read_options(folder: Path) -> dict[str, Any]:
    path = folder / OPTIONS
    options = read_json_object(path)
    parts = {name: options.get(name) for name in ("lstm", "char_cnn")}
    if not all(isinstance(part, dict) for part in parts.values()):
        raise FormatError(
            "{path}: expected a JSON object with ELMo's options `lstm` and `char_cnn`. Get the file again.",
            path=path,
        )
    return parts


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
    path = found[0]
    with reading_file(path, "HDF5"), h5py.File(path, "r") as file:
        datasets = _datasets(path, file)
        check_size(path, sum(math.prod(each.shape) * each.dtype.itemsize for each in datasets.values()))
        return {name: each[...].astype(each.dtype.newbyteorder("=")) for name, each in datasets.items()}


def _datasets(path: Path, file: Any) -> dict[str, Any]:
    """The arrays of numbers in a file, not read yet; anything that leads out of the file is refused."""
    h5py = need("h5py", extra="elmo")
    items = list[tuple[str, Any]]()
    links = list[tuple[str, Any]]()
    # The functions return None, which goes on; h5py does not pass on what they raise.
    file.visititems(lambda name, item: items.append((name, item)))
    file.visititems_links(lambda name, link: links.append((name, link)))
    for name, link in links:
        if isinstance(link, h5py.ExternalLink):
            raise _leads_out(path, name)
    datasets = {name: item for name, item in items if isinstance(item, h5py.Dataset)}
    for name, dataset in datasets.items():
        _check_dataset(path, name, dataset)
    return datasets


def _check_dataset(path: Path, name: str, dataset: Any) -> None:
    if dataset.external or dataset.is_virtual:
        raise _leads_out(path, name)
    if dataset.shape is None or dataset.dtype.kind != "f" or dataset.dtype.itemsize not in FLOAT_BYTES:
        raise FormatError(
            "{path}: {name} holds {found}; expected floating-point numbers of 16, 32 or 64 bits. "
            "Get the file again.",
            path=path,
            name=name,
            found=Message("nothing") if dataset.shape is None else dataset.dtype,
        )


def _leads_out(path: Path, name: str) -> FormatError:
    return FormatError(
        "{path}: the numbers of {name} are in another file, and only this one is read. "
        "Get a file that holds its own numbers.",
        path=path,
        name=name,
    )
