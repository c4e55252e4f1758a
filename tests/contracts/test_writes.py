"""Every write goes through files.py, and locks through locks.py: no other module opens a file for writing or
calls what does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import inlaid

PACKAGE = Path(inlaid.__file__).parent
WRITERS = {PACKAGE / "files.py", PACKAGE / "locks.py"}
MODULES = sorted(set(PACKAGE.rglob("*.py")) - WRITERS)
HANDLES = {"writing", "packing", "BytesIO", "StringIO"}
"""Calls whose result may be written to: what files.py opens, and buffers in memory."""
SAVERS = {"save_file", "savefig", "savez", "savez_compressed", "savetxt", "ParquetWriter", "write_table"}
"""Calls that write to an argument: it must be a handle, not a path."""
AMBIGUOUS = {"save", "dump"}
"""The same, where a library of arrays or of serialization has a function of this name."""
LIBRARIES = {"np", "numpy", "pickle", "json", "torch"}
COMPRESSORS = {"GzipFile", "LZMAFile", "BZ2File", "ZipFile"}
NEVER = {"mkdir", "touch", "symlink_to", "tofile", "write_index", "to_csv", "to_parquet"}
OS = {"open", "replace", "rename", "renames", "mkdir", "makedirs", "truncate", "link", "symlink"}
SHUTIL_READS = {"which", "disk_usage", "get_terminal_size"}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def owner_of(call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def handles(tree: ast.AST) -> set[str]:
    """Names bound to something that may be written to."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem):
            call = node.context_expr
            targets = [node.optional_vars]
        elif isinstance(node, ast.Assign):
            call = node.value
            targets = node.targets
        else:
            continue
        if isinstance(call, ast.Call) and name_of(call) in HANDLES:
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def modes(call: ast.Call) -> list[ast.expr]:
    """Arguments of an `open` that may be its mode: the second of open(), the first of path.open()."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    on_a_path = isinstance(call.func, ast.Attribute) and owner_of(call) not in ("gzip", "bz2", "lzma", "io")
    return [*named, *call.args[0 if on_a_path else 1 :][:1]]


def writes(mode: ast.expr) -> bool:
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        looks_like_a_mode = len(mode.value) <= 3 and set(mode.value) <= set("rwaxbt+")
        return looks_like_a_mode and bool(set("wax+") & set(mode.value))
    return False


def is_breach(call: ast.Call, known: set[str]) -> bool:
    name = name_of(call)
    owner = owner_of(call)
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    has_handle = any(isinstance(each, ast.Name) and each.id in known for each in arguments)
    if owner == "os":
        return name in OS and "os.devnull" not in ast.unparse(call)
    if owner == "shutil":
        return name not in SHUTIL_READS
    if name == "open":
        return any(map(writes, modes(call)))
    if name in ("write_text", "write_bytes"):
        return isinstance(call.func, ast.Attribute) and owner != "files"
    if name == "memmap":
        return any(map(writes, arguments))
    if name in COMPRESSORS:
        return any(map(writes, arguments)) and not has_handle
    if name in SAVERS or (name in AMBIGUOUS and owner in LIBRARIES):
        return not has_handle
    return name in NEVER


def breaches(source: str) -> list[str]:
    tree = ast.parse(source)
    known = handles(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [f"line {call.lineno}: {ast.unparse(call)}" for call in calls if is_breach(call, known)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_files_writes(path: Path):
    assert not breaches(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "code",
    [
        'open(path, "w")',
        'open(path, mode="ab")',
        'path.open("wb")',
        'path.open(mode="x")',
        'gzip.open(path, "wt")',
        'io.open(path, "r+")',
        "path.write_text(text)",
        "(folder / name).write_bytes(data)",
        "np.save(path, table)",
        "np.savez(path, table=table)",
        "table.tofile(path)",
        "json.dump(content, path)",
        "torch.save(state, path)",
        "save_file(tensors, path)",
        'np.memmap(path, "f4", "w+")',
        "figure.savefig(path)",
        "parquet.ParquetWriter(path, schema)",
        'gzip.GzipFile(path, "wb")',
        'zipfile.ZipFile(path, "w")',
        "os.replace(part, path)",
        "os.open(path, os.O_WRONLY)",
        "shutil.copy(path, other)",
        "path.mkdir()",
        "faiss.write_index(index, path)",
    ],
)
def test_a_write_elsewhere_is_found(code: str):
    assert breaches(code)


@pytest.mark.parametrize(
    "code",
    [
        "files.write_text(path, text)",
        "with files.writing(path) as file:\n    np.savez(file, words=words)",
        "file = io.BytesIO()\nfigure.savefig(file)",
        'path.open("rb")',
        'gzip.open(path, "rt")',
        'archive.open("w.npy")',
        "json.dumps(content)",
    ],
)
def test_reading_and_writing_through_files_is_allowed(code: str):
    assert not breaches(code)
