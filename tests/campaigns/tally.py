"""What campaigns found, added up over runs in one JSON file.

    tally = Tally.open(Path(".campaigns/fuzz.json"))
    first = tally.seed("fuzz", "npz")           # where the last run ended
    tally.add("fuzz", "npz", "refused")
    tally.save()
    print(tally.table("fuzz", heads=("format",), outcomes=("refused", "crash")))

Every trial adds one outcome, so the number of outcomes of a row is the seed of its next trial: a later run
continues where the last one ended. One process at a time writes a file; give each campaign its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

Row = str | tuple[str, ...]
"""What a trial was about: one cell of the table, or several."""
GAP = " | "


@dataclass
class Tally:
    """Campaign -> row -> outcome -> how often."""

    path: Path
    counts: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict[str, dict[str, dict[str, int]]])

    @classmethod
    def open(cls, path: Path) -> Tally:
        """The tally in `path`, or an empty one where there is no file yet."""
        return cls(path, json.loads(path.read_text("utf-8")) if path.exists() else {})

    def add(self, campaign: str, row: Row, outcome: str, count: int = 1) -> None:
        outcomes = self.counts.setdefault(campaign, {}).setdefault(_name(row), {})
        outcomes[outcome] = outcomes.get(outcome, 0) + count

    def seed(self, campaign: str, row: Row) -> int:
        """Trials of a row so far."""
        return sum(self.counts.get(campaign, {}).get(_name(row), {}).values())

    def count(self, campaign: str, *outcomes: str) -> int:
        """Trials of a campaign that had one of these outcomes; without any, all trials."""
        found = self.counts.get(campaign, {}).values()
        return sum(n for row in found for outcome, n in row.items() if not outcomes or outcome in outcomes)

    def save(self) -> None:
        """Write the file as a whole or not at all, so that a campaign can be stopped at any moment."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(self.counts, indent=1, ensure_ascii=False), "utf-8")
        os.replace(part, self.path)

    def table(self, campaign: str, heads: Sequence[str] = ("row",), outcomes: Sequence[str] = ()) -> str:
        """A Markdown table: rows in the order of their names, one column for each outcome, sums at the end.

        Columns of `outcomes` are shown even where nothing had them; others follow as they were found.
        """
        rows = self.counts.get(campaign, {})
        found = dict.fromkeys([*outcomes, *(outcome for row in rows.values() for outcome in row)])
        lines = [[*heads, "trials", *found]]
        for name in sorted(rows):
            counts = [rows[name].get(outcome, 0) for outcome in found]
            lines.append([*name.split(GAP), *(f"{n:,}" for n in (sum(counts), *counts))])
        sums = [self.count(campaign), *(self.count(campaign, outcome) for outcome in found)]
        lines.append(["in all", *[""] * (len(heads) - 1), *(f"{n:,}" for n in sums)])
        return _markdown(lines, text_columns=len(heads))


def _name(row: Row) -> str:
    return row if isinstance(row, str) else GAP.join(row)


def _markdown(lines: list[list[str]], text_columns: int) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rules = ["-" * width for width in widths[:text_columns]]
    rules += ["-" * (width - 1) + ":" for width in widths[text_columns:]]
    shown = list[str]()
    for line in (lines[0], rules, *lines[1:]):
        texts = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)][:text_columns]
        numbers = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)][text_columns:]
        shown.append(f"| {' | '.join([*texts, *numbers])} |")
    return "\n".join(shown)
