"""PyTorch files: the tensors of a pytorch_model.bin by name; nothing else in its pickle is loaded."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from inlaid.errors import FormatError, need
from inlaid.untrusted import check_size, library_errors, reading_file

ZIP = b"PK\x03\x04"
PICKLE = b"\x80\x02"
"""How files of before PyTorch 1.6 start."""
SHOWN = 40
"""Bytes of the start of a file that an error shows."""


def read_pytorch(path: Path) -> dict[str, Any]:
    """The tensors of a file by name. Of a pickle, PyTorch's loader runs only what makes tensors."""
    torch = need("torch", extra="neural")
    _check_start(path)
    _check_archive(path)

    def failed(reason: str) -> FormatError:
        return FormatError(
            "{path}: expected a file of tensors only, and a complete one; other pickled objects are never "
            "loaded ({reason}).",
            path=path,
            # PyTorch goes on with the advice to unpickle the file after all.
            reason=reason.partition(". ")[0],
        )

    with library_errors(failed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, dict):
        raise FormatError(
            "{path}: it holds a {found}; expected tensors by name. Get the file again.",
            path=path,
            found=type(content).__name__,
        )
    for name, tensor in content.items():
        if not isinstance(name, str) or not _is_plain(tensor):
            raise FormatError(
                "{path}: {name} is a {found}; expected tensors only, dense and by name.",
                path=path,
                name=name,
                found=type(tensor).__name__,
            )
    # A tensor may repeat one number of the file without end: strides of 0.
    check_size(path, sum(bytes_of(tensor) for tensor in content.values()))
    return content


def bytes_of(tensor: Any) -> int:
    """The bytes of a tensor as an array of its own, whatever it shares with others."""
    return tensor.numel() * tensor.element_size()


def _check_start(path: Path) -> None:
    with reading_file(path, "PyTorch"), path.open("rb") as file:
        start = file.read(SHOWN)
    if not start.startswith((ZIP, PICKLE)):
        raise FormatError(
            "{path}: not a PyTorch file: it starts with {start!r}. The download may have failed, or brought "
            "a page or a Git LFS pointer instead. Get the file again.",
            path=path,
            start=start,
        )


def _check_archive(path: Path) -> None:
    """Nothing in a zip file is compressed by PyTorch; what is says how large it gets."""
    with path.open("rb") as file:
        if file.read(len(ZIP)) != ZIP:
            return
    with reading_file(path, "PyTorch"), zipfile.ZipFile(path) as archive:
        sizes = [entry.file_size for entry in archive.infolist()]
    check_size(path, sum(sizes))


def _is_plain(tensor: Any) -> bool:
    torch = need("torch", extra="neural")
    if not isinstance(tensor, torch.Tensor) or tensor.is_nested or tensor.is_quantized:
        return False
    return tensor.layout == torch.strided and tensor.device.type == "cpu"
