"""The terminal: lines that fit it, tables, tokens in colour."""

from __future__ import annotations

import codecs
import io
import itertools
import json
import os
import re
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid.marked import Marked
from inlaid.messages import Message, translated
from inlaid.notebook import aligned
from inlaid.report import Note

if TYPE_CHECKING:
    from inlaid.encode.tokenizers import Tokenized

STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""Colours and weights of a terminal's letters."""
BOLD = "\x1b[1m"
NOT_BOLD = "\x1b[22m"
WIDE = "\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
"""Characters of scripts without spaces, and their marks."""
NARROWEST = 12
"""Places of a column from which wrapping its cells is readable."""
UNBROKEN = re.compile(
    rf"[“‘（《【]*(?:[^{WIDE}“”‘’]+|[{WIDE}])(?:[，。、；：！？）》】”’…]|(?<=[^{WIDE}])[”’])*|.", re.DOTALL
)
"""What stays on one line: a word, or a Chinese character, with the marks that belong to it."""
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
        for line in _table(list(run)) if is_table else run:
            print(_with_marks(line))


def _with_marks(line: Any) -> Any:
    """Marked parts are bold where a terminal shows them, unless it should show no styles (no-color.org)."""
    if isinstance(line, Marked) and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        return line.shown(str, BOLD, NOT_BOLD)
    return line


def _table(rows: Sequence[Any]) -> Sequence[str]:
    """The lines of a table. In a terminal that is too narrow, wide cells are wrapped or, where there are too
    many columns for that, the table is shown in parts; a program that reads the output gets whole lines."""
    lines = list(aligned(rows))
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or max(map(places, lines), default=0) <= width:
        return lines
    texts = [tuple(map(str, row)) for row in rows]
    columns = max(map(len, texts))
    texts = [(*row, *[""] * (columns - len(row))) for row in texts]
    if columns * NARROWEST <= width:
        return in_columns(texts).splitlines()
    parts = list[str]()
    for first, last in _parts(texts, width):
        parts += ([""] if parts else []) + list(aligned([row[first:last] for row in texts]))
    return parts


def _parts(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[tuple[int, int]]:
    """Columns (first, last) of each part of a table that is wider than the terminal."""
    widths = [max(places(cell) for cell in column) for column in zip(*rows, strict=True)]
    first = 0
    for column in range(1, len(widths) + 1):
        full = column == len(widths) or sum(widths[first : column + 1]) + 2 * (column - first) > width
        if full:
            yield first, column
            first = column


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
