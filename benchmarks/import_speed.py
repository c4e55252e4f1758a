"""How long does a user wait before anything happens? `import inlaid` under 0.15 s, `inlaid --help` under 0.4
s."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from pathlib import Path

INLAID = str(Path(sys.executable).with_name("inlaid"))
QUESTIONS = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "import inlaid": ([sys.executable, "-c", "import inlaid"], 0.15),
    "inlaid --help": ([INLAID, "--help"], 0.4),
    "inlaid train --help": ([INLAID, "train", "--help"], 0.4),
}
if importlib.util.find_spec("gensim"):
    QUESTIONS["import gensim (peer)"] = ([sys.executable, "-c", "import gensim"], None)


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    times: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    for _ in range(11):  # interleaved, so that a slow moment of the machine hits all alike
        for name, (command, _) in QUESTIONS.items():
            times[name].append(seconds(command))
    bare = statistics.median(times["python -c pass"])
    for name, (_, goal) in QUESTIONS.items():
        taken = statistics.median(times[name])
        own = taken - bare if name.startswith("import") else taken
        print(f"{name:<24}{taken:6.3f} s{f'   own {own:.3f} s, goal {goal} s' if goal else ''}")
