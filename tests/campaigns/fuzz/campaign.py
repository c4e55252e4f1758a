"""The campaign: which seeds of which target are next, on some processes, adding up over runs."""

from __future__ import annotations

import os
import select
import shutil
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tally import Tally

from fuzz.server import BAD, OUTCOMES, Result, Server
from fuzz.targets import TARGETS, Target

CAMPAIGN = "fuzz"
SEEDS = "fuzz: seeds handed out"
GOAL = 100_000
"""Mutants of a target in all."""
SLICE = 5000
"""Seeds that a server is given at a time, at most."""
SHOWN = 3
"""Failures of one place that are printed and stored."""


@dataclass
class Job:
    """A server that is running, seen from the campaign."""

    target: str
    process: int
    pipe: int
    seeds: range
    done: int = 0
    held: bytes = b""


@dataclass
class Campaign:
    tally: Tally
    failures: Path
    """Mutants that were not handled, each in a folder TARGET-SEED."""
    seconds: float = float("inf")
    jobs: int = 2
    results: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    seen: Counter[str] = field(default_factory=Counter[str])
    wanted: dict[str, int] = field(default_factory=dict[str, int])

    def run(self, names: Iterable[str], mutants: int | None) -> int:
        """Run all targets side by side; the number of failures."""
        began = time.monotonic()
        until = began + self.seconds
        for name in names:
            missing = TARGETS[name].missing()
            if missing:
                print(f"{name}: not tested, because {missing} is not installed")
                continue
            self.recheck(TARGETS[name])
            done = sum(self.tally.seed(CAMPAIGN, row) for row in self._rows(name))
            self.wanted[name] = max(0, GOAL - done) if mutants is None else mutants
        running = dict[int, Job]()
        while True:
            while len(running) < self.jobs and time.monotonic() < until:
                job = self._next(running.values(), until)
                if job is None:
                    break
                running[job.pipe] = job
            if not running:
                break
            for pipe in select.select(list(running), [], [], 1.0)[0]:
                if not self._collect(running[pipe]):
                    del running[pipe]
        self.tally.save()
        seconds = time.monotonic() - began
        total = sum(self.results.values())
        print(f"{total:,} mutants in {seconds:.0f} s, {self.bad} failures")
        return self.bad

    @property
    def bad(self) -> int:
        return sum(count for (_, outcome), count in self.results.items() if outcome in BAD)

    def recheck(self, target: Target) -> None:
        """Failures of earlier runs once more: what was repaired is counted as what it is now."""
        kept = sorted(self.failures.glob(f"{target.name}-*"))
        seeds = [int(each.name.rpartition("-")[2]) for each in kept]
        if not seeds:
            return
        server = Server(target)
        server.warm_up()
        for folder, result in zip(kept, server.run(seeds), strict=False):
            before = (folder / "outcome.txt").read_text("utf-8").split()[0]
            if result.outcome != before:
                self.tally.add(CAMPAIGN, (target.name, result.kind), before, -1)
                self.tally.add(CAMPAIGN, (target.name, result.kind), result.outcome)
            if result.outcome in BAD:
                self.results[target.name, result.outcome] += 1
                print(f"  {target.name} {result.seed} is still {result.outcome}: {result.detail}")
            else:
                shutil.rmtree(folder)
        server.close()

    def _rows(self, name: str) -> list[str]:
        rows = self.tally.counts.get(CAMPAIGN, {})
        return [row for row in rows if row.partition(" | ")[0] == name]

    def _next(self, running: Iterable[Job], until: float) -> Job | None:
        """Start a server for the target that is furthest from its goal and has fewest servers."""
        busy = Counter(job.target for job in running)
        left = {name: count for name, count in self.wanted.items() if count > 0}
        if not left:
            return None
        name = min(left, key=lambda name: (busy[name], -left[name]))
        count = min(left[name], max(SLICE, 1))
        first = self.tally.seed(SEEDS, name)
        seeds = range(first, first + count)
        self.tally.add(SEEDS, name, "seeds", count)
        self.wanted[name] -= count
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            _serve(TARGETS[name], seeds, writing, until, self.failures)
        os.close(writing)
        return Job(name, process, reading, seeds)

    def _collect(self, job: Job) -> bool:
        """Count what a server sent; False when it has ended."""
        data = os.read(job.pipe, 1 << 16)
        if not data:
            os.close(job.pipe)
            status = os.waitstatus_to_exitcode(os.waitpid(job.process, 0)[1])
            if status:
                print(f"  {job.target}: its server ended with {status}")
                self.results[job.target, "crash"] += 1
            self.tally.save()
            return False
        lines = (job.held + data).split(b"\n")
        job.held = lines.pop()
        for line in lines:
            seed, kind, outcome, detail = line.decode("utf-8", "replace").split("\t")
            self._count(job, Result(int(seed), kind, outcome, detail))
        return True

    def _count(self, job: Job, result: Result) -> None:
        job.done += 1
        self.results[job.target, result.outcome] += 1
        self.tally.add(CAMPAIGN, (job.target, result.kind), result.outcome)
        if result.outcome in BAD:
            place = f"{job.target} {result.outcome} {result.detail[:40]}"
            self.seen[place] += 1
            if self.seen[place] <= SHOWN:
                print(
                    f"  {job.target} {result.seed} ({result.kind}) {result.outcome}: {result.detail}",
                    flush=True,
                )


def _serve(target: Target, seeds: range, pipe: int, until: float, failures: Path) -> None:
    """The life of a server."""
    status = 1
    shown = os.dup(2)
    try:
        server = Server(target)
        quiet(server.folder)
        server.warm_up()
        for result in server.run(seeds, until):
            os.write(pipe, f"{result.seed}\t{result.kind}\t{result.outcome}\t{result.detail}\n".encode())
            if result.outcome in BAD:
                folder = failures / f"{target.name}-{result.seed}"
                server.store(result.seed, folder)
                (folder / "outcome.txt").write_text(
                    f"{result.outcome} ({result.kind}) {result.detail}\n", "utf-8"
                )
        server.close()
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
    """The table of all runs so far."""
    rows = tally.counts.get(CAMPAIGN, {})
    for outcomes in rows.values():
        for outcome in [each for each, count in outcomes.items() if not count]:
            del outcomes[outcome]
    return tally.table(CAMPAIGN, heads=("format", "mutation"), outcomes=OUTCOMES)
