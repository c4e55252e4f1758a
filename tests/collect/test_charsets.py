"""Text in other charsets gives the ids of the same text in UTF-8, or an error that names the charset."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import numpy as np
import pytest

from inlaid import cli
from inlaid.collect import charsets, compression, world
from inlaid.collect.charset_detection import likely
from inlaid.collect.charsets import canonical
from inlaid.encode.corpus import Encoding, encode, open_corpus
from inlaid.errors import SettingError, SourceError
from inlaid.report import Event, Note

SIMPLIFIED = "我们在北京的大学里学习经济和历史。\n他说中国的城市有很多人，上海最大。\n" * 20
TRADITIONAL = "我們在北京的大學裡學習經濟和歷史。\n他說中國的城市有很多人，上海最大。\n" * 20
LATIN = "Él señaló que la canción más pequeña no está aquí, según el niño.\n" * 20
JAPANESE = "これは日本語の文章です。東京の大学で勉強しています。\n" * 20
KOREAN = "이것은 한국어 문장입니다. 서울에 있는 대학에서 공부하고 있습니다.\n" * 20
TEXTS = {
    "gb18030": SIMPLIFIED,
    "gbk": TRADITIONAL,
    "big5": TRADITIONAL,
    "utf-16": SIMPLIFIED,
    "utf-16-be": SIMPLIFIED,
    "utf-32": SIMPLIFIED,
    "utf-8-sig": SIMPLIFIED,
    "shift_jis": JAPANESE,
    "euc_kr": KOREAN,
    "cp1252": LATIN,
}


def written(folder: Path, data: bytes, name: str = "text.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def ids_of(path: Path, **settings: object) -> tuple[list[str], list[int]]:
    corpus = encode(path, Encoding(min_count=1, **settings), workers=1)  # pyright: ignore[reportArgumentType]
    return list(corpus.vocabulary.words), np.asarray(corpus.ids).tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_the_ids_are_those_of_the_same_text_in_utf8(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(charsets, "CHUNK", 7)  # every character is cut somewhere
    expected = ids_of(written(tmp_path, TEXTS[name].encode(), "expected.txt"))
    path = written(tmp_path, TEXTS[name].encode(name))
    assert ids_of(path, charset=name) == expected
    if name != "utf-16-be":  # it has no byte order mark and no ASCII
        assert ids_of(path, charset="auto") == expected
    packed = written(tmp_path, gzip.compress(path.read_bytes()), "text.txt.gz")
    assert ids_of(packed, charset=name) == expected


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_needs_no_flag(name: str, tmp_path: Path):
    expected = ids_of(written(tmp_path, SIMPLIFIED.encode(), "expected.txt"))
    path = written(tmp_path, SIMPLIFIED.encode(name))
    assert ids_of(path) == expected
    assert ids_of(path, charset="gb18030") == expected


@pytest.mark.parametrize("name", ["gb18030", "big5", "shift_jis", "euc_kr", "cp1252"])
def test_an_error_names_the_likely_charset(name: str, tmp_path: Path):
    path = written(tmp_path, b"plain ASCII\n" + TEXTS[name].encode(name))
    with pytest.raises(SourceError) as caught:
        ids_of(path)
    assert "text.txt:2: byte " in str(caught.value)
    assert f"It looks like {name.upper()}: pass charset='{name}'" in str(caught.value)


@pytest.mark.parametrize(("charset", "language"), [("gb18030", "zh"), ("gbk", "zh"), ("gb2312", "zh")])
def test_short_chinese_is_recognized(charset: str, language: world.Language):
    sentences = [each for each in world.sentences(language, words=3000, seed=1) if len(each) >= 8]
    drawn = random.Random(1).sample(sentences, 100)
    right = sum(likely(each.encode(charset)) == "gb18030" for each in drawn)
    assert right >= 99


@pytest.mark.parametrize("invalid", ["skip", "replace"])
def test_a_text_is_not_skipped_as_a_whole(invalid: str, tmp_path: Path):
    path = written(tmp_path, SIMPLIFIED.encode("gb18030"))
    for tokenizer in ("word", "char", "bpe"):
        with pytest.raises(SourceError, match="too many to skip or replace. It looks like GB18030"):
            ids_of(path, invalid=invalid, tokenizer=tokenizer)
    short = written(tmp_path, "北京大学\n".encode("gb18030"))
    with pytest.raises(SourceError, match="too many to skip or replace"):
        ids_of(short, invalid=invalid)


@pytest.mark.parametrize("invalid", ["skip", "replace"])
def test_a_few_invalid_bytes_are_skipped(invalid: str, tmp_path: Path):
    utf8 = written(tmp_path, SIMPLIFIED.encode() + b"\xff\xfe abc \x80\n")
    words, _ = ids_of(utf8, invalid=invalid)
    assert "abc" in words
    gbk = written(tmp_path, SIMPLIFIED.encode("gb18030") + b"\xff abc \x80\n")
    corpus = encode(gbk, Encoding(min_count=1, invalid=invalid, charset="gbk"))  # pyright: ignore[reportArgumentType]
    assert corpus.manifest["lint"]["invalid_bytes"] == 2
    assert set(words) == set(corpus.vocabulary.words)


def test_damage_anywhere_in_a_long_text_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A little in every part adds up to no loss, and neither does a last part that is all damage."""
    monkeypatch.setattr(charsets, "CHUNK", 1 << 12)
    line = SIMPLIFIED.encode("gbk") + b"\xff\n"
    path = written(tmp_path, line * 200 + b"\xb1")
    corpus = encode(path, Encoding(min_count=1, invalid="skip", charset="gbk"))
    assert corpus.manifest["lint"]["invalid_bytes"] == 201
    cut = written(tmp_path, "北京大学的学生".encode("gbk")[:-1])
    assert "北京大学" in ids_of(cut, invalid="replace", charset="gbk")[0]


def test_an_english_text_with_some_latin_letters_may_be_skipped(tmp_path: Path):
    path = written(tmp_path, b"the caf\xe9 is open and the cat sleeps\n" * 3)
    assert "caf" in ids_of(path, invalid="skip")[0]


def test_a_file_that_mixes_charsets_says_which_line(tmp_path: Path):
    mixed = SIMPLIFIED.encode() + TRADITIONAL.encode("big5")
    problem = (
        r"text.txt:41: .*The lines before it are UTF-8, this one looks like BIG5: the file mixes encodings"
    )
    with pytest.raises(SourceError, match=problem):
        ids_of(written(tmp_path, mixed))
    with pytest.raises(SourceError, match=problem):
        ids_of(written(tmp_path, mixed), invalid="skip")
    mixed = SIMPLIFIED.encode("gb18030") + b"\xff\n" + SIMPLIFIED.encode("gb18030")
    with pytest.raises(SourceError, match=r"text.txt:41: byte 1 of the line is not GB18030"):
        ids_of(written(tmp_path, mixed), charset="gb18030")


def test_utf8_is_never_read_as_something_else(tmp_path: Path):
    path = written(tmp_path, SIMPLIFIED.encode())
    for charset in ("gb18030", "big5", "latin-1"):
        with pytest.raises(SourceError, match="is UTF-8, and encoding .* would garble it"):
            ids_of(path, charset=charset)


def test_names():
    assert [canonical(each) for each in ("GBK", "cp936", "GB2312", "gb18030")] == ["gb18030"] * 4
    assert canonical("UTF8") == canonical("utf_8_sig") == canonical("ascii") == "utf-8"
    for name in ("gb1803", "rot13", "base64", "undefined", "", "idna", "punycode", "a\0b", "x" * 1000):
        with pytest.raises(SettingError, match="expected auto, or a text encoding"):
            Encoding(charset=name)


def test_tables_in_gbk(tmp_path: Path):
    rows = "编号,文本\n1,我们在北京的大学里学习\n2,他说中国的城市有很多人\n"
    expected = ids_of(written(tmp_path, rows.encode(), "u.csv"), field="文本")
    assert ids_of(written(tmp_path, rows.encode("gbk"), "g.csv"), field="文本", charset="gbk") == expected
    with pytest.raises(SourceError, match="g.csv:1: .*It looks like GB18030"):
        ids_of(tmp_path / "g.csv", field="文本")
    with pytest.raises(SourceError, match="It looks like GB18030"):
        ids_of(written(tmp_path, rows.replace("文本", "text").encode("gbk"), "g.csv"))
    lines = '{"text": "我们在北京的大学里学习"}\n' * 2
    with pytest.raises(SourceError, match="g.jsonl:1: .*It looks like GB18030"):
        ids_of(written(tmp_path, lines.encode("gbk"), "g.jsonl"))
    assert "北京" in ids_of(tmp_path / "g.jsonl", charset="gbk")[0]


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected = ids_of(written(tmp_path, SIMPLIFIED.encode()))
    for charset in ("gbk", "auto"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SIMPLIFIED.encode("gbk"))))
        assert ids_of(Path("-"), charset=charset) == expected


def test_memory_stays_small(tmp_path: Path):
    """A file in GB18030 is decoded as it is read, not as a whole."""
    path = written(tmp_path, SIMPLIFIED.encode("gb18030") * 2000)
    with compression.DecompressedFile(path) as file:
        file.recode("gb18030")
        read = 0
        while data := file.read(1 << 16):
            read += len(data)
            assert file.recoder is not None
            assert len(file.recoder.output) <= 2 * charsets.CHUNK
    assert read == len(SIMPLIFIED.encode()) * 2000


def test_the_manifest_and_the_card_record_the_charset(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, SIMPLIFIED.encode("gbk"))
    out = tmp_path / "c.corpus"
    assert cli.main(["corpus", str(path), "-o", str(out), "--encoding", "auto", "--min-count", "1"]) == 0
    assert f"{path} is read as GB18030." in " ".join(capsys.readouterr().err.split())
    manifest = open_corpus(out).manifest
    assert manifest["inputs"][0]["charset"] == "gb18030"
    assert manifest["encoding"]["charset"] == "gb18030"


def test_the_dictionary_is_read_in_the_same_charset(tmp_path: Path):
    text = written(tmp_path, SIMPLIFIED.encode("gbk"))
    words = written(tmp_path, "北京的大学\n城市有很多人\n".encode("gbk"), "words.txt")
    assert "北京的大学" in ids_of(text, dictionary=words, charset="gbk")[0]
    with pytest.raises(
        SourceError, match=r"words.txt:1: byte 1 of the line is not UTF-8. It looks like GB18030"
    ):
        ids_of(written(tmp_path, SIMPLIFIED.encode()), dictionary=words)
    words.write_bytes("北京的大学\n城市有很多人\n".encode())
    assert (
        "北京的大学"
        in ids_of(written(tmp_path, SIMPLIFIED.encode("gbk")), dictionary=words, charset="auto")[0]
    )


def typed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = cli.main([str(word) for word in words])
    return status, " ".join(capsys.readouterr().err.split())


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, SIMPLIFIED.encode("gbk"))
    train = ["train", "ppmi", path, "-o", tmp_path / "v.inlaid", "--dim", 4, "--min-count", 1]
    status, error = typed(capsys, *train)
    assert status == 2
    assert "It looks like GB18030: pass --encoding gb18030" in error
    status, error = typed(capsys, *train, "--invalid", "skip")
    assert status == 2
    assert "too many to skip or replace" in error
    status, error = typed(capsys, *train, "--charset", "gbk")
    assert status == 2
    assert "--charset is called --encoding here" in error
    assert typed(capsys, *train, "--encoding", "gbk")[0] == 0
    (tmp_path / "c.toml").write_text('charset = "gbk"\n')
    config = ["--config", tmp_path / "c.toml"]
    assert typed(capsys, *train, *config)[0] == 0
    (tmp_path / "c.toml").write_text('encoding = "gbk"\n')
    assert "`encoding` is called `charset` here" in typed(capsys, *train, *config)[1]
    status, error = typed(capsys, *train, "--encoding", "gb1803")
    assert status == 2
    assert "Did you mean 'gb18030'?" in error


def test_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    vectors = written(tmp_path, "北京 1 2\n上海 2 1\n苹果 3 -1\n香蕉 3 -2\n".encode(), "v.txt")
    rows = "北京\t上海\t9.0\n苹果\t香蕉\t8.5\n北京\t香蕉\t1.0\n上海\t苹果\t1.5\n"
    task = written(tmp_path, rows.encode("gbk"), "pairs.txt")
    status, error = typed(capsys, "evaluate", vectors, task)
    assert status == 2
    assert "pairs.txt:1: byte 1 of the line is not UTF-8. It looks like GB18030" in error
    status, error = typed(capsys, "evaluate", vectors, task, "--encoding", "auto")
    assert status == 0
    assert "pairs.txt is read as GB18030." in error
    written(tmp_path, rows.encode("utf-16"), "pairs.txt")
    assert typed(capsys, "evaluate", vectors, task)[0] == 0


def test_what_is_read_in_the_charset_asked_for_is_not_noted(tmp_path: Path):
    notes: list[Event] = []
    path = written(tmp_path, SIMPLIFIED.encode("gbk"))
    encode(path, Encoding(min_count=1, charset="gbk"), notes.append)
    assert not [each for each in notes if isinstance(each, Note)]


KANA = "日本語的の字和カタカナ，在繁體中文裡也會出現，我們說這個國家的學生都會寫。\n" * 20


@pytest.mark.parametrize("codec", ["big5", "cp950", "big5hkscs"])
@pytest.mark.parametrize("asked", ["big5", "auto", "itself"])
def test_every_kind_of_big5_is_read(codec: str, asked: str, tmp_path: Path):
    text = written(tmp_path, KANA.encode(codec))
    itself = "cp950" if codec == "big5" else codec
    charset = itself if asked == "itself" else asked
    found, _ = ids_of(text, tokenizer="char", charset=charset)
    expected, _ = ids_of(written(tmp_path, KANA.encode(), "utf-8.txt"), tokenizer="char")
    assert found == expected


def test_text_in_another_charset_than_asked_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = written(tmp_path, TRADITIONAL.encode("big5"))
    assert cli.main(["corpus", str(text), "-o", str(tmp_path / "c"), "--encoding", "gbk"]) == 2
    assert (
        "looks like BIG5, and encoding gb18030 would garble it. Pass --encoding big5"
        in capsys.readouterr().err
    )
    text = written(tmp_path, SIMPLIFIED.encode("gbk"))
    assert cli.main(["corpus", str(text), "-o", str(tmp_path / "c"), "--encoding", "big5"]) == 2
    assert "looks like GB18030" in capsys.readouterr().err


def test_advice_leads_to_no_other_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    vectors = written(tmp_path, "2 2\n中国 1 0\n美国 0 1\n".encode(), "v.txt")
    pairs = written(tmp_path, "中国\t美国\t5\n中国\t中国\t10\n美国\t美国\t9\n".encode("gbk"), "pairs.txt")
    assert cli.main(["evaluate", str(vectors), str(pairs)]) == 2
    assert "It looks like GB18030: pass --encoding auto" in capsys.readouterr().err
    assert cli.main(["evaluate", str(vectors), str(pairs), "--encoding", "auto"]) == 0
    half = written(tmp_path, b"ab \xff\xfe\xfd\xfc\n" * 40)
    assert cli.main(["corpus", str(half), "-o", str(tmp_path / "c"), "--invalid", "skip"]) == 2
    shown = capsys.readouterr().err
    assert "too many to skip" in shown
    assert "--invalid" not in shown


@pytest.mark.parametrize("charset", ["latin-1", "cp437", "gb18030", "big5"])
def test_utf8_after_a_long_start_in_ascii_is_not_garbled(
    charset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = written(tmp_path, b"plain words of English\n" * 30_000 + SIMPLIFIED.encode())
    assert cli.main(["corpus", str(text), "-o", str(tmp_path / "c"), "--encoding", charset]) == 2
    error = capsys.readouterr().err
    assert "is UTF-8, and encoding" in error
    assert "pass --encoding auto" in error
    with pytest.raises(SourceError, match="pass charset='auto', which decides"):
        ids_of(text, charset=charset)


def test_codecs_that_unescape_are_no_charsets():
    for name in ("raw_unicode_escape", "unicode_escape", "raw-unicode-escape"):
        with pytest.raises(SettingError, match="expected auto, or a text encoding"):
            canonical(name)
