"""`inlaid completion`: what a shell completes after `inlaid`, from the help of every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from tyro.conf import Positional

from inlaid.commands.parsing import later, parse

FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
Shell = Literal["bash", "zsh", "fish"]


def completion_command(shell: Positional[Shell]) -> str:
    """Print a script that completes commands, methods and options in bash, zsh or fish.

    Put `eval "$(inlaid completion bash)"` into ~/.bashrc, `eval "$(inlaid completion zsh)"` into ~/.zshrc, or
    `inlaid completion fish | source` into ~/.config/fish/config.fish.

    Args:
        shell: the shell that reads it
    """
    return shell


def run(words: list[str], commands: Sequence[Sequence[str]], help_of: Callable[[list[str]], str]) -> None:
    """Print the script. `commands` are the words of each command, such as ["train", "sgns"]; `help_of` gives
    the help of one."""
    shell = parse(later(completion_command), words, "inlaid completion")()
    flags = {" ".join(command): sorted(set(FLAG.findall(help_of([*command])))) for command in commands}
    print(SCRIPTS[str(shell)](flags), end="")


def _bash(flags: Mapping[str, Sequence[str]]) -> str:
    """Commands first, then the methods of `train`; after a dash options, otherwise files."""
    first = sorted({name.partition(" ")[0] for name in flags})
    seconds: dict[str, list[str]] = {}
    for name in flags:
        command, _, second = name.partition(" ")
        if second:
            seconds.setdefault(command, []).append(second)
    cases = "".join(f"    '{name}') flags='{' '.join(each)}' ;;\n" for name, each in flags.items())
    second_cases = "".join(f"    '{name}') seconds='{' '.join(each)}' ;;\n" for name, each in seconds.items())
    return f"""_inlaid() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" flags='' seconds=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(first)} --help --version' -- "$current"))
    return
  fi
  case "$command" in
{second_cases}  esac
  if [ -n "$seconds" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$seconds --help" -- "$current"))
    return
  fi
  [ -n "$seconds" ] && command="$command ${{COMP_WORDS[2]}}"
  case "$command" in
{cases}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _inlaid inlaid
"""


def _zsh(flags: Mapping[str, Sequence[str]]) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(flags)}"


def _fish(flags: Mapping[str, Sequence[str]]) -> str:
    first = sorted({name.partition(" ")[0] for name in flags})
    lines = [f"complete -c inlaid -n __fish_use_subcommand -f -a '{' '.join(first)}'"]
    for name, each in flags.items():
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        command, _, second = name.partition(" ")
        if second:
            lines.append(f"complete -c inlaid -n '__fish_seen_subcommand_from {command}' -a '{second}'")
        lines += [f"complete -c inlaid -n '{seen}' -l '{flag.removeprefix('--')}'" for flag in each]
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Mapping[str, Sequence[str]]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
