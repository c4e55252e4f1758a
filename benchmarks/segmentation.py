"""How well and how fast is Chinese text cut into words? Beside jieba, in the same run.

    INLAID_DATA=... python benchmarks/segmentation.py [MB of text for the speed]

F1 of words on a month of the People's Daily, cut by hand: the settings were chosen on every second line, and
the figures are those of the others. The corpus cuts names into family and given name (江 泽民), where jieba
makes them one word, so a second column joins them. 95 % intervals of the difference to jieba on the Chinese
runs are from 1,000 bootstrap samples of the lines. A third column is the share of sentences of a nickname and
a predicate (小明说他喜欢游泳) that are cut right. Speed: the Chinese runs of Wikipedia, one core, medians of
interleaved runs.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jieba
import numpy as np
import rjieba

from inlaid.collect.normalize import width
from inlaid.encode import chinese
from inlaid.encode.chinese import HAN
from inlaid.encode.patterns import word_pattern
from inlaid.encode.tokenizers import Word

RESULTS = Path(__file__).parent / "results" / "segmentation.jsonl"
TAGGED = "people_daily_199801/199801_tagged.txt.xz"
TEXT = "corpus_zhwiki/zhwiki_slice.txt.xz"
SAMPLES = 1000
RUNS = 5
FUNCTION_WORDS = frozenset("说他她它的了我你是在不就也都和")
PREDICATES = ("说 他 喜欢 游泳", "喜欢 苹果", "问 我", "去 学校", "是 学生", "在 看书", "想 回家", "吃 苹果")

Spans = list[tuple[int, int]]


class Line(NamedTuple):
    """A line, and where its words are: as tagged, and with family and given names joined."""

    text: str
    tagged: frozenset[tuple[int, int]]
    joined: frozenset[tuple[int, int]]


def lines_of(path: Path) -> list[Line]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [line_of(line) for line in file if line.strip()]


def line_of(line: str) -> Line:
    tagged: Spans = []
    joined: Spans = []
    text = ""
    family = None
    """Where a family name started that the next word may complete."""
    for found in re.finditer(r"\[?(\S+)/([A-Za-z]+)(?:\]\S*)?", line):
        word = width(found[1])
        start = len(text)
        text += word
        if not word_pattern().search(word):
            family = None
            continue
        tagged.append((start, len(text)))
        if found[2] == "nr" and family is not None and len(word) <= 2:
            joined[-1] = (family, len(text))
            family = None
        else:
            joined.append((start, len(text)))
            family = start if found[2] == "nr" and len(word) == 1 else None
    return Line(text, frozenset(tagged), frozenset(joined))


# ---- The ways to cut


def by_word(**settings: bool) -> Callable[[str], Spans]:
    tokenizer = Word(**settings)
    return lambda text: [(token.start, token.end) for token in tokenizer.tokenize(text)]


def by_jieba(text: str) -> Spans:
    return [(start, end) for word, start, end in jieba.tokenize(text) if word_pattern().search(word)]


def by_jieba_in_runs(text: str) -> Spans:
    """Our rules for all but Chinese (jieba keeps the % of 5%), so that only the segmentation differs."""
    spans: Spans = []
    for found in word_pattern().finditer(text):
        start = found.start()
        for piece in jieba.lcut(found[0]) if found.lastgroup == "han" else [found[0]]:
            spans.append((start, start + len(piece)))
            start += len(piece)
    return spans


def without_function_words(text: str) -> Spans:
    """Words of the hidden Markov model that contain a function word are cut into characters."""
    spans: Spans = []
    for start, end in by_word()(text):
        word = text[start:end]
        guessed = end - start > 1 and re.match(f"[{HAN}]", word) and not rjieba.has_word(word)
        if guessed and not FUNCTION_WORDS.isdisjoint(word):
            spans += [(place, place + 1) for place in range(start, end)]
        else:
            spans.append((start, end))
    return spans


# ---- How well


def f1(counts: np.ndarray) -> float:
    """Of rows of words found right, words found, words there are."""
    right, found, there = counts.sum(axis=0)
    return 2 * right / (found + there)


def counts_of(lines: list[Line], cut: Callable[[str], Spans]) -> dict[str, np.ndarray]:
    found = [cut(line.text) for line in lines]
    counts: dict[str, np.ndarray] = {}
    for convention in ("tagged", "joined"):
        words = [getattr(line, convention) for line in lines]
        rows = [(len(a.intersection(b)), len(b), len(a)) for a, b in zip(words, found, strict=True)]
        counts[convention] = np.array(rows, np.float64)
    return counts


def interval(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    random = np.random.default_rng(1)
    differences: list[float] = []
    for _ in range(SAMPLES):
        drawn = random.integers(0, len(ours), len(ours))
        differences.append(f1(ours[drawn]) - f1(theirs[drawn]))
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def nicknames_right(cut: Callable[[str], Spans]) -> float:
    right: list[bool] = []
    for name in chinese.nicknames():
        for predicate in PREDICATES:
            words = [name, *predicate.split()]
            text = "".join(words)
            right.append([text[start:end] for start, end in cut(text)] == words)
    return statistics.mean(right)


def quality(lines: list[Line], title: str) -> None:
    ways: dict[str, Callable[[str], Spans]] = {
        "jieba on Chinese runs": by_jieba_in_runs,
        "jieba": by_jieba,
        "inlaid": by_word(),
        "inlaid, no words with function words": without_function_words,
        "inlaid --no-hmm": by_word(hmm=False),
    }
    print(f"\n{title}: {len(lines):,} lines, {sum(len(line.tagged) for line in lines):,} words")
    base: dict[str, np.ndarray] = {}
    for name, cut in ways.items():
        counts = counts_of(lines, cut)
        base = base or counts
        row: dict[str, object] = {"when": time.time(), "lines": title, "what": name}
        shown = f"  {name:<38}"
        for convention, rows in counts.items():
            low, high = interval(rows, base[convention])
            row[convention] = {"f1": f1(rows), "to_jieba": [f1(rows) - f1(base[convention]), low, high]}
            shown += f"{f1(rows):8.4f} ({low:+.5f} to {high:+.5f})"
        row["nicknames"] = nicknames_right(cut)
        print(f"{shown}{row['nicknames']:8.3f}")
        write(row)


# ---- How fast


def speed(path: Path, megabytes: int) -> None:
    with lzma.open(path) as file:
        text = file.read(megabytes * 1_000_000).decode("utf-8", "ignore")
    runs = re.findall("[\u4e00-\u9fd5]+", text)
    size = sum(map(len, runs)) * 3 / 1e6
    joined = "\n".join(runs)
    segment = Word().segment
    ways: dict[str, Callable[[], object]] = {
        "jieba": lambda: [jieba.lcut(run) for run in runs],
        "inlaid": lambda: segment(joined),
        "rjieba, run by run": lambda: [rjieba.cut(run) for run in runs],
    }
    same = sum(segment(run) == jieba.lcut(run) for run in runs)
    print(f"\nSpeed, {size:.1f} MB of Chinese; {same:,} of {len(runs):,} runs cut as by jieba")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, work in ways.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    slowest = statistics.median(times["jieba"])
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"  {name:<38}{size / median:8.2f} MB/s{slowest / median:8.1f} x jieba")
        write({"when": time.time(), "what": name, "mb_per_s": size / median, "ratio": slowest / median})


def write(row: dict[str, object]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    data = Path(os.environ["INLAID_DATA"])
    jieba.setLogLevel(60)
    jieba.initialize()
    lines = lines_of(data / TAGGED)
    quality(lines[::2], "lines for choosing")
    quality(lines[1::2], "other lines")
    speed(data / TEXT, int(sys.argv[1]) if len(sys.argv) > 1 else 2)


if __name__ == "__main__":
    main()
