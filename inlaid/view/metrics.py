"""Metrics: counts and times of requests, as Prometheus reads them."""

from __future__ import annotations

import bisect
import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from inlaid.view.gate import Seen

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the histogram of times, in seconds."""
OTHER = "other"
"""The path of requests to what is not ours: clients must not be able to add a line for every path."""


class Metrics:
    """What has been answered since the start of this process."""

    def __init__(self, paths: Collection[str]) -> None:
        self.paths = set(paths)
        self.requests = Counter[tuple[str, str, int]]()
        self.times: dict[str, list[int]] = {}
        self.seconds = Counter[str]()
        self.received = 0
        self.sent = 0

    def count(self, seen: Seen) -> None:
        """One request has been answered."""
        path = seen.path if seen.path in self.paths else OTHER
        method = seen.method if seen.method in ("GET", "POST", "HEAD", "OPTIONS") else OTHER
        self.requests[path, method, seen.status] += 1
        seconds = seen.seconds
        counts = self.times.setdefault(path, [0] * (len(BUCKETS) + 1))
        counts[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.seconds[path] += seconds  # pyright: ignore[reportArgumentType]
        self.received += len(seen.body)
        self.sent += seen.sent

    def lines(self) -> Iterator[str]:
        yield "# TYPE inlaid_requests_total counter"
        for (path, method, status), count in sorted(self.requests.items()):
            yield f'inlaid_requests_total{{path="{path}",method="{method}",status="{status}"}} {count}'
        yield "# TYPE inlaid_request_seconds histogram"
        for path, counts in sorted(self.times.items()):
            total = 0
            for end, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                yield f'inlaid_request_seconds_bucket{{path="{path}",le="{end}"}} {total}'
            yield f'inlaid_request_seconds_sum{{path="{path}"}} {self.seconds[path]:.6f}'
            yield f'inlaid_request_seconds_count{{path="{path}"}} {total}'
        yield from _one("inlaid_received_bytes_total", "counter", self.received)
        yield from _one("inlaid_sent_bytes_total", "counter", self.sent)
        yield from _one("process_resident_memory_bytes", "gauge", resident())


def _one(name: str, kind: str, value: float) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"{name} {value}"


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
