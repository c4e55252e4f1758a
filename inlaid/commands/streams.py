"""Standard input and output: `-` among the words is what comes in, `-` as the output is what goes out."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inlaid.errors import SettingError, SourceError
from inlaid.report import Event, Note, Report

PIPE = "-"
"""Standard input among words and texts, standard output for -o; the word itself is typed ' -'."""
BLOCK = 1 << 20
SIGNS = ("+", "-", "−", "*", "×")


def lines_of_stdin() -> Iterator[str]:
    """The lines that come in, as they come, without empty ones."""
    if sys.stdin is None:
        raise SourceError("There is no standard input to read from.")
    source: Any = getattr(sys.stdin, "buffer", sys.stdin)
    for number, line in enumerate(source, 1):
        charset = "utf-8-sig" if number == 1 else "utf-8"
        try:
            text = line.decode(charset) if isinstance(line, bytes) else line
        except UnicodeDecodeError:
            raise SourceError("Line {number:,} of standard input is not UTF-8.", number=number) from None
        if text.strip():
            yield text.strip()


def with_lines(typed: Sequence[str]) -> tuple[str, ...]:
    """Words as they were typed; `-` stands for the lines of standard input."""
    if typed.count(PIPE) > 1:
        raise SettingError(
            "'-' stands for standard input, which can be read once; it is there {count} times.",
            count=typed.count(PIPE),
        )
    return tuple(word for each in typed for word in (lines_of_stdin() if each == PIPE else [each]))


def print_json_lines(found: dict[str, Any], inputs: int | None = None) -> None:
    """JSON on one line; where there is an answer for each of several inputs, a line for each."""
    answers = [value for value in found.values() if isinstance(value, list) and len(value) == inputs]
    for answer in answers[0] if len(answers) == 1 else [found]:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = json.dumps(answer, allow_nan=False)
        print(text, flush=True)


def refuse_unquoted(words: Sequence[str], program: str) -> None:
    """Raise SettingError for a formula whose words the shell has taken apart: king - man + woman."""
    typed = list(itertools.takewhile(lambda word: not re.match(r"--?\w", word), words))
    formula = typed[1:]  # the file comes first
    if any(word in SIGNS for word in formula[1:-1]):
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
