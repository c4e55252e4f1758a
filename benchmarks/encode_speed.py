"""How fast does text become ids? MB of UTF-8 per second, beside the tools people use, in the same run.

    INLAID_DATA=... python benchmarks/encode_speed.py [MB of English] [MB of Chinese]

English: count, prune at 5 and encode, for one and two workers; gensim's vocabulary scan plus the splitting it
does again while training; plain `str.split` with Counter and dict. Chinese words: beside `rjieba.cut` alone
on the same text. Subwords: beside the tokenizers library's own batch call. Medians of interleaved runs.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from inlaid.encode.corpus import Encoding, encode

RUNS = 5
RESULTS = Path(__file__).parent / "results" / "encode_speed.jsonl"


def decompressed(data: Path, name: str, megabytes: int, folder: Path) -> Path:
    with lzma.open(data / name) as file:
        text = file.read(megabytes * 1_000_000)
    path = folder / f"{Path(name).stem}"
    path.write_bytes(text[: text.rfind(b"\n") + 1])
    return path


def ours(path: Path, workers: int, **settings: object) -> None:
    encode(path, Encoding(**settings), workers=workers)  # pyright: ignore[reportArgumentType]


def gensim_scan_and_split(path: Path) -> None:
    from gensim.models.word2vec import LineSentence, Word2Vec

    model = Word2Vec(min_count=5)
    model.build_vocab(LineSentence(str(path), max_sentence_length=10**9))
    # what each epoch does again, before any training
    for sentence in LineSentence(str(path), max_sentence_length=10**9):
        [model.wv.key_to_index[word] for word in sentence if word in model.wv.key_to_index]


def plain_python(path: Path) -> None:
    lines = [line.split() for line in path.open(encoding="utf-8")]
    counts = Counter(word for line in lines for word in line)
    ids = {word: id for id, (word, count) in enumerate(counts.most_common()) if count >= 5}
    [[ids[word] for word in line if word in ids] for line in lines]


def rjieba_alone(path: Path) -> None:
    import rjieba

    for line in path.open(encoding="utf-8"):
        rjieba.cut(line)


def opencc_alone(path: Path) -> None:
    from inlaid.collect.normalize import simplified

    simplified(path.read_text("utf-8"))


def tokenizers_alone(path: Path, vocabulary: Path) -> None:
    from inlaid.encode.subwords.loading import load

    load(vocabulary).engine.encode_batch_fast(path.read_text("utf-8").split("\n"), add_special_tokens=False)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(title: str, path: Path, works: dict[str, Callable[[], None]], base: str) -> None:
    size = path.stat().st_size / 1e6
    for work in works.values():
        work()  # compiled, loaded, in the page cache
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(RUNS):
        for name, work in works.items():
            times[name].append(seconds(work))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"\n{title}, {size:.0f} MB")
    for name, taken in medians.items():
        print(f"  {name:<44}{size / taken:8.1f} MB/s{medians[base] / taken:8.2f} x {base}")
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as file:
            row = {
                "when": time.time(),
                "text": title,
                "what": name,
                "mb_per_s": size / taken,
                "ratio": medians[base] / taken,
                "to": base,
            }
            file.write(json.dumps(row) + "\n")


def peak_memory(path: Path) -> None:
    """Peak memory of encoding a file into a folder, and of a process that has encoded almost nothing."""
    code = f"""
from pathlib import Path
from inlaid.encode.corpus import Encoding, encode
def peak():  # not getrusage: its figure is inherited from the parent
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
encode(["warm up"], Encoding(min_count=1))
before = peak()
encode(Path({str(path)!r}), Encoding(), workers=2, out=Path({str(path)!r} + ".corpus"))
print(peak(), before)
"""
    peak, before = map(
        float,
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split(),
    )
    print(f"\npeak memory: {peak:.0f} MB, of which {before:.0f} MB before the text")


def main() -> None:
    data = Path(os.environ["INLAID_DATA"])
    english_size, chinese_size = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (160, 40)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        english = decompressed(data, "corpus_enwiki/enwiki_slice.txt.xz", english_size, folder)
        chinese = decompressed(data, "corpus_zhwiki/zhwiki_slice.txt.xz", chinese_size, folder)
        small = decompressed(data, "corpus_enwiki/enwiki_slice.txt.xz", min(english_size, 10), folder / "..")
        run = functools.partial
        compared(
            "English",
            english,
            {
                "inlaid word, nfc lower, 1 worker": run(ours, english, 1),
                "inlaid word, nfc lower, 2 workers": run(ours, english, 2),
                "inlaid whitespace, no normalization, 1 worker": run(
                    ours, english, 1, tokenizer="whitespace", normalize=()
                ),
                "inlaid whitespace, no normalization, 2 workers": run(
                    ours, english, 2, tokenizer="whitespace", normalize=()
                ),
                "str.split, Counter, dict": run(plain_python, english),
                "gensim scan + split": run(gensim_scan_and_split, english),
            },
            "gensim scan + split",
        )
        compared(
            "Chinese words",
            chinese,
            {
                "inlaid word, nfc lower, 1 worker": run(ours, chinese, 1),
                "inlaid word, nfc lower, 2 workers": run(ours, chinese, 2),
                "rjieba.cut alone": run(rjieba_alone, chinese),
                "opencc alone": run(opencc_alone, chinese),
            },
            "rjieba.cut alone",
        )
        gpt2 = data / "vocab_gpt2"
        compared(
            "GPT-2 subwords",
            small,
            {
                "inlaid": run(ours, small, 2, tokenizer_file=gpt2),
                "tokenizers batch": run(tokenizers_alone, small, gpt2),
            },
            "tokenizers batch",
        )
        peak_memory(english)
        small.unlink()


if __name__ == "__main__":
    main()
