"""The terminal: lines that fit it, tables, tokens in colour, progress bars."""

from __future__ import annotations

import codecs
import contextlib
import io
import itertools
import json
import re
import shlex
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid.messages import Message, translated
from inlaid.report import Event, Note, Progress, Report, compiling_note, hearing_compilations, time_in_words

if TYPE_CHECKING:
    from inlaid.encode.tokenizers import Tokenized

STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""Colours and weights of a terminal's letters."""
WIDE = "\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
"""Characters of scripts without spaces, and their marks."""
UNBROKEN = re.compile(
    rf"[“‘（《【]*(?:[^{WIDE}“”‘’]+|[{WIDE}])(?:[，。、；：！？）》】”’…]|(?<=[^{WIDE}])[”’])*|.", re.DOTALL
)
"""What stays on one line: a word, or a Chinese character, with the marks that belong to it."""
LINE_EVERY = 10.0
"""Seconds between lines of progress where no bar can be drawn."""


ESCAPED: dict[str, int] = {}
"""How many characters were written as their codes, by the encoding that lacks them."""


def show_every_character() -> None:
    """Where a stream cannot show a character, such as a Chinese one in ASCII, it shows its code instead of
    failing; `note_escaped` says so at the end."""
    ESCAPED.clear()
    codecs.register_error("inlaid", _code)
    codecs.register_error("inlaid-bytes", _bytes_or_code)
    instead = {"strict": "inlaid", "backslashreplace": "inlaid", "surrogateescape": "inlaid-bytes"}
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in instead:
            stream.reconfigure(errors=instead[stream.errors])


def _code(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        ESCAPED[error.encoding] = ESCAPED.get(error.encoding, 0) + error.end - error.start
    return codecs.lookup_error("backslashreplace")(error)


def _bytes_or_code(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written in the locale C: the bytes that lone surrogates stand for, and codes for the rest."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return _code(error)


def note_escaped() -> None:
    """One note about all characters that the encoding of the output lacks."""
    for encoding, count in list(ESCAPED.items()):
        note = Note(
            "{count:,} characters are not in the encoding of the output, {encoding}, and are shown as codes "
            "such as \\u4e2d. Set the variable PYTHONIOENCODING=utf-8 where the terminal can show UTF-8.",
            count=count,
            encoding=encoding,
        )
        print_note(note)


def print_note(note: Note) -> None:
    """A note, on standard error."""
    print(Message("note: {note}", note=note), file=sys.stderr)


def wrapped(text: str, first: str = "", rest: str = "", columns: int | None = None) -> str:
    """Text in lines that fit the terminal, or as many columns; `first` stands before the first line, `rest`
    before the others.

    Lines break at spaces, and between Chinese characters, but not before a closing mark.
    """
    width = columns or shutil.get_terminal_size().columns
    lines: list[str] = []
    line = first
    for number, word in enumerate(text.split()):
        gap = " " if number else ""
        for piece in UNBROKEN.findall(word):
            at_start = line in (first, rest)
            if not at_start and places(line + gap + piece) > width:
                lines.append(line)
                line = rest
                at_start = True
            line += piece if at_start else gap + piece
            gap = ""
    return "\n".join([*lines, line])


def places(text: str) -> int:
    """How wide a terminal shows a text: a Chinese character takes two places."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in STYLES.sub("", text))


def as_typed(word: str | Path) -> str:
    """A word or path as a shell takes it: in quotes where it needs them; Chinese needs none."""
    text = str(word)
    return text if re.fullmatch(r"[\w@%+=:,./][\w@%+=:,./-]*", text) else shlex.quote(text)


def listed(lines: dict[str, str], width: int | None = None) -> str:
    """Names and what they mean, in two columns that fit a terminal; `width` is that of the names."""
    names = 2 + (max(map(len, lines), default=0) if width is None else width) + 2
    rows = [wrapped(line, first=f"  {name}".ljust(names), rest=" " * names) for name, line in lines.items()]
    return "\n".join(rows)


def print_rows(rows: Sequence[Any]) -> None:
    """Lines as they are; each run of tuples is a table, aligned by what a terminal shows (猫 is two wide)."""
    for is_table, run in itertools.groupby(rows, key=lambda row: isinstance(row, tuple)):
        for line in _aligned(list(run)) if is_table else run:
            print(line)


def in_columns(rows: Sequence[str | tuple[str, ...]], indent: int = 0) -> str:
    """Lines or a table, indented, in lines that fit the terminal: cells that are too wide are wrapped."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if isinstance(rows[0], str):
        return "\n".join(wrapped(str(row), " " * indent, " " * indent).rstrip() for row in rows)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for _ in rows[0]:
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(width=shutil.get_terminal_size().columns, file=io.StringIO())
    with console.capture() as drawn_table:
        console.print(Padding(table, (0, 0, 0, indent)))
    return "\n".join(line.rstrip() for line in drawn_table.get().splitlines())


class GrowingText:
    """Shows text piece by piece, as it is made."""

    def __init__(self) -> None:
        self.last = ""
        self.out = sys.stdout

    def __call__(self, piece: str) -> None:
        if piece:
            self.last = piece
            print(piece, end="", file=self.out, flush=True)

    def ended(self) -> bool:
        """End the line; whether anything was shown."""
        if self.last and not self.last.endswith("\n"):
            print()
        return bool(self.last)


def print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a program reads it, and has other codes than a terminal shows
        text = json.dumps(value, indent=2, allow_nan=False)
    print(text)


def _aligned(rows: Sequence[Any]) -> Iterator[str]:
    from rich.cells import cell_len

    rows = [tuple(map(str, row)) for row in rows]
    widths = [max(map(cell_len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join(cells).rstrip()


def words_by_dim(vectors: Any) -> Message:
    """The size of vectors."""
    return Message("{words:,} words x {dim}", words=len(vectors), dim=vectors.dim)


def print_report(name: str, manifest: dict[str, Any]) -> None:
    """What encoding read, what it kept and dropped, and what looks odd."""
    tokens = manifest["tokens"]
    words = manifest["words"]
    sentences = manifest["sentences"]
    print(
        Message(
            "{name}: {tokens:,} tokens, {sentences:,} sentences, {words:,} words",
            name=name,
            tokens=tokens["used"],
            sentences=sentences["used"],
            words=words["used"],
        )
    )
    dropped = "".join(
        f" + {count:,} {translated(DROPPED.get(str(reason), str(reason)))}"
        for reason, count in tokens["dropped"].items()
    )
    outside = sum(tokens["dropped"].get(reason, 0) for reason in ("rare", "beyond_max_size"))
    share = outside / max(tokens["read"], 1)
    print(
        Message(
            "  read {read:,} tokens = {used:,} used{dropped} ({share:.2%} outside the vocabulary)",
            read=tokens["read"],
            used=tokens["used"],
            dropped=dropped,
            share=share,
        )
    )
    print(
        Message(
            "  {words:,} different words, {kept:,} kept; {sentences:,} sentences, {sentences_kept:,} kept",
            words=words["read"],
            kept=words["used"],
            sentences=sentences["read"],
            sentences_kept=sentences["used"],
        )
    )
    for what, count in manifest["lint"].items():
        if count:
            print(
                Message("  {what}: {count:,}", what=translated(LINT.get(str(what), str(what))), count=count)
            )


DROPPED = {"rare": "rare", "beyond_max_size": "beyond max_size"}
LINT = {
    "repeated_lines_exact_until": "lines up to which repeated ones are counted exactly; after that, at least",
    "invalid_bytes": "bytes that were not UTF-8",
    "nul_bytes": "NUL bytes",
    "cut_lines": "lines too long for memory, split into pieces",
    "repeated_lines": "lines that repeat an earlier one",
    "long_words": "words of more than 100 bytes (kept)",
    "long_sentences": "sentences of more than 10,000 tokens (kept whole)",
}


def print_tokens(shown: Mapping[str, Tokenized], find: Callable[[str], int | None]) -> None:
    """Tokens in alternating colours, then each with its id and its place in the text; tokenizers side by
    side."""
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
        titles = (Message("token"), Message("id"), Message("from"), Message("to"))
        tables.append(Table(*map(str, titles), title=name, box=None))
        places = tokenized.original or [(token.start, token.end) for token in tokenized.tokens]
        ids = tokenized.ids or [find(token.text) for token in tokenized.tokens]
        for token, id, (start, end) in zip(tokenized.tokens, ids, places, strict=True):
            tables[-1].add_row(token.text, "" if id is None else str(id), str(start), str(end))
    console.print(Columns(tables))
    if any(tokenized.original is None for tokenized in shown.values()):
        places_note = Message(
            "places are in the normalized text: the normalization keeps none in the original"
        )
        console.print(str(places_note), style="dim")


@contextlib.contextmanager
def drawn(*, bars_shown: bool = True) -> Iterator[Report]:
    """Where the library reports to: a progress bar for each stage; without a terminal, or where bars would
    come between text that is shown, a line now and then."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[figures]}"),
    )
    with progress.Progress(
        *columns, console=console, transient=True, disable=not (console.is_terminal and bars_shown)
    ) as bars:
        drawing = _Drawing(bars, console)
        with hearing_compilations(drawing.compiling):
            yield drawing


class _Drawing:
    """Draws notes and progress."""

    def __init__(self, bars: Any, console: Any) -> None:
        self.bars = bars
        self.console = console
        self.tasks: dict[str, Any] = {}
        self.began: dict[str, tuple[float, int]] = {}
        """When the first event of a stage came, and how much was done by then: resumed work does not start at
        0."""
        self.compiled = 0
        """Kernels compiled so far."""
        self.bar: Any = None
        self.printed = time.monotonic()
        """When the last line was printed."""

    def compiling(self, kernel: str) -> None:
        """Say once that kernels are compiled, and show which one; how many will follow is not known."""
        if not self.compiled:
            self(compiling_note())
            self.bar = self.bars.add_task(str(Message("compiling")), total=None, figures="")
        self.compiled += 1
        self.bars.update(self.bar, figures=f"{kernel} ({self.compiled})")

    def __call__(self, event: Event) -> None:
        if self.compiled and isinstance(event, Progress):
            self.bars.update(self.bar, visible=False)
        if isinstance(event, Note):
            note = str(Message("note: {note}", note=event))
            self.console.print(note, highlight=False, markup=False, soft_wrap=True)
            return
        now = time.monotonic()
        if event.stage not in self.tasks:
            self.tasks[event.stage] = self.bars.add_task(
                translated(event.stage), total=event.total, figures=""
            )
            self.began[event.stage] = (now, event.done)
        figures = self._figures(event, now)
        self.bars.update(self.tasks[event.stage], completed=event.done, total=event.total, figures=figures)
        if self.bars.disable and now - self.printed > LINE_EVERY:
            self.printed = now
            line = f"{_done(event)}  {figures}".rstrip()
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _figures(self, event: Progress, now: float) -> str:
        """Speed, the figures of the stage, time left; speed and time left are estimated where the stage has
        none."""
        when, done = self.began[event.stage]
        speed = event.figures.get("speed", max(event.done - done, 0) / max(now - when, 1e-3))
        remaining = ((event.total or 0) - event.done) / speed if speed else 0
        left = event.figures.get("left", remaining)
        unit = translated(event.unit)
        shown = [str(Message("{speed} {unit}/s", speed=_short(speed), unit=unit))] if speed else []
        shown += [
            f"{translated(name)} {value:.4g}"
            for name, value in event.figures.items()
            if name not in ("speed", "left")
        ]
        if left > 0:
            shown.append(str(Message("{time} left", time=time_in_words(left))))
        return "  ".join(shown)


def _done(event: Progress) -> Message:
    """How much of a stage is done."""
    stage = translated(event.stage)
    unit = translated(event.unit)
    if not event.total:
        return Message("{stage}: {done:,} {unit}", stage=stage, done=event.done, unit=unit)
    return Message(
        "{stage}: {done:,} of {total:,} {unit}", stage=stage, done=event.done, total=event.total, unit=unit
    )


def _short(speed: float) -> str:
    """Two digits, or all before the point: what is slow is not shown as 0.

    >>> _short(0.31415), _short(31_415.9)
    ('0.31', '31,416')
    """
    return f"{speed:.2g}" if speed < 10 else f"{speed:,.0f}"
