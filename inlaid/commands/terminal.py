"""What the command line shows: flags into calls, complaints in one line, bars, tables, colours."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import tyro

from inlaid.errors import SettingError
from inlaid.report import Event, Note, Progress, Report, time_in_words

if TYPE_CHECKING:
    from inlaid.encode.tokenizers import Tokenized
    from inlaid.study.search.neighbors import Neighbor

T = TypeVar("T")
WIDE = 140
"""Columns of a table that goes to a file or another program."""
LINE_EVERY = 10.0
"""Seconds between lines of progress where no bar can be drawn."""


def parse(kind: Callable[..., T], words: list[str], program: str, description: str | None = None) -> T:
    """Flags into a call of `kind`; whatever is wrong with them becomes one SettingError."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            config = (
                tyro.conf.OmitArgPrefixes,
                tyro.conf.PositionalMetavarFromFieldName,
                tyro.conf.FlagCreatePairsOff,
            )
            return tyro.cli(kind, args=words, prog=program, description=description, config=config)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise SettingError(f"{_one_line(said.getvalue())} (`{program} --help` lists all)") from None


def later(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """The same flags, but the call is handed back: it must not run while complaints are being caught."""
    return functools.wraps(command)(lambda *given, **named: functools.partial(command, *given, **named))


def _one_line(box: str) -> str:
    """The text of the box that tyro draws around a complaint, down to where it repeats the help."""
    inside = [row.strip(" │|") for row in box.splitlines()[1:]]  # the first row is the title in the frame
    text = " ".join(row for row in inside if row.strip("─-╰╯"))
    unknown = re.match(r"Unrecognized options: (\S+?),?(?: |$)", text)
    if unknown:
        meant = re.search(r"Perhaps you meant: (--[\w-]+)", text)
        return f"There is no option {unknown[1]}.{f' Did you mean {meant[1]}?' if meant else ''}"
    return re.split(r"Argument helptext|For full helptext|Got errors", text)[0].strip()


def listed(lines: dict[str, str]) -> str:
    return "\n".join(f"  {name:<12}{line}" for name, line in lines.items())


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns under their heads."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=None)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    console.width = console.width if console.is_terminal else max(console.width, WIDE)
    console.print(table)


def cell(value: float) -> str:
    return "undefined" if value != value else f"{value:.3f}"


def range_of(each: Any) -> str:
    return f"{cell(each.low)} to {cell(each.high)}" if each.low == each.low else "none"


def _finite(value: Any) -> Any:
    """JSON has no NaN: null instead."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if value != value else value


def print_neighbors(queries: Sequence[str], found: Sequence[Sequence[Neighbor]]) -> None:
    """One query: a line a word. Several: side by side under their queries, aligned by what a terminal shows
    (猫 is two wide)."""
    if len(queries) == 1:
        for each in found[0]:
            print(f"{each.score:.3f}  {each.word}")
        return
    from rich.cells import cell_len

    columns = [
        [query, *(f"{each.score:6.3f}  {each.word}" for each in some)]
        for query, some in zip(queries, found, strict=True)
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    for row in itertools.zip_longest(*columns, fillvalue=""):
        print(
            "   ".join(
                cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )


def print_json(found: Any) -> None:
    """Results of any kind: dataclasses, arrays, and what is made of them."""
    print(json.dumps(_finite(_as_plain(found)), indent=2, ensure_ascii=False))


def _as_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {each.name: _as_plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _as_plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_plain(each) for each in value]
    return getattr(value, "tolist", lambda: value)()


def print_rows(rows: Sequence[str | tuple[str, ...]]) -> None:
    """Lines as they are; each run of tuples is a table, aligned by what a terminal shows (猫 is two wide)."""
    for is_table, run in itertools.groupby(rows, key=lambda row: not isinstance(row, str)):
        for line in _aligned(list(run)) if is_table else run:
            print(line)


def _aligned(rows: Sequence[Any]) -> Iterator[str]:
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join(cells).rstrip()


def print_report(name: str, manifest: dict[str, Any]) -> None:
    """What encoding found: all that was read, what became of it, and what looks odd."""
    tokens = manifest["tokens"]
    words = manifest["words"]
    sentences = manifest["sentences"]
    print(f"{name}: {tokens['used']:,} tokens, {sentences['used']:,} sentences, {words['used']:,} words")
    dropped = "".join(f" + {count:,} {reason}" for reason, count in tokens["dropped"].items())
    share = tokens["dropped"].get("rare", 0) / max(tokens["read"], 1)
    print(
        f"  read {tokens['read']:,} tokens = {tokens['used']:,} used{dropped} ({share:.2%} outside the vocabulary)"
    )
    print(
        f"  {words['read']:,} different words, {words['used']:,} kept; {sentences['read']:,} sentences, {sentences['used']:,} kept"
    )
    for what, count in manifest["lint"].items():
        if count:
            print(f"  {LINT.get(what, what)}: {count:,}")


LINT = {
    "invalid_bytes": "bytes that were not UTF-8",
    "nul_bytes": "NUL bytes",
    "cut_lines": "lines too long to hold, passed on in pieces",
    "repeated_lines": "lines that repeat an earlier one",
    "long_words": "words of more than 100 bytes (kept)",
    "long_sentences": "sentences of more than 10,000 tokens (kept whole)",
}


def print_tokens(shown: Mapping[str, Tokenized], find: Callable[[str], int | None]) -> None:
    """Tokens in alternating colours, then each with its id and its place in the text; several tokenizers side
    by side."""
    from rich.columns import Columns
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shades = ("black on cyan", "black on yellow")
    tables = list[Table]()
    for name, tokenized in shown.items():
        line = Text(f"{name}: ", style="bold")
        for number, token in enumerate(tokenized.tokens):
            line.append(token.text, style=shades[number % 2]).append(" ", style="")
        console.print(line)
        tables.append(Table("token", "id", "from", "to", title=name, box=None))
        places = tokenized.original or [(token.start, token.end) for token in tokenized.tokens]
        ids = tokenized.ids or [find(token.text) for token in tokenized.tokens]
        for token, id, (start, end) in zip(tokenized.tokens, ids, places, strict=True):
            tables[-1].add_row(token.text, "" if id is None else str(id), str(start), str(end))
    console.print(Columns(tables))
    if any(tokenized.original is None for tokenized in shown.values()):
        console.print("places are in the normalised text: its steps keep none in the original", style="dim")


@contextlib.contextmanager
def drawn() -> Iterator[Report]:
    """A bar for each stage on a terminal; elsewhere a line now and then."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[said]}"),
    )
    with progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        yield _Drawing(bars, console)


class _Drawing:
    """Listens to events and draws them."""

    def __init__(self, bars: Any, console: Any) -> None:
        self.bars = bars
        self.console = console
        self.tasks: dict[str, Any] = {}
        self.began: dict[str, tuple[float, int]] = {}
        """When the first event of a stage came, and how much was done by then: work taken up again does not
        start at 0."""
        self.said = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            self.console.print(f"note: {event.text}", highlight=False, soft_wrap=True)
            return
        now = time.monotonic()
        if event.stage not in self.tasks:
            self.tasks[event.stage] = self.bars.add_task(event.stage, total=event.total, said="")
            self.began[event.stage] = (now, event.done)
        figures = self._figures(event, now)
        self.bars.update(self.tasks[event.stage], completed=event.done, total=event.total, said=figures)
        if self.bars.disable and now - self.said > LINE_EVERY:
            self.said = now
            total = f" of {event.total:,}" if event.total else ""
            self.console.print(
                f"{event.stage}: {event.done:,}{total} {event.unit}  {figures}".rstrip(),
                highlight=False,
                soft_wrap=True,
            )

    def _figures(self, event: Progress, now: float) -> str:
        """Speed, the figures of the stage, time left; speed and time left are worked out here where the stage
        gives none."""
        when, done = self.began[event.stage]
        speed = event.figures.get("speed", (event.done - done) / max(now - when, 1e-3))
        left = event.figures.get("left", ((event.total or 0) - event.done) / speed if speed else 0)
        own = [
            f"{name} {value:.4g}" for name, value in event.figures.items() if name not in ("speed", "left")
        ]
        return "  ".join(
            [
                *([f"{speed:,.0f} {event.unit}/s"] if speed else []),
                *own,
                *([f"{time_in_words(left)} left"] if left > 0 else []),
            ]
        )
