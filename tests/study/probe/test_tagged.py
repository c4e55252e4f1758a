"""Tagged text of every layout that is read: Brown, People's Daily, CoNLL-U, archives, folders."""

from __future__ import annotations

import itertools
import zipfile
from pathlib import Path

import pytest

from inlaid.errors import SourceError
from inlaid.study.probe.tagged import LabelledSentence, read_tagged


def labels(sentence: LabelledSentence, task: str = "pos") -> list[str]:
    return [word.labels.get(task, "") for word in sentence.words]


def test_brown(tmp_path: Path):
    path = tmp_path / "ca01"
    path.write_text("\n\n\tThe/at City/nn-tl dogs/nns didn't/dod* bark/vb ``/`` not/* ./.-hl\n", "utf-8")
    (found,) = read_tagged(path)
    assert found.text == "The City dogs didn't bark \" not ."
    assert labels(found) == ["DET", "NOUN", "NOUN", "VERB", "VERB", "PUNCT", "ADV", "PUNCT"]
    assert labels(found, "number") == ["", "singular", "plural", "", "", "", "", ""]
    assert labels(found, "tense")[3] == "past"
    assert all(found.text[slice(*word.span)].lower() == word.word for word in found.words)


def test_peking_university(tmp_path: Path):
    path = tmp_path / "199801.txt"
    path.write_text("迈向/v  充满/v  希望/n  的/u  新/a  世纪/n  ——/w  江/nr  Windows/nx  95/m\n", "utf-8")
    (found,) = read_tagged(path)
    assert found.text == "迈向充满希望的新世纪——江Windows 95"
    assert labels(found)[:7] == ["VERB", "VERB", "NOUN", "PRT", "ADJ", "NOUN", "PUNCT"]


def test_conllu(tmp_path: Path):
    rows = ["# text = Dogs barked", "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_"]
    rows += ["2-3\tx\t_\t_\t_\t_\t_\t_\t_\t_", "2\tbarked\tbark\tVERB\tVBD\tTense=Past\t0\troot\t_\t_", ""]
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(rows), "utf-8")
    (found,) = read_tagged(path)
    assert labels(found) == ["NOUN", "VERB"]
    assert labels(found, "number") == ["plural", ""]
    assert labels(found, "tense") == ["", "past"]


def test_an_archive_and_a_folder_pass_over_other_files(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "brown.zip", "w") as archive:
        archive.writestr("brown/README", "about/it this is no tagged text")
        archive.writestr("brown/cats.txt", "ca01 news")
        archive.writestr("brown/ca01", "a/at b/nn")
        archive.writestr("brown/ca02", "c/at d/nn")
    assert [each.text for each in read_tagged(tmp_path / "brown.zip")] == ["a b", "c d"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.txt").write_text("e/at f/nn", "utf-8")
    assert [each.text for each in read_tagged(tmp_path / "folder")] == ["e f"]


@pytest.mark.parametrize("content", [b"", b"plain text\n", b"/nn /\n"])
def test_no_tags(content: bytes, tmp_path: Path):
    path = tmp_path / "odd.txt"
    path.write_bytes(content)
    with pytest.raises(SourceError, match="no tagged words"):
        list(read_tagged(path))


@pytest.mark.parametrize("name", ["brown/brown.zip", "people_daily_199801/199801_tagged.txt.xz"])
def test_real_files(data: Path, name: str):
    found = list(itertools.islice(read_tagged(data / name), 1000))
    assert len(found) == 1000
    tags = [tag for sentence in found for tag in labels(sentence)]
    assert tags.count("NOUN") > 0.2 * len(tags)
    assert len(set(tags)) <= 12
