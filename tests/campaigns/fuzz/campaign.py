"""The campaign: which seeds of which target are next, on some processes, adding up over runs."""

from __future__ import annotations

import os
import select
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tally import Tally

from fuzz.repack import SCRATCH
from fuzz.server import Result, Server
from fuzz.targets import BAD, OUTCOMES, TARGETS, Target
from inlaid import untrusted
from inlaid.memory import UNKNOWN

CAMPAIGN = "fuzz"
PEERS = "fuzz, other libraries"
GOAL = 100_000
"""Mutants of a target in all."""
SLICE = 5000
"""Seeds of one turn of a server, at most."""
TURN = 30
"""Seconds of one turn, so that all targets advance side by side. Seeds that are left over are not used."""
OUTCOME = "outcome.txt"
"""How a stored mutant ended."""
SHOWN = 3
"""Failures of one place that are printed and stored."""


@dataclass
class Job:
    """A server that is running, seen from the campaign."""

    target: str
    process: int
    pipe: int
    before: dict[int, str]
    """Seeds that failed in an earlier run, and how."""
    left: int
    """Seeds of its turn that have no result yet."""
    held: bytes = b""


@dataclass
class Campaign:
    name: str
    """In the tally."""
    targets: Mapping[str, Target]
    tally: Tally
    failures: Path | None
    """Where failures are stored, each in a folder TARGET-SEED; None: they are only counted."""
    seconds: float = float("inf")
    jobs: int = 2
    results: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    seen: Counter[str] = field(default_factory=Counter[str])
    wanted: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])
    """Failures of earlier runs. They are run again first."""

    def run(self, names: Iterable[str], mutants: int | None) -> int:
        """Run all targets side by side; the number of failures."""
        began = time.monotonic()
        for name in names:
            missing = self.targets[name].missing()
            if missing:
                print(f"{name}: not tested, because {missing} is not installed")
                continue
            done = sum(self.tally.seed(self.name, row) for row in self._rows(name))
            self.wanted[name] = max(0, GOAL - done) if mutants is None else mutants
            self.failed[name] = self._stored(name)
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=SCRATCH) as folder:
            self._run(Path(folder), began + self.seconds)
        self.tally.save()
        total = sum(self.results.values())
        print(f"{total:,} mutants in {time.monotonic() - began:.0f} s, {self.bad} failures")
        return self.bad

    def _run(self, folder: Path, until: float) -> None:
        running = dict[int, Job]()
        while True:
            while len(running) < self.jobs and time.monotonic() < until:
                job = self._next(running.values(), folder, until)
                if job is None:
                    break
                running[job.pipe] = job
            if not running:
                break
            for pipe in select.select(list(running), [], [], 1.0)[0]:
                if not self._collect(running[pipe]):
                    del running[pipe]

    def _stored(self, name: str) -> dict[int, str]:
        """Failures of earlier runs: seed -> outcome."""
        if self.failures is None:
            return {}
        found = {
            each.parent.name: each.read_text("utf-8").split() for each in self.failures.glob(f"*/{OUTCOME}")
        }
        parts = {folder.rpartition("-")[::2]: outcome for folder, (outcome, *_) in found.items()}
        return {int(seed): outcome for (target, seed), outcome in parts.items() if target == name}

    @property
    def seeds(self) -> str:
        """The row of the tally with the seeds that were handed out, finished or not."""
        return f"{self.name}: seeds"

    @property
    def bad(self) -> int:
        return sum(count for (_, outcome), count in self.results.items() if outcome in BAD)

    def _rows(self, name: str) -> list[str]:
        rows = self.tally.counts.get(self.name, {})
        return [row for row in rows if row.rpartition(" | ")[0] == name]

    def _next(self, running: Iterable[Job], folder: Path, until: float) -> Job | None:
        """Start a server for the target that has fewest servers and is furthest from its goal."""
        busy = Counter(job.target for job in running)
        left = {name: count for name, count in self.wanted.items() if count > 0 or self.failed[name]}
        if not left:
            return None
        name = min(left, key=lambda name: (busy[name], -left[name]))
        before = self.failed[name]
        self.failed[name] = {}
        seeds: Sequence[int] = list(before)
        if not before:
            first = self.tally.seed(self.seeds, name)
            seeds = range(first, first + min(left[name], SLICE))
            self.tally.add(self.seeds, name, "seeds", len(seeds))
            self.wanted[name] -= len(seeds)
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            serve = Serving(self.targets[name], folder, self.failures, writing)
            serve.run(seeds, until)
        os.close(writing)
        return Job(name, process, reading, before, 0 if before else len(seeds))

    def _collect(self, job: Job) -> bool:
        """Count what a server sent; False when it has ended."""
        data = os.read(job.pipe, 1 << 16)
        if not data:
            os.close(job.pipe)
            status = os.waitstatus_to_exitcode(os.waitpid(job.process, 0)[1])
            if status:
                print(f"  {job.target}: its server ended with {status}")
                self.results[job.target, "crash"] += 1
                self.wanted[job.target] = 0
            else:
                self.wanted[job.target] += job.left
            self.tally.save()
            return False
        lines = (job.held + data).split(b"\n")
        job.held = lines.pop()
        for line in lines:
            seed, kind, outcome, detail = line.decode("utf-8", "replace").split("\t")
            self._count(job, Result(int(seed), kind, outcome, detail))
        return True

    def _count(self, job: Job, result: Result) -> None:
        row = (job.target, result.kind)
        if result.seed not in job.before:
            job.left -= 1
        self.results[job.target, result.outcome] += 1
        self.tally.add(self.name, row, result.outcome)
        if result.seed in job.before:  # it was counted; what was repaired counts as what it is now
            self.tally.add(self.name, row, job.before[result.seed], -1)
        if self.failures is None:
            return
        folder = self.failures / f"{job.target}-{result.seed}"
        if result.outcome in BAD:
            (folder / OUTCOME).write_text(f"{result.outcome} ({result.kind}) {result.detail}\n", "utf-8")
            self._show(job, result)
        elif result.seed in job.before:
            shutil.rmtree(folder, ignore_errors=True)

    def _show(self, job: Job, result: Result) -> None:
        place = f"{job.target} {result.outcome} {result.detail[:40]}"
        self.seen[place] += 1
        if self.seen[place] <= SHOWN:
            print(
                f"  {job.target} {result.seed} ({result.kind}) {result.outcome}: {result.detail}", flush=True
            )


@dataclass(frozen=True)
class Serving:
    """A server that sends its results to the campaign."""

    target: Target
    folder: Path
    failures: Path | None
    pipe: int

    def run(self, seeds: Iterable[int], until: float) -> None:
        """The life of the process."""
        shown = os.dup(2)
        status = 1
        try:
            # Only the rule counts, not how much memory happens to be free under the limits of a worker.
            untrusted.available_memory = lambda: UNKNOWN
            server = Server(self.target, self.folder)
            quiet(server.folder)
            server.warm_up()
            for result in server.run(seeds, min(until, time.monotonic() + TURN)):
                if result.outcome in BAD and self.failures is not None:
                    server.store(result.seed, self.failures / f"{self.target.name}-{result.seed}")
                line = f"{result.seed}\t{result.kind}\t{result.outcome}\t{result.detail}\n"
                os.write(self.pipe, line.encode())
            status = 0
        except BaseException:
            os.write(shown, traceback.format_exc().encode())
        finally:
            os._exit(status)


def quiet(folder: Path) -> None:
    """Warnings and what libraries print before they give up go to a file."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(folder / ".stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)


def report(tally: Tally) -> str:
    """The tables of all runs so far."""
    for rows in tally.counts.values():
        for outcomes in rows.values():
            for outcome in [each for each, count in outcomes.items() if not count]:
                del outcomes[outcome]
    missing = [f"{name} (needs {each.missing()})" for name, each in TARGETS.items() if each.missing()]
    tables = [tally.table(CAMPAIGN, heads=("format", "mutation"), outcomes=OUTCOMES)]
    if PEERS in tally.counts:
        outcomes = [each for each in OUTCOMES if each not in ("read", "traceback")]
        tables.append(tally.table(PEERS, heads=("library", "format", "mutation"), outcomes=outcomes))
    if missing:
        tables.insert(1, f"Not tested: {', '.join(missing)}.")
    return "\n\n".join(tables)
