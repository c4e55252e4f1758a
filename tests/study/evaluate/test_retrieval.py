"""Retrieval on documents whose order is known; models are scored where vectors are."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inlaid import cli, storage
from inlaid.collect.truth import Span, Usage
from inlaid.errors import FormatError, SourceError
from inlaid.neural.kinds import AnyModel
from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.evaluate.in_context import SenseQuestion, Senses
from inlaid.study.evaluate.retrieval import Retrieval
from inlaid.study.evaluate.task_files import read_tasks
from inlaid.study.evaluate.tasks import SentencePairs
from inlaid.vectors import Vectors

WORDS = [f"w{angle}" for angle in range(12)]
ANGLES = np.arange(12) * 0.1
VECTORS = Vectors.of(WORDS, np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]))
"""Words at growing angles: from w0, the nearest are w0, w1, w2, ..."""


def test_ndcg_and_recall_are_those_of_the_formula():
    task = Retrieval(
        "r",
        "en",
        queries=("w0", "w11"),
        documents=tuple(WORDS),
        relevance=({1: 1.0, 3: 2.0, 11: 1.0}, {11: 1.0}),
    )
    (score,) = evaluate(VECTORS, [task])
    gained = 1 / np.log2(3) + 2 / np.log2(5)  # ranks 2 and 4; w11 is the twelfth and does not count
    best = 2 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert score.metric == "nDCG@10"
    assert score.value == pytest.approx((gained / best + 1) / 2)
    recall = next(each for each in score.others if each.metric == "recall@10")
    assert recall.value == pytest.approx((2 / 3 + 1) / 2)


def test_it_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(1)
    table = random.standard_normal((40, 8)).astype(np.float32)
    words = [f"d{n}" for n in range(40)]
    grades = random.integers(0, 4, (5, 40))
    relevance = tuple({n: float(g) for n, g in enumerate(row.tolist()) if g} for row in grades)
    task = Retrieval("r", "en", tuple(words[:5]), tuple(words), relevance)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    expected = metrics.ndcg_score(grades, unit[:5] @ unit.T, k=10)
    assert evaluate(Vectors.of(words, table), [task])[0].value == pytest.approx(expected, rel=1e-6)


def test_a_document_without_a_vector_is_never_found():
    task = Retrieval("r", "en", ("w0",), ("unheard", "w1"), ({0: 1.0},))
    assert evaluate(VECTORS, [task])[0].value == 0


def test_files_of_beir_and_plain_files_are_the_same_task(tmp_path: Path):
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "queries.jsonl").write_text('{"_id": "q", "text": "w0"}\n{"_id": "r", "text": "w5"}\n')
    lines = [{"_id": f"d{n}", "title": "", "text": word} for n, word in enumerate(WORDS)]
    (beir / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td3\t1\nq\td1\t0\n")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "queries.tsv").write_text("q\tw0\n")
    (plain / "documents.tsv").write_text("".join(f"d{n}\t{word}\n" for n, word in enumerate(WORDS)))
    (plain / "relevance.tsv").write_text("q\td3\t1\n")
    single = tmp_path / "single.tsv"
    rows = [f"w0\t{word}\t{int(word == 'w3')}\n" for word in WORDS]
    single.write_text("query\tdocument\trelevance\n" + "".join(rows))
    for path in (beir, plain, single):
        (task,) = read_tasks([path])
        assert isinstance(task, Retrieval)
        assert task.queries == ("w0",)  # a query without a relevant document is left out
        assert evaluate(VECTORS, [task])[0].value == pytest.approx(1 / np.log2(5))


def test_a_line_that_does_not_fit_is_named(tmp_path: Path):
    (tmp_path / "queries.tsv").write_text("q\tw0\n")
    (tmp_path / "documents.tsv").write_text("d\tw0\n")
    (tmp_path / "relevance.tsv").write_text("q\tnobody\t1\n")
    with pytest.raises(FormatError, match="nobody"):
        read_tasks([tmp_path])
    (tmp_path / "relevance.tsv").write_text("q\td\t0\n")
    with pytest.raises(SourceError, match="no document is relevant"):
        read_tasks([tmp_path])


def test_the_command_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    storage.save(VECTORS, tmp_path / "v.inlaid")
    (tmp_path / "r.tsv").write_text("query\tdocument\trelevance\nw0\tw0\t1\nw0\tw9\t0\n")
    assert cli.main(["evaluate", str(tmp_path / "v.inlaid"), str(tmp_path / "r.tsv"), "--json"]) == 0
    assert '"nDCG@10"' in capsys.readouterr().out


class TwoWords(AnyModel):
    """In place of a model: a text is near x if it has an odd number of letters a, a word takes the sense of
    its sentence."""

    network = SimpleNamespace(tokens="a table")

    def embed(self, texts: Any, *, truncate: bool = False, report: Any = None) -> np.ndarray:
        return np.array([[1.0, 0.0] if text.count("a") % 2 else [0.0, 1.0] for text in texts], np.float32)

    def embed_words(self, texts: Any, *, tokenizer: Any = None) -> list[Any]:
        found = []
        for text in texts:
            (token,) = tokenizer.tokenize(text)
            assert text[token.start : token.end] == token.text
            fruit = "eat" in text or text == "pear"
            found.append(type("Words", (), {"table": np.array([[fruit, not fruit]], np.float32)}))
        return found

    def input_vectors(self) -> Vectors:
        return Vectors.of(["unrelated", "tokens"], [[1, 0], [0, 1]])


def test_a_model_embeds_texts_and_words_in_their_sentences():
    pairs = SentencePairs(
        "s", "en", (("a", "ab"), ("a", "b"), ("b", "c"), ("aa", "abc")), (1.0, 0.0, 1.0, 0.0)
    )
    (score,) = evaluate(TwoWords(), [pairs])
    assert score.value == 1.0
    assert score.used == 4
    senses = (("pear",), ("sony",))
    questions = (
        SenseQuestion("apple", Usage("I eat an apple", Span(9, 14)), senses, 0),
        SenseQuestion("apple", Usage("my apple rings", Span(3, 8)), senses, 1),
    )
    (score,) = evaluate(TwoWords(), [Senses("t", "en", questions)])
    word = next(each for each in score.others if each.metric == "word")
    assert word.value == 1.0  # a vector that is the same in both sentences would be right once


def test_the_folder_of_a_model_is_scored_by_its_embeddings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    from inlaid.neural.checkpoint import load_model

    lines = [
        ("big cat", "large cat"),
        ("small dog", "little dog"),
        ("red car", "crimson car"),
        ("a tree", "a plant"),
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{one}\t{two}\n" for one, two in lines * 3))
    out = tmp_path / "model"
    tiny = ["--dim", "8", "--layers", "1", "--tokenizer", "whitespace", "--min-count", "1", "--epochs", "1"]
    assert cli.main(["train", "contrastive", str(path), "-o", str(out), *tiny]) == 0
    task = tmp_path / "sts.tsv"
    rows = [f"{one}\t{two}\t{n}.5\n" for n, (one, two) in enumerate(lines)]
    task.write_text("sentence1\tsentence2\tscore\n" + "".join(rows))
    capsys.readouterr()
    assert cli.main(["evaluate", str(out), str(task), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = load_model(out)
    one, two = (model.embed([line[side] for line in lines]) for side in (0, 1))
    expected = np.corrcoef((one * two).sum(1), np.arange(4))[0, 1]
    scores = json.dumps(found)
    pearson = next(each["value"] for each in _all(found) if each.get("metric") == "pearson")
    assert pearson == pytest.approx(expected, abs=1e-5), scores


def _all(value: Any) -> list[dict[str, Any]]:
    """All objects in JSON, however deep."""
    if isinstance(value, list):
        return [found for each in value for found in _all(each)]
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in _all(each))]
    return []
