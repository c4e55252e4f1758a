"""Threads and forked processes share one Vectors, one Corpus, one Model: the answers are those of one alone.

Everything that is filled when it is first needed (verified chunks, tables, norms, words) is
empty at first, and all threads need it at once.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, open_corpus
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.report import silent
from inlaid.vectors import Vectors

THREADS = 16
CHILDREN = 2
SECONDS = 60.0
"""After which a forked child hangs."""

Question = Callable[[Any], object]


def digest(value: object) -> str:
    """A hash of an answer, to the bit."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return hashlib.sha256(repr(value).encode()).hexdigest()


def alone(fresh: Callable[[], Any], questions: dict[str, Question]) -> dict[str, str]:
    """The answers, each from an object that nobody shares."""
    return {name: digest(ask(fresh())) for name, ask in questions.items()}


def in_threads(shared: Any, questions: dict[str, Question]) -> Iterator[tuple[str, str]]:
    """Every thread asks every question, each beginning with another one, all at the same moment."""
    start = threading.Barrier(THREADS)
    names = list(questions)

    def ask(thread: int) -> list[tuple[str, str]]:
        start.wait()
        mine = names[thread % len(names) :] + names[: thread % len(names)]
        return [(name, digest(questions[name](shared))) for name in mine]

    with ThreadPoolExecutor(THREADS) as pool:
        for answers in pool.map(ask, range(THREADS)):
            yield from answers


def in_children(shared: Any, questions: dict[str, Question]) -> Iterator[tuple[str, str]]:
    """Every forked child asks every question."""
    for _ in range(CHILDREN):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            for name, ask in questions.items():
                os.write(writing, f"{name}\t{digest(ask(shared))}\n".encode())
            os._exit(0)
        os.close(writing)
        said = b""
        while select.select([reading], [], [], SECONDS)[0]:
            piece = os.read(reading, 1 << 16)
            if not piece:
                break
            said += piece
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        lines = said.decode().splitlines()
        assert len(lines) == len(questions), f"a child answered {len(lines)} of {len(questions)} questions"
        yield from (tuple(line.split("\t")) for line in lines)  # pyright: ignore[reportReturnType]


def check(fresh: Callable[[], Any], questions: dict[str, Question]) -> None:
    expected = alone(fresh, questions)
    for name, found in in_threads(fresh(), questions):
        assert found == expected[name], name
    warm = fresh()
    for ask in list(questions.values())[::2]:  # some of it is filled before the fork
        ask(warm)
    for name, found in in_children(warm, questions):
        assert found == expected[name], name
    for name, ask in questions.items():
        assert digest(ask(warm)) == expected[name], f"{name}, in the parent after the fork"


SPACE: dict[str, Question] = {
    "neighbors": lambda v: [v.neighbors(word, n=5).rows() for word in v.words[5:25]],
    "csls": lambda v: v.neighbors(v.words[3], n=5, by="csls").rows(),
    "frequency": lambda v: v.neighbors(v.words[6], n=5, by="frequency").rows(),
    "int8": lambda v: v.neighbors(v.words[8], n=5, int8=True).rows(),
    "analogy": lambda v: v.analogy(f"{v.words[1]} - {v.words[2]} + {v.words[3]}", n=5).rows(),
    "similarity": lambda v: v.similarity(v.words[4], v.words[9]).rows(),
    "rows": lambda v: v.rows(np.arange(len(v))[::-7].copy()),
    "table": lambda v: v.table,
    "unit": lambda v: v.unit,
    "lengths": lambda v: v.lengths,
    "words": lambda v: [v.find(word) for word in (*v.words[::50], "Not There", "KING")],
    "normalized": lambda v: v[v.words[7].upper()],
    "geometry": lambda v: v.geometry(sample=300).rows(),
}


@pytest.fixture(scope="module")
def text() -> list[str]:
    return [*world.sentences("en", words=6000), *world.sentences("zh", words=6000)]


@pytest.fixture(scope="module")
def space(text: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("space")
    vectors = inlaid.train(text, "fasttext", dim=40, epochs=1, buckets=2000, min_count=1, report=silent)
    inlaid.save(vectors, folder / "float32.inlaid", report=silent)
    inlaid.save(vectors, folder / "int8.inlaid", dtype="int8", report=silent)
    return folder


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_vectors_in_a_file(space: Path, dtype: str):
    composed: dict[str, Question] = {"composed": lambda v: v["unheardofword"]}
    check(lambda: inlaid.load(space / f"{dtype}.inlaid"), SPACE | composed)


def test_vectors_in_memory(space: Path):
    whole = np.array(inlaid.load(space / "float32.inlaid").table)
    loaded = inlaid.load(space / "float32.inlaid")
    check(lambda: Vectors(loaded.words, whole.copy(), card=loaded.card), SPACE)


def test_a_corpus(text: list[str], tmp_path: Path):
    inlaid.corpus(text, tmp_path / "corpus", report=silent)

    def trained(method: str, **settings: Any) -> Question:
        return lambda corpus: np.asarray(
            inlaid.train(corpus, method, dim=8, seed=2, report=silent, **settings).table
        )

    def counted(corpus: Corpus) -> object:
        return cooccurrence(corpus, window=3, workers=2).counts

    questions: dict[str, Question] = {
        "sgns": trained("sgns", epochs=1),
        "fasttext": trained("fasttext", epochs=1, buckets=500),
        "glove": trained("glove", epochs=1, workers=2),
        "ppmi": trained("ppmi", workers=2),
        "counts": counted,
        "words": lambda corpus: [corpus.vocabulary.words.find(word) for word in ("king", "国王", "none")],
    }
    check(lambda: open_corpus(tmp_path / "corpus"), questions)


def test_threads_of_tokenizers_are_off_in_a_child_only(monkeypatch: pytest.MonkeyPatch):
    """Up to 0.22 the library prints five lines at a fork where the variable is not set."""
    importlib.import_module("inlaid.encode.subwords.tokenizer")

    def variable(_: object) -> object:
        return os.environ.get("TOKENIZERS_PARALLELISM")

    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    assert {found for _, found in in_children(None, {"v": variable})} == {digest("false")}
    assert "TOKENIZERS_PARALLELISM" not in os.environ
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    assert {found for _, found in in_children(None, {"v": variable})} == {digest("true")}
    assert variable(None) == "true"


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: pip install 'inlaid[neural]'"
)


@needs_torch
def test_a_model(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Its tokenizer works in threads of its own: after a fork it neither hangs nor prints a warning."""
    import tokenizers
    import torch

    from inlaid.neural.config import make_config
    from inlaid.neural.model import Model
    from inlaid.neural.network import make_network

    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    words = ["[PAD]", "[UNK]", "the", "cat", "猫", "sat", "on", "mat", "."]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    config = make_config(
        {"kind": "encoder", "vocab_size": 9, "dim": 256, "attention.heads": 4, "layers": 3}
        | {"positions.max_length": 64, "special.padding": 0}
    )
    torch.manual_seed(1)
    network = make_network(config).eval()
    for parameter in network.parameters():
        parameter.data.normal_(std=0.1)
    texts = ["the cat sat on the mat .", "猫", "the mat", "cat sat ."] * 4
    questions: dict[str, Question] = {
        "embed": lambda model: np.asarray(model.embed(texts)),
        "words": lambda model: [each.words for each in model.embed_words(texts)],
        "attention": lambda model: model.attention(texts[0]).weights[0],
        "input": lambda model: model.input_vectors().table,
    }
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)  # the bits of a product depend on the number of threads
        check(lambda: Model(network, made), questions)
        expected = alone(lambda: Model(network, made), questions)
        torch.set_num_threads(2)
        shared = Model(network, made)
        shared.embed(texts)  # now there are threads that do not survive a fork
        for name, found in in_children(shared, questions):
            assert found == expected[name], name
    finally:
        torch.set_num_threads(threads)
    assert "TOKENIZERS_PARALLELISM" not in capfd.readouterr().err
    assert "TOKENIZERS_PARALLELISM" not in os.environ
