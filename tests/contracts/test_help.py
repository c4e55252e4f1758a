"""Every command explains itself: in a terminal of 80 columns, and where there is none. Progress is drawn in a
terminal and leaves it clean."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import pytest

from inlaid import cli, registry
from inlaid.commands.terminal import places
from inlaid.errors import SettingError
from inlaid.fit.glove import GloVe
from inlaid.jobs import safety
from inlaid.jobs.init_from import Continuing
from inlaid.jobs.job import Job
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import Needs, needs

COLUMNS = 80
COMMANDS = sorted({*cli.COMMANDS, *(entry.name.replace("_", "-") for entry in registry.entries("analysis"))})
HELP = [
    ["--help"],
    *([name, "--help"] for name in COMMANDS),
    *(["train", entry.name, "--help"] for entry in registry.entries("method")),
]
SLOW = ("demo", "tour", "completion")
"""Commands that need no file, and take long."""
STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
"""Colours and movements of the cursor."""


def too_wide(shown: str) -> list[str]:
    """Lines that a terminal of 80 columns would break; a Chinese character takes two of them."""
    lines = STYLES.sub("", shown).replace("\r", "").splitlines()
    return [line for line in lines if places(line) > COLUMNS]


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_without_a_terminal(words: list[str], typed: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shown = typed(*words)
    assert not shown.err
    assert shown.out.startswith("usage: inlaid")
    assert "\x1b" not in shown.out
    assert not too_wide(shown.out)
    assert "None}" not in shown.out
    assert "[STR" not in shown.out
    assert not re.search(r"\(default:[\s│]*(None|True|False)?\)", shown.out)
    assert not re.search(r"--\S+ [A-Z]+[\s│]*\(default", shown.out), "an option without help"
    assert len({len(line) for line in shown.out.splitlines() if line.startswith(("│", "╭"))}) <= 1


@pytest.mark.parametrize("words", HELP[1:], ids=" ".join)
def test_help_ends_with_two_examples(
    words: list[str], typed: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
):
    """Each is a command whose options exist: in an empty folder it fails for want of its files, or works."""
    monkeypatch.chdir(tmp_path)
    for language in ("en", "zh"):
        shown = typed(*words, "--lang", language).out
        listed = shown.partition("\nexamples:\n" if language == "en" else "\n示例：\n")[2].splitlines()
        assert len(listed) == 2
    for line in listed:
        assert line.startswith(f"  inlaid {words[0]}")
        example = shlex.split(line.partition(" | ")[0].partition(" < ")[0].partition(" > ")[0])[1:]
        if example[0] in SLOW or "-" in example:
            continue
        cli.main(example)
        assert "lists all options" not in capsys.readouterr().err


def test_help_is_whole_where_the_inputs_are_typed_already(typed: Any):
    assert typed("neighbors", "v.inlaid", "king", "--help").out == typed("neighbors", "--help").out


def test_the_help_of_a_setting_is_one_paragraph(typed: Any, monkeypatch: pytest.MonkeyPatch):
    """Lines end where the terminal does, not where those of the source do."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shown = typed("train", "glove", "--help").out
    assert "most 2,000 words; 0 leaves them out, as the original does.  │" in shown
    assert "\nThe result is bit-identical" in shown


def test_help_without_a_terminal_is_80_columns_wide(typed: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = [typed(*words).out for words in (["--help"], ["compare", "--help"], ["train", "sgns", "--help"])]
    assert not too_wide("\n".join(shown))


def test_sentences_are_wrapped_to_a_narrow_terminal(typed: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = typed("compare", "--help").out.splitlines()
    assert max(map(places, lines)) <= 60
    assert lines[2].startswith("What changed between two spaces")
    assert lines[3]


def test_the_overview_groups_commands(typed: Any):
    lines = typed("--help").out.splitlines()
    headings = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == list(dict.fromkeys(cli.TITLES.values()))
    listed = [line.split()[0] for line in lines if re.match(r"  \S", line)]
    assert sorted(listed) == COMMANDS
    assert lines.index("start here:") + 1 == next(
        i for i, line in enumerate(lines) if line.startswith("  demo")
    )


OPTIONS = {
    "--alpha": "--learning-rate",
    "--lr": "--learning-rate",
    "-lr": "--learning-rate",
    "--size": "--dim",
    "--vector-size": "--dim",
    "--vector_size": "--dim",
    "--negative": "--negatives",
    "-negative": "--negatives",
    "--iter": "--epochs",
    "--threads": "--workers",
    "--window-size": "--window",
    "--sg": "--objective",
    "--max-vocab-size": "--max-size",
    "--learning-rat": "--learning-rate",
}
"""Options of other tools, or misspelt ones, and what they are called here."""


@pytest.mark.parametrize(("option", "meant"), OPTIONS.items())
def test_an_option_of_another_tool_leads_to_the_right_one(option: str, meant: str, typed: Any):
    for words in ([option, "3"], [f"{option}=3"]):
        error = typed("train", "sgns", "text.txt", "-o", "v.inlaid", *words, code=2).err
        assert re.search(
            rf"{option} is called {meant} here\.|no option {option}\. Did you mean {meant}\?", error
        )
        assert error.count("\n") == 1


def test_a_switch_that_is_on_says_how_to_turn_it_off(typed: Any):
    error = typed("corpus", "text.txt", "-o", "c", "--hmm", code=2).err
    assert "--hmm is the default; --no-hmm turns it off." in error


def test_an_option_is_suggested_only_where_the_command_has_it(typed: Any):
    assert "There is no option --alpha. (" in typed("world", "-o", "w.txt", "--alpha", "3", code=2).err
    assert "--topn is called -n here." in typed("neighbors", "v.inlaid", "cat", "--topn", "3", code=2).err
    assert "one argument too many: 'dog'" in typed("vector", "v.inlaid", "cat", "dog", code=2).err


def test_a_flag_that_a_method_lacks_names_the_methods_that_have_it(typed: Any):
    for entry in registry.entries("method"):
        can = entry.load().abilities
        own = {field.name for field in dataclasses.fields(entry.load())}
        for setting, ability in {**needs(Safety), **needs(Continuing)}.items():
            if setting not in own and not getattr(can, ability):
                for flag in (f"--{setting.replace('_', '-')}", f"--{setting}"):
                    error = typed("train", entry.name, "text.txt", "-o", "v.inlaid", f"{flag}=3", code=2).err
                    assert f"{entry.name} does not take --{setting.replace('_', '-')}: it is for " in error
                    assert "sgns" in error


def test_a_flag_that_needs_an_ability_is_one_line(typed: Any, monkeypatch: pytest.MonkeyPatch):
    """A field added to the settings of a run is offered, or refused as a flag and in Python."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Warmer(Safety):
        settle: Annotated[int, Needs("held_out")] = 0
        """Steps before the loss is measured."""

    monkeypatch.setattr(safety, "Safety", Warmer)
    assert "--settle" in typed("train", "sgns", "--help").out
    assert "--settle" not in typed("train", "glove", "--help").out
    error = typed("train", "glove", "text.txt", "-o", "v.inlaid", "--settle", "3", code=2).err
    assert "glove does not take --settle: it is for sgns, fasttext," in error
    assert "Leave out --settle" in error
    with pytest.raises(SettingError, match="glove does not take settle: it is for sgns, fasttext,"):
        Job(name="glove", method=GloVe(), safety=Warmer(settle=3)).check()


def test_help_in_a_terminal_of_80_columns(tmp_path: Path, in_terminal: Any):
    """All of them in one process: starting one takes longer than helping."""
    code = f"""
from inlaid.cli import main
for words in {HELP!r}:
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    print("ended with", code or 0)
"""
    ended = in_terminal(code, tmp_path)
    assert ended.code == 0, ended.shown
    assert ended.shown.count("ended with 0") == len(HELP), ended.shown
    assert not too_wide(ended.shown)


def test_progress_is_drawn_in_a_terminal(workshop: Path, tmp_path: Path, in_terminal: Any):
    words = ["train", "sgns", str(workshop / "corpus"), "-o", str(tmp_path / "v.inlaid"), "--dim", "16"]
    words += ["--epochs", "60"]
    ended = in_terminal(f"import sys\nfrom inlaid.cli import main\nsys.exit(main({words!r}))", tmp_path)
    assert ended.code == 0, ended.shown
    assert "━" in ended.shown
    assert "training" in ended.shown
    assert "%" in ended.shown
    last = STYLES.sub("", ended.shown).replace("\r", "\n").strip().splitlines()[-1]
    assert re.search(r"v\.inlaid: [\d,]+ words x 16|inlaid ", last), ended.shown
    assert (tmp_path / "v.inlaid").exists()


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_a_flag_that_turns_something_off_says_so(words: list[str], typed: Any):
    """The help of --no-hmm is that of hmm, so it also says what --no-hmm does."""
    text = " ".join(re.sub("[│╭╰─╮╯]", " ", typed(*words).out).split())
    for flag in set(re.findall(r" (--no-[a-z-]+) ", text)):
        assert f"`{flag}`:" in text, flag
