"""What was typed -> options: flags parsed, help that fits the terminal, every mistake in one sentence."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import itertools
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import tyro

from inlaid import habits
from inlaid.commands import translated_help
from inlaid.commands.examples import examples_text
from inlaid.commands.half_width import flag_of, half_width, option_names
from inlaid.commands.terminal import STYLES, places, wrapped
from inlaid.commands.translated_help import draw_help, read_help
from inlaid.config import setting_of_others
from inlaid.errors import SettingError, did_you_mean
from inlaid.messages import Listed, Message, shown_language

T = TypeVar("T")
MARK = " "
"""Stands before a word that starts with a dash while tyro parses it."""
NONE_OR = re.compile(r"(\{None\}\||(?<=\{)None,)([^\s\x1b]+)")
"""How tyro shows the value of an option that may be None: {None}|INT, {None,hnsw,ivf}."""
NO_DEFAULT = re.compile(rf"\(default:(?:[\s│]|{STYLES.pattern})*(?:None|False|True)?\)")
"""How tyro shows that an option has no value by default, or is a switch; a frame may break it in two."""
SEVERAL = re.compile(rf"\{{?\[([A-Z]+)(?:\s|{STYLES.pattern})+\[\1(?:\s|{STYLES.pattern})+\.\.\.\]\]\}}?")
"""How tyro shows the values of an option that takes several: {[STR [STR ...]]}."""


def parse(kind: Callable[..., T], words: list[str], program: str, description: str | None = None) -> T:
    """Call `kind` with what was typed; anything wrong with it becomes one SettingError."""
    config = (
        tyro.conf.OmitArgPrefixes,
        tyro.conf.PositionalMetavarFromFieldName,
        tyro.conf.FlagCreatePairsOff,
    )
    words = half_width(words, kind)
    if asks_for_help(words):
        words = ["--help"]  # without the rest, of which tyro would show only what is still to be typed
    _refuse_single_dash(words, option_names(kind), program)
    english = shown_language() == "en"
    shown = _Shown(sys.stdout) if english else translated_help.Plain()
    width = contextlib.nullcontext() if english else translated_help.wide()
    errors = io.StringIO()
    try:
        with width, contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
            return tyro.cli(kind, args=words, prog=program, description=description, config=config)
    except SystemExit as stop:
        if not stop.code:
            help = _with_required(shown.getvalue(), kind)
            print(_fitted(help) if english else draw_help(read_help(help)), end="")
            print(examples_text(program))
            raise
        if refused := _refused_by_settings(stop):
            raise refused from None
        raise _refused(_problem(errors.getvalue(), program, option_names(kind)), program) from None


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether the help is asked for; after -- there is text."""
    end = words.index("--") if "--" in words else len(words)
    return not {"-h", "--help"}.isdisjoint(words[:end])


def _refused(problem: Message, program: str) -> SettingError:
    return SettingError("{problem} (`{program} --help` lists all options)", problem=problem, program=program)


def _refuse_single_dash(words: list[str], options: Sequence[str], program: str) -> None:
    """Raise SettingError for an option of several letters with one dash, as fastText and GloVe have them: it
    would be taken for the option of its first letter."""
    for word in words[: words.index("--") if "--" in words else None]:
        name = word.lstrip("-").partition("=")[0]
        if len(name) > 1 and not word.startswith("--") and word.startswith("-") and name in options:
            raise _refused(_unknown_option(word, options), program)


def _refused_by_settings(stop: SystemExit) -> SettingError | None:
    """What settings say of their values. It is a ValueError, so tyro takes it for one of its own errors,
    shows its sentence without the values, and exits."""
    cause: BaseException | None = stop
    while cause is not None:
        if isinstance(cause, SettingError):
            return cause
        cause = cause.__context__
    return None


def dashes_kept(words: list[str], kind: Any) -> list[str]:
    """Words and formulas that start with a dash, marked so that they are not taken for options."""
    options = option_names(kind)
    end = words.index("--") if "--" in words else len(words)
    return [MARK + word if _is_no_option(word, options) else word for word in words[:end]] + words[end:]


def without_mark(word: str) -> str:
    return word.removeprefix(MARK)


def _is_no_option(word: str, options: Sequence[str]) -> bool:
    """A formula such as "-man + king", or a word of several letters that is close to no option."""
    if re.fullmatch(r"-[^-\s=].*", word, re.DOTALL) is None or re.fullmatch(r"-[\d.]+(?:e-?\d+)?", word):
        return False
    if re.match(r"-[a-z]=", word):
        return False
    if re.search(r"[\s+＋*＊×(（]", word):
        return True
    name = word[1:].partition("=")[0].replace("-", "_")
    return len(name) > 1 and habits.habit_of(name, options) is None and not _similar(name, options)


def later(command: Callable[..., T]) -> Callable[..., Callable[[], T]]:
    """The same flags, but the call is returned, not made: `parse` must not redirect what the command
    prints."""
    return functools.wraps(command)(lambda *given, **named: functools.partial(command, *given, **named))


class _Shown(io.StringIO):
    """What tyro prints. It asks whether a terminal is behind it, for colours, and for the encoding, for
    frames."""

    def __init__(self, behind: Any) -> None:
        super().__init__()
        self.behind = behind

    def isatty(self) -> bool:
        return self.behind.isatty()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return (self.behind.encoding or "utf-8").lower()


def _with_required(help: str, kind: Any) -> str:
    """The usage line with the options that must be given: tyro hides them among all others."""
    required = [
        f"-o {field.name.upper()}"
        if field.name == "output"
        else f"--{flag_of(field.name)} {field.name.upper()}"
        for field in (dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ())
        if field.default is dataclasses.MISSING and "Positional" not in str(field.type)
    ]
    return help.replace("[OPTIONS]", " ".join([*required, "[OPTIONS]"]), 1) if required else help


def _fitted(help: str) -> str:
    """The help with its sentences wrapped: tyro wraps only what it draws a frame around."""
    width = shutil.get_terminal_size().columns
    framed = ("│", "╭", "╰")
    lines = [
        line if STYLES.sub("", line).startswith(framed) or places(line) <= width else wrapped(line)
        for line in _without_none(help)
    ]
    return "".join(f"{line}\n" for line in lines)


def _without_none(help: str) -> list[str]:
    """The lines without what tyro says of an option that may be left out: a choice called None, a default
    of nothing, the state of a switch. STR... stands for several values. Spaces take the place of what is
    gone, for frames and columns; a line of nothing else is dropped."""
    shortened = NONE_OR.sub(lambda found: found[2] + " " * len(found[1]), help)
    shortened = SEVERAL.sub(lambda found: f"{found[1]}...".ljust(places(found[0])), shortened)
    emptied = NO_DEFAULT.sub(lambda found: _blank(found[0]), shortened)
    lines = zip(help.splitlines(), emptied.splitlines(), strict=True)
    return [after for before, after in lines if before == after or STYLES.sub("", after).strip(" │")]


def _blank(text: str) -> str:
    """Spaces in place of what can be seen; styles, frames and line breaks stay."""
    parts = re.split(f"({STYLES.pattern})", text)
    parts[::2] = [re.sub(r"[^\s│]", " ", part) for part in parts[::2]]
    return "".join(parts)


def _problem(box: str, program: str, options: Sequence[str]) -> Message:
    """One sentence for the box that tyro draws around an error; the rest of the box repeats the help."""
    rows = [re.sub(r"[│|]", " ", row).rstrip() for row in box.splitlines()[1:]]  # without the title
    text = " ".join(row.strip() for row in rows if row.strip(" ─-╰╯"))
    if text.startswith("Missing from"):
        return Message("Missing from {program}: {names}.", program=program, names=_missing(rows))
    if unknown := re.match(r"Unrecognized options: (\S+?),?(?: |$)", text):
        return _unknown_option(unknown[1], options)
    if found := re.match(r"Missing value for argument '(\S+?)'", text):
        return Message("{option} needs a value.", option=_flag(found[1]))
    if found := re.match(r"invalid choice (.+?) for argument '(\S+?)'. Expected one of \((.+?),?\)", text):
        choices = found[3].replace("'", "")
        return Message(
            "{option} is {typed}; expected one of {choices}.",
            option=_flag(found[2]),
            typed=found[1],
            choices=Listed(choices.split(", ")),
        )
    if found := re.match(r"Error parsing (\S+): .*?int\(\).*?: ('.*?')(?: |$)", text):
        return Message(
            "{option} is {typed}; expected a whole number.", option=_flag(found[1]), typed=found[2]
        )
    if found := re.match(r"Error parsing (\S+): .*?float: ('.*?')(?: |$)", text):
        return Message("{option} is {typed}; expected a number.", option=_flag(found[1]), typed=found[2])
    first = re.split(r"Argument helptext|For full helptext|Got errors", text)[0].strip()
    return Message("{problem}", problem=re.sub(r"^Error parsing [\w.-]+: ", "", first))


def _missing(rows: Sequence[str]) -> Listed:
    """The names in a list of options and their help: the help is indented further."""
    first = next(number for number, row in enumerate(rows) if row.strip().startswith("Missing from"))
    indent = _indent(rows[first + 1])
    listed = itertools.takewhile(lambda row: _indent(row) >= indent, rows[first + 1 :])
    return Listed(row.strip().partition(", ")[0] for row in listed if _indent(row) == indent)


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _flag(spellings: str) -> str:
    """-n/--n is shown as -n."""
    return spellings.partition("/")[0]


def _unknown_option(typed: str, options: Sequence[str]) -> Message:
    """The option that was meant: by the name another tool has for it, or by spelling."""
    if not typed.startswith("-"):
        return Message("There is one argument too many: '{typed}'.", typed=typed)
    flag = typed.partition("=")[0]
    name = flag.lstrip("-").replace("-", "_")
    if name in options and flag.startswith("--"):  # a switch that is on by default
        return Message("{typed} is the default; --no-{name} turns it off.", typed=flag, name=flag[2:])
    habit = habits.habit_of(name, options)
    if habit is not None and habit.setting:
        ours = _spelled(habit.setting)
        return Message("{typed} is called {ours} here.{more}", typed=flag, ours=ours, more=habit.more)
    if habit is not None:
        return Message("There is no option {typed}.{more}", typed=flag, more=habit.more)
    if of_others := setting_of_others(name, options):
        return Message("There is no option {typed}.{hint}", typed=flag, hint=of_others)
    close = _similar(name, options)
    if not close:
        return Message("There is no option {typed}.", typed=flag)
    return Message("There is no option {typed}. Did you mean {close}?", typed=flag, close=_spelled(close))


def _spelled(name: str) -> str:
    """An option as it is typed."""
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def _similar(name: str, options: Sequence[str]) -> str:
    return did_you_mean(name, options).values.get("close", "")
