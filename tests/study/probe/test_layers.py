"""Networks whose answers are known: planted senses, one word through the layers, the lens, referents."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid  # noqa: E402
from inlaid.cli import main  # noqa: E402
from inlaid.collect.truth import Referent, Span  # noqa: E402
from inlaid.errors import OutOfVocabulary, SettingError  # noqa: E402
from inlaid.neural.config import make_config  # noqa: E402
from inlaid.neural.kinds import AnyModel  # noqa: E402
from inlaid.neural.words import merged_words  # noqa: E402
from inlaid.report import silent  # noqa: E402
from inlaid.study.probe import referents  # noqa: E402
from inlaid.study.probe.clusters import clusters_of, explained, profiles, separation, silhouette  # noqa: E402
from inlaid.study.probe.occurrences import Reservoir, sample_text  # noqa: E402
from inlaid.vectors import Card  # noqa: E402

DIM = 24


class PlantedModel(AnyModel):
    """A model whose state of `apple` is that of `pear` or that of `phone` after layer 2, by a word of its
    sentence; other words have a state of their own and some noise everywhere."""

    config = make_config({"kind": "encoder", "vocab_size": 9, "dim": DIM, "layers": 2, "attention.heads": 2})
    card = Card(method="planted")
    tokenizer = None
    network = None

    def layer_number(self, layer: int) -> int:
        return layer % 3

    def word_layers(self, texts: list[str], *, tokenizer: Any) -> list[Any]:
        return [self._states(text, tokenizer) for text in texts]

    def _states(self, text: str, tokenizer: Any) -> Any:
        words = text.split(" ")
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        spans = [(int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=False)]
        noise = np.random.default_rng(sum(map(ord, text)) * 7 + len(text))
        rows = np.stack([self._word(word, words) for word in words])
        return merged_words(text, spans, rows + 0.05 * noise.standard_normal(rows.shape), tokenizer)

    def _word(self, word: str, words: list[str]) -> np.ndarray:
        own = row_of(word)
        last = own
        if word == "apple":
            last = row_of("phone") if "buy" in words else row_of("pear")
        return np.stack([own, own, 0.2 * own + last])


def row_of(word: str) -> np.ndarray:
    return np.random.default_rng(
        sum(ord(each) * 31**n for n, each in enumerate(word)) % 10**6
    ).standard_normal(DIM)


def lines() -> list[str]:
    letters = string.ascii_lowercase
    fillers = [f"{one}{two}x" for one in letters[:6] for two in letters[:5]]
    random = np.random.default_rng(1)
    drawn = [" ".join(random.choice(fillers, 5)) for _ in range(200)]
    drawn += [f"{random.choice(fillers)} pear {random.choice(fillers)}" for _ in range(20)]
    drawn += [f"{random.choice(fillers)} phone {random.choice(fillers)}" for _ in range(20)]
    drawn += [f"buy apple {random.choice(fillers)} {random.choice(fillers)}" for _ in range(30)]
    drawn += [f"eat apple {random.choice(fillers)} {random.choice(fillers)}" for _ in range(30)]
    return drawn


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n".join(lines()), "utf-8")
    return tmp_path / "text.txt"


class TestSenses:
    def test_planted_senses_are_found_in_their_layer(self, text: Path):
        found = inlaid.senses(PlantedModel(), "apple", corpus=text)
        assert found.layer == 2
        assert found.p <= 0.05
        assert len(found.clusters) == 2
        nearest = {cluster.nearest[0] for cluster in found.clusters}
        assert nearest == {"phone", "pear"}
        for cluster in found.clusters:
            assert len({("buy" in sentence) for sentence in cluster.sentences}) == 1
        buy, eat = (
            np.array(found.numbers)[[word in each for each in found.texts]] for word in ("buy", "eat")
        )
        assert len(set(buy.tolist())) == len(set(eat.tolist())) == 1
        assert found.layers[2].separation > 5 * found.layers[1].separation

    def test_words_with_one_sense_are_one_cluster(self, text: Path):
        """All but those of the 5 % that are furthest apart by chance."""
        found = [inlaid.senses(PlantedModel(), word, corpus=text) for word in ("abx", "bcx", "cdx", "dex")]
        one = [each for each in found if each.p > 0.05]
        assert len(one) >= 3
        assert all(len(each.clusters) == 1 for each in one)
        assert "shows no second sense" in str(one[0].rows()[2])
        forced = inlaid.senses(PlantedModel(), one[0].word, corpus=text, clusters=2)
        assert len(forced.clusters) == 2

    @pytest.mark.parametrize("suffix", ["png", "html"])
    def test_pictures(self, text: Path, tmp_path: Path, suffix: str):
        output = tmp_path / f"out.{suffix}"
        found = inlaid.senses(PlantedModel(), "apple", corpus=text, output=output)
        assert found.output == str(output)
        assert output.stat().st_size > 5000
        json.dumps(found.to_dict(), allow_nan=False)

    def test_what_cannot_be_clustered(self, text: Path, english: Any):
        with pytest.raises(OutOfVocabulary, match="does not occur"):
            inlaid.senses(PlantedModel(), "banana", corpus=text)
        with pytest.raises(SettingError, match="The word is empty"):
            inlaid.senses(PlantedModel(), " ", corpus=text)
        with pytest.raises(SettingError, match="the same in every sentence"):
            inlaid.senses(english[0], "apple", corpus=text)
        text.write_text("\n".join(["eat apple now"] + ["eat pear now"] * 50), "utf-8")
        with pytest.raises(SettingError, match="expected at least 8"):
            inlaid.senses(PlantedModel(), "apple", corpus=text)

    def test_a_long_sentence_is_cut_around_the_word(self, tmp_path: Path):
        path = tmp_path / "long.txt"
        path.write_text("a " * 100 + "apple" + " b" * 100 + "\n", "utf-8")
        found = sample_text(path, "Apple", (), most=10, others=10, seed=1, report=silent)
        (usage,) = found.usages
        assert usage.sentence[slice(*usage.span)] == "apple"
        assert len(usage.sentence.split()) == 61

    def test_chinese_words_are_words(self, tmp_path: Path):
        path = tmp_path / "zh.txt"
        path.write_text("我喜欢吃苹果。我喜欢苹果手机。\n", "utf-8")
        found = sample_text(path, "苹果", (), most=10, others=10, seed=1, report=silent)
        assert [each.sentence[slice(*each.span)] for each in found.usages] == ["苹果", "苹果"]


def test_clusters_of_planted_rows():
    random = np.random.default_rng(1)
    rows = 0.1 * random.standard_normal((60, 5))
    rows[:40, 0] += 3
    labels = clusters_of(rows, 2, seed=1)
    assert labels.tolist() == [0] * 40 + [1] * 20
    assert silhouette(rows, labels) > 0.8
    assert explained(rows, labels) > 0.9
    assert explained(np.ones((5, 3)), np.zeros(5)) == 0
    assert silhouette(rows, random.integers(0, 2, 60)) < 0.1
    same = profiles(rows[:5] * 0 + 1, random.standard_normal((30, 5)), np.zeros(5))
    assert same.sum(axis=1) == pytest.approx(1)
    assert separation(same, seed=1) == 0


def test_every_item_of_a_stream_has_the_same_chance():
    counts = np.zeros(20)
    for seed in range(400):
        held = Reservoir[int](5, seed)
        for item in range(20):
            held.add(item)
        counts[held.kept] += 1
    assert counts.min() > 60
    assert counts.max() < 145


class TestDrift:
    def test_a_static_vector_is_the_same_in_every_sentence(self, english: Any):
        found = inlaid.drift(english[0], "apple", ["I eat an apple.", "I like Apple phones."])
        assert found.layers == ("static",)
        assert found.pairs[0].cosines[0] == pytest.approx(1)

    def test_the_planted_layer_tells_the_sentences_apart(self):
        found = inlaid.drift(PlantedModel(), "apple", ["buy apple x", "eat apple y", "eat apple z"])
        apart, _, alike = (each.cosines for each in found.pairs)
        assert apart[1] > 0.9 > 0.6 > apart[2]
        assert alike[2] > 0.9
        assert found.sentences[0].from_input[0] == pytest.approx(1)
        assert found.sentences[0].from_before[1] > 0.9

    def test_a_word_that_is_not_there(self):
        with pytest.raises(OutOfVocabulary, match="is not in the sentence"):
            inlaid.drift(PlantedModel(), "apple", ["eat pear"])


class TestLens:
    """The tiny models' blocks add nothing: every layer shows what the output table says."""

    def test_a_decoder_at_every_position(self, tiny_models: Path, capsys: pytest.CaptureFixture[str]):
        model = str(tiny_models / "decoder")
        assert main(["lens", model, "I saw", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["causal"]
        assert found["tokens"] == ["I", "saw"]
        first = [layer[0][0] for layer in found["layers"]]
        assert first[-1]["token"] == "saw"
        assert first[-1]["probability"] == pytest.approx(0.55, abs=0.01)
        assert found["layers"][-1][1][0]["token"] == "her"
        assert main(["next", model, "I saw", "--layers", "--json"]) == 0
        last = json.loads(capsys.readouterr().out)["layers"]
        for layer, shown in enumerate(last):
            assert found["layers"][layer][1][0]["id"] == shown["tokens"][0]["id"]

    def test_a_mask_is_written_in_several_ways(self, tiny_models: Path, capsys: pytest.CaptureFixture[str]):
        for blank in ("[MASK]", "___"):
            assert main(["lens", str(tiny_models / "masked"), f"我喜欢吃{blank}", "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            place = found["tokens"].index("[MASK]")
            assert found["layers"][-1][place][0]["token"] == "苹果"

    @pytest.mark.parametrize("suffix", ["png", "html"])
    def test_pictures(self, tiny_models: Path, tmp_path: Path, suffix: str):
        output = tmp_path / f"lens.{suffix}"
        assert main(["lens", str(tiny_models / "masked"), "我喜欢吃[MASK]", "-o", str(output)]) == 0
        assert output.stat().st_size > 3000

    def test_other_models_are_refused(self, tiny_models: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["lens", str(tiny_models / "seq2seq"), "我 打 你"]) == 2
        assert "decoders and masked models" in capsys.readouterr().err
        assert main(["lens", str(tiny_models / "decoder"), " "]) == 2
        assert "The text is empty" in capsys.readouterr().err


class TestReferents:
    def test_the_other_pronoun_means_the_other_person(self):
        text = "David tells Anna that he is proud."
        item = Referent(text, Span(22, 24), Span(0, 5), Span(12, 16))
        one, two = referents._twice([item])
        assert one is item
        assert two.sentence == "David tells Anna that she is proud."
        assert two.sentence[slice(*two.pronoun)] == "she"
        assert two.sentence[slice(*two.referent)] == "Anna"
        assert two.sentence[slice(*two.other)] == "David"
        assert referents.pattern_of(item) == "tells"

    def test_a_head_that_looks_at_the_referent_is_best(self, monkeypatch: pytest.MonkeyPatch):
        items = [
            Referent("ab c", Span(3, 4), Span(0, 1), Span(1, 2)),
            Referent("ab c", Span(3, 4), Span(1, 2), Span(0, 1)),
        ]

        def attention(model: Any, text: str) -> tuple[np.ndarray, list[Span]]:
            weights = np.zeros((1, 2, 3, 3))
            weights[0, 0, 2] = [0.7, 0.2, 0.1]  # always the first
            weights[0, 1, 2] = [0.3, 0.3, 0.4]  # neither
            return weights, [Span(0, 1), Span(1, 2), Span(3, 4)]

        monkeypatch.setattr(referents, "attention_of", attention)
        found = referents.head_answers(None, items)
        assert found[:, 0, 0].tolist() == [1, 0]
        assert found[:, 0, 1].tolist() == [0.5, 0.5]

    def test_typed(self, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        page = tmp_path / "r.html"
        words = ["referents", str(trained), "--text", "小明说他喜欢游泳", "-o", str(page), "--json"]
        assert main(words) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["language"] == "zh"
        assert found["sentences"] == 640
        assert len(found["patterns"]) >= 3
        assert 0.3 < found["best_head"]["accuracy"] < 0.9
        assert found["attention"][0]["word"] == "小明"
        content = page.read_text("utf-8")
        assert "代词指什么" in content
        assert "探针，第 1 层" in content
        assert "最好的头" in content
        assert main(["referents", str(trained), "--text", "没有代词"]) == 2
        assert "no pronoun" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model of the Chinese world that has learned next to nothing: random, but whole."""
    from inlaid.collect import world

    folder = tmp_path_factory.mktemp("trained")
    (folder / "zh.txt").write_text("\n".join(world.sentences("zh", words=3_000)), "utf-8")
    (folder / "words.txt").write_text("\n".join(world.dictionary()), "utf-8")
    words = ["train", "masked", str(folder / "zh.txt"), "-o", str(folder / "model"), "--tokenizer", "word"]
    words += ["--dictionary", str(folder / "words.txt"), "--force-dictionary", "--epochs", "1", "--dim", "16"]
    assert main([*words, "--layers", "1", "--heads", "2", "--min-count", "1"]) == 0
    return folder / "model"


def test_senses_and_drift_typed(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from inlaid.collect import world

    text = tmp_path / "zh.txt"
    text.write_text("\n".join(world.sentences("zh", words=25_000)), "utf-8")
    words = [
        "senses",
        str(trained),
        "苹果",
        "--corpus",
        str(text),
        "--others",
        "300",
        "-o",
        str(tmp_path / "s.html"),
    ]
    assert main(words) == 0
    assert "苹果:" in capsys.readouterr().out
    assert "苹果的词义" in (tmp_path / "s.html").read_text("utf-8")
    words = [
        "drift",
        str(trained),
        "苹果",
        "我喜欢吃苹果。",
        "我喜欢苹果手机。",
        "-o",
        str(tmp_path / "d.png"),
    ]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["pairs"][0]["cosines"]) == 2
    assert main([*words[:-1], str(tmp_path / "d.html")]) == 0
    assert "1: layer 0" in capsys.readouterr().out
    page = (tmp_path / "d.html").read_text("utf-8")
    assert "1：与第 0 层" in page
    assert "layer 0" not in page
    assert main(["drift", str(trained), "香蕉", "我喜欢吃苹果。"]) == 2
    assert "is not in the sentence" in capsys.readouterr().err
