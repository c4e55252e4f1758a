"""Cleaning in other processes, for the text that Python must do: there, threads would wait for each other.

A child runs `python -m inlaid.encode.processes` and is spoken to through its pipes: a line of JSON with the
settings, then block after block. (Not `multiprocessing`: that would run the user's own script again in each
child.)
"""

from __future__ import annotations

import contextlib
import json
import queue
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import asdict
from typing import IO, Any

from inlaid import registry
from inlaid.collect.sources import Block
from inlaid.encode.cleaning import Cleaned, Cleaning
from inlaid.encode.numbering import padded
from inlaid.errors import InlaidError, SourceError

PYTHON_BOUND = 0.1
"""Above this share done by Python, a block would be better off in a process."""
PATIENCE = 2
"""Blocks that would be better off before processes are started: a child takes most of a second of a core to
be of use."""
HEAD = struct.Struct("<qqqd")
READY = b"."


class Cleaners:
    """Cleans blocks for several threads at once, by itself or, once a block shows that it is worth it, in
    processes."""

    def __init__(self, cleaning: Cleaning, workers: int) -> None:
        self.cleaning = cleaning
        self.workers = workers
        self.free: queue.SimpleQueue[_Child] | None = None
        self.children = ExitStack()
        self.starting = threading.Lock()
        self.bound = 0

    def __enter__(self) -> Cleaners:
        return self

    def __exit__(self, *error: object) -> None:
        self.children.close()

    def clean(self, block: Block) -> Cleaned:
        child = self._free_child()
        if child is None:
            cleaned = self.cleaning.clean(block)
            self.bound += cleaned.plain > PYTHON_BOUND
            return cleaned
        try:
            return child.clean(block)
        finally:
            child.free.put(child)

    def _free_child(self) -> _Child | None:
        """None as long as the text has not shown that it needs children, and while they are starting: we work
        on meanwhile."""
        if self.bound < PATIENCE or self.workers == 1:
            return None
        with self.starting:
            if self.free is None:
                self.free = queue.SimpleQueue()
                for _ in range(self.workers):
                    self.children.enter_context(_Child(self.cleaning, self.free))
        with contextlib.suppress(queue.Empty):
            return self.free.get_nowait()
        return None


class _Child:
    """One child process, and how it is spoken to. It counts as free once it has loaded what it needs."""

    def __init__(self, cleaning: Cleaning, free: queue.SimpleQueue[_Child]) -> None:
        command = [sys.executable, "-m", "inlaid.encode.processes"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.free = free
        self.ready = threading.Thread(target=self._await)
        self._send(json.dumps(_told(cleaning)).encode() + b"\n")
        self.ready.start()

    def _await(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.read(len(READY))
        self.free.put(self)  # also where it has ended: whoever asks it for work will say so

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()  # it may still be loading, and there is nothing in it to lose
        self.ready.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # it may have ended before us
                    pipe.close()
        self.process.wait()

    def clean(self, block: Block) -> Cleaned:
        name = block.name.encode("utf-8", "surrogateescape")
        output = self.process.stdout
        assert output is not None
        try:
            self._send(HEAD.pack(len(block.data), len(name), block.line, 0.0) + name + block.data)
            head = output.read(HEAD.size)
        except BrokenPipeError:  # left alone, the command line would take it for a reader who has seen enough
            head = b""
        size, invalid, failed, plain = HEAD.unpack(head) if len(head) == HEAD.size else (1, 0, 0, 0.0)
        data = output.read(size)
        if len(data) < size:
            raise SourceError(
                "A worker process ended before its work was done. If memory is short, use fewer workers."
            )
        if failed:
            raise SourceError(data.decode("utf-8"))
        return Cleaned(padded(data), size, invalid, plain)

    def _send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()


def _told(cleaning: Cleaning) -> dict[str, Any]:
    """The settings as a child is told them."""
    name = next(
        entry.name for entry in registry.entries("tokenizer") if entry.load() is type(cleaning.tokenizer)
    )
    return {
        "tokenizer": [name, asdict(cleaning.tokenizer)],  # pyright: ignore[reportArgumentType]
        "normalize": cleaning.normalize,
        "sentences": cleaning.sentences,
        "invalid": cleaning.invalid,
    }


def _understood(told: dict[str, Any]) -> Cleaning:
    name, settings = told["tokenizer"]
    tokenizer = registry.find("tokenizer", name)(**{key: tuple(value) for key, value in settings.items()})
    return Cleaning(tokenizer, tuple(told["normalize"]), told["sentences"], told["invalid"])


def _serve(given: IO[bytes], answers: IO[bytes]) -> None:
    """Clean blocks until there are no more."""
    cleaning = _understood(json.loads(given.readline()))
    cleaning.clean(Block("一 a\n".encode(), "", 1))  # dictionary and kernels are loaded now
    answers.write(READY)
    answers.flush()
    while head := given.read(HEAD.size):
        size, name, line, _ = HEAD.unpack(head)
        block = Block(
            name=given.read(name).decode("utf-8", "surrogateescape"), data=given.read(size), line=line
        )
        try:
            done = cleaning.clean(block)
            answers.write(
                HEAD.pack(done.size, done.invalid, 0, done.plain) + done.text[: done.size].tobytes()
            )
        except InlaidError as error:
            said = str(error).encode("utf-8")
            answers.write(HEAD.pack(len(said), 0, 1, 0.0) + said)
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # the parent has ended, and says why
        _serve(sys.stdin.buffer, sys.stdout.buffer)
