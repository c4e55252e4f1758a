"""How fast is the text of the embedded world generated? A million words in a few seconds is the goal."""

from __future__ import annotations

import statistics
import time

from inlaid.collect import world

if __name__ == "__main__":
    times: list[float] = []
    for seed in range(5):
        start = time.perf_counter()
        pairs = sum(1 for _ in world.pairs(words=1_000_000, seed=seed))
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(
        f"1,000,000 English words and their Chinese, {pairs:,} pairs: {median:.2f} s (median of {len(times)})"
    )
