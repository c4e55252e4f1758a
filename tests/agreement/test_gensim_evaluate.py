"""Scores beside gensim's, with gensim's settings, on real vectors and real files: the same numbers."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inlaid.study.evaluate.evaluate import GENSIM, EvaluateSettings, evaluate
from inlaid.study.evaluate.scores import Score
from inlaid.study.evaluate.task_files import read_file
from inlaid.study.evaluate.tasks import Analogies
from inlaid.vectors import Vectors

peer = pytest.importorskip("gensim.models.keyedvectors", reason="gensim comes with the extra `peers`")


@pytest.fixture(scope="module")
def spaces(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("vectors")
    read = peer.KeyedVectors.load_word2vec_format
    lines = lzma.decompress((data / "pretrained_glove" / "glove.6B.50d.top30k.txt.xz").read_bytes()).split(
        b"\n"
    )[:10_000]
    (folder / "en").write_bytes(
        b"\n".join([b"10000 50", *lines, b""])
    )  # a limit given to gensim leaves the file open
    (folder / "zh").write_bytes(
        lzma.decompress((data / "pretrained_synonyms_zh_word2vec" / "words.top20k.bin.xz").read_bytes())
    )
    return {"en": read(folder / "en"), "zh": read(folder / "zh", binary=True)}


def scored(vectors: Any, path: Path, settings: EvaluateSettings) -> Score:
    return evaluate(Vectors.of(vectors.index_to_key, vectors.vectors), [path], settings=settings)[0]


def lower_and_upper(vectors: Any) -> Any:
    """The same words, every third with a second form in other case, later in the order."""
    doubled = peer.KeyedVectors(vectors.vector_size)
    again = {
        word.capitalize(): word for word in vectors.index_to_key[::3] if word.capitalize() not in vectors
    }
    nearby = np.array([vectors[word] for word in again.values()]) + np.float32(0.01)
    doubled.add_vectors([*vectors.index_to_key, *again], np.vstack([vectors.vectors, nearby]))
    return doubled


@pytest.mark.parametrize("oov", ["skip", "wrong"])
@pytest.mark.parametrize("top", [300_000, 3000])
@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("en", "wordsim_en/EN-WS-353-ALL.txt"),
        ("en", "wordsim_en/EN-SIMLEX-999.txt"),
        ("zh", "wordsim_zh/wordsim-240.txt"),
    ],
)
def test_word_pairs(spaces: dict[str, Any], data: Path, language: str, file: str, top: int, oov: Any):
    vectors = lower_and_upper(spaces[language])
    pearson, spearman, missing = vectors.evaluate_word_pairs(
        str(data / file), restrict_vocab=top, dummy4unknown=oov == "wrong"
    )
    found = scored(vectors, data / file, EvaluateSettings(top=top, fold_case=True, oov=oov))
    assert found.value == pytest.approx(
        spearman[0], abs=1e-5
    )  # theirs are float32 cosines, which tie now and then
    assert found.others[0].value == pytest.approx(pearson[0], abs=1e-6)
    assert found.used == round(found.total * (1 - missing / 100))


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("oov", ["skip", "wrong"])
@pytest.mark.parametrize(
    ("language", "file"), [("en", "analogy_en/questions-words.txt"), ("zh", "analogy_zh/CA8_semantic.txt")]
)
def test_analogies(
    spaces: dict[str, Any], data: Path, tmp_path: Path, language: str, file: str, oov: Any, doubled: bool
):
    task = read_file(data / file)
    assert isinstance(task, Analogies)
    part = tmp_path / "part.txt"  # gensim takes minutes for the whole
    asked = list(zip(task.sections, task.questions, strict=True))[:: 100 if language == "en" else 20]
    lines = {section: [" ".join(words) for name, words in asked if name == section] for section, _ in asked}
    part.write_text(
        "".join(f": {section}\n" + "".join(f"{line}\n" for line in held) for section, held in lines.items()),
        "utf-8",
    )
    vectors = lower_and_upper(spaces[language]) if doubled else spaces[language]
    total, sections = vectors.evaluate_word_analogies(str(part), dummy4unknown=oov == "wrong")
    found = scored(vectors, part, EvaluateSettings(top=GENSIM.top, fold_case=True, oov=oov))
    assert found.value == total
    theirs = {
        each["section"]: (len(each["correct"]), len(each["correct"]) + len(each["incorrect"]))
        for each in sections
    }
    ours = {each.section: (each.value, each.denominator) for each in found.others if each.metric == "3CosAdd"}
    assert {name: (round(value * count) if count else 0, count) for name, (value, count) in ours.items()} == {
        name: theirs[name] for name in ours
    }


@pytest.mark.filterwarnings("ignore:Call to deprecated")
def test_3cosmul(spaces: dict[str, Any]):
    vectors = spaces["en"]
    words = [
        ("man", "king", "woman"),
        ("france", "paris", "germany"),
        ("good", "better", "bad"),
        ("he", "his", "she"),
    ]
    for a, b, c in words:
        answer = vectors.most_similar_cosmul(positive=[b, c], negative=[a], topn=1)[0][0]
        task = Analogies("one", "en", ((a, b, c, answer),), ("",))
        found = evaluate(Vectors.of(vectors.index_to_key, vectors.vectors), [task])[0]
        assert {each.metric: each.value for each in found.others}["3CosMul"] == 1
