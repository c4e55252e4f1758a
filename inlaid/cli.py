"""Finds the command a user typed and runs it. Only this file and commands/ print."""

from __future__ import annotations

import contextlib
import importlib
import io
import platform
import sys
from collections.abc import Callable, Sequence

from inlaid import registry
from inlaid.commands import ending
from inlaid.commands.parsing import later, parse
from inlaid.commands.terminal import listed, note_escaped, show_every_character, wrapped
from inlaid.errors import InlaidError, SettingError, UnknownName
from inlaid.messages import LANGUAGES, Message, in_terminal, speaking, spoken_language, translated
from inlaid.registry import Entry

COMMANDS = {
    "demo": "demo",
    "tour": "tour",
    "world": "text",
    "tokenize": "text",
    "corpus": "text",
    "phrases": "text",
    "train": "training",
    "classify": "classify",
    "convert": "vectors",
    "info": "vectors",
    "verify": "vectors",
    "draw": "pictures",
    "serve": "serve",
    "explore": "explore",
    "completion": "completion",
}
"""Commands that are not analyses, and the file of commands/ each is in."""
TITLES = {
    "demo": "start here",
    "tour": "start here",
    "text": "text",
    "training": "training",
    "classify": "texts and models",
    "vectors": "files",
    "search": "words and their vectors",
    "evaluate": "quality",
    "doctor": "quality",
    "use": "texts and models",
    "explain": "explanations",
    "attend": "inside models",
    "probe": "inside models",
    "compare": "several spaces",
    "map": "pictures",
    "pictures": "pictures",
    "serve": "programs",
    "explore": "start here",
    "completion": "the shell",
}
"""Headings of `inlaid --help`: by the file of commands/, or by the folder of study/."""
LONGEST = 1000
"""Characters of the longest error shown whole; what a user typed by mistake may be a whole file."""
PARSE_THEMSELVES = (
    "tokenize",
    "corpus",
    "phrases",
    "train",
    "classify",
    "convert",
    "info",
    "draw",
    "serve",
    "explore",
)
"""Commands whose flags depend on what is asked for; they get the words as typed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: done. 2: an error the user can fix, in one line. 130: interrupted. 143: ended by
    SIGTERM."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    typed = _take_language(words)
    language = typed if typed in LANGUAGES else spoken_language()
    with in_terminal(), speaking(language, asked=typed in LANGUAGES):
        return _main(words, typed)


def _take_language(words: list[str]) -> str | None:
    """What --lang says, taken out of the words; None where it is not there. After -- it is text."""
    end = words.index("--") if "--" in words else len(words)
    for at, word in enumerate(words[:end]):
        if word == "--lang" and at + 1 < end:
            _, language = words[at : at + 2]
            del words[at : at + 2]
            return language
        if word.startswith("--lang=") or word == "--lang":
            del words[at]
            return word.partition("=")[2]
    return None


def _main(words: list[str], language: str | None) -> int:
    show_every_character()
    try:
        return _ended(words, language)
    finally:
        note_escaped()


def _ended(words: list[str], language: str | None) -> int:
    """The exit status of a command."""
    debug = "--debug" in words
    try:
        with ending.cleaning_up():
            if language not in (None, *LANGUAGES):
                raise SettingError("--lang is '{typed}'; expected zh or en.", typed=language)
            _run([word for word in words if word != "--debug"])
            ending.flush()
    except BrokenPipeError:  # `inlaid ... | head` is no error
        ending.print_nothing_more()
    except (InlaidError, MemoryError, OSError) as error:
        if debug:
            raise
        _print_error(_one_line(ending.explained(error)))
        return 2
    except UnicodeEncodeError as error:
        if debug:
            raise
        typed = error.object.encode("utf-8", "backslashreplace").decode()
        problem = Message(
            "{typed}: not UTF-8. Type it in a terminal that uses UTF-8.", typed=_one_line(typed)
        )
        _print_error(problem)
        return 2
    except KeyboardInterrupt:
        print(Message("interrupted"), file=sys.stderr)
        return 130
    except ending.Terminated as signalled:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(Message("terminated"), file=sys.stderr)
        return 128 + signalled.number
    return 0


def _print_error(problem: str | Message) -> None:
    print(Message("error: {problem}", problem=problem), file=sys.stderr)


def _one_line(text: str) -> str:
    """Text on one line; of a very long one the start and the end."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def _run(words: list[str]) -> None:
    name = words[0] if words else "--help"
    rest = words[1:]
    analyses = {entry.name: entry for entry in registry.entries("analysis")}
    if name in ("-h", "--help"):
        print(_overview())
    elif name == "--version":
        print(_versions())
    elif name.replace("-", "_") in analyses:
        from inlaid.commands import analyses as generic

        generic.run(analyses[name.replace("-", "_")], rest)
    elif name not in COMMANDS:
        raise UnknownName("There is no command '{name}'.{hint}", name=name, hint=_suggestion(name))
    elif name == "completion":
        from inlaid.commands import completion

        completion.run(rest, _all_commands(), _help_of)
    elif name in PARSE_THEMSELVES:
        _command(name)(rest)
    else:
        parse(later(_command(name)), rest, f"inlaid {name}")()


def _versions() -> str:
    """The versions of what decides how a run ends; nothing is imported for it."""
    from importlib import metadata

    from inlaid.version import VERSION

    found = {"inlaid": VERSION, "Python": platform.python_version()}
    for package in ("numpy", "numba", "torch", "tokenizers", "safetensors"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    width = max(map(len, found))
    lines = [f"{name.ljust(width)}  {version}" for name, version in found.items()]
    return "\n".join([f"inlaid {VERSION}", *lines[1:], f"{'system'.ljust(width)}  {platform.platform()}"])


def _all_commands() -> list[list[str]]:
    """The words of every command, with what comes second: methods, parts of `classify`, pictures."""
    from inlaid.commands import classify

    seconds = {
        "train": [entry.name for entry in registry.entries("method")],
        "classify": [*classify.COMMANDS],
        "draw": [entry.name for entry in registry.entries("picture")],
        "completion": ["bash", "zsh", "fish"],
    }
    names = [*COMMANDS, *(entry.name.replace("_", "-") for entry in registry.entries("analysis"))]
    return [
        *([name] for name in names if name not in seconds),
        *([name, second] for name, several in seconds.items() for second in several),
    ]


def _help_of(words: list[str]) -> str:
    shown = io.StringIO()
    with speaking("en"), contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        _run([*words, "--help"])
    return shown.getvalue()


def _command(name: str) -> Callable[..., None]:
    module = importlib.import_module(f"inlaid.commands.{COMMANDS[name]}")
    return getattr(module, f"{name}_command")


def _suggestion(name: str) -> Message:
    """The command that was meant: by the name another tool has for it, or by spelling."""
    commands = [Entry("command", each, "", "") for each in COMMANDS]
    found = registry.suggestion(name.replace("-", "_"), [*commands, *registry.entries("analysis")])
    if "close" in found.values:
        return Message(" Did you mean '{close}'?", close=found.values["close"].replace("_", "-"))
    return Message(" Run `inlaid --help` for the list.")


def _overview() -> str:
    groups = _groups()
    width = max(len(name) for lines in groups.values() for name in lines)
    sections = [
        f"{Message('{title}:', title=translated(title))}\n{listed(lines, width)}"
        for title, lines in groups.items()
    ]
    first = Message("From raw text to vectors you can trust, look into and put to work.")
    last = Message(
        "`inlaid COMMAND --help` explains one; --debug shows where an error came from; --lang zh or --lang "
        "en chooses the language, otherwise the variable INLAID_LANG does, then the locale."
    )
    usage = str(Message("usage: {usage}", usage="inlaid COMMAND ..."))
    return "\n\n".join([usage, wrapped(str(first)), *sections, wrapped(str(last))])


def _groups() -> dict[str, dict[str, str]]:
    """Commands by subject, in the order of the work; an analysis belongs to the folder it lives in."""
    groups: dict[str, dict[str, str]] = {title: {} for title in TITLES.values()}
    for name, module in COMMANDS.items():
        sentence = translated((_command(name).__doc__ or "").splitlines()[0]).rstrip(".。")
        groups[TITLES[module]][name] = sentence[:1].lower() + sentence[1:]
    for entry in registry.entries("analysis"):
        folder = entry.where.split(".")[1]
        title = TITLES.get(folder, folder)
        groups.setdefault(title, {})[entry.name.replace("_", "-")] = translated(entry.summary)
    return groups


if __name__ == "__main__":
    sys.exit(main())
