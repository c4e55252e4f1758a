"""Fuzzing: mutated small files of every format. No crash, no hang, bounded memory, no wrong native read.

    python tests/campaigns/fuzz.py 20000        # what `make fuzz` runs, every format
    python tests/campaigns/fuzz.py 300 npz      # a short run of one

Each format is read in a forked worker with limits on memory and time. A reader may return vectors or raise
one of Inlaid's errors. Everything else is listed with the seed that reproduces it.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import inlaid
from inlaid import registry
from inlaid.encode.vocabulary import Words
from inlaid.errors import InlaidError
from inlaid.report import silent
from inlaid.vectors import Vectors

SECONDS = 2
MEMORY = 64 << 20
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
TEXTS = (
    b" ",
    b"\n",
    b"\t",
    b"\r\n",
    b"\0",
    b"nan",
    b"inf",
    b"-",
    b"1e999",
    b"99999999999",
    b"\xff\xfe",
    "猫".encode(),
    b"{",
    b'"',
)


def sample() -> Vectors:
    words = ["the", "of", "猫", "naïve", "北京", "🙂", *(f"w{n}" for n in range(20))]
    table = np.random.default_rng(1).standard_normal((len(words), 6)).astype(np.float32)
    return Vectors(Words.of(words), table, np.arange(len(words), 0, -1), contexts=table[::-1].copy())


def mutate(data: bytes, random: random.Random) -> bytes:
    """One to three small changes: a flipped bit, a number, a cut, a repeated or moved piece, odd text."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        anywhere = random.random() < 0.7
        place = random.randrange((len(changed) if anywhere else min(len(changed), 200)) + 1)
        kind = random.randrange(7)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            width = random.choice((1, 2, 4, 8))
            changed[place : place + width] = (random.choice(NUMBERS) & (1 << 8 * width) - 1).to_bytes(
                width, random.choice(("little", "big"))
            )
        elif kind == 2:
            del changed[place:]
        elif kind == 3:
            del changed[place : place + random.randrange(1, 40)]
        elif kind == 4:
            changed[place:place] = changed[random.randrange(len(changed) + 1) :][: random.randrange(1, 60)]
        elif kind == 5:
            changed[place:place] = random.choice(TEXTS)
        else:
            changed[place : place + 4] = random.randbytes(4)
    return bytes(changed)


def attempt(path: Path, right: Vectors, exact: bool) -> str:
    """Read one file; return the outcome in one word."""
    try:
        found = inlaid.load(path, report=silent)
        content = contents(found)
    except InlaidError:
        return "refused"
    return "WRONG" if exact and content != contents(right) else "read"


def contents(vectors: Vectors) -> list[object]:
    """Everything in the vectors, read."""
    contexts = vectors.contexts
    if contexts is not None and not isinstance(contexts, np.ndarray):
        contexts = contexts.whole()
    arrays = (vectors.table, vectors.counts, contexts)
    return [
        list(vectors.words),
        vectors.card,
        *(None if array is None else array.tobytes() for array in arrays),
    ]


def campaign(name: str, runs: int, folder: Path) -> Counter[str]:
    """All mutations of one format, in forked workers that are replaced when they die."""
    target = folder / f"{name}{(registry.find('format', name).SUFFIXES or ('',))[0]}"
    right = sample()
    inlaid.save(right, target, format=name, report=silent)
    parts = sorted(each for each in target.rglob("*") if each.is_file()) if target.is_dir() else [target]
    originals = [part.read_bytes() for part in parts]
    warm_up(target, parts, originals, right)
    outcomes: Counter[str] = Counter()
    seed = 0
    while seed < runs:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            work(
                range(seed, min(seed + 500, runs)), target, parts, originals, right, name == "native", writer
            )
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            lines = pipe.read().decode().splitlines()
        status = os.waitpid(child, 0)[1]
        outcomes.update(line.partition(" ")[0] for line in lines)
        for line in lines:
            if not line.startswith(("refused", "read")):
                print(f"  {name} {line}")
        seed += len(lines)
        if status:
            print(f"  {name} seed {seed}: worker ended with {os.waitstatus_to_exitcode(status)}")
            outcomes["CRASH"] += 1
            seed += 1
    return outcomes


def warm_up(target: Path, parts: list[Path], originals: list[bytes], right: Vectors) -> None:
    """Read some files before forking: memory of imports and compiled code must not count as memory of a
    file."""
    attempt(target, right, False)
    for seed in range(-100, 0):
        chance = random.Random(seed)
        number = chance.randrange(len(parts))
        parts[number].write_bytes(mutate(originals[number], chance))
        attempt(target, right, False)
        parts[number].write_bytes(originals[number])


def work(
    seeds: range,
    target: Path,
    parts: list[Path],
    originals: list[bytes],
    right: Vectors,
    exact: bool,
    pipe: int,
) -> None:
    here = parts[0].parent if target.is_dir() else target.parent
    size = sum(map(len, originals))
    held = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData")
    )
    # RLIMIT_DATA counts writable memory only: what an allocator reserves without using it (64 MB for each
    # thread) does not count.
    resource.setrlimit(
        resource.RLIMIT_DATA, (1024 * int(held.split()[1]) + 2 * size + MEMORY, resource.RLIM_INFINITY)
    )
    os.chdir(here)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for seed in seeds:
        chance = random.Random(seed)
        number = chance.randrange(len(parts))
        parts[number].write_bytes(mutate(originals[number], chance))
        signal.setitimer(signal.ITIMER_REAL, 5 * SECONDS)
        start = time.thread_time()
        try:
            outcome = attempt(target, right, exact)
        except BaseException as problem:
            outcome = f"ESCAPED {type(problem).__name__}: {str(problem)[:200]!r}"
        if time.thread_time() - start > SECONDS:
            outcome = f"HANG {time.thread_time() - start:.1f} s"
        os.write(pipe, f"{outcome} seed {seed}\n".encode())
        parts[number].write_bytes(originals[number])
    os._exit(0)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    names = sys.argv[2:] or [entry.name for entry in registry.entries("format")]
    bad = 0
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        start = time.perf_counter()
        outcomes = campaign(name, runs, folder)
        shutil.rmtree(folder)
        failed = {kind: count for kind, count in outcomes.items() if kind not in ("refused", "read")}
        bad += sum(failed.values())
        rest = ", ".join(f"{count} {kind}" for kind, count in failed.items()) or "nothing else"
        seconds = time.perf_counter() - start
        print(
            f"{name:18} {runs:,} in {seconds:.0f} s: {outcomes['refused']:,} refused, "
            f"{outcomes['read']:,} read, {rest}",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
