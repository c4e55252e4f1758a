"""Is a run that is killed at any moment, again and again, the same in the end? `python
tests/campaigns/kill_resume.py 300`

Every life of the program is ended by kill -9 at a random moment; the next one resumes. The result of each run
must be the bits of a run that was left alone, and its generators must be what arithmetic says.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOY = Path(__file__).parent.parent / "jobs" / "toy.py"


def lives(folder: Path, rounds: int, kills: int, longest: float, seed: int) -> tuple[bytes, int]:
    """Run the toy until it ends, killing it up to `kills` times; its result, and how many kills hit it."""
    chance = random.Random(seed)
    hit = 0
    saved = folder / "toy.checkpoint"
    result = folder / "result"
    while True:
        with subprocess.Popen(
            [sys.executable, TOY, saved, result, str(rounds)], stdout=subprocess.PIPE
        ) as program:
            assert program.stdout is not None
            program.stdout.readline()
            if hit < kills:
                try:
                    program.wait(chance.uniform(0, longest))
                except subprocess.TimeoutExpired:
                    program.kill()
                    hit += 1
            said = program.stdout.read().decode()
        if program.returncode == 0:
            return result.read_bytes(), hit
        if program.returncode != -9:
            raise SystemExit(f"the program ended with {program.returncode}: {said}")


def main(wanted: int, rounds: int = 600) -> None:
    began = time.monotonic()
    seed = 0
    hits = 0
    with tempfile.TemporaryDirectory() as alone:
        expected, _ = lives(Path(alone), rounds, 0, 0, 0)
    while hits < wanted:
        with tempfile.TemporaryDirectory() as folder:
            found, hit = lives(Path(folder), rounds, 40, 0.3, seed)
            left = [path.name for path in Path(folder).glob(".toy.checkpoint.*.part")]
        hits = hits + hit
        seed = seed + 1
        if found != expected or left:
            raise SystemExit(
                f"seed {seed - 1}: {'other bits' if found != expected else ''} {left or ''} after {hit} kills"
            )
        print(f"{seed} runs, {hits} kills, {time.monotonic() - began:.0f} s: all the same bits", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
