"""Standard input and output: `-` among the words is what comes in, `-` as the output is what goes out."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from inlaid.collect.normalize import width
from inlaid.errors import SettingError, SourceError
from inlaid.habits import habit_of
from inlaid.report import Event, Note, Report

PIPE = "-"
"""Standard input among words and texts, standard output for -o; the word itself is typed ' -'."""
BLOCK = 1 << 20
SIGNS = ("+", "-", "−", "*", "×")
SIGNED = re.compile(r"[+−-][^\W\d].+")
"""A word of a formula with its sign: +woman, -man."""


def lines_of_stdin(*, empty: bool = False) -> Iterator[str]:
    """The lines that come in, as they come; without empty ones, unless they are asked for."""
    if sys.stdin is None:
        raise SourceError("There is no standard input to read from.")
    source: Any = getattr(sys.stdin, "buffer", sys.stdin)
    for number, line in enumerate(source, 1):
        charset = "utf-8-sig" if number == 1 else "utf-8"
        try:
            text = line.decode(charset) if isinstance(line, bytes) else line
        except UnicodeDecodeError:
            raise SourceError("Line {number:,} of standard input is not UTF-8.", number=number) from None
        if empty or text.strip():
            yield text.strip()


def with_lines(typed: Sequence[str], *, empty: bool = False) -> tuple[str, ...]:
    """Words as they were typed; `-` stands for the lines of standard input, empty ones if they are asked
    for."""
    if typed.count(PIPE) > 1:
        raise SettingError(
            "'-' stands for standard input, which can be read once; it is there {count} times.",
            count=typed.count(PIPE),
        )
    parts = [lines_of_stdin(empty=empty) if each == PIPE else [each] for each in typed]
    return tuple(itertools.chain.from_iterable(parts))


def answers_of(result: Any, inputs: int) -> Iterable[dict[str, Any]]:
    """What a result says of each of its inputs; where it cannot be taken apart, one answer for all."""
    if hasattr(result, "to_dicts"):
        return result.to_dicts()
    found = result.to_dict()
    answers = [value for value in found.values() if isinstance(value, list) and len(value) == inputs]
    return answers[0] if len(answers) == 1 else [found]


def print_json_line(answer: Any) -> None:
    """JSON on one line."""
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a program reads it, and has other codes than a terminal shows
        text = json.dumps(answer, allow_nan=False)
    print(text, flush=True)


def _is_option(word: str) -> bool:
    """Whether a word starts an option, and is not one of a formula: -man has one dash and several letters."""
    return re.match(r"--\w|-\w(?:=|$)", word) is not None


def _is_signed(word: str, options: Collection[str]) -> bool:
    """Whether a word has its sign before it, and is not an option, or another tool's name of one."""
    if SIGNED.fullmatch(word) is None or word[1:] in options:
        return False
    return habit_of(word[1:], options) is None


def refuse_unquoted(words: Sequence[str], program: str, *, options: Collection[str] | None = None) -> None:
    """Raise SettingError for a formula whose words the shell has taken apart: king - man + woman. With the
    names of the options, which may be typed with one dash by mistake, also for king -man +woman."""
    typed = list(itertools.takewhile(lambda word: not _is_option(word), words))
    formula = typed[1:]  # the file comes first
    narrow = [width(word) for word in formula]  # the signs of a Chinese input method: － and ＋
    signed = [word for word in narrow[1:] if options and _is_signed(word, options)]
    if any(word in SIGNS for word in narrow[1:-1]) or (signed and len(formula) > 2):
        raise SettingError(
            'The formula came as {count} words. Quote it: `{program} {file} "{formula}"`.',
            count=len(formula),
            program=program,
            file=typed[0],
            formula=" ".join(formula),
        )


def naming(output: Path, report: Report) -> Report:
    """A listener whose notes name standard output as it was typed, not the file that is copied there."""

    def heard(event: Event) -> None:
        if isinstance(event, Note) and str(output) == PIPE and "path" in event.values:
            event = Note.from_parts(event.sentence, {**event.values, "path": PIPE})
        report(event)

    return heard


@contextlib.contextmanager
def written(output: Path, suffix: str = "") -> Iterator[Path]:
    """Where to write: the output itself, or for `-` a file whose bytes then go to standard output."""
    if str(output) != PIPE:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="inlaid-") as folder:
        path = Path(folder) / f"output{suffix}"
        yield path
        if path.is_dir():
            raise SettingError(
                "A folder cannot go to standard output. Name a folder, or choose another format."
            )
        sys.stdout.flush()
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
