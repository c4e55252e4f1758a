"""The cleaning kernel gives the words the tokenizer gives, for any text and any blocks."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.collect.normalize import normalizer
from inlaid.collect.sentences import split
from inlaid.collect.sources import TextBlock
from inlaid.encode import processes
from inlaid.encode.cleaning import HARD_LINES, CleanedBlock, Cleaner
from inlaid.encode.processes import PYTHON_BOUND, CleanerPool
from inlaid.encode.tokenizers import Char, Tokenizer, Whitespace, Word
from inlaid.errors import SourceError

TOKENIZERS = [
    Word(),
    Whitespace(),
    Char(),
    Word(dictionary=("喜欢苹", "明"), force_dictionary=True),
    Word(dictionary=("喜欢苹", "文a", "a+", "3.14喜欢", ".喜欢", "明〇"), symbols="emoji"),
    Word(dictionary=("é中",), force_dictionary=True, hmm=False, symbols="all"),
]
STEPS: list[tuple[str, ...]] = [
    ("nfc", "lower"),
    (),
    ("lower",),
    ("nfc",),
    ("lower", "nfc"),
    ("nfkc", "lower"),
    ("nfc", "width", "lower"),
    ("width",),
    ("lower", "width", "nfc"),
]
ODD = [
    "'",
    "’",
    ".",
    ",",
    "1",
    "٣",
    "²",
    "Ⅷ",
    "A",
    "É",
    "e\u0301",
    "=\u0338",
    "\u0301",
    "Σ",
    "ς",
    "İ",
    "ı",
    "ß",
    "ẞ",
    "K",
    "Å",
    "ﬁ",
    "각",
    "\u1100\u1161",
    "中",
    "文",
    "喜欢",
    "苹果",
    "明说",
    "々",
    "〇",
    "𠀀",
    "。",
    "，",
    "．",
    "１",
    "Ａ",
    "＇",
    "１，０",
    "1，0",
    "　",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\x00",
    "\x1f",
    "\x85",
    "\u2028",
    "\ufeff",
    "_",
    "-",
    "👍🏽",
    "👨\u200d👩\u200d👧",
    "❤\ufe0f",
    "1\ufe0f\u20e3",
    "+",
    "a",
    "\ue000",
    "हिन्दी",
    "שלום",
    "don't",
    "3.14",
    "1,000",
    "１２",
    "ＡＢ",
    "豈",
    "x" * 70,
    "㐀",
    "䷀",
    "一",
    "鿿",
    "ꀀ",
    "一二三四五六七八九十" * 3,
]
TEXT = st.lists(
    st.sampled_from(ODD) | st.text(st.characters(blacklist_categories=["Cs"]), max_size=3), max_size=60
).map("".join)


def words_of(cleaned: CleanedBlock) -> list[list[str]]:
    lines = bytes(cleaned.text[: cleaned.size]).decode().split("\n")
    return [words for line in lines if (words := [word for word in line.split(" ") if word])]


def plainly(text: str, tokenizer: Tokenizer, steps: tuple[str, ...]) -> list[list[str]]:
    """The definition: each line normalized, then tokenized."""
    normalize = normalizer(steps)
    return [
        words for line in text.replace("\r", "\n").split("\n") if (words := tokenizer.words(normalize(line)))
    ]


@pytest.mark.parametrize("steps", STEPS, ids="-".join)
@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=str)
@given(text=TEXT)
@settings(deadline=None, max_examples=60)
def test_fast_equals_plain(tokenizer: Tokenizer, steps: tuple[str, ...], text: str):
    assert words_of(Cleaner(tokenizer, steps).clean(TextBlock(text.encode(), "t", 1))) == plainly(
        text, tokenizer, steps
    )


@given(text=TEXT)
@settings(deadline=None)
def test_running_text_is_split_first(text: str):
    expected = [words for sentence in split(text) for words in plainly(sentence, Word(), ("nfc", "lower"))]
    assert (
        words_of(Cleaner(Word(), ("nfc", "lower"), "split").clean(TextBlock(text.encode(), "t", 1)))
        == expected
    )


def test_traditional_becomes_simplified_once():
    cleaned = Cleaner(Word(), ("nfc", "simplified")).clean(TextBlock("臺灣的資訊\n乾縣\n".encode(), "t", 1))
    assert words_of(cleaned)[0] == ["台湾", "的", "资讯"]
    assert "干县" not in str(words_of(cleaned))


@pytest.mark.parametrize(
    ("policy", "expected", "invalid"),
    [("replace", [["café", "\ufffd"], ["ok"]], 1), ("skip", [["café"], ["ok"]], 1)],
)
def test_broken_bytes_follow_the_policy(policy: str, expected: list[list[str]], invalid: int):
    cleaned = Cleaner(Whitespace(), ("lower",), invalid=policy).clean(
        TextBlock("Café ".encode() + b"\xff\nok\n", "t", 1)
    )  # pyright: ignore[reportArgumentType]
    assert (words_of(cleaned), cleaned.invalid) == (expected, invalid)


@pytest.mark.parametrize(
    "broken",
    [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe4\xb8", b"\x80", b"\xf0\x80\x80\x80"],
)
def test_every_kind_of_broken_utf8_is_found_and_named(broken: bytes):
    with pytest.raises(SourceError, match=r"name.txt:12: byte 4 of the line is not UTF-8"):
        Cleaner(Word(), ("nfc", "lower")).clean(
            TextBlock(b"fine\n\nab " + broken + b"\nfine\n", "name.txt", 10)
        )


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started after the first block."""
    monkeypatch.setattr(processes, "SLOW_BLOCKS", 1)


def when_ready(pool: CleanerPool) -> None:
    """Wait until the processes have loaded what they need."""
    assert pool.free is not None
    for child in [pool.free.get() for _ in range(pool.workers)]:
        pool.free.put(child)


@pytest.mark.usefixtures("at_once")
def test_processes_clean_as_we_do():
    text = "我喜欢吃苹果👍🏽。\nI like苹果 apples.\n小明说他喜欢游泳。\n" * 50
    tokenizer = Word(dictionary=("小明 5", "like苹果"), force_dictionary=True, hmm=False, symbols="emoji")
    cleaner = Cleaner(tokenizer, ("nfc", "lower"), "split", "replace")
    blocks = [TextBlock(text.encode() + bytes([255, 10]) * n, "t", 1) for n in range(4)]
    with CleanerPool(cleaner, 2) as pool:
        here = [pool.clean(block) for block in blocks]
        when_ready(pool)  # the first block showed that it was worth it
        there = [pool.clean(block) for block in blocks]
    for block, *both in zip(blocks, here, there, strict=True):
        alone = cleaner.clean(block)
        for cleaned in both:
            assert words_of(cleaned) == words_of(alone)
            assert cleaned.invalid == alone.invalid
            assert cleaned.python_share > PYTHON_BOUND


@pytest.mark.usefixtures("at_once")
def test_processes_that_are_still_loading_are_not_waited_for():
    with CleanerPool(Cleaner(Word()), 2) as pool:
        done = [pool.clean(TextBlock("我喜欢\n".encode(), "t", 1)) for _ in range(2)]
    assert [words_of(cleaned) for cleaned in done] == [[["我", "喜欢"]]] * 2


@pytest.mark.usefixtures("at_once")
def test_an_error_in_a_process_is_the_same_error():
    with CleanerPool(Cleaner(Char()), 2) as pool:
        for _ in range(2):
            pool.clean(TextBlock(b"a\n", "t", 1))
        when_ready(pool)
        with pytest.raises(SourceError, match="t:3: byte 1 of the line is not UTF-8"):
            pool.clean(TextBlock(b"a\nb\n\xff\n", "t", 1))
        assert words_of(pool.clean(TextBlock(b"ab\n", "t", 1))) == [["a", "b"]]  # and the process continues


@pytest.mark.usefixtures("at_once")
def test_a_process_that_dies_is_an_error_and_not_a_closed_pipe():
    with CleanerPool(Cleaner(Char()), 2) as pool:
        for _ in range(3):
            pool.clean(TextBlock(b"a\n", "t", 1))
        assert pool.free is not None
        children = [pool.free.get() for _ in range(2)]
        for child in children:
            child.process.kill()
            child.process.wait()
            pool.free.put(child)
        with pytest.raises(SourceError, match="A worker process ended"):
            pool.clean(TextBlock(b"a\n" * 100_000, "t", 1))


@pytest.mark.parametrize("lines", [HARD_LINES, HARD_LINES + 1, 3 * HARD_LINES])
def test_any_number_of_lines_may_be_hard(lines: int):
    text = "".join(f"cafe\u0301 {number} 北京\nplain {number}\n" for number in range(lines))
    cleaner = Cleaner(Word(), ("nfc", "lower"))
    fast = cleaner.clean(TextBlock(text.encode(), "", 1))
    plain = cleaner._clean_in_python(text.encode(), TextBlock(text.encode(), "", 1), 0)
    assert fast.text[: fast.size].tobytes().split() == plain.text[: plain.size].tobytes().split()


def test_memory_follows_what_a_block_needs():
    """A buffer for the hard lines of the worst block would be eight times as large as the block."""
    block = TextBlock(b"a line of plain words\n" * 200_000, "", 1)
    cleaner = Cleaner(Word(), ("nfc", "lower"))
    cleaner.clean(block)
    tracemalloc.start()
    cleaner.clean(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(block.data)
