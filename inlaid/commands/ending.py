"""How a command ends: cleaned up after a signal, and with one line for an error of the system."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

from inlaid.errors import ADVICE, WriteError, advice
from inlaid.memory import available_memory
from inlaid.messages import Message
from inlaid.report import bytes_in_words


class Terminated(BaseException):
    """SIGTERM or SIGHUP has arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as Ctrl-C does, so that locks and unfinished files are removed."""

    def end(number: int, frame: object) -> None:
        raise Terminated(number)

    numbers = list[int]()
    if threading.current_thread() is threading.main_thread():  # only the main thread receives signals
        known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        numbers = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def flush() -> None:
    """Write what was printed: a full disk is found here, and not while Python ends."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # it was closed
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_print(error) from None


def _cannot_print(error: OSError) -> WriteError:
    print_nothing_more()
    return WriteError(
        "Cannot write to standard output: {reason}. {advice}, or write elsewhere.",
        reason=error.strerror,
        advice=advice(error),
    )


def print_nothing_more() -> None:
    """What is still to be flushed while Python ends goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explained(error: Exception) -> str:
    """What an error says. Those of the system say which file it is about, and what to do."""
    if isinstance(error, MemoryError):  # NumPy's says how many bytes it asked for, and nothing that helps
        left = bytes_in_words(available_memory())
        return str(Message("Not enough memory: {left} are left. End other programs, or do less.", left=left))
    if not isinstance(error, OSError):
        return str(error)
    if error.filename is None and error.errno in ADVICE:  # files that cannot be written are WriteErrors
        return str(_cannot_print(error))
    if error.filename is None:
        return str(error)
    known = ADVICE.get(error.errno or 0)
    told = Message(" {advice}.", advice=known) if known else Message("")
    return str(Message("{path}: {reason}.{told}", path=error.filename, reason=error.strerror, told=told))
