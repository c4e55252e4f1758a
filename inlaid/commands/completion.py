"""`inlaid completion`: what a shell completes after `inlaid`, from the help of every command, and words of
vectors, Chinese ones by pinyin."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tyro.conf import Positional

from inlaid.commands.parsing import later, parse

FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
TAKES_WORDS = re.compile(r"VECTORS \[?(?:WORD|FIRST|FORMULA|TYPED)\b")
"""How the usage of a command shows that it takes words of the vectors before them."""
CHOICES = re.compile(r"(--[A-Za-z][\w-]*) \{([\w,.-]+)\}")
Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class Offered:
    """What there is to complete."""

    flags: Mapping[str, Sequence[str]]
    """Command -> its options."""
    choices: Mapping[str, Sequence[str]]
    """Option -> its choices; where they differ between commands, "command option" -> its choices."""
    asking: Sequence[str]
    """Commands that take words of the vectors before them."""


def completion_command(shell: Positional[Shell]) -> str:
    """Print a script that completes commands, methods, options and words in bash, zsh or fish.

    After a file of vectors, bash and zsh complete its words, Chinese ones by pinyin, too: pingg to 苹果.

    Making it takes some seconds, so write it to a file once. bash reads
    ~/.local/share/bash-completion/completions/inlaid, fish reads ~/.config/fish/completions/inlaid.fish, and
    for zsh put `source FILE` into ~/.zshrc, after compinit.

    Args:
        shell: the shell that reads it
    """
    return shell


def run(words: list[str], commands: Sequence[Sequence[str]], help_of: Callable[[list[str]], str]) -> None:
    """Print the script. `commands` are the words of each command, such as ["train", "sgns"]; `help_of` gives
    the help of one."""
    shell = parse(later(completion_command), words, "inlaid completion")()
    helps = {" ".join(command): help_of([*command]) for command in commands}
    offered = Offered(
        flags={name: sorted(set(FLAG.findall(help))) for name, help in helps.items()},
        choices=_choices(helps),
        asking=[name for name, help in helps.items() if TAKES_WORDS.search(" ".join(help.split()))],
    )
    print(SCRIPTS[str(shell)](offered), end="")


def _choices(helps: Mapping[str, str]) -> dict[str, list[str]]:
    """Options with choices -> the choices. Where an option differs between commands, it has the name of the
    command before it."""
    found: dict[str, dict[str, list[str]]] = {}
    takers: dict[str, set[str]] = {}
    for command, help in helps.items():
        for option in FLAG.findall(help):
            takers.setdefault(option, set()).add(command)
        for option, choices in CHOICES.findall(help):
            found.setdefault(option, {})[command] = choices.split(",")
    named: dict[str, list[str]] = {}
    for option, by_command in sorted(found.items()):
        different = list(by_command.values())
        if takers[option] == set(by_command) and all(each == different[0] for each in different):
            named[option] = different[0]
        else:
            named |= {f"{command} {option}": choices for command, choices in by_command.items()}
    return named


def _bash(offered: Offered) -> str:
    """Commands first, then what comes second, such as the methods of `train`; after a dash the options, after
    an option with choices these, after vectors their words, otherwise files."""
    flags = offered.flags
    first = sorted({name.partition(" ")[0] for name in flags})
    seconds: dict[str, list[str]] = {}
    for name in flags:
        command, _, second = name.partition(" ")
        if second:
            seconds.setdefault(command, []).append(second)
    cases = "".join(f"    '{name}') flags='{' '.join(each)}' ;;\n" for name, each in flags.items())
    choice_cases = "".join(
        f"    {_pattern(option)}) choices='{' '.join(each)}' ;;\n" for option, each in offered.choices.items()
    )
    second_cases = "".join(f"    '{name}') seconds='{' '.join(each)}' ;;\n" for name, each in seconds.items())
    return f"""_inlaid_words() {{
  [ -e "$1" ] && inlaid complete "$1" "$2" --lang en 2>/dev/null | awk 'NR > 1 {{ print $1 }}'
}}
_inlaid() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" flags='' seconds='' choices=''
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
  case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{choice_cases}  esac
  if [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  case " {" ".join(offered.asking)} " in *" $command "*)
    if [ "$COMP_CWORD" -ge 3 ] && [ -n "$current" ] && [ "${{current#-}}" = "$current" ]; then
      local IFS=$'\\n'
      COMPREPLY=($(_inlaid_words "${{COMP_WORDS[2]}}" "$current"))
      [ "${{#COMPREPLY[@]}}" -gt 0 ] && return
    fi ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _inlaid inlaid
"""


def _pattern(option: str) -> str:
    """What a command with its option matches in a `case`."""
    return f"'{option}'" if " " in option else f"*' {option}'"


def _zsh(offered: Offered) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(offered)}"


def _fish(offered: Offered) -> str:
    """Without words: fish keeps only what begins with the letters that were typed."""
    flags = offered.flags
    choices = offered.choices
    first = sorted({name.partition(" ")[0] for name in flags})
    lines = [f"complete -c inlaid -n __fish_use_subcommand -f -a '{' '.join(first)}'"]
    for name, each in flags.items():
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        command, _, second = name.partition(" ")
        if second:
            alone = f"__fish_seen_subcommand_from {command}; and test (count (commandline -opc)) -eq 2"
            lines.append(f"complete -c inlaid -n '{alone}' -f -a '{second}'")
        lines += [
            f"complete -c inlaid -n '{seen}' -l '{flag.removeprefix('--')}'{_values(name, flag, choices)}"
            for flag in each
        ]
    return "\n".join(lines) + "\n"


def _values(command: str, flag: str, choices: Mapping[str, Sequence[str]]) -> str:
    """What fish is told of the values of an option."""
    offered = choices.get(flag) or choices.get(f"{command} {flag}")
    return f" -x -a '{' '.join(offered)}'" if offered else ""


SCRIPTS: dict[str, Callable[[Offered], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
