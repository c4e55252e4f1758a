"""The fork server: a process that has warmed up forks workers, each of which handles many mutants.

A worker has limits on memory and time. When it dies, the server knows of which mutant, and forks the next.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.targets import BAD, Mutant, Target, kind_of, mutant, originals_of

CPU_SECONDS = 2
"""Time that one mutant may compute; files of some kilobytes are read in milliseconds."""
REAL_SECONDS = 30
"""Time that one mutant may take in all, on a busy machine."""
MEMORY = 64 << 20
PER_BYTE = 8
"""The rule of memory: what a mutant may allocate is MEMORY and PER_BYTE times the size of its files."""
NO_LIMIT = 8 << 30
"""Memory in the turn that tells a crash from a lack of memory."""
BATCH = 400
"""Mutants of one worker."""
WARM_UP = 60
"""Mutants read before the first fork: imports and compiled code must not count as memory of a file."""
TIMERS = (signal.SIGALRM, signal.SIGPROF)


@dataclass(frozen=True)
class Result:
    seed: int
    kind: str
    outcome: str
    detail: str = ""


class Server:
    """One target, warmed up. `run` gives the results of seeds."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.samples = list(target.make(self.folder))
        self.originals = originals_of(self.samples)
        self.expected = {sample.path: sample.read(sample.path) for sample in self.samples}
        self._restore()

    def run(self, seeds: Iterable[int], until: float = float("inf")) -> Iterator[Result]:
        """The results of seeds, in order, until the time is up."""
        kinds = self.target.kinds
        left = [seed for seed in seeds if not kinds or kind_of(self.samples, seed) in kinds]
        while left and time.monotonic() < until:
            done = list(self._worker(left[:BATCH], until))
            yield from (self._confirmed(result) for result in done)
            left = left[len(done) :]

    def warm_up(self) -> None:
        """Use mutants that do no harm in a worker here, too: what they compile is then in every worker.

        Other libraries compile nothing, and what they refuse in a worker may end this process.
        """
        if self.target.confirmed != BAD:
            return
        harmless = [result.seed for result in self.run(range(-WARM_UP, 0)) if result.outcome not in BAD]
        for seed in harmless:
            self._attempt(self._mutant(seed))

    def replay(self, seed: int, folder: Path) -> Result:
        """One mutant in this process, without limits, with its traceback; its file is kept in `folder`."""
        found = self._mutant(seed)
        kept = folder / found.file.relative_to(self.folder)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(found.data)
        faulthandler.enable()
        return self._attempt(found, show=True)

    def store(self, seed: int, folder: Path) -> None:
        """Keep all files of a mutant in a folder."""
        found = self._mutant(seed)
        for file in found.sample.files():
            kept = folder / file.relative_to(self.folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(found.data if file == found.file else self.originals[file])

    def _mutant(self, seed: int) -> Mutant:
        return mutant(self.target.like or self.target.name, self.samples, self.originals, seed)

    def _restore(self) -> None:
        """All files as they were: a worker that died left its mutant behind."""
        for file, data in self.originals.items():
            if not file.exists() or file.read_bytes() != data:
                file.write_bytes(data)

    def _confirmed(self, result: Result) -> Result:
        """A failure once more, after a turn without limits: the first mutant that reaches some code may have
        paid for compiling it. What ends the turn without limits is a crash."""
        if result.outcome not in self.target.confirmed:
            return result
        return next(self._worker([result.seed], float("inf"), twice=True))

    def _worker(self, seeds: Sequence[int], until: float, *, twice: bool = False) -> Iterator[Result]:
        """Fork a worker and read its results. Where it dies, the last one says of what."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._work(seeds, writing, until, twice=twice)
        os.close(writing)
        begun: tuple[int, str] | None = None
        harmless = False
        with os.fdopen(reading, "r", encoding="utf-8", errors="replace") as pipe:
            for line in pipe:
                event, *values = line.rstrip("\n").split("\t")
                if event == "begin":
                    begun = (int(values[0]), values[1])
                elif event == "harmless":
                    harmless = True
                elif begun is not None:
                    yield Result(*begun, *values)
                    begun = None
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if begun is not None:
            yield _death(*begun, status, harmless=harmless)
            self._restore()
        elif status:
            raise RuntimeError(f"{self.target.name}: a worker ended with {status} outside of a mutant")

    def _work(self, seeds: Sequence[int], pipe: int, until: float, *, twice: bool) -> None:
        """The life of a worker."""
        faulthandler.disable()

        def send(*values: object) -> None:
            line = "\t".join(" ".join(str(value).split())[:300] for value in values)
            os.write(pipe, f"{line}\n".encode(errors="replace"))

        for each in TIMERS:
            signal.signal(each, signal.SIG_DFL)
        try:
            for seed in seeds:
                if time.monotonic() > until:
                    break
                found = self._mutant(seed)
                send("begin", seed, found.kind)
                if twice:
                    with _limits(NO_LIMIT, 5 * CPU_SECONDS):
                        self._attempt(found)
                    send("harmless")
                with _limits(self.target.memory + MEMORY + PER_BYTE * len(found.data), CPU_SECONDS):
                    result = self._attempt(found)
                send("end", result.outcome, result.detail)
        except BaseException:
            os.write(2, traceback.format_exc().encode(errors="replace"))
            os._exit(3)
        os._exit(0)

    def _attempt(self, found: Mutant, *, show: bool = False) -> Result:
        """Use one mutant, and say how that ended."""
        found.file.write_bytes(found.data)
        outcome = "read"
        detail = ""
        try:
            content = found.sample.read(found.sample.path)
            if content == self.expected[found.sample.path]:
                outcome = "same"
            elif found.exact:
                outcome = "wrong"
        except MemoryError as error:
            outcome = "memory"
            detail = str(error)
        except self.target.refusals as error:
            outcome = "memory" if _out_of_memory(error) else "refused"
            detail = str(error)
        except BaseException as error:
            outcome = "traceback"
            detail = f"{_place(error)} {type(error).__name__}: {error}"
            if show:
                traceback.print_exc(file=sys.stdout)
        finally:
            found.file.write_bytes(self.originals[found.file])
        return Result(0, found.kind, outcome, detail)


def _death(seed: int, kind: str, status: int, *, harmless: bool) -> Result:
    """Why a worker died. A mutant that did no harm without a limit on memory died of the limit."""
    reason = signal.Signals(-status).name if status < 0 else f"exit {status}"
    if -status in TIMERS:
        return Result(seed, kind, "hang", reason)
    return Result(seed, kind, "memory" if harmless else "crash", reason)


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether an error stands for a MemoryError: with more memory, the file would have taken it."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__context__
    return False


def _place(error: BaseException) -> str:
    """The last line of Inlaid's own code that an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/inlaid/" in frame.filename]
    if not own:
        return ""
    return f"{own[-1].filename.rpartition('/inlaid/')[2]}:{own[-1].lineno}"


@contextlib.contextmanager
def _limits(memory: int, seconds: float) -> Iterator[None]:
    """Limits on memory and time. RLIMIT_DATA counts writable memory only: what an allocator reserves without
    using it (64 MB for each thread) does not count."""
    held = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData")
    )
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (1024 * int(held.split()[1]) + memory, most))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, REAL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
