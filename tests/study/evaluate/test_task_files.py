"""Task files of every form are recognized, read whole, and refused by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid.errors import FormatError, SourceError
from inlaid.report import Note
from inlaid.study.evaluate.task_files import read_file, read_tasks
from inlaid.study.evaluate.tasks import Analogies, Categories, Outliers, SentencePairs, Texts, WordPairs

TEXTS = {
    "tabs": ("car\tautomobile\t3.92\ngem\tjewel\t3.84\n", WordPairs, "en"),
    "ratings": ("小心 谨慎 4.0 4 4 4 \n繁琐 烦琐 3.5 3 4 4 \n", WordPairs, "zh"),
    "commented": ("# from somewhere\ncar automobile 3.92\n", WordPairs, "en"),
    "commas": (",word1,word2,similarity\n0,car,auto,3.9\n", WordPairs, "en"),
    "sections": (": family\nboy girl king queen\n: zh\nhe she his her\n", Analogies, "en"),
    "analogy table": (",type,word1,word2,word3,target\n0,JJ,good,better,rough,rougher\n", Analogies, "en"),
    "categories": (",category,word\n0,illness,acne\n1,illness,\n2,tree,elm\n", Categories, "en"),
    "outliers": (
        ",category,outliers,words\n0,cats,\"['dog', 'car', '']\",\"['lion', 'lynx']\"\n",
        Outliers,
        "en",
    ),
    "sts": (
        'a\tb\t2012\t1\t5.000\tA man.\tA person.\na\tb\t2012\t2\t0.500\tA dog.\tA "cat.\tx\ty\n',
        SentencePairs,
        "en",
    ),
    "questions": (
        "怎么弄？\t怎么开？\t1\n谁知道她是谁\t这是一首什么样的歌曲呢请问\t0\n",
        SentencePairs,
        "zh",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("form", ["plain", "CRLF", "BOM", "no final newline"])
def test_a_form_is_recognized_whatever_its_ends_are(name: str, form: str, tmp_path: Path):
    text, kind, language = TEXTS[name]
    plain = tmp_path / "plain.txt"
    plain.write_text(text, "utf-8")
    changed = {
        "CRLF": text.replace("\n", "\r\n"),
        "BOM": "\ufeff" + text,
        "no final newline": text.rstrip("\n"),
    }.get(form, text)
    (tmp_path / form).mkdir()
    path = tmp_path / form / "plain.txt"
    path.write_bytes(changed.encode())
    task = read_file(path)
    assert type(task) is kind
    assert task == read_file(plain)
    assert task.language == language


def test_what_is_read_is_what_is_written(tmp_path: Path):
    def read(name: str) -> object:
        path = tmp_path / "x.txt"
        path.write_text(TEXTS[name][0], "utf-8")
        return read_file(path)

    assert read("ratings") == WordPairs("x", "zh", (("小心", "谨慎"), ("繁琐", "烦琐")), (4.0, 3.5))
    assert read("sections") == Analogies(
        "x", "en", (("boy", "girl", "king", "queen"), ("he", "she", "his", "her")), ("family", "zh")
    )
    assert read("analogy table") == Analogies("x", "en", (("good", "better", "rough", "rougher"),), ("JJ",))
    assert read("outliers") == Outliers("x", "en", (("lion", "lynx", "dog"), ("lion", "lynx", "car")))
    assert read("sts") == SentencePairs(
        "x", "en", (("A man.", "A person."), ("A dog.", 'A "cat.')), (5.0, 0.5)
    )
    assert read("categories") == Categories("x", "en", ("acne", "", "elm"), ("illness", "illness", "tree"))


LABELLED = {
    "sst.train": ("1 a good film\n0 a bad film\n1 so good\n0 too bad\n", {"0", "1"}),
    "train.txt": ("NUM:dist How far ?\nLOC:city Where ?\nNUM:count How many ?\n", {"NUM", "LOC"}),
    "train.tsv": ("label\ttext_a\n1\t很好\n0\t很差\n", {"0", "1"}),
    "dev.tsv": ("qid\tlabel\ttext_a\n0\t1\t不错\n1\t0\t不行\n", {"0", "1"}),
    "titles.txt": ("标题一\t3\n标题二\t3\n标题三\t8\n", {"3", "8"}),
    "fast.txt": ("__label__a one two\n__label__b three\n__label__a four\n", {"__label__a", "__label__b"}),
    "quoted.csv": ('label,review\n1,"很快，好吃\n味道足"\n0,差\n', {"0", "1"}),
}


@pytest.mark.parametrize("name", LABELLED)
def test_texts_with_labels_are_recognized(name: str, tmp_path: Path):
    (tmp_path / name).write_text(LABELLED[name][0], "utf-8")
    task = read_tasks([tmp_path / name])[0]
    assert isinstance(task, Texts)
    assert {label for label, _ in task.train + task.test} == LABELLED[name][1]


def test_parts_find_each_other_and_no_text_is_on_both_sides(tmp_path: Path):
    (tmp_path / "sst").mkdir()
    (tmp_path / "sst" / "x.train").write_text("1 good\n0 bad\n1 fine\n")
    (tmp_path / "sst" / "x.test").write_text("1 good\n0 awful\n0 poor\n")
    (tmp_path / "sst" / "x.dev").write_text("1 well\n0 ill\n0 sick\n")
    (tmp_path / "sst" / "notes.md").write_text("nothing of that kind\n")
    said: list[str] = []
    tasks = read_tasks(
        [tmp_path / "sst"], lambda event: said.append(event.text) if isinstance(event, Note) else None
    )
    assert tasks == [
        Texts("x", "en", (("1", "good"), ("0", "bad"), ("1", "fine")), (("0", "awful"), ("0", "poor")))
    ]
    assert any("skipped" in each and "notes.md" in each for each in said)
    assert any("1 of 3 test texts are in the training part too" in each for each in said)
    assert any("tested on x.test; not used: x.dev" in each for each in said)


def test_a_file_without_parts_is_split_by_its_texts(tmp_path: Path):
    lines = [f"{n % 2} text number {n}" for n in range(500)]
    for name, order in (("a", lines), ("b", lines[::-1] + lines[:50])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.txt").write_text("\n".join(order))
    one, two = (read_tasks([tmp_path / name / "all.txt"])[0] for name in ("a", "b"))
    assert isinstance(one, Texts)
    assert isinstance(two, Texts)
    assert set(one.test) == set(two.test)
    assert 70 < len(one.test) < 130
    assert not {text for _, text in two.train} & {text for _, text in two.test}


BROKEN = {
    "a word is missing": (
        "car\tauto\t3\n" * 20 + "car\t4\n",
        "x.txt:21: expected two words and a number.*found 'car\\\\t4'",
    ),
    "a score is not a number": (
        "car\tauto\t3\n" * 20 + "car\tauto\tnan\n",
        "x.txt:21: expected two words and a number",
    ),
    "three words": (": s\na b c d\na b c\n", "x.txt:3: expected ': section' or four words, found 'a b c'"),
    "a label is missing": ("1 good\n0 bad\n" * 20 + "good\n", "x.txt:41: expected a label"),
    "a short row": ("label,review\n1,good\n1\n", "x.txt:3: expected 2 columns as in the header"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_line_that_does_not_fit_is_named(name: str, tmp_path: Path):
    text, said = BROKEN[name]
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(FormatError, match=said):
        read_tasks([tmp_path / "x.txt"])


def test_bytes_that_are_not_text_are_named(tmp_path: Path):
    (tmp_path / "x.txt").write_bytes(b"car\tauto\t3\n" * 20 + b"\xff\tb\t1\n")
    with pytest.raises(SourceError, match="x.txt:21: byte 1 of the line is not UTF-8"):
        read_file(tmp_path / "x.txt")


UNKNOWN = {
    "nothing": b"",
    "blank": b"\n\n  \n",
    "prose": b"It was a dark night.\nThe rain fell in torrents.\n",
    "words": b"finance\nrealty\nstocks\n",
    "vectors": b"the 0.4 0.2 -0.1\nof 0.1 0.3 0.2\n",
    "a dictionary": b"the der\nthe die\n",
    "texts without labels": "qid\ttext_a\n0\t一般\n1\t不错\n2\t很好\n".encode(),
    "binary": b"PK\x03\x04\x00\x00car\tauto\t3\n",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_task_is_refused(name: str, tmp_path: Path):
    (tmp_path / "x.txt").write_bytes(UNKNOWN[name])
    with pytest.raises(SourceError, match="x.txt: no task is recognized"):
        read_tasks([tmp_path / "x.txt"])
    with pytest.raises(SourceError, match="no task is recognized in any of its 1 files"):
        read_tasks([tmp_path])


def test_a_task_without_items_and_a_missing_file_are_refused(tmp_path: Path):
    (tmp_path / "x.txt").write_text("label,review\n")
    with pytest.raises(SourceError, match="there are no items"):
        read_tasks([tmp_path / "x.txt"])
    with pytest.raises(SourceError, match="There is no file or folder"):
        read_tasks([tmp_path / "y.txt"])


REAL = {
    "wordsim_en": (WordPairs, "en", 10),
    "wordsim_zh": (WordPairs, "zh", 2),
    "analogy_en": (Analogies, "en", 3),
    "analogy_zh": (Analogies, "zh", 2),
    "word_categorization_en": (Categories, "en", 3),
    "sts_benchmark": (SentencePairs, "en", 2),
    "pairs_zh": (SentencePairs, "zh", 2),
    "cls_sst2": (Texts, "en", 1),
    "cls_trec": (Texts, "en", 1),
    "cls_chnsenticorp": (Texts, "zh", 1),
    "cls_thucnews_titles": (Texts, "zh", 1),
    "cls_waimai_10k": (Texts, "zh", 1),
}


@pytest.mark.parametrize("folder", REAL)
def test_real_files_are_what_they_are(folder: str, data: Path):
    kind, language, count = REAL[folder]
    tasks = read_tasks([data / folder])
    assert [(type(task), task.language) for task in tasks] == [(kind, language)] * count


def test_every_question_of_the_known_sets_is_read(data: Path):
    counts = {
        task.name: len(task.questions)
        for task in read_tasks([data / "analogy_en", data / "analogy_zh"])
        if isinstance(task, Analogies)
    }
    assert counts == {
        "questions-words": 19544,
        "questions-phrases": 3218,
        "msr": 8000,
        "CA8_morphological": 10177,
        "CA8_semantic": 7636,
    }
    clean = read_tasks([data / "cls_chnsenticorp"])[0]
    assert isinstance(clean, Texts)
    assert len(clean.test) == 860  # 340 of its 1,200 are in the training part


def test_a_line_of_many_numbers_takes_no_longer_than_another(tmp_path: Path):
    """A line that does not match must not be tried in exponentially many ways; it would never end."""
    path = tmp_path / "texts.txt"
    path.write_text("__label__a w1 the\n" * 9 + "__label__b w2 " + "65535 " * 200 + "x\n")
    assert isinstance(read_tasks([str(path)])[0], Texts)


def test_lines_without_the_column_of_labels_are_refused_by_line(tmp_path: Path):
    path = tmp_path / "texts.tsv"
    path.write_text("the cat\t3\n" * 60 + "the of\n")
    with pytest.raises(FormatError, match=":61"):
        read_tasks([path])
