"""Workers: several processes that do the same, such as listening on one port; one that dies is replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

AGAIN = 1.0
"""Seconds before a process that died is replaced."""


def run(count: int, work: Callable[[int], None]) -> None:
    """Work in this process, or in several, which are told their number. SIGTERM and SIGINT end all of them,
    SIGHUP is passed on."""
    if count == 1:
        work(0)
        return
    children = {_started(work, number): number for number in range(count)}
    ending = False

    def end(number: int, frame: object) -> None:
        nonlocal ending
        ending = ending or number != signal.SIGHUP
        for child in children:
            os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    began = time.monotonic()
    while children:
        child, status = os.wait()
        number = children.pop(child)
        if ending:
            continue
        if time.monotonic() - began < AGAIN:  # what cannot start would be started for ever
            end(signal.SIGTERM, None)
            raise SystemExit(os.waitstatus_to_exitcode(status))
        time.sleep(AGAIN)
        began = time.monotonic()
        children[_started(work, number)] = number


def _started(work: Callable[[int], None], number: int) -> int:
    """A copy of this process that works and ends; nothing is loaded yet, and no thread runs."""
    child = os.fork()
    if child:
        return child
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    status = 1
    try:
        work(number)
        status = 0
    finally:
        os._exit(status)
