"""`inlaid attend` and `inlaid attend-step` as a user types them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid
from inlaid.errors import SettingError
from inlaid.study.attend.pictures import STRONGEST, _strokes
from inlaid.study.attend.weights import text_weights

from .conftest import WORDS, random_model


@pytest.fixture
def model() -> Any:
    return random_model(scale=30.0)


def test_weights_by_word_are_those_of_the_network_summed_and_averaged(model: Any):
    found = inlaid.attend(model, "我喜欢吃苹果").found.parts["encoder"]
    raw = model.attention("我喜欢吃苹果").weights
    assert found.queries.words == ("[CLS]", "我", "喜欢", "吃", "苹果", "[SEP]")
    own = raw[1][3]
    words = found.words()[1, 3]
    assert words[4, 4] == pytest.approx(own[5:7, 5:7].sum(1).mean(), abs=1e-6)
    assert words[2, 3] == pytest.approx(own[2:4, 4].mean(), abs=1e-6)
    assert np.allclose(found.words().sum(-1), 1)


def test_rows_list_what_each_word_attends_to_most(model: Any):
    made = inlaid.attend(model, "我喜欢吃苹果", layer=0, head=1, n=2)
    rows = [row for row in made.rows() if isinstance(row, tuple)]
    weights = made.shown.weights
    for row, word, given in zip(rows[1:], made.shown.queries, weights, strict=False):
        best = made.shown.keys[int(given.argmax())]
        assert row[0] == word
        assert row[1].startswith(f"{best} {given.max():.2f}")
    assert "layer 0, head 1" in str(made.rows()[1])


def test_json_has_all_weights_and_no_special_tokens_leaves_them_out(typed: Any):
    found = json.loads(typed("attend", "masked", "我喜欢吃苹果", "--json"))
    part = found["parts"]["encoder"]
    assert np.shape(part["weights"]) == (2, len(part["entropy"][0]), 6, 6)
    assert part["key_words"] == ["[CLS]", "我", "喜欢", "吃", "苹果", "[SEP]"]
    assert part["key_tokens"] == ["[CLS]", "我", "喜", "欢", "吃", "苹果", "[SEP]"]
    without = json.loads(typed("attend", "masked", "我喜欢吃苹果", "--no-special", "--json"))["shown"]
    assert without["keys"] == ["我", "喜欢", "吃", "苹果"]
    assert np.allclose(np.sum(without["weights"], 1), 1)
    tokens = json.loads(typed("attend", "masked", "我喜欢吃苹果", "--tokens", "--json"))["shown"]
    assert tokens["keys"] == ["[CLS]", "我", "喜", "欢", "吃", "苹果", "[SEP]"]


def test_uniform_heads_have_the_entropy_and_distance_of_chance(typed: Any):
    """The blocks of the tiny models add nothing: every head attends uniformly."""
    part = json.loads(typed("attend", "decoder", "I saw her .", "--json"))["parts"]["decoder"]
    assert np.allclose(part["entropy"], part["uniform_entropy"])
    assert np.allclose(part["distance"], part["uniform_distance"])
    assert part["uniform_entropy"] == pytest.approx(np.log2([1, 2, 3, 4]).mean())
    assert part["uniform_distance"] == pytest.approx(np.mean([0, 0.5, 1, 1.5]))


def test_rollout_by_hand(model: Any):
    part = text_weights(model, "w1 w2 w3").parts["encoder"]
    first, second = part.tokens.mean(1)
    eye = np.eye(len(first))
    expected = (0.5 * second + 0.5 * eye) @ (0.5 * first + 0.5 * eye)
    assert np.allclose(part.rollout(), expected)
    assert np.allclose(part.rollout().sum(1), 1)


def test_a_seq2seq_shows_its_cross_attention(typed: Any):
    found = json.loads(typed("attend", "seq2seq", "好 久 不 见", "--target", "long time", "--json"))
    assert set(found["parts"]) == {"encoder", "decoder", "cross"}
    assert found["shown"]["part"] == "cross"
    assert found["shown"]["queries"] == ["<pad>", "long", "time"]
    assert found["shown"]["keys"][0] == "好"
    assert found["parts"]["cross"]["rollout"] is None
    assert found["parts"]["cross"]["distance"] is None
    own = json.loads(typed("attend", "seq2seq", "我 打 你", "--json"))
    assert own["target_generated"]
    assert "decoder" in typed("attend", "seq2seq", "我 打 你", "--part", "decoder")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("decoder", "I", "--head", "0"), "Add layer"),
        (("decoder", "I", "--layer", "9"), "There is no layer 9"),
        (("decoder", "I", "--layer", "0", "--head", "5"), "There is no head 5"),
        (("decoder", "I", "--part", "cross"), "no cross attention"),
        (("decoder", "I", "--target", "x"), "A target is for models"),
        (("decoder", " "), "The text is empty"),
        (("decoder", "I", "-o", "x.jpg"), ".png or .html"),
        (
            ("seq2seq", "我", "--target", "I", "--view", "rollout", "-o", "x.png"),
            "Rollout is for self-attention",
        ),
        (("nowhere", "I"), "nowhere"),
        ((__file__, "I"), "is a file. A checkpoint is a folder"),
    ],
)
def test_what_cannot_be_shown_is_refused(typed: Any, words: tuple[str, ...], said: str):
    assert said in typed("attend", *words, code=2)


def test_a_bilm_has_no_attention():
    with pytest.raises(SettingError, match="A biLM has no attention"):
        inlaid.attend(random_model("bilm"), "w1 w2")


@pytest.mark.parametrize("view", ["grid", "matrix", "lines", "rollout"])
def test_pictures(model: Any, tmp_path: Path, view: str):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    path = tmp_path / "a.png"
    inlaid.attend(model, "我喜欢吃苹果", view=view, output=path)
    assert path.read_bytes().startswith(b"\x89PNG")
    inlaid.attend(model, "w1 w2", view=view, output=path)  # an own picture is replaced


def test_a_matrix_of_200_tokens_has_room_for_each(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
    model = random_model(**{"positions.kind": "sinusoidal", "positions.max_length": 256})
    text = " ".join(WORDS * 5)
    path = tmp_path / "long.png"
    inlaid.attend(model, text, view="matrix", output=path)
    width, height = np.frombuffer(path.read_bytes()[16:24], ">u4")
    assert min(width, height) >= 202 * 13


def test_all_heads_of_a_long_text_can_be_seen(tmp_path: Path):
    """Each of 40 words gets little of a weight of 1; drawn in proportion, all panels would be white."""
    matplotlib = pytest.importorskip(
        "matplotlib.image", reason="matplotlib is not installed: pip install 'inlaid[explore]'"
    )
    path = tmp_path / "grid.png"
    inlaid.attend(random_model(), " ".join(WORDS[:36]), view="grid", output=path)
    red = matplotlib.imread(path)[..., 0]
    assert (red < 0.8).mean() > 0.3


def test_lines_of_many_words_are_few():
    few = np.full((10, 10), 0.1)
    assert len(list(_strokes(few))) == 100
    many = np.full((40, 40), 0.02)
    many[:, 7] = 0.22
    lines = list(_strokes(many))
    assert len(lines) == 40 * STRONGEST
    assert {row for row, column, share, _ in lines if column == 7 and share == 1} == set(range(40))


def test_pictures_and_pages_are_in_the_language_that_was_asked_for(typed: Any, tmp_path: Path):
    for language, words in (("en", ["--lang", "en"]), ("zh", ["--lang", "zh"]), ("zh", [])):
        for command in (["attend"], ["attend-step", "--layer", "1"]):
            page = tmp_path / "page.html"
            name, *rest = command
            text = ["我喜欢吃苹果", *(["吃"] if name == "attend-step" else [])]
            typed(name, "masked", *text, *rest, "-o", page, *words)
            assert f'<html lang="{language}">' in page.read_text("utf-8")


def test_the_title_of_a_page_is_short(tmp_path: Path):
    page = tmp_path / "a.html"
    text = " ".join(WORDS[:36])
    inlaid.attend(random_model(), text, output=page)
    content = page.read_text("utf-8")
    assert "<h1>Attention: w0 w1 " in content
    assert text not in content
    assert "each word has its three strongest lines" in content


def test_a_page_holds_every_weight_and_loads_nothing(model: Any, tmp_path: Path):
    path = tmp_path / "a.html"
    made = inlaid.attend(model, "我喜欢吃苹果", output=path)
    content = path.read_text("utf-8")
    assert '<html lang="zh">' in content
    assert not re.search(r'(src|href)="(?!data:)', content)
    data = json.loads(re.search(r"parentElement, (\{.*\})\)</script>", content)[1])
    part = data["parts"]["encoder"]
    stored = np.frombuffer(base64.b64decode(part["weights"]), "<u2") / 65535
    assert np.allclose(stored, made.found.parts["encoder"].words().ravel(), atol=1e-5)
    english = tmp_path / "b.html"
    inlaid.attend(model, "w1 w2 </script>", output=english)
    assert english.read_text("utf-8").count("</script>") == 1


class TestStep:
    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"kind": "decoder"},
            {"kind": "decoder", "positions.kind": "rotary"},
            {"positions.kind": "t5", "attention.scaled": False},
            {"positions.kind": "shaw"},
            {"positions.kind": "transformer-xl"},
            {"positions.kind": "alibi", "kind": "decoder"},
            {"kind": "decoder", "attention.kv_heads": 2},
            {"attention.qk_norm": True},
        ],
    )
    def test_the_steps_are_those_of_the_network(self, settings: dict[str, Any]):
        model = random_model(scale=20.0, **settings)
        made = inlaid.attend_step(model, "我喜欢吃苹果", "吃", layer=1, head=3)
        assert made.error <= 1e-6
        scores = made.products * made.scale + (0 if made.bias is None else made.bias)
        scores = np.where(made.visible, scores, -np.inf)
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        assert np.allclose(weights, made.weights, atol=1e-6)
        assert np.allclose(weights @ made.values, made.mixed, atol=1e-5)
        part = text_weights(model, "我喜欢吃苹果").part(None)
        token = part.queries.tokens.index("吃")
        assert np.allclose(part.tokens[1, 3, token], made.weights, atol=1e-6)

    def test_t5_does_not_scale_and_others_do(self):
        scaled = inlaid.attend_step(random_model(), "w1 w2", "w2")
        assert scaled.scale == pytest.approx(8**-0.5)
        t5 = random_model(**{"attention.scaled": False, "positions.kind": "t5"})
        found = inlaid.attend_step(t5, "w1 w2", "w2")
        assert found.scale == 1.0
        assert found.bias is not None

    def test_typed(self, typed: Any, tmp_path: Path):
        shown = typed("attend-step", "seq2seq", "我 打 你", "you", "--target", "I hit you", "--layer", "1")
        assert "cross-attention, layer 1, head 0: you attends" in shown
        assert "softmax" in shown
        found = json.loads(typed("attend-step", "decoder", "I saw her", "saw", "--json"))
        assert found["visible"] == [True, True, False]
        assert found["scores"][2] is None
        assert "The text has no word 'him'" in typed("attend-step", "decoder", "I saw", "him", code=2)
        assert "A target is for" in typed("attend-step", "decoder", "I", "I", "--target", "x", code=2)

    @pytest.mark.parametrize("suffix", [".png", ".html"])
    def test_pictures(self, tmp_path: Path, suffix: str):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
        path = tmp_path / f"step{suffix}"
        inlaid.attend_step(random_model("decoder"), "我喜欢吃苹果", "吃", output=path)
        assert path.stat().st_size > 1000
        if suffix == ".html":
            content = path.read_text("utf-8")
            assert "q = (" in content
            assert "加权和：(" in content
