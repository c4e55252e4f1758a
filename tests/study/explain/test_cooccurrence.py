"""The counted table, in Python and as typed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.encode.corpus import Encoding, encode
from inlaid.errors import OutOfVocabulary, SettingError, WriteError

TEXT = "I like NLP.\nI like deep learning.\nI enjoy flying.\n"
WORDS = ["I", "like", "enjoy", "NLP", "deep", "learning", "flying"]
TABLE = [
    [0, 2, 1, 1, 1, 1, 1],
    [2, 0, 0, 1, 1, 1, 0],
    [1, 0, 0, 0, 0, 0, 1],
    [1, 1, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 1, 0],
    [1, 1, 0, 0, 1, 0, 0],
    [1, 0, 1, 0, 0, 0, 0],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, "utf-8")
    assert main(["corpus", "text.txt", "-o", "c", "--min-count", "1", "--normalize", "nfc"]) == 0
    capsys.readouterr()
    return tmp_path


def test_the_table_of_the_tutorials_as_typed(folder: Path, capsys: pytest.CaptureFixture[str]):
    typed = ["cooccurrence", "c", *WORDS, "--square", "--window", "None"]
    assert main(typed) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == WORDS
    assert [line[0] for line in lines[1:]] == WORDS
    assert [[int(cell) for cell in line[1:]] for line in lines[1:]] == TABLE
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["words"], found["contexts"], found["counts"]) == (WORDS, WORDS, TABLE)


def test_whole(folder: Path):
    corpus = inlaid.corpus("c")
    found = inlaid.cooccurrence(corpus, window=None)
    order = [found.words.index(word) for word in WORDS]
    np.testing.assert_array_equal(found.counts[np.ix_(order, order)], TABLE)
    notes: list[object] = []
    assert inlaid.cooccurrence(corpus, n=2, report=notes.append).counts.shape == (2, 2)
    assert "The 2 most frequent of 7 words are shown." in map(str, notes)


def test_around_a_word(folder: Path):
    found = inlaid.cooccurrence(inlaid.corpus("c"), ["like"], window=1)
    assert (found.words, found.contexts) == (("like",), ("I", "NLP", "deep"))
    assert found.counts.tolist() == [[2, 1, 1]]
    half = inlaid.cooccurrence(inlaid.corpus("c"), ["learning"], window=2, decay=True)
    assert dict(zip(half.contexts, half.counts[0].tolist(), strict=True)) == {"deep": 1, "like": 0.5}


def test_mistakes(folder: Path):
    with pytest.raises(
        OutOfVocabulary, match="'lik' is not among the 7 words of the corpus. Did you mean 'like'?"
    ):
        inlaid.cooccurrence(inlaid.corpus("c"), ["lik"])
    with pytest.raises(SettingError, match="square needs words"):
        inlaid.cooccurrence(inlaid.corpus("c"), square=True)


def test_counts_are_written_as_glove_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The records of the original program: int32, int32, float64, ids from 1, both directions of a pair."""
    sentences = ["a b a c", "b b 猫", "c a 猫 b"]
    corpus = encode(sentences, Encoding(min_count=1))
    expected: dict[tuple[str, str], float] = {}
    for sentence in sentences:
        words = sentence.split()
        for here, word in enumerate(words):
            for there in range(max(0, here - 2), min(len(words), here + 3)):
                if there != here:
                    pair = (word, words[there])
                    expected[pair] = expected.get(pair, 0) + 1 / abs(here - there)
    corpus.save(tmp_path / "c")
    folder = tmp_path / "counts"
    assert (
        main(["cooccurrence", str(tmp_path / "c"), "--window", "2", "--decay", "--glove", str(folder)]) == 0
    )
    names = [line.split() for line in (folder / "vocab.txt").read_text("utf-8").splitlines()]
    assert [(word, int(count)) for word, count in names] == [("b", 4), ("a", 3), ("c", 2), ("猫", 2)]
    records = struct.iter_unpack("<iid", (folder / "cooccurrence.bin").read_bytes())
    found = {(names[word - 1][0], names[context - 1][0]): count for word, context, count in records}
    assert found == pytest.approx(expected)
    assert main(["cooccurrence", str(tmp_path / "c"), "--glove", str(folder)]) == 2  # it exists
    assert "exists" in capsys.readouterr().err
    assert main(["cooccurrence", str(tmp_path / "c"), "--glove", str(tmp_path / "c" / "in")]) == 2
    assert not (tmp_path / "c" / "in").exists()
    inlaid.cooccurrence(corpus, window=2, decay=True, glove=tmp_path / "again")
    for name in ("vocab.txt", "cooccurrence.bin"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_word_that_vocab_txt_cannot_hold_is_refused(tmp_path: Path):
    corpus = encode([["a b", "c"]] * 3, Encoding(min_count=1))
    with pytest.raises(WriteError, match="'a b' is empty or contains whitespace"):
        inlaid.cooccurrence(corpus, glove=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()


# --- PPMI and heat maps


def test_ppmi_is_that_of_the_whole_table(folder: Path):
    """Also where only a part is shown: log(count x total / (row sum x column sum)), at least 0."""
    table = np.array(TABLE, float)
    expected = np.log(np.maximum(table * table.sum() / np.outer(table.sum(axis=1), table.sum(axis=0)), 1))
    corpus = inlaid.corpus("c")
    whole = inlaid.cooccurrence(corpus, WORDS, square=True, window=None, ppmi=True)
    np.testing.assert_allclose(whole.values, expected)
    part = inlaid.cooccurrence(corpus, ["deep", "flying"], square=True, window=None, ppmi=True)
    np.testing.assert_allclose(part.values, expected[[4, 6]][:, [4, 6]])


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_heat_map_as_typed(suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    typed = ["cooccurrence", "c", "like", "I", "--window", "None", "-o", f"heat{suffix}"]
    assert main(typed) == 0
    assert f"written to heat{suffix}" in capsys.readouterr().out
    first = Path(f"heat{suffix}").read_bytes()
    assert main([*typed, "--json"]) == 0  # one of ours is replaced
    assert json.loads(capsys.readouterr().out)["output"] == f"heat{suffix}"
    assert Path(f"heat{suffix}").read_bytes() == first
    assert main([*typed[:-1], "heat.html"]) == 2
    assert "A heat map is written as .png, .svg or .pdf; found 'heat.html'." in capsys.readouterr().err


@pytest.mark.parametrize("ppmi", [False, True])
def test_the_numbers_of_a_heat_map(ppmi: bool, folder: Path):
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    found = inlaid.cooccurrence(inlaid.corpus("c"), WORDS, square=True, window=None, ppmi=ppmi)
    axes = found.figure().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == WORDS
    assert [text.get_text() for text in axes.get_xticklabels()] == WORDS
    written = {text.get_position(): float(text.get_text()) for text in axes.texts}
    shown = {(column, row): value for (row, column), value in np.ndenumerate(found.values) if value > 0}
    assert written == {place: round(value, 1) for place, value in shown.items()}
    darkest = np.unravel_index(np.argmax(axes.images[0].get_array()), found.values.shape)
    assert found.values[darkest] == found.values.max()


def test_a_heat_map_in_chinese(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    corpus = inlaid.corpus(["我 喜欢 猫", "我 喜欢 狗"], tokenizer="whitespace", min_count=1)
    figure = inlaid.cooccurrence(corpus, ["喜欢"], window=2).figure()
    assert figure.get_suptitle() == "词（行）与上下文（列）的共现次数，窗口 2"
