"""`inlaid completion`: what a shell completes after `inlaid`, from the help of every command, and words of
vectors, Chinese ones by pinyin."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from tyro.conf import Positional

from inlaid.commands.parsing import later, parse

FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
TAKES_WORDS = re.compile(r"VECTORS \[?(?:WORD|FIRST|FORMULA|TYPED)\b")
"""How the usage of a command shows that it takes words of the vectors before them."""
Shell = Literal["bash", "zsh", "fish"]


def completion_command(shell: Positional[Shell]) -> str:
    """Print a script that completes commands, methods, options and words in bash, zsh or fish.

    After a file of vectors, bash and zsh complete its words, Chinese ones by pinyin, too: pingg to 苹果.

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
    helps = {" ".join(command): help_of([*command]) for command in commands}
    flags = {name: sorted(set(FLAG.findall(help))) for name, help in helps.items()}
    asking = [name for name, help in helps.items() if TAKES_WORDS.search(" ".join(help.split()))]
    print(SCRIPTS[str(shell)](flags, asking), end="")


def _bash(flags: Mapping[str, Sequence[str]], asking: Sequence[str]) -> str:
    """Commands first, then the methods of `train`; after a dash options; after vectors their words, for the
    commands `asking` about words; otherwise files."""
    first = sorted({name.partition(" ")[0] for name in flags})
    seconds: dict[str, list[str]] = {}
    for name in flags:
        command, _, second = name.partition(" ")
        if second:
            seconds.setdefault(command, []).append(second)
    cases = "".join(f"    '{name}') flags='{' '.join(each)}' ;;\n" for name, each in flags.items())
    second_cases = "".join(f"    '{name}') seconds='{' '.join(each)}' ;;\n" for name, each in seconds.items())
    return f"""_inlaid_words() {{
  [ -e "$1" ] && inlaid complete "$1" "$2" --lang en 2>/dev/null | awk 'NR > 1 {{ print $1 }}'
}}
_inlaid() {{
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
  case " {" ".join(asking)} " in *" $command "*)
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


def _zsh(flags: Mapping[str, Sequence[str]], asking: Sequence[str]) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(flags, asking)}"


def _fish(flags: Mapping[str, Sequence[str]], asking: Sequence[str]) -> str:
    """Without words: fish keeps only what begins with the letters that were typed."""
    first = sorted({name.partition(" ")[0] for name in flags})
    lines = [f"complete -c inlaid -n __fish_use_subcommand -f -a '{' '.join(first)}'"]
    for name, each in flags.items():
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        command, _, second = name.partition(" ")
        if second:
            lines.append(f"complete -c inlaid -n '__fish_seen_subcommand_from {command}' -a '{second}'")
        lines += [f"complete -c inlaid -n '{seen}' -l '{flag.removeprefix('--')}'" for flag in each]
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Mapping[str, Sequence[str]], Sequence[str]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
