"""Texts embedded by word vectors and by models, from every kind of input, into every kind of file."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid  # noqa: E402
from inlaid.encode.corpus import tokenizer_of  # noqa: E402
from inlaid.encode.ngrams import NGrams  # noqa: E402
from inlaid.encode.tokenizers import Word  # noqa: E402
from inlaid.encode.vocabulary import Words  # noqa: E402
from inlaid.errors import SettingError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.study.evaluate.oov import KnownWords  # noqa: E402
from inlaid.study.use import embed as module  # noqa: E402
from inlaid.study.use import embedding_files  # noqa: E402
from inlaid.vectors import Card, Vectors  # noqa: E402

WORDS = ["cat", "dog", "苹果", "吃"]
TABLE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 0, 4]], np.float32)


class Halves:
    """Subwords that know every word that starts with "c"."""

    def vector(self, word: str) -> np.ndarray[Any, Any] | None:
        return np.array([8, 8, 8], np.float32) if word.startswith("c") else None


@pytest.fixture
def vectors() -> Vectors:
    return Vectors.of(WORDS, TABLE, Card(encoding={"tokenizer": "word", "normalize": ["lower"]}))


@pytest.fixture
def file(vectors: Vectors, tmp_path: Path) -> Path:
    inlaid.save(vectors, tmp_path / "v.inlaid")
    return tmp_path / "v.inlaid"


class TestWordVectors:
    def test_the_mean_of_the_words_as_the_card_says(self, vectors: Vectors):
        found = inlaid.embed(vectors, ["The CAT, the dog", "吃苹果"])
        np.testing.assert_allclose(found.table, [[0.5, 0.5, 0], [0, 0, 3]])
        assert vectors.embed("cat").table.tolist() == [[1, 0, 0]]

    def test_texts_without_a_known_word_are_reported_and_left_out(self, vectors: Vectors):
        notes: list[Any] = []
        found = inlaid.embed(vectors, ["cat", "zebra", "", "dog"], report=notes.append)
        assert found.texts == ("cat", "dog")
        assert found.numbers.tolist() == [0, 3]
        assert [(each.number, each.text) for each in found.without] == [(1, "zebra"), (2, "")]
        assert any("2 of 4 texts have no known word" in str(note) for note in notes)
        with pytest.raises(SettingError, match="The text .zebra. has no vector"):
            inlaid.embed(vectors, "zebra")

    def test_a_row_of_zeros_is_no_vector(self):
        found = inlaid.embed(Vectors.of(["a", "b"], [[0, 0], [1, 2]]), ["a", "b"])
        assert found.numbers.tolist() == [1]

    def test_subwords_compose_what_is_not_in_the_vocabulary(self, vectors: Vectors):
        made = Vectors(vectors.words, vectors.stored, card=vectors.card, subwords=Halves())
        assert inlaid.embed(made, ["cats dog"]).table.tolist() == [[4, 4.5, 4]]
        assert inlaid.embed(made, ["cats dog"], subwords=False).table.tolist() == [[0, 1, 0]]

    def test_settings_of_models_are_refused(self, vectors: Vectors):
        with pytest.raises(SettingError, match="pooling is for models"):
            inlaid.embed(vectors, "cat", pooling="cls")

    def test_unit_length(self, vectors: Vectors):
        assert inlaid.embed(vectors, ["苹果 吃"], unit=True).table.tolist() == [[0, 0, 1]]

    def test_what_may_be_passed(self, vectors: Vectors):
        expected = [[1, 0, 0], [0, 1, 0]]
        texts = ["cat", "dog"]
        for given in (texts, tuple(texts), (text for text in texts), np.array(texts), dict.fromkeys(texts)):
            assert inlaid.embed(vectors, given).table.tolist() == expected
        assert inlaid.embed(vectors, "cat", "dog").table.tolist() == expected
        with pytest.raises(SettingError, match=r"Text 1 is None; expected a string"):
            inlaid.embed(vectors, iter(["cat", None]))  # pyright: ignore


class TestWeights:
    """SIF: a word of probability p weighs sif / (sif + p); what all texts share is removed."""

    def test_frequent_words_weigh_less_by_their_counts(self, vectors: Vectors):
        counted = dataclasses.replace(vectors, counts=np.array([70, 20, 6, 4]))
        found = inlaid.embed(counted, ["cat dog", "吃苹果"], weights="sif", sif=0.1)
        cat, dog, apple, eat = 0.1 / (0.1 + np.array([0.7, 0.2, 0.06, 0.04]))
        expected = [[cat / 2, dog / 2, 0], [0, 0, (2 * apple + 4 * eat) / 2]]
        np.testing.assert_allclose(found.table, expected, rtol=1e-6)

    def test_without_counts_the_rank_tells_and_a_note_says_so(self, vectors: Vectors):
        notes: list[Any] = []
        found = inlaid.embed(vectors, ["cat", "dog"], weights="sif", sif=0.1, report=notes.append)
        shares = np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5])
        weights = 0.1 / (0.1 + shares / shares.sum())
        np.testing.assert_allclose(found.table, [[weights[0], 0, 0], [0, weights[1], 0]], rtol=1e-6)
        assert any("have no counts" in str(note) for note in notes)

    def test_composed_words_weigh_1(self, vectors: Vectors):
        made = dataclasses.replace(vectors, subwords=Halves(), counts=np.array([90, 10, 0, 0]))
        found = inlaid.embed(made, ["cats dog"], weights="sif", sif=0.1)
        np.testing.assert_allclose(found.table, [[4, (8 + 0.5) / 2, 4]], rtol=1e-6)

    def test_the_common_component_is_removed(self, typed: Any, tmp_path: Path):
        random = np.random.default_rng(1)
        words = [f"w{number}" for number in range(40)]
        shared = np.array([3.0, 4.0, 0.0]) / 5
        table = random.normal(size=(40, 3)).astype(np.float32) + 10 * shared
        inlaid.save(Vectors.of(words, table), tmp_path / "v.inlaid")
        (tmp_path / "t.txt").write_text("\n".join(words), "utf-8")
        typed(
            "embed",
            tmp_path / "v.inlaid",
            "--file",
            tmp_path / "t.txt",
            "--remove-components",
            "1",
            "-o",
            tmp_path / "t.npz",
        )
        with np.load(tmp_path / "t.npz") as arrays:
            left, removed = arrays["table"], arrays["components"]
        expected = np.linalg.svd(table.astype(np.float64))[2][:1]
        np.testing.assert_allclose(np.abs(removed @ expected.T), 1, rtol=1e-6)
        np.testing.assert_allclose(left @ removed.T, 0, atol=1e-4)
        np.testing.assert_allclose(left, table - table @ expected.T @ expected, atol=1e-4)
        new = json.loads(
            typed("embed", tmp_path / "v.inlaid", "w3 w4", "--components", tmp_path / "t.npz", "--json")
        )
        np.testing.assert_allclose(new["vectors"][0], left[3:5].mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(new["components"], removed)

    def test_what_cannot_be_removed_is_refused(self, file: Path, tmp_path: Path, typed: Any):
        said = typed("embed", file, "cat", "--remove-components", "1", code=2)
        assert "expected less than the 1 texts" in said
        typed("embed", file, "cat", "dog", "-o", tmp_path / "plain.npz")
        said = typed("embed", file, "cat", "--components", tmp_path / "plain.npz", code=2)
        assert "has no array 'components'" in said
        assert "Cannot read" in typed("embed", file, "cat", "--components", tmp_path / "none.npz", code=2)
        np.savez(tmp_path / "other.npz", components=np.zeros((1, 7), np.float32))
        said = typed("embed", file, "cat", "--components", tmp_path / "other.npz", code=2)
        assert "expected components of 3 numbers each" in said

    def test_a_model_has_no_words_to_weigh(self, tiny_models: Path):
        with pytest.raises(SettingError, match="weights is for word vectors"):
            inlaid.embed(load_model(tiny_models / "masked"), ["我"], weights="sif")


class TestBulk:
    """Texts are cut, looked up and added up by kernels, many at a time; the same numbers as word by word."""

    TEXTS = (
        "The CATS sat, cats sleep!",
        "吃苹果手机，他吃 Apple。",
        "dog\ncat\rcatfish",
        "",
        "Ｃａｔ　ｄｏｇ",
        "cafe\u0301 zebra caf\u00e9",
        "ΣΊΣΥΦΟΣ cat's",
        "猫" * 50,
    )
    ENCODINGS: tuple[dict[str, Any], ...] = (
        {},
        {"tokenizer": "word", "normalize": ["nfc", "width", "lower"]},
        {
            "tokenizer": "word",
            "normalize": ["nfc", "width", "lower", "simplified"],
            "dictionary": ["苹果手机"],
        },
        {"tokenizer": "whitespace", "normalize": ["nfc", "lower"]},
        {"tokenizer": "char", "normalize": ["nfc", "lower"]},
    )
    WORDS = ("cat", "dog", "苹果", "吃", "苹果手机", "café", "猫", "他", "σίσυφος", "sat", "THE")

    @pytest.mark.parametrize("encoding", ENCODINGS)
    @pytest.mark.parametrize("subwords", [False, True])
    def test_as_word_by_word(self, encoding: dict[str, Any], subwords: bool):
        random = np.random.default_rng(1)
        table = random.normal(size=(len(self.WORDS), 4)).astype(np.float32)
        buckets = random.normal(size=(50, 4)).astype(np.float32)
        ngrams = NGrams(own=table, buckets=buckets, size=50, min_n=2, max_n=3) if subwords else None
        vectors = Vectors(Words.of(self.WORDS), table, card=Card(encoding=encoding), subwords=ngrams)
        known = KnownWords(vectors)
        rows, has_vector = known.sentences(self.TEXTS)
        for text, row, has in zip(self.TEXTS, rows, has_vector, strict=True):
            expected = word_by_word(vectors, text)
            assert has == bool(expected)
            np.testing.assert_allclose(row, np.mean(expected, axis=0) if expected else 0, atol=1e-6)
        again, _ = known.sentences(self.TEXTS[::-1])
        np.testing.assert_array_equal(again[::-1], rows)
        known.forget(0)  # composed words get other places
        np.testing.assert_array_equal(known.sentences(self.TEXTS[::-1])[0][::-1], rows)


def word_by_word(vectors: Vectors, text: str) -> list[np.ndarray[Any, Any]]:
    """The vectors of the words of a text: as written, else in lower case, else composed."""
    if vectors.card.encoding:
        cut = tokenizer_of(vectors.card.encoding).words(vectors.normalized(text))
    else:
        cut = Word().words(text)
    found: list[Any] = []
    for word in cut:
        id = vectors.find(word)
        id = vectors.find(word.lower()) if id is None else id
        found.append(vectors.composed(word) if id is None else vectors.table[id])
    return [each for each in found if each is not None]


class TestModels:
    def test_as_the_folder_says_or_as_asked(self, typed: Any, tiny_models: Path):
        """The network passes its one-hot input on: 2 is [CLS], 5 is 我."""
        cls = json.loads(typed("embed", "sentence", "我", "--json"))["vectors"][0]
        assert np.flatnonzero(cls).tolist() == [2]
        mean = json.loads(typed("embed", "sentence", "我", "--pooling", "mean", "--json"))["vectors"][0]
        assert np.flatnonzero(mean).tolist() == [2, 3, 5]
        both = json.loads(typed("embed", "sentence", "我", "--pooling", "cls+mean", "--json"))["vectors"][0]
        assert both == [*cls, *mean]
        model = load_model(tiny_models / "masked")
        found = inlaid.embed(model, ["我吃鱼", "我"], layer=1)
        np.testing.assert_array_equal(found.table, model.embed(["我吃鱼", "我"], layer=1))

    def test_every_kind_embeds(self, typed: Any):
        for folder, text in (("decoder", "I saw"), ("seq2seq", "我 打 你"), ("bytes", "三")):
            assert json.loads(typed("embed", folder, text, "--json"))["count"] == 1

    def test_long_texts_are_refused_or_cut_with_one_note(
        self, tiny_models: Path, monkeypatch: Any, typed: Any
    ):
        monkeypatch.setattr(module, "CHUNK", 2)
        long = " ".join(["我"] * 40)
        assert "cut it with --truncate" in typed("embed", "seq2seq", long, code=2)
        notes: list[Any] = []
        model = load_model(tiny_models / "seq2seq")
        found = inlaid.embed(model, [long, "我", long], truncate=True, report=notes.append)
        assert found.count == 3
        said = [str(note) for note in notes if "truncated" in str(note)]
        assert said == ["2 of 3 texts have more than 24 tokens and were truncated."]

    def test_precision(self, tiny_models: Path, tmp_path: Path, typed: Any):
        model = load_model(tiny_models / "masked")
        for number, parameter in enumerate(model.network.parameters()):
            parameter.data.add_(0.1 + 1e-4 * number)
        save_model(model, tmp_path / "model")
        low = load_model(tmp_path / "model", dtype=torch.bfloat16).embed(["我吃鱼"])
        assert (low != model.embed(["我吃鱼"])).any()
        np.testing.assert_array_equal(inlaid.embed(model, ["我吃鱼"], precision="bfloat16").table, low)
        assert next(model.network.parameters()).dtype == torch.float32
        said = typed("embed", str(tmp_path / "model"), "我吃鱼", "--precision", "bfloat16", "--json")
        np.testing.assert_allclose(json.loads(said)["vectors"], low, rtol=1e-6)
        assert "bfloat16" in typed("embed", "masked", "我", "--precision", "int8", code=2)

    def test_blank_texts_have_no_vector(self, tiny_models: Path):
        found = inlaid.embed(load_model(tiny_models / "masked"), ["我", " ", "鱼"])
        assert found.numbers.tolist() == [0, 2]


class TestFiles:
    def test_lines_columns_and_standard_input(self, file: Path, tmp_path: Path, typed: Any):
        (tmp_path / "t.txt").write_text("cat\r\ndog\n", "utf-8")
        (tmp_path / "t.csv").write_text('id,title\n1,"cat\n, dog"\n2,吃苹果\n', "utf-8")
        (tmp_path / "t.jsonl").write_text('{"text": "cat"}\n{"text": "dog"}\n', "utf-8")
        lines = json.loads(typed("embed", file, "--file", tmp_path / "t.txt", "--json"))
        assert lines["texts"] == ["cat", "dog"]
        column = json.loads(typed("embed", file, "--file", tmp_path / "t.csv", "--column", "title", "--json"))
        assert column["texts"] == ["cat\n, dog", "吃苹果"]
        assert column["vectors"] == [[0.5, 0.5, 0.0], [0.0, 0.0, 3.0]]
        assert json.loads(typed("embed", file, "--file", tmp_path / "t.jsonl", "--json"))["count"] == 2
        assert "Did you mean 'title'?" in typed(
            "embed", file, "--file", tmp_path / "t.csv", "--column", "titel", code=2
        )
        words = ["embed", str(file), "-", "--json"]
        code = f"from inlaid.cli import main; raise SystemExit(main({words!r}))"
        ended = subprocess.run([sys.executable, "-c", code], input="吃\n".encode(), capture_output=True)
        assert json.loads(ended.stdout)["text"] == "吃"

    def test_rows_of_parquet_without_text_are_noted(self, vectors: Vectors, tmp_path: Path):
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.table({"text": ["cat", None, "dog"]}), tmp_path / "t.parquet")
        notes: list[Any] = []
        found = inlaid.embed(vectors, tmp_path / "t.parquet", report=notes.append)
        assert found.texts == ("cat", "dog")
        assert any("1 of 3 rows have no text (null)" in str(note) for note in notes)

    @pytest.mark.parametrize("suffix", ["npz", "parquet", "inlaid"])
    def test_outputs(self, file: Path, tmp_path: Path, typed: Any, suffix: str, monkeypatch: Any):
        monkeypatch.setattr(module, "CHUNK", 2)
        (tmp_path / "t.txt").write_text("cat\nzebra\n吃苹果\ndog\ncat\n", "utf-8")
        output = tmp_path / f"out.{suffix}"
        shown = typed("embed", file, "--file", tmp_path / "t.txt", "-o", output)
        assert shown == f"{output}: 4 texts x 3\n"
        loaded = inlaid.load(output)
        assert list(loaded.words) == ["cat", "吃苹果", "dog"]
        assert loaded.table.tolist() == [[1, 0, 0], [0, 0, 3], [0, 1, 0]]
        if suffix == "npz":
            with np.load(output) as arrays:
                assert arrays["numbers"].tolist() == [0, 2, 3, 4]
                assert arrays["words"].tolist() == ["cat", "吃苹果", "dog", "cat"]
                assert arrays["table"].shape == (4, 3)
        if suffix == "parquet":
            import pyarrow.parquet as parquet

            rows = parquet.read_table(output).to_pylist()
            assert [row["number"] for row in rows] == [0, 2, 3, 4]
            assert rows[3] == {"number": 4, "text": "cat", "vector": [1, 0, 0]}

    def test_a_large_file_is_read_and_written_in_parts(
        self, vectors: Vectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """No more than a chunk of texts is held: they are counted as they are read and dropped."""
        alive = {"now": 0, "most": 0}

        class Text(str):
            def __del__(self) -> None:
                alive["now"] -= 1

        def texts() -> Any:
            for number in range(5_000):
                alive["now"] += 1
                alive["most"] = max(alive["most"], alive["now"])
                yield Text("cat dog" if number % 2 else "cat")

        monkeypatch.setattr(module, "CHUNK", 100)
        monkeypatch.setattr(embedding_files, "WAITING", 1000)
        monkeypatch.setattr(embedding_files, "ROWS", 300)
        found = inlaid.embed(vectors, texts(), output=tmp_path / "out.npz")
        assert found.count == 5_000
        assert alive["most"] <= 250
        with np.load(tmp_path / "out.npz") as arrays:
            assert arrays["table"][:2].tolist() == [[1, 0, 0], [0.5, 0.5, 0]]
            assert arrays["words"][4_999] == "cat dog"
        assert {path.name for path in tmp_path.iterdir()} == {"out.npz"}

    def test_other_suffixes_are_refused_before_any_work(self, file: Path, tmp_path: Path, typed: Any):
        assert ".npz, .parquet, .inlaid" in typed("embed", file, "cat", "-o", tmp_path / "out.csv", code=2)

    def test_the_terminal_shows_the_first_texts(self, file: Path, tmp_path: Path, typed: Any):
        assert typed("embed", file, "cat", "吃 苹果").splitlines() == [
            "cat      +1.000 +0.000 +0.000  |1.000|",
            "吃 苹果  +0.000 +0.000 +3.000  |3.000|",
        ]
        (tmp_path / "t.txt").write_text("cat\n" * 30, "utf-8")
        shown = typed("embed", file, "--file", tmp_path / "t.txt").splitlines()
        assert len(shown) == 11
        assert shown[-1] == "and 20 more; --output saves all of them"

    def test_one_text_without_a_vector_is_named(self, file: Path, typed: Any):
        assert "The text '' has no vector" in typed("embed", file, "", code=2)
