"""Cleaning in child processes, for text that Python must clean: threads would wait for each other.

A child runs `python -m inlaid.encode.processes` and communicates through its pipes: a line of JSON with the
settings, then block after block. (Not `multiprocessing`: it would run the user's own script again in each
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
from typing import IO, Any, NamedTuple

from inlaid import registry
from inlaid.collect.sources import TextBlock
from inlaid.config import settings_of
from inlaid.encode.cleaning import CleanedBlock, Cleaner
from inlaid.encode.numbering import padded
from inlaid.errors import InlaidError, SourceError
from inlaid.untrusted import parse_json

PYTHON_BOUND = 0.1
"""A block is slow if Python cleaned more than this share of it: it would gain from a process of its own."""
SLOW_BLOCKS = 2
"""Slow blocks before processes are started: a child needs most of a second of CPU time to start."""
READY = b"."


class Request(NamedTuple):
    """Precedes a block sent to a child: sizes of the data and of the name that follow, first line number."""

    size: int
    name_size: int
    line: int

    @classmethod
    def read(cls, stream: IO[bytes]) -> Request | None:
        head = stream.read(REQUEST.size)
        return cls(*REQUEST.unpack(head)) if len(head) == REQUEST.size else None


class Answer(NamedTuple):
    """Precedes what a child sends back: the size of what follows, which is a cleaned block or an error."""

    size: int
    invalid: int
    failed: int
    python_share: float

    @classmethod
    def read(cls, stream: IO[bytes]) -> Answer | None:
        head = stream.read(ANSWER.size)
        return cls(*ANSWER.unpack(head)) if len(head) == ANSWER.size else None


REQUEST = struct.Struct("<qqq")
ANSWER = struct.Struct("<qqqd")


class CleanerPool:
    """Cleans blocks for several threads: itself or, once blocks prove to be slow, in child processes."""

    def __init__(self, cleaner: Cleaner, workers: int) -> None:
        self.cleaner = cleaner
        self.workers = workers
        self.free: queue.SimpleQueue[_Child] | None = None
        self.children = ExitStack()
        self.starting = threading.Lock()
        self.slow_blocks = 0

    def __enter__(self) -> CleanerPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.children.close()

    def clean(self, block: TextBlock) -> CleanedBlock:
        child = self._free_child()
        if child is None:
            cleaned = self.cleaner.clean(block)
            self.slow_blocks += cleaned.python_share > PYTHON_BOUND
            return cleaned
        try:
            return child.clean(block)
        finally:
            child.free.put(child)

    def _free_child(self) -> _Child | None:
        """None until the text has proved to be slow, and while all children are starting or busy."""
        if self.slow_blocks < SLOW_BLOCKS or self.workers == 1:
            return None
        with self.starting:
            if self.free is None:
                self.free = queue.SimpleQueue()
                for _ in range(self.workers):
                    self.children.enter_context(_Child(self.cleaner, self.free))
        with contextlib.suppress(queue.Empty):
            return self.free.get_nowait()
        return None


class _Child:
    """One child process. It counts as free once it has loaded what it needs."""

    def __init__(self, cleaner: Cleaner, free: queue.SimpleQueue[_Child]) -> None:
        command = [sys.executable, "-m", "inlaid.encode.processes"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.free = free
        self.ready = threading.Thread(target=self._await_ready)
        self._send(json.dumps(_to_settings(cleaner)).encode() + b"\n")
        self.ready.start()

    def _await_ready(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.read(len(READY))
        self.free.put(self)  # also if it has ended: the next request to it reports that

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()  # it may still be loading, and it holds nothing worth saving
        self.ready.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # it may have ended before
                    pipe.close()
        self.process.wait()

    def clean(self, block: TextBlock) -> CleanedBlock:
        output = self.process.stdout
        assert output is not None
        name = block.name.encode("utf-8", "surrogateescape")
        request = Request(len(block.data), len(name), block.line)
        answer = None
        # an uncaught BrokenPipeError would look to the command line like a closed terminal
        with contextlib.suppress(BrokenPipeError):
            self._send(REQUEST.pack(*request) + name + block.data)
            answer = Answer.read(output)
        data = output.read(answer.size) if answer else b""
        if answer is None or len(data) < answer.size:
            raise SourceError(
                "A worker process ended before it was done. If memory is short, use fewer workers."
            )
        if answer.failed:
            error = parse_json(data)
            raise SourceError.from_parts(error["sentence"], error["values"])
        return CleanedBlock(padded(data), answer.size, answer.invalid, answer.python_share)

    def _send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()


def _to_settings(cleaner: Cleaner) -> dict[str, Any]:
    """The cleaner as JSON for a child."""
    kind = type(cleaner.tokenizer)
    name = next(entry.name for entry in registry.entries("tokenizer") if entry.load() is kind)
    return {
        "tokenizer": name,
        "tokenizer_settings": asdict(cleaner.tokenizer),  # pyright: ignore[reportArgumentType]
        "normalize": cleaner.normalize,
        "sentences": cleaner.sentences,
        "invalid": cleaner.invalid,
    }


def _from_settings(settings: dict[str, Any]) -> Cleaner:
    tokenizer = settings_of(registry.find("tokenizer", settings["tokenizer"]), settings["tokenizer_settings"])
    return Cleaner(tokenizer, tuple(settings["normalize"]), settings["sentences"], settings["invalid"])


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Clean blocks until there are no more."""
    cleaner = _from_settings(parse_json(requests.readline()))
    cleaner.clean(TextBlock("一 a\n".encode(), "", 1))  # loads the dictionary and the kernels
    answers.write(READY)
    answers.flush()
    while request := Request.read(requests):
        name = requests.read(request.name_size).decode("utf-8", "surrogateescape")
        block = TextBlock(requests.read(request.size), name, request.line)
        try:
            cleaned = cleaner.clean(block)
        except InlaidError as error:
            message = json.dumps({"sentence": error.sentence, "values": error.values}, default=str).encode()
            answers.write(ANSWER.pack(*Answer(len(message), 0, 1, 0.0)) + message)
        else:
            head = ANSWER.pack(*Answer(cleaned.size, cleaned.invalid, 0, cleaned.python_share))
            answers.write(head + cleaned.text[: cleaned.size].tobytes())
        answers.flush()


if __name__ == "__main__":
    # a broken pipe means that the parent has ended, which reports the reason itself
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        _serve(sys.stdin.buffer, sys.stdout.buffer)
