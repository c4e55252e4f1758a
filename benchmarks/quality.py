"""Are our vectors as good as the peers' on the same text? Means over seeds with 95 % intervals.

    python benchmarks/quality.py train gensim-skipgram --language en --seeds 5     # peers first
    python benchmarks/quality.py train sgns-skipgram --language en --seeds 5
    python benchmarks/quality.py report gensim-skipgram sgns-skipgram --language en --seeds 5
    python benchmarks/quality.py report fasttext-skipgram inlaid-fasttext --language unseen \\
        --setting eager --seeds 3
    python benchmarks/quality.py report inlaid-fasttext:min_n=3 inlaid-fasttext:min_n=1,max_n=4 \\
        --language zh --setting defaults --half second    # other settings; half of every task
    python benchmarks/quality.py report gensim-skipgram@zh-small-plain sgns-skipgram \\
        --language zh-small --setting defaults    # a trainer on another text than the others

The vectors are kept in benchmarks/results/quality.

Defaults are chosen on the first half of the tasks and reported on the second: which half a question is in
depends on a hash of its line alone.

`unseen` is the first 30 MB of English without a thousand words, which subwords must make vectors for.

Every trainer reads the same sentences (the words of our corpus, written out) and keeps the same words;
vectors are kept by text, trainer, setting, seed and, of ours, the code, so that nothing is trained twice.
"""

from __future__ import annotations

import argparse
import csv
import functools
import gzip
import hashlib
import itertools
import json
import lzma
import multiprocessing
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import inlaid
from inlaid.collect.normalize import simplified
from inlaid.encode.corpus import Corpus
from inlaid.study.evaluate.scores import Score
from inlaid.vectors import Vectors

KEPT = Path(__file__).parent / "results" / "quality"
SLICES = {
    "en": ("corpus_enwiki/enwiki_slice.txt.xz", 100_000_000),
    "zh": ("corpus_zhwiki/zhwiki_slice.txt.xz", None),
    "zh-plain": ("corpus_zhwiki/zhwiki_slice.txt.xz", None),
    "zh-width": ("corpus_zhwiki/zhwiki_slice.txt.xz", None),
    "zh-simplified": ("corpus_zhwiki/zhwiki_slice.txt.xz", None),
    "zh-small": ("corpus_zhwiki/zhwiki_slice.txt.xz", 30_000_000),
    "zh-small-plain": ("corpus_zhwiki/zhwiki_slice.txt.xz", 30_000_000),
    "unseen": ("corpus_enwiki/enwiki_slice.txt.xz", 30_000_000),
}
ENCODING: dict[str, dict[str, Any]] = {
    "en": {},
    "zh": {},
    "zh-plain": {"normalize": ("nfc", "lower")},
    "zh-width": {"normalize": ("nfc", "width", "lower")},
    "zh-simplified": {"normalize": ("nfc", "lower", "simplified")},
    "zh-small": {},
    "zh-small-plain": {"normalize": ("nfc", "lower")},
    "unseen": {},
}
"""How each text is encoded: nothing set, and the same text with fewer normalization steps."""
WITHHELD = 1000
"""Words left out of `unseen`: of the similarity tasks that are otherwise not used, so that all other tasks
stay whole."""
SETTINGS = {
    "usual": {"subsample": 1e-3, "learning_rate": 0.025},
    "eager": {"subsample": 1e-4, "learning_rate": 0.05},
}
"""What both sides are given: the thresholds and rates of the original program, and what suits a small text
better."""
DIM = 100
WINDOW = 5
NEGATIVES = 5
EPOCHS = 5
MIN_COUNT = 5


def text(language: str) -> tuple[Corpus, Path]:
    """The slice as a corpus, and as lines of words for the peers."""
    KEPT.mkdir(parents=True, exist_ok=True)
    folder = KEPT / f"{language}.corpus"
    lines = KEPT / f"{language}.txt"
    if not folder.exists():
        name, size = SLICES[language]
        raw = KEPT / f"{language}.raw.txt"
        with lzma.open(Path(os.environ["INLAID_DATA"]) / name) as file:
            raw.write_bytes(file.read(size or -1).rpartition(b"\n")[0] + b"\n")
        inlaid.corpus(raw, folder, min_count=MIN_COUNT, **ENCODING[language])
        raw.unlink()
        if language == "unseen":
            _write_lines(inlaid.corpus(folder), lines, withheld())
            shutil.rmtree(folder)
            inlaid.corpus(lines, folder, min_count=MIN_COUNT, tokenizer="whitespace")
    corpus = inlaid.corpus(folder)
    if not lines.exists():
        _write_lines(corpus, lines, frozenset())
    return corpus, lines


def _write_lines(corpus: Corpus, path: Path, without: frozenset[str]) -> None:
    words = np.array(list(corpus.vocabulary.words), object)
    stays = np.array([word not in without for word in words])
    with path.open("w", encoding="utf-8") as file:
        for start, stop in itertools.pairwise(corpus.offsets.tolist()):
            for part in range(
                start, stop, 1000
            ):  # the peers cut longer sentences, each at another length: we cut for all
                ids = corpus.ids[part : min(part + 1000, stop)]
                file.write(" ".join(words[ids[stays[ids]]]) + "\n")


def withheld() -> frozenset[str]:
    """Words of MTurk-771 and SimVerb that no other task has, in an order that only their spelling decides."""
    data = Path(os.environ["INLAID_DATA"])
    used = set(
        " ".join((data / task).read_text(encoding="utf-8").replace(",", " ") for task in TASKS["en"])
        .lower()
        .split()
    )
    pairs = [
        line.lower().split()[:2]
        for task in UNSEEN_TASKS
        for line in (data / task).read_text(encoding="utf-8").splitlines()
    ]
    candidates = {word for pair in pairs for word in pair}
    return frozenset(
        sorted(candidates - used, key=lambda word: hashlib.sha256(word.encode()).digest())[:WITHHELD]
    )


def gensim_word2vec(
    lines: Path, corpus: Corpus, seed: int, setting: dict[str, float] | None, **more: Any
) -> Vectors:
    from gensim.models import Word2Vec

    chosen = (
        {}
        if setting is None
        else {
            "sample": setting["subsample"],
            "alpha": setting["learning_rate"],
            "vector_size": DIM,
            "window": WINDOW,
            "negative": NEGATIVES,
            "epochs": EPOCHS,
        }
    )
    model = Word2Vec(corpus_file=str(lines), min_count=MIN_COUNT, workers=1, seed=seed, **chosen, **more)
    return Vectors.of(model.wv.index_to_key, model.wv.vectors)


def fasttext_model(
    lines: Path, corpus: Corpus, seed: int, setting: dict[str, float] | None, **more: Any
) -> Vectors:
    import fasttext

    chosen = (
        {}
        if setting is None
        else {
            "t": setting["subsample"],
            "lr": setting["learning_rate"],
            "dim": DIM,
            "ws": WINDOW,
            "neg": NEGATIVES,
            "epoch": EPOCHS,
        }
    )
    # With fewer than ten threads it leaves part of its input table as it found it, and stops at NaN. It takes
    # no seed from Python:
    # what its threads do when makes its runs differ.
    model = fasttext.train_unsupervised(
        str(lines), minCount=MIN_COUNT, thread=12, verbose=0, **chosen, **more
    )
    words = [word for word in model.get_words() if word != "</s>"] + _unseen(lines)
    return Vectors.of(words, np.array([model.get_word_vector(word) for word in words]))


def _unseen(lines: Path) -> list[str]:
    """The words that were withheld, where some were."""
    return sorted(withheld()) if lines.stem == "unseen" else []


def ours(
    lines: Path, corpus: Corpus, seed: int, setting: dict[str, float] | None, *, method: str, **more: Any
) -> Vectors:
    chosen = (
        {}
        if setting is None
        else {**setting, "dim": DIM, "window": WINDOW, "negatives": NEGATIVES, "epochs": EPOCHS}
    )
    vectors = inlaid.train(corpus, method, seed=seed, workers=1, **chosen, **more)
    if not (unseen := _unseen(lines)):
        return vectors
    return Vectors.of(
        [*vectors.words, *unseen], np.concatenate([vectors.table, [vectors[word] for word in unseen]])
    )


TRAINERS: dict[str, tuple[Callable[..., Vectors], dict[str, Any]]] = {
    "gensim-skipgram": (gensim_word2vec, {"sg": 1}),
    "gensim-cbow": (gensim_word2vec, {"sg": 0}),
    "fasttext-skipgram": (fasttext_model, {"model": "skipgram"}),
    "fasttext-cbow": (fasttext_model, {"model": "cbow"}),
    "sgns-skipgram": (ours, {"method": "sgns", "objective": "skipgram"}),
    "sgns-cbow": (ours, {"method": "sgns", "objective": "cbow"}),
    "inlaid-fasttext": (ours, {"method": "fasttext"}),
    "inlaid-fasttext-cbow": (ours, {"method": "fasttext", "objective": "cbow"}),
}


def trainer(name: str) -> tuple[Callable[..., Vectors], dict[str, Any]]:
    """A trainer by its name, with more settings after a colon: inlaid-fasttext:min_n=1,max_n=4."""
    base, _, more = name.partition("@")[0].partition(":")
    train, settings = TRAINERS[base]
    given = dict(each.split("=") for each in more.split(",") if each)
    return train, settings | {key: int(value) for key, value in given.items()}


@functools.cache
def code() -> str:
    """A name for what we train with: other code, other vectors."""
    folder = Path(inlaid.__file__).parent
    files = [path for part in ("fit", "feed", "kernels") for path in sorted((folder / part).rglob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def kept(name: str, language: str, setting: str, seed: int) -> Path:
    """Where the vectors of one run are; a text after the name of a trainer is its own."""
    name, _, other = name.partition("@")
    language = other or language
    train, more = trainer(name)
    version = code() if train is ours else ""
    said = json.dumps(
        [name, language, text(language)[0].manifest["hash"], SETTINGS.get(setting), more, seed, version]
    )
    return KEPT / f"{name}.{language}.{setting}.{seed}.{hashlib.sha256(said.encode()).hexdigest()[:8]}.inlaid"


def trained(name: str, language: str, setting: str, seed: int) -> Vectors:
    """The vectors of one run, trained now or kept from before."""
    place = kept(name, language, setting, seed)
    if not place.exists():
        corpus, lines = text(name.partition("@")[2] or language)
        train, more = trainer(name)
        start = time.perf_counter()
        vectors = train(lines, corpus, seed, SETTINGS.get(setting), **more)
        inlaid.save(vectors, place)
        print(f"{name} {language} {setting} seed {seed}: {time.perf_counter() - start:.0f} s", flush=True)
    return inlaid.load(place)


TASKS = {
    "en": (
        "wordsim_en/EN-WS-353-ALL.txt",
        "wordsim_en/EN-SIMLEX-999.txt",
        "analogy_en/questions-words.txt",
        "word_categorization_en/battig.csv",
        "word_categorization_en/ap.csv",
        "word_categorization_en/bless.csv",
    ),
    "zh": (
        "wordsim_zh/wordsim-240.txt",
        "wordsim_zh/COS960_all.txt",
        "analogy_zh/CA8_morphological.txt",
        "analogy_zh/CA8_semantic.txt",
    ),
}
TASKS |= {variant: TASKS["zh"] for variant in SLICES if variant.startswith("zh")}
UNSEEN_TASKS = ("wordsim_en/EN-MTurk-771.txt", "wordsim_en/EN-SimVerb-3500.txt")
TASKS["unseen"] = (*TASKS["en"], *UNSEEN_TASKS)
TOP = 30_000
"""Words that may answer analogies."""


def task_paths(language: str, half: str) -> list[Path]:
    """The task files of a language, or files with half of their questions."""
    data = Path(os.environ["INLAID_DATA"])
    paths = [data / each for each in TASKS[language]]
    if language.startswith("zh"):
        paths.append(translated_categories(data))
    return paths if half == "both" else [_halved(path, half) for path in paths]


def _halved(path: Path, half: str) -> Path:
    target = KEPT / half / path.parent.name / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [
        line for number, line in enumerate(lines) if _is_heading(line, number, path) or _half_of(line) == half
    ]
    return _written(target, "\n".join(kept) + "\n")


def _written(target: Path, text: str) -> Path:
    """The file, replaced at once: several runs may read it at the same time."""
    part = target.with_name(f"{target.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    return part.replace(target)


def _is_heading(line: str, number: int, path: Path) -> bool:
    return line.startswith(":") or (path.suffix == ".csv" and number == 0)


def _half_of(line: str) -> str:
    return "second" if hashlib.sha256(line.strip().encode()).digest()[0] % 2 else "first"


def translated_categories(data: Path) -> Path:
    """Chinese categorization: the words of BLESS in translation.

    A translation is one that MUSE and CC-CEDICT agree on; those of two or more characters that have the
    English word among their first glosses are preferred. Words of two categories are left out.
    """
    target = KEPT / "word_categorization_zh" / "bless_zh.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    muse = _muse(data)
    glosses = _glosses(data)
    categories: dict[str, set[str]] = {}
    with (data / "word_categorization_en" / "bless.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            agreed = {
                rank: glosses.get((row["word"], rank), set()) & muse.get(row["word"], set())
                for rank in (0, 1)
            }
            long = {word for word in agreed[0] if len(word) > 1}
            for word in long or agreed[0] | agreed[1]:
                categories.setdefault(word, set()).add(row["category"])
    rows = [",".join([*of, word]) for word, of in sorted(categories.items()) if len(of) == 1]
    return _written(target, "\n".join(["category,word", *rows]) + "\n")


def _muse(data: Path) -> dict[str, set[str]]:
    """The Chinese words of each English word, in simplified characters."""
    found: dict[str, set[str]] = {}
    for path in sorted((data / "dict_en_zh").glob("muse_en-zh.*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            english, chinese = line.split()
            found.setdefault(english, set()).add(simplified(chinese))
    return found


def _glosses(data: Path) -> dict[tuple[str, int], set[str]]:
    """The Chinese words with an English gloss, by the gloss and whether it is the first (0) or not (1)."""
    found: dict[tuple[str, int], set[str]] = {}
    with gzip.open(data / "dict_en_zh" / "cedict_1_0_ts_utf-8_mdbg.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            entry = re.match(r"\S+ (\S+) \[[^]]*\] /(.*)/", line)
            if entry is None:
                continue
            for number, gloss in enumerate(entry[2].split("/")):
                for english in re.sub(r"\([^)]*\)", "", gloss).lower().split(";"):
                    found.setdefault((english.strip(), min(number, 1)), set()).add(entry[1])
    return found


def scores(name: str, options: argparse.Namespace) -> list[list[Score]]:
    """All scores of all seeds that are there; a report trains nothing."""
    paths = task_paths(options.language, options.half)
    found: list[list[Score]] = []
    for seed in range(1, options.seeds + 1):
        if kept(name, options.language, options.setting, seed).exists():
            vectors = trained(name, options.language, options.setting, seed)
            analogies = [path for path in paths if "analogy" in path.parts[-2]]
            others = [path for path in paths if path not in analogies]
            # Case is folded for all: questions are in capitals, and only our own files remember that the text
            # was not.
            found.append(
                [
                    *inlaid.evaluate(vectors, analogies, top=TOP, fold_case=True, subwords=False),
                    *inlaid.evaluate(vectors, others, fold_case=True, subwords=False),
                ]
            )
    return found


def report(options: argparse.Namespace) -> None:
    """Mean and 95 % interval of each trainer, and of the difference to the first (Welch's t)."""
    from scipy import stats

    runs = {name: scores(name, options) for name in options.trainers}
    first = options.trainers[0]
    tasks = [score.task for score in runs[first][0]]
    seeds = ", ".join(f"{name} {len(each)}" for name, each in runs.items())
    print(f"{options.language} {options.setting}: seeds {seeds}")
    for number, task in enumerate(tasks):
        values = {name: np.array([run[number].value for run in each]) for name, each in runs.items() if each}
        line = f"{task:24}"
        for name, each in values.items():
            line += f"  {name} {each.mean():.4f}"
            if name != first and min(len(each), len(values[first])) > 1:
                gap = stats.ttest_ind(each, values[first], equal_var=False).confidence_interval()
                line += f" ({gap.low:+.4f} to {gap.high:+.4f})"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "report"])
    parser.add_argument("trainers", nargs="+", help="names, with settings: " + ", ".join(TRAINERS))
    parser.add_argument("--language", choices=sorted(SLICES), default="en")
    parser.add_argument("--setting", choices=[*SETTINGS, "defaults"], default="usual")
    parser.add_argument("--half", choices=["first", "second", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, each on one thread")
    options = parser.parse_args()
    if options.what == "report":
        report(options)
        return
    for name in options.trainers:
        text(name.partition("@")[2] or options.language)
    runs = itertools.product(options.trainers, range(1, options.seeds + 1))
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        pool.starmap(_train, [(name, options.language, options.setting, seed) for name, seed in runs], 1)


def _train(name: str, language: str, setting: str, seed: int) -> None:
    trained(name, language, setting, seed)


if __name__ == "__main__":
    main()
