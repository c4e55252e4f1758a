"""Mutated files of every kind that Inlaid reads: no crash, hang or traceback, bounded memory, no wrong read.

    python tests/campaigns/fuzz                          # what is missing to 100,000 mutants of each format
    python tests/campaigns/fuzz --mutants 300 npz        # a short run of one
    python tests/campaigns/fuzz --seconds 600 --jobs 16  # as many as fit into ten minutes
    python tests/campaigns/fuzz --replay npz 4711        # one mutant again, with its traceback
    python tests/campaigns/fuzz --report table.md        # the table of all runs so far

A mutant may be refused with one of Inlaid's errors, or read. Everything else is stored, with the seed that
reproduces it, in .campaigns/fuzz/.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# One thread in every library: workers are forked, and threads do not survive that.
for name in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{name}_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]  # the package, and the campaigns


def main() -> int:
    from tally import Tally

    from fuzz.campaign import Campaign, report
    from fuzz.server import BAD, Server
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--mutants", type=int, help="mutants of each format in this run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time for this run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument(
        "--state", type=Path, default=HERE.parents[2] / ".campaigns", help="folder of the tally"
    )
    parser.add_argument(
        "--report", type=Path, help="write the table of all runs to this file, and do nothing else"
    )
    parser.add_argument("--replay", nargs=2, metavar=("FORMAT", "SEED"))
    chosen = parser.parse_args()
    tally = Tally.open(chosen.state / "fuzz.json")
    failures = chosen.state / "fuzz"
    if chosen.report:
        chosen.report.write_text(report(tally) + "\n", "utf-8")
        return 0
    if chosen.replay:
        format, seed = chosen.replay
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            result = Server(TARGETS[format], Path(folder)).replay(int(seed), failures / f"{format}-{seed}")
        print(f"{format} {seed} ({result.kind}) {result.outcome}: {result.detail}")
        print(f"its files: {failures / f'{format}-{seed}'}")
        return 1 if result.outcome in BAD else 0
    unknown = set(chosen.formats) - set(TARGETS)
    if unknown:
        parser.error(f"unknown formats: {', '.join(sorted(unknown))}; there are: {', '.join(TARGETS)}")
    bad = Campaign(tally, failures, chosen.seconds, chosen.jobs).run(
        chosen.formats or list(TARGETS), chosen.mutants
    )
    print(report(tally))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
