"""Every test runs with shapes and types checked, and nothing vanishes: whatever did not run is counted and
printed with its reason at the end. With CI=true an omission fails the run, unless it needs a GPU."""

from __future__ import annotations

import ast
import builtins
import csv
import dataclasses
import importlib.util
import inspect
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

# Before NumPy is imported: the tests run in two processes, and BLAS threads that wait for a core spin on it.
# The spaces of study/compare/test_align.py took 22 s of processor time with two threads and 6 s with one, on
# two cores that others used too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads do the same

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype

_beartype: Any = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))
_jaxtyped: Any = jaxtyping.jaxtyped


def _checked(function: Any) -> Any:
    """The function with its types checked at each call, and its shapes where its annotations have any.

    jaxtyping's own wrapper checks all arguments twice, and that at every call. beartype is given types, not
    their names: to look up a name it keeps the variables of every function around it, for good, and with them
    each file that they have opened.
    """
    if function.__module__.rpartition(".")[2] in vars(builtins):
        return _jaxtyped(
            function, typechecker=_beartype
        )  # beartype's code calls `next`, and finds our analysis
    written = function.__annotations__
    types = {name: _type_of(annotation, function.__globals__) for name, annotation in written.items()}
    function.__annotations__ = types
    checked = _beartype(function)
    function.__annotations__ = written
    checked.__annotations__ = written
    return _jaxtyped(checked, typechecker=None) if any(map(_has_shape, types.values())) else checked


def _type_of(annotation: Any, scope: dict[str, Any]) -> Any:
    """The type that an annotation names; a name that is only there for type checkers may be anything."""

    def annotated() -> None: ...

    annotated.__annotations__ = {"value": annotation}
    try:
        return get_type_hints(annotated, scope, include_extras=True)["value"]
    except (NameError, TypeError, AttributeError):
        return Any


def _has_shape(annotation: Any) -> bool:
    shaped = inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray)
    return shaped or any(map(_has_shape, get_args(annotation)))


def _check_calls(**settings: Any) -> Callable[[Any], Any]:
    """What jaxtyping's import hook puts on every function and class, in place of its own decorator."""

    def decorate(made: Any) -> Any:
        if inspect.isfunction(made):
            return _checked(made)
        if dataclasses.is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = _checked(made.__init__)  # pyright: ignore[reportAttributeAccessIssue]
        return made

    return decorate


jaxtyping.jaxtyped = _check_calls
jaxtyping.install_import_hook("inlaid", None)

# A process started in the background ignores Ctrl-C, and some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ALLOWED_IN_CI = "needs a GPU"
"""Reasons that start with this are printed but do not fail CI: its machine has no GPU."""
NOT_RUN = "[NOTRUN]"
"""How pytest marks a test of `xfail(run=False)`; any other expected failure did run."""


class Omission(NamedTuple):
    """Tests that did not run: where they are, how many, and why."""

    where: str
    count: int
    reason: str


OMISSIONS = pytest.StashKey[dict[str, Omission]]()
"""By place, so that a module that both workers of xdist leave out counts once."""


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() == "true"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora and files that INLAID_DATA names."""
    if not os.environ.get("INLAID_DATA"):
        pytest.skip("INLAID_DATA is not set: it names a folder of real data that is not in the repository")
    folder = Path(os.environ["INLAID_DATA"]).resolve()
    if not folder.is_dir():
        pytest.fail(f"INLAID_DATA names {folder}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model folders: decoder, bytes, masked, seq2seq, sentence (see tiny_models.py)."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'inlaid[neural]'")
    spec = importlib.util.spec_from_file_location("tiny_models", Path(__file__).with_name("tiny_models.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make(tmp_path_factory.mktemp("models"))


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Type a command; what it printed, or its error where one is expected."""

    from inlaid.cli import main

    def run(*words: str | Path, code: int = 0) -> str:
        capsys.readouterr()
        ended = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert ended == code, err
        return err if code else out

    return run


class Ended(NamedTuple):
    """A process that ran in a terminal: its exit code and everything that was shown."""

    code: int
    shown: str


def _in_terminal(code: str, folder: Path, **variables: str) -> Ended:
    """Run Python code in a terminal of 80 columns and 24 rows."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "NO_COLOR", "CI", "PYTEST_CURRENT_TEST")
    }
    environment |= {"TERM": "xterm-256color", **variables}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as program:
        os.close(theirs)
        shown = b""
        while block := _read_terminal(ours):
            shown += block
    os.close(ours)
    return Ended(program.returncode, shown.decode("utf-8"))


def _read_terminal(terminal: int) -> bytes:
    """What was written since; nothing once the program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO when the other end is closed
        return b""


@pytest.fixture
def in_terminal() -> Callable[..., Ended]:
    """Run Python code in a pseudo-terminal: `in_terminal(code, folder, VARIABLE="value")`."""
    return _in_terminal


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OMISSIONS] = {}
    config.pluginmanager.register(Listener(config), "omissions")


class Listener:
    """Collects omissions of all kinds. With xdist, the workers collect and the controller reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found = config.stash[OMISSIONS]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that skipped itself, in its body, its fixtures or by a mark."""
        expected_failure = getattr(report, "wasxfail", None)
        if report.skipped and (expected_failure is None or expected_failure.startswith(NOT_RUN)):
            self.add(report.nodeid, 1, expected_failure or _reason(report.longrepr))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that skipped itself, with `importorskip` or `pytest.skip` at its top."""
        if report.skipped:
            count = _tests_in(self.config.rootpath / report.nodeid)
            self.add(report.nodeid, count, _reason(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(self, collection_path: Path) -> Iterator[None]:
        """A file that a conftest names in `collect_ignore` or `collect_ignore_glob`."""
        ignored = yield
        if ignored and collection_path.match("test_*.py") and not _on_command_line(self.config):
            where = collection_path.relative_to(self.config.rootpath).as_posix()
            self.add(where, _tests_in(collection_path), "left out by collect_ignore in a conftest.py")
        return ignored

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker of xdist has ended: take over what only it knows."""
        for fields in getattr(node, "workeroutput", {}).get("omissions", ()):
            self.add(*fields)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["omissions"] = [tuple(each) for each in self.found.values()]
        elif self.refused() and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print each reason once, with the number of tests it cost and where they are."""
        if not self.found:
            return
        total = sum(each.count for each in self.found.values())
        terminalreporter.section(f"{total} tests did not run")
        for reason, count in _by_reason(self.found).most_common():
            terminalreporter.line(f"{count:5} {reason} ({_places(self.found, reason)})")
        if refused := self.refused():
            count = sum(each.count for each in refused)
            terminalreporter.line(
                f"CI=true: {count} of these fail the run; only a GPU may be missing.", red=True
            )

    def add(self, where: str, count: int, reason: str) -> None:
        self.found[where] = Omission(where, count, reason)

    def refused(self) -> list[Omission]:
        """What CI does not accept; nothing outside CI."""
        if not in_ci():
            return []
        return [each for each in self.found.values() if not each.reason.startswith(ALLOWED_IN_CI)]


def _by_reason(found: dict[str, Omission]) -> Counter[str]:
    counts = Counter[str]()
    for each in found.values():
        counts[each.reason] += each.count
    return counts


def _places(found: dict[str, Omission], reason: str) -> str:
    """The files in question, the first few by name."""
    files = sorted({each.where.split("::")[0] for each in found.values() if each.reason == reason})
    more = [f"{len(files) - 3} more files"] if len(files) > 3 else []
    return ", ".join(files[:3] + more)


def _reason(longrepr: object) -> str:
    """What the skip says; pytest keeps (path, line, "Skipped: reason"), which xdist turns into a list."""
    said = longrepr[2] if isinstance(longrepr, (tuple, list)) else longrepr
    return " ".join(str(said).removeprefix("Skipped: ").split())


def _tests_in(path: Path) -> int:
    """Test functions of a file that was not imported, at least one; their parameters cannot be counted."""
    if not path.is_file():
        return 1
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return max(1, sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in nodes))


def _on_command_line(config: pytest.Config) -> bool:
    """Whether this run was told to ignore files: that is a choice of whoever typed it, not an omission."""
    return bool(config.getoption("ignore", None) or config.getoption("ignore_glob", None))


@pytest.fixture(autouse=True)
def csv_limit() -> Iterator[None]:
    """The limit on fields of csv files belongs to the process: a test that lowers it changes no other."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)
