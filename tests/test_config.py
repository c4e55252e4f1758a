"""Settings are checked where they are made, and the error names the setting."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from inlaid.config import Count, Fraction, Positive, check, read_toml, settings_of, values_of
from inlaid.errors import SettingError, SourceError, UnknownName


@dataclass(frozen=True, kw_only=True)
class Settings:
    window: Positive | None = 5
    share: Fraction = 0.5
    seed: Count = 1
    kind: Literal["flat", "steep"] = "flat"
    names: tuple[str, ...] = ()
    file: Path | None = None
    fast: bool = False

    def __post_init__(self) -> None:
        check(self)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"window": 0}, "window is 0; expected at least 1 or None"),
        ({"window": -3}, "window is -3"),
        ({"window": 2.5}, "window is 2.5; expected a whole number or None"),
        ({"window": True}, "window is True"),
        ({"share": 1.5}, "share is 1.5; expected from 0 to 1"),
        ({"share": float("nan")}, "share is nan; expected a finite number"),
        ({"share": "half"}, "share is 'half'; expected a finite number"),
        ({"seed": -1}, "seed is -1; expected at least 0"),
        ({"kind": "step"}, "kind is 'step'; expected one of flat, steep"),
        ({"names": "abc"}, "names is 'abc'; expected a list of str"),
        ({"names": (1,)}, "names is"),
        ({"fast": 1}, "fast is 1; expected true or false"),
    ],
)
def test_a_wrong_value_names_its_setting(values: dict[str, object], message: str):
    with pytest.raises(SettingError) as caught:
        settings_of(Settings, values)
    assert str(caught.value).startswith(message)


def test_an_unknown_setting_suggests_the_known_one():
    with pytest.raises(UnknownName, match="No setting is called 'widnow'. Did you mean 'window'?"):
        settings_of(Settings, {"widnow": 3})


def test_settings_survive_plain_values():
    made = Settings(window=None, names=("a", "猫"), file=Path("x.txt"), kind="steep")
    assert values_of(made)["names"] == ["a", "猫"]
    assert settings_of(Settings, values_of(made)) == made


def test_toml_is_read(tmp_path: Path):
    (tmp_path / "s.toml").write_text('window = 3\nnames = ["猫"]\n', "utf-8")
    assert settings_of(Settings, read_toml(tmp_path / "s.toml")) == Settings(window=3, names=("猫",))


def test_bad_toml_is_a_clear_error(tmp_path: Path):
    (tmp_path / "s.toml").write_text("window = ", "utf-8")
    with pytest.raises(SettingError, match="not valid TOML"):
        read_toml(tmp_path / "s.toml")
    with pytest.raises(SourceError, match="Cannot read"):
        read_toml(tmp_path / "none.toml")


def test_numbers_beyond_floating_point(tmp_path: Path):
    with pytest.raises(SettingError, match="expected a finite number"):
        settings_of(Settings, {"share": 10**400})
    (tmp_path / "long.toml").write_text(f"seed = {'9' * 5000}")
    with pytest.raises(SettingError, match="not valid TOML"):
        read_toml(tmp_path / "long.toml")
    (tmp_path / "deep.toml").write_text(f"names = {'[' * 100_000}")
    with pytest.raises(SettingError, match="not valid TOML"):
        read_toml(tmp_path / "deep.toml")


def test_a_key_of_very_many_parts_takes_no_time(tmp_path: Path):
    """The parser takes time that grows with the square of the parts: minutes for a small file."""
    path = tmp_path / "c.toml"
    key = ".".join("a" * 100_000)
    for line in (f"{key} = 1", f"[{key}]", f"x = {{b = 1, {key} = 1}}"):
        path.write_text(line)
        with pytest.raises(SettingError, match=r"a key has 99,999 parts"):
            read_toml(path)
    path.write_text("note = 'a.b.c'\nsteps = ['1.5', '...']")
    assert read_toml(path)["note"] == "a.b.c"


def test_a_pipe_is_no_file_of_settings(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is a pipe or a device, and settings are read from a file"):
        read_toml(tmp_path / "pipe")
