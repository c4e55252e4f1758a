"""Mutated files of every kind that Inlaid reads: no crash, hang or traceback, bounded memory, no wrong read.

    python tests/campaigns/fuzz                          # what is missing to 100,000 mutants of each format
    python tests/campaigns/fuzz --mutants 300 npz        # a short run of one
    python tests/campaigns/fuzz --seconds 600 --jobs 16  # as many as fit into ten minutes
    python tests/campaigns/fuzz --replay npz 4711        # one mutant again, with its traceback
    python tests/campaigns/fuzz --peers --mutants 5000   # other libraries on the same mutants
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
STATE = HERE.parents[2] / ".campaigns"
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]  # the package, and the campaigns


def main() -> int:
    from tally import Tally

    from fuzz.campaign import CAMPAIGN, PEERS, Campaign, report
    from fuzz.peers import LIBRARIES
    from fuzz.server import Server
    from fuzz.targets import BAD, TARGETS

    chosen = arguments(list(TARGETS))
    tally = Tally.open(chosen.state / "fuzz.json")
    failures = chosen.state / "fuzz"
    if chosen.report:
        chosen.report.write_text(report(tally) + "\n", "utf-8")
        return 0
    if chosen.replay:
        format, seed = chosen.replay
        kept = failures / f"{format}-{seed}"
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            result = Server(TARGETS[format], Path(folder)).replay(int(seed), kept)
        print(f"{format} {seed} ({result.kind}) {result.outcome}: {result.detail}\nits files: {kept}")
        return 1 if result.outcome in BAD else 0
    campaign = Campaign(CAMPAIGN, TARGETS, tally, failures, chosen.seconds, chosen.jobs)
    names = chosen.formats or list(TARGETS)
    if chosen.peers:
        campaign = Campaign(PEERS, LIBRARIES, tally, None, chosen.seconds, chosen.jobs)
        names = list(LIBRARIES)
    bad = campaign.run(names, chosen.mutants)
    print(report(tally))
    return 1 if bad and not chosen.peers else 0


def arguments(formats: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", help=f"of {', '.join(formats)}; default: all")
    parser.add_argument("--mutants", type=int, help="mutants of each format in this run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time for this run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--state", type=Path, default=STATE, help="folder of the tally and of failures")
    parser.add_argument("--peers", action="store_true", help="other libraries on the same mutants")
    parser.add_argument("--report", type=Path, help="write the tables of all runs to this file, and stop")
    parser.add_argument("--replay", nargs=2, metavar=("FORMAT", "SEED"))
    chosen = parser.parse_args()
    unknown = set(chosen.formats) - set(formats)
    if unknown:
        parser.error(f"unknown formats: {', '.join(sorted(unknown))}; there are: {', '.join(formats)}")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
