"""Settings that sgns and fasttext share: what is out of range is refused before any work, with the right
reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid.cli import main


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    sentences = [" ".join(f"word{(n * k) % 50}" for k in range(1, 12)) for n in range(1, 400)]
    path.write_text("\n".join(sentences), "utf-8")
    return path


@pytest.mark.parametrize("method", ["sgns", "fasttext"])
def test_more_negatives_than_words_are_refused_with_that_reason(
    method: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = [
        "train",
        method,
        str(text),
        "-o",
        str(tmp_path / "out.inlaid"),
        "--dim",
        "8",
        "--epochs",
        "1",
    ]
    assert main([*arguments, "--negatives", "51"]) == 2
    error = capsys.readouterr().err
    assert "negatives is 51" in error
    assert "the vocabulary has 50 words" in error
    assert "learning_rate" not in error
    assert main([*arguments, "--negatives", "50", "--learning-rate", "0.001"]) == 0


@pytest.mark.parametrize("method", ["sgns", "fasttext"])
@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("window", "99999999999"),
        ("dim", "99999999999"),
        ("negatives", "99999999999"),
        ("epochs", "99999999999"),
        ("workers", "99999999999"),
        ("seed", str(1 << 64)),
    ],
)
def test_settings_out_of_range_are_refused(
    method: str, flag: str, value: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = ["train", method, str(text), "-o", str(tmp_path / "out.inlaid"), f"--{flag}", value]
    assert main(arguments) == 2
    assert f"{flag} is {value}; expected from" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["sgns", "fasttext"])
def test_the_widest_window_trains(method: str, text: Path, tmp_path: Path):
    out = tmp_path / "out.inlaid"
    assert (
        main(["train", method, str(text), "-o", str(out), "--dim", "8", "--epochs", "1", "--window", "10000"])
        == 0
    )
    assert out.exists()


@pytest.mark.parametrize("method", ["sgns", "fasttext"])
def test_help_says_what_settings_mean(method: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["train", method, "--help"])
    assert stopped.value.code == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for sentence in (
        "Vector dimension.",
        "Noise words drawn for each positive pair.",
        "Initial learning rate; decays linearly.",
        "Subsampling threshold for frequent words; 0 keeps all.",
    ):
        assert sentence in shown
