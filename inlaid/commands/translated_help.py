"""Help in another language: what tyro drew is read back, translated, and drawn again.

Tyro counts a Chinese character as one place and breaks lines only at spaces, so its frames would not close.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from inlaid.commands.terminal import WIDE, places, wrapped
from inlaid.messages import Message, catalogue, shown_language, translated

READ_COLUMNS = 129
"""Width at which tyro draws help that is read back: beyond it, frames would stand side by side."""
WIDEST = 100
"""Columns of the widest help."""
LONGEST_NAME = 18
"""Columns of the longest option that its help stands beside."""
HINT = re.compile(r"\((required|repeatable|optional|default|default if used)(?:: (.*))?\)$", re.DOTALL)
"""What tyro adds to the help of an option."""
NOTHING = ("", "None", "True", "False")
"""Defaults of options that have no value by default, and of switches."""
SEVERAL = re.compile(r"\{?\[([A-Z]+) \[\1 \.\.\.\]\]\}?")
"""How tyro shows the values of an option that takes several."""


class Plain(io.StringIO):
    """Where tyro draws help that is read back: frames, and no colours."""

    encoding = "utf-8"  # pyright: ignore[reportAssignmentType]


@dataclass
class Option:
    """An option, as it is typed, and its help."""

    typed: str
    help: str = ""


@dataclass
class Box:
    """A frame of options: its title, what it is about, and its options."""

    title: str
    about: list[str] = field(default_factory=list[str])
    options: list[Option] = field(default_factory=list[Option])


@dataclass
class Help:
    """The help of a command, taken apart."""

    usage: str
    about: list[str]
    boxes: list[Box]

    def sentences(self) -> list[str]:
        """Everything that can be translated."""
        found = list(self.about)
        for box in self.boxes:
            found += [box.title, *box.about]
            found += [without_hint(option.help)[0] for option in box.options]
        return [each for each in found if each]


@contextlib.contextmanager
def wide() -> Iterator[None]:
    """Tyro draws for a wide terminal meanwhile, so that it breaks few lines."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(READ_COLUMNS)
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


# --- reading ------------------------------------------------------------------------------------------------


def read_help(drawn: str) -> Help:
    """Help as tyro drew it, without colours, taken apart."""
    head, frame, rest = drawn.partition("╭")
    usage, _, about = head.strip().partition("\n")
    boxes = [_box(lines) for lines in re.split(r"^╭", rest, flags=re.MULTILINE) if frame]
    return Help(usage.removeprefix("usage: "), paragraphs(about), boxes)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each on one line."""
    return [_joined(each.splitlines()) for each in re.split(r"\n\s*\n", text.strip()) if each.strip()]


def _box(lines: str) -> Box:
    title, *rows = lines.splitlines()
    box = Box(title.strip(" ─╮"))
    inside = [row[2:-2] for row in rows if row.startswith("│")]
    ruler = next((at for at, row in enumerate(inside) if row.strip("─") == ""), None)
    if ruler is not None:
        box.about = paragraphs("\n".join(row.rstrip() for row in inside[:ruler]))
        inside = inside[ruler + 1 :]
    helps = list[list[str]]()
    for row in inside:
        typed, _, text = re.sub(r", +--", ", --", row).rstrip().partition("  ")
        if typed and box.options and _is_open(box.options[-1].typed):
            box.options[-1].typed += typed
        elif typed:
            box.options.append(Option(typed))
            helps.append([])
        helps[-1].append(text if typed else row)
    for option, found in zip(box.options, helps, strict=True):
        option.typed = _choices(option.typed)
        option.help = _joined(found)
    return box


def _joined(lines: list[str]) -> str:
    """Lines as one; between two Chinese characters there is no space."""
    joined = " ".join(line.strip() for line in lines if line.strip())
    return re.sub(rf"(?<=[{WIDE}]) (?=[{WIDE}])", "", joined)


def _is_open(typed: str) -> bool:
    """Whether a list of choices goes on in the next row."""
    return typed.count("{") > typed.count("}")


def _choices(typed: str) -> str:
    """An option as it is typed, without the choice None."""
    shown = re.sub(r"\{None\}\||(?<=\{)None,", "", typed)
    return SEVERAL.sub(r"\1...", shown)


def without_hint(help: str) -> tuple[str, str]:
    """The help of an option, and what tyro adds to it, translated: a default, or that it is required."""
    hint = HINT.search(help)
    if hint is None:
        return help, ""
    text = help[: hint.start()].rstrip()
    kind, value = hint.groups()
    if kind == "required":
        return text, str(Message("(required)"))
    if value is None or value in NOTHING:
        return text, ""
    return text, str(Message("(default: {value})", value=value))


# --- drawing ------------------------------------------------------------------------------------------------


def draw_help(help: Help) -> str:
    """Help in the language that is shown, in frames that fit the terminal."""
    known = {_squeezed(sentence): said for sentence, said in catalogue(shown_language()).items()}

    def say(sentence: str) -> str:
        return known.get(_squeezed(sentence), sentence)

    width = min(shutil.get_terminal_size().columns, WIDEST)
    names = [places(option.typed) for box in help.boxes for option in box.options]
    fitting = [name for name in names if name <= LONGEST_NAME]
    column = max(fitting, default=8) + 2
    parts = [wrapped(str(Message("usage: {usage}", usage=help.usage)), columns=width)]
    parts += [wrapped(say(each), columns=width) for each in help.about]
    frames = [_drawn(box, say, width, column) for box in help.boxes]
    return "\n\n".join([*parts, "\n".join(frames)]) + "\n"


def _squeezed(sentence: str) -> str:
    """A sentence without white space: tyro may have broken it anywhere."""
    return "".join(sentence.split())


def _drawn(box: Box, say: Callable[[str], str], width: int, column: int) -> str:
    inner = width - 4
    rows = list[str]()
    for each in box.about:
        rows += wrapped(say(each), columns=inner).splitlines()
    if box.about:
        rows.append("─" * inner)
    for option in box.options:
        rows += _option_rows(option, say, inner, column)
    title = translated(box.title)
    top = f"╭─ {title} {'─' * (width - 5 - places(title))}╮"
    middle = [f"│ {row}{' ' * (inner - places(row))} │" for row in rows]
    return "\n".join([top, *middle, f"╰{'─' * (width - 2)}╯"])


def _option_rows(option: Option, say: Callable[[str], str], inner: int, column: int) -> list[str]:
    text, hint = without_hint(option.help)
    gap = " " * column
    breakable = option.typed if places(option.typed) <= inner else option.typed.replace(",", ", ")
    typed = wrapped(breakable, rest="  ", columns=inner).splitlines()
    help = wrapped(f"{say(text)}{hint}", first=gap, rest=gap, columns=inner).splitlines()
    if len(typed) == 1 and places(option.typed) <= column - 2:
        help[0] = _bold(option.typed) + help[0][places(option.typed) :]
        typed = []
    return [*map(_bold, typed), *help]


def _bold(text: str) -> str:
    in_colour = sys.stdout.isatty() and os.environ.get("TERM") not in (None, "dumb")
    return f"\x1b[1m{text}\x1b[0m" if in_colour else text
