"""What the contracts typed at a command line share: a folder with small files of every kind a command reads,
and a way to type."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from inlaid.cli import main
from inlaid.collect import world

FIRST_WORDS = 12_000
"""Words of text in each language: enough that every word of the examples is in the vocabulary."""


class Shown(NamedTuple):
    """What a command wrote, and how it ended."""

    code: int
    out: str
    err: str


Type = Callable[..., Shown]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """Type a command as a user does; it must end well, unless another code is expected."""

    def run(*words: str | Path, code: int = 0) -> Shown:
        capsys.readouterr()
        try:
            ended = main([str(word) for word in words])
        except SystemExit as stop:  # --help
            ended = int(stop.code or 0)
        out, err = capsys.readouterr()
        if ended == 2 and "is not installed: run" in err:
            pytest.skip(err.strip().removeprefix("error: "))
        assert ended == code, err
        return Shown(ended, out, err)

    return run


@pytest.fixture(scope="session")
def models(request: pytest.FixtureRequest) -> list[Path]:
    """The folders of tiny models; none without torch: the commands that need them then skip themselves."""
    if importlib.util.find_spec("torch") is None:
        return []
    return sorted(request.getfixturevalue("tiny_models").iterdir())


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, models: list[Path]) -> Path:
    """Text, a corpus, two spaces, one with contexts, a dictionary, a task, a config.json, some models."""
    folder = tmp_path_factory.mktemp("workshop")
    for path in models:
        shutil.copytree(path, folder / f"{path.name}.model")
    for name, seed in (("text", 1), ("more", 2)):
        both = [*world.sentences("en", words=FIRST_WORDS, seed=seed)]
        both += world.sentences("zh", words=FIRST_WORDS, seed=seed)
        (folder / f"{name}.txt").write_text("\n".join(both), "utf-8")
    (folder / "words.txt").write_text("\n".join(world.dictionary()), "utf-8")
    labelled = ["__label__en the king eats an apple", "__label__zh 国王 吃 苹果"] * 10
    (folder / "labelled.txt").write_text("\n".join(labelled), "utf-8")
    (folder / "pairs.txt").write_text(
        "man\twoman\t9\nking\tman\t7\napple\tbananas\t8\nking\tapple\t1\n", "utf-8"
    )
    same = "".join(
        f"{word} {word}\n" for word in ("man", "woman", "king", "apple", "bananas", "red", "dog", "cat")
    )
    (folder / "same.txt").write_text(same, "utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}), "utf-8")
    words = ["--dictionary", str(folder / "words.txt"), "--force-dictionary", "--min-count", "2"]
    commands = [
        ["corpus", "text.txt", "-o", "corpus", *words],
        ["train", "ppmi", "corpus", "-o", "a.inlaid", "--dim", "8"],
        ["train", "ppmi", "more.txt", "-o", "b.inlaid", "--dim", "8", *words],
        ["train", "sgns", "corpus", "-o", "two-tables.inlaid", "--dim", "8", "--epochs", "1"],
    ]
    with contextlib.chdir(folder):
        for command in commands:
            assert main(command) == 0, command
    return folder
