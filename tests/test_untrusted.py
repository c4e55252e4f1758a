"""Untrusted files: depth of JSON, declared sizes, and errors of libraries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inlaid import untrusted
from inlaid.errors import FormatError, SourceError
from inlaid.untrusted import MAX_DEPTH, check_size, library_errors, parse_json, read_json, read_json_object

DEEP = 200_000


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, DEEP])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_json_nested_too_deeply_is_not_read(depth: int, start: str, end: str, tmp_path: Path):
    text = start * depth + "1" + end * depth
    for given in (text, text.encode()):
        with pytest.raises(ValueError, match=f"nested more than {MAX_DEPTH} levels"):
            parse_json(given)
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"config.json: not JSON \(it is nested"):
        read_json(path)


def test_json_that_is_wide_or_just_deep_enough_is_read():
    wide = {"merges": [["a", "b"]] * 1000, "text": "[" * 1000}
    assert parse_json(json.dumps(wide)) == wide
    assert parse_json(json.dumps("[{" * 1000)) == "[{" * 1000
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(parse_json(deepest)) == deepest


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\xfa", b"<html>404</html>", b"9" * 5000])
def test_a_file_that_is_not_json(content: bytes, tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"config.json: not JSON"):
        read_json(path)


def test_what_is_not_an_object_is_named(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text("[1]")
    with pytest.raises(FormatError, match="expected a JSON object, found list"):
        read_json_object(path)
    with pytest.raises(SourceError, match="Cannot read"):
        read_json_object(tmp_path)


def test_what_a_file_declares_is_compared_with_the_file_and_with_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "v.hdf5"
    path.write_bytes(bytes(1000))
    check_size(path, untrusted.ALWAYS_ALLOWED)
    check_size(path, untrusted.ALWAYS_ALLOWED + 1000 * untrusted.MAX_RATIO)
    with pytest.raises(FormatError, match=r"v.hdf5: it declares 4,000,000,000,000 bytes .* in 1,000 bytes"):
        check_size(path, 4 * 10**12)
    check_size(path, 10**9, stored=10**8)
    monkeypatch.setattr(untrusted, "available_memory", lambda: 10**8)
    with pytest.raises(SourceError, match="takes 1,000,000,000 bytes of memory, and 100,000,000 are"):
        check_size(path, 10**9, stored=10**8)


def test_errors_of_a_library_name_the_file():
    class Panic(BaseException):
        pass

    def failed(reason: str) -> FormatError:
        return FormatError("{reason}", reason=reason)

    for error, said in ((Panic("bad"), "bad"), (KeyError(), "KeyError"), (OSError("a\nb"), "a")):
        with pytest.raises(FormatError, match=f"^{said}$"), library_errors(failed):
            raise error
    with pytest.raises(KeyboardInterrupt), library_errors(failed):
        raise KeyboardInterrupt
    file = untrusted.reading_file(Path("a.h5"), "HDF5")
    with pytest.raises(SourceError, match="a.h5: there is not enough memory"), file:
        raise MemoryError
