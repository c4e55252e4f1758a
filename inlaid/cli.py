"""Parse, call, print: finds the command a user typed and runs it. Only this file, commands/ and terminal.py
print."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

from inlaid.errors import InlaidError, UnknownName, did_you_mean
from inlaid.terminal import later, listed, parse

COMMANDS = {
    "demo": "demo",
    "world": "text",
    "tokenize": "text",
    "corpus": "text",
    "phrases": "text",
    "train": "training",
    "neighbors": "vectors",
    "analogy": "vectors",
    "evaluate": "vectors",
    "convert": "vectors",
    "info": "vectors",
    "verify": "vectors",
    "inspect": "vectors",
    "compare": "spaces",
    "align": "spaces",
    "explain": "explain",
    "fill": "explain",
    "axis": "explain",
    "dimensions": "explain",
    "doctor": "explain",
    "map": "maps",
}
"""Every command and the file of commands/ it stands in."""
READERS = ("tokenize", "corpus", "phrases", "train", "convert")
"""Commands whose flags depend on what they are asked for; they parse for themselves."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: done. 2: the user can mend it, and one line says how. 130: interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        _run([word for word in words if word != "--debug"])
    except BrokenPipeError:  # `inlaid ... | head` is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (InlaidError, MemoryError, OSError) as error:
        if debug:
            raise
        print(f"error: {' '.join(str(error).split()) or 'not enough memory'}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _run(words: list[str]) -> None:
    name, rest = (words[0], words[1:]) if words else ("--help", [])
    if name in ("-h", "--help"):
        print(_overview())
    elif name == "--version":
        from importlib import metadata

        print(f"inlaid {metadata.version('inlaid')}")
    elif name not in COMMANDS:
        raise UnknownName(
            f"There is no command '{name}'.{did_you_mean(name, COMMANDS) or ' Run `inlaid --help` for the list.'}"
        )
    elif name in READERS:
        _command(name)(rest)
    else:
        parse(later(_command(name)), rest, f"inlaid {name}")()


def _command(name: str) -> Callable[..., None]:
    module = importlib.import_module(f"inlaid.commands.{COMMANDS[name]}")
    return getattr(module, f"{name}_command", None) or getattr(module, name)


def _overview() -> str:
    lines = {name: (_command(name).__doc__ or "").splitlines()[0] for name in COMMANDS}
    return "\n".join(
        [
            "usage: inlaid COMMAND ...\n\nFrom raw text to vectors you can trust, look into and put to work.\n",
            listed(lines),
            "\n`inlaid COMMAND --help` explains one; --debug shows where an error came from.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
