"""Generating, translating and predicting as a user types it, on models whose answers are known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid
from inlaid.errors import SettingError
from inlaid.neural.checkpoint import load_model
from inlaid.neural.kinds import check_use
from inlaid.study.use.encoding import GrowingText, Tokens


class TestGenerate:
    def test_greedy_takes_the_likeliest_word_and_beams_the_likeliest_text(self, typed: Any):
        assert typed("generate", "decoder", "I") == "I saw her .\n"
        assert typed("generate", "decoder", "I", "--beams", "2") == "I like tea .\n"
        assert typed("generate", "decoder", "I", "saw", "--max-new-tokens", "1") == "I saw\nsaw her\n"

    def test_sampling_draws_by_probability_and_seed(self, typed: Any, tiny_models: Path):
        model = load_model(tiny_models / "decoder")

        def drawn(**settings: Any) -> list[str]:
            return [inlaid.generate(model, "I", **settings, seed=n).texts[0].whole for n in range(60)]

        found = drawn(temperature=1.0)
        assert 20 < sum(each.startswith("I saw") for each in found) < 46
        assert {each.split()[1] for each in found} == {"saw", "like"}
        assert typed("generate", "decoder", "I", "--temperature", "1", "--seed", "3") == f"{found[3]}\n"
        assert typed("generate", "decoder", "I", "--method", "sample", "--seed", "3") == f"{found[3]}\n"
        assert set(drawn(temperature=0.01)) == {"I saw her ."}
        assert set(drawn(top_k=1)) == {"I saw her ."}
        assert set(drawn(top_p=0.5)) == {"I saw her .", "I saw him ."}

    def test_json_and_the_terminal_give_the_same_text(self, typed: Any):
        words = ("generate", "decoder", "I", "I", "I", "--temperature", "1", "--seed", "7")
        shown = typed(*words).splitlines()
        found = json.loads(typed(*words, "--json"))["texts"]
        assert [each["prompt"] + each["text"] for each in found] == shown
        assert all(each["ended"] for each in found)
        assert found[0]["tokens"][-1] == "."

    def test_a_character_is_shown_when_all_its_bytes_are_there(self, tiny_models: Path):
        model = load_model(tiny_models / "bytes")
        pieces: list[str] = []
        found = inlaid.generate(model, "三", stream=pieces.append)
        assert found.texts[0].text == "大"
        assert found.texts[0].tokens == ("<0xE5>", "<0xA4>", "<0xA7>", "<|end|>")
        assert [piece for piece in pieces if piece] == ["三", "大"]
        growing = GrowingText(Tokens(model.tokenizer), [])
        ids = model.tokenizer.encode("a山b").ids
        assert [growing.add(id) for id in ids] == ["a", "", "", "山", "b"]
        half = GrowingText(Tokens(model.tokenizer), [])
        assert [half.add(id) for id in ids[:3]] == ["a", "", ""]
        assert half.finish() == "\ufffd"

    def test_a_terminal_shows_text_while_it_is_made(self, tiny_models: Path, in_terminal: Callable[..., Any]):
        """In a real pseudo-terminal no bar comes between the pieces."""
        words = ["generate", "decoder", "I"]
        ended = in_terminal(f"from inlaid.cli import main; raise SystemExit(main({words!r}))", tiny_models)
        assert ended.code == 0
        assert ended.shown.replace("\r\n", "\n").endswith("I saw her .\n")
        assert "\x1b[2K" not in ended.shown

    def test_a_file_and_standard_input(self, typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "prompts.txt").write_text("I\nlike\n", "utf-8")
        expected = "I saw her .\nlike tea .\n"
        assert typed("generate", "decoder", "--file", str(tmp_path / "prompts.txt")) == expected
        code = "import sys; from inlaid.cli import main; sys.exit(main(['generate', 'decoder', '-']))"
        ended = subprocess.run([sys.executable, "-c", code], input=b"I\nlike\n", capture_output=True)
        assert ended.stdout.decode() == expected

    def test_the_folder_says_how(self, tiny_models: Path, tmp_path: Path, typed: Any):
        folder = tmp_path / "beams"
        folder.mkdir()
        for path in (tiny_models / "decoder").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / "generation_config.json").write_text(json.dumps({"num_beams": 2, "eos_token_id": 7}))
        assert typed("generate", str(folder), "I") == "I like tea .\n"
        assert typed("generate", str(folder), "I", "--method", "greedy") == "I saw her .\n"


class TestTrace:
    def test_steps(self, typed: Any):
        lines = typed("generate", "decoder", "I", "--trace").splitlines()
        assert lines[0] == "start: I"
        assert lines[1].split()[:5] == ["1", "saw", "0.550", "like", "0.450"]
        assert lines[1].endswith("-> saw 0.550")
        assert lines[3].endswith("-> . 1.000 (end)")
        assert lines[4] == "I saw her ."
        found = json.loads(typed("generate", "decoder", "I", "--trace", "--json"))["texts"][0]["trace"]
        assert [len(step["likeliest"]) for step in found["steps"]] == [5, 5, 5]
        assert [step["chosen"]["token"] for step in found["steps"]] == ["saw", "her", "."]
        assert [step["ends"] for step in found["steps"]] == [False, False, True]

    def test_a_tree_of_beams(self, typed: Any):
        lines = typed("generate", "decoder", "I", "--beams", "2", "--trace").splitlines()
        assert lines[:3] == ["start: I", "├ saw  -0.598  kept", "│ ├ her  -1.514  kept"]
        assert "│   ├ .  -0.904  best" in lines
        assert "│ ├ him  -1.648  dropped" in lines
        assert lines[-1] == "I like tea ."
        tree = json.loads(typed("generate", "decoder", "I", "--beams", "2", "--trace", "--json"))
        nodes = tree["texts"][0]["trace"]["tree"]
        path = [next(node for node in nodes if node["fate"] == "best")]
        while path[0]["parent"] is not None:
            path.insert(0, nodes[path[0]["parent"]])
        assert [node["token"] for node in path] == ["like", "tea", "."]
        for step in (1, 2):
            assert sum(node["step"] == step and node["fate"] == "kept" for node in nodes) == 2

    def test_a_translation_starts_from_the_start_token(self, typed: Any):
        found = json.loads(typed("translate", "seq2seq", "我 打 你", "--trace", "--json"))["translations"][0]
        assert found["trace"]["start"] == ["<pad>"]
        assert len(found["trace"]["steps"]) <= 24
        said = [step["chosen"]["token"] for step in found["trace"]["steps"]]
        assert " ".join(word for word in said if word != "</s>") == found["translation"]


class TestNext:
    def test_the_distribution(self, typed: Any):
        found = json.loads(typed("next", "decoder", "I", "-n", "2", "--json"))
        assert [each["token"] for each in found["tokens"]] == ["saw", "like"]
        assert [each["probability"] for each in found["tokens"]] == pytest.approx([0.55, 0.45], abs=1e-4)
        assert found["read"] == ["I"]
        assert typed("next", "decoder", "like", "-n", "1") == "0.9000  tea\n"

    def test_by_layer(self, typed: Any):
        found = json.loads(typed("next", "decoder", "I", "--layers", "--json"))
        assert [each["layer"] for each in found["layers"]] == [0, 1, 2]
        assert found["layers"][-1]["tokens"] == found["tokens"]

    def test_a_seq2seq_starts_its_answer(self, typed: Any):
        first = json.loads(typed("next", "seq2seq", "我 打 你", "-n", "1", "--json"))
        assert first["read"] == ["<pad>"]
        said = typed("translate", "seq2seq", "我 打 你", "--max-new-tokens", "1").split()
        assert said == [first["tokens"][0]["token"]]
        second = json.loads(typed("next", "seq2seq", "我 打 你", "--target", said[0], "-n", "1", "--json"))
        assert second["read"] == ["<pad>", said[0]]


class TestTranslate:
    TEXTS = (
        "我 打 你",
        "好 久 不 见",
        "你",
        "我 你 打 好 久 不 见 我 你",
        "打 你",
        "我",
        "不 见",
        "你 打 我",
    )

    def test_order_and_batches_change_nothing(self, typed: Any):
        together = typed("translate", "seq2seq", *self.TEXTS, "--batch", "3").splitlines()
        alone = [typed("translate", "seq2seq", text).rstrip("\n") for text in self.TEXTS]
        assert together == alone
        assert len(set(alone)) > 1
        beams = typed("translate", "seq2seq", *self.TEXTS, "--batch", "3", "--beams", "3").splitlines()
        assert beams == [
            typed("translate", "seq2seq", text, "--beams", "3").rstrip("\n") for text in self.TEXTS
        ]

    def test_files(self, typed: Any, tmp_path: Path):
        source = tmp_path / "in.tsv"
        source.write_text("id\tzh\n1\t我 打 你\n2\t\n3\t你 打 我\n", "utf-8")
        words = ("translate", "seq2seq", "--file", str(source), "--column", "zh")
        lines = typed(*words).splitlines()
        assert len(lines) == 3
        assert lines[1] == ""
        output = tmp_path / "out.txt"
        assert typed(*words, "-o", str(output)) == f"{output}: 3 translations\n"
        assert output.read_text("utf-8").splitlines() == lines
        typed(*words, "-o", str(tmp_path / "out.jsonl"))
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
        assert [row["translation"] for row in rows] == lines
        assert rows[0]["text"] == "我 打 你"
        typed(*words, "-o", str(tmp_path / "out.tsv"))
        assert (tmp_path / "out.tsv").read_text("utf-8").startswith(f"我 打 你\t{lines[0]}\n")
        assert ".txt, .tsv, .jsonl" in typed(*words, "-o", str(tmp_path / "out.doc"), code=2)

    def test_in_python(self, tiny_models: Path):
        model = load_model(tiny_models / "seq2seq")
        found = inlaid.translate(model, (text for text in self.TEXTS), beams=2)
        assert [each.text for each in found.translations] == list(self.TEXTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("generate", "masked", "我"),
            "A model of kind encoder cannot generate text. Use `inlaid fill` with it.",
        ),
        (("translate", "decoder", "I"), "Use `inlaid generate` with it."),
        (("next", "masked", "我"), "Use `inlaid fill` with it."),
        (
            ("fill", "decoder", "I ___"),
            "A model of kind decoder cannot fill a blank. Use `inlaid generate` with it.",
        ),
        (("fill", "seq2seq", "我 ___"), "Use `inlaid translate` with it."),
        (("generate", "decoder"), "There is no text."),
        (("generate", "decoder", " "), "The text is empty."),
        (("generate", "decoder", "猫狗"), "knows nothing of the text '猫狗'"),
        (("generate", "nothing", "I"), "There is no folder 'nothing'."),
        (("generate", "decoder", "I", "--beams", "2", "--top-k", "3"), "top_k is for sampling, and beams"),
        (
            ("generate", "decoder", "I", "--method", "greedy", "--top-p", "0.5"),
            "top_p is for the method sample",
        ),
        (("next", "decoder", "I", "--target", "saw"), "A target is for models with an encoder"),
        (("translate", "seq2seq", " ".join(["我"] * 30)), "has 31 tokens; this model takes 24."),
        (("generate", "decoder", "decoder/config.json"), "Read it with --file decoder/config.json."),
        (("generate", "decoder", "I", "--file", "x.txt"), "Texts and a file are given."),
        (("generate", "decoder", "--file", "x.txt"), "There is no file 'x.txt'."),
        (
            ("generate", "decoder", "I", "--device", "nothing"),
            "No network can be put on the device 'nothing'",
        ),
    ],
)
def test_what_cannot_work_is_one_line(typed: Any, words: tuple[str, ...], said: str):
    error = typed(*words, code=2)
    assert said in error
    assert error.count("\n") == 1
    assert error.startswith("error: ")


def test_chinese_by_wordpiece_has_no_spaces():
    """As in vocabularies of BERT, with which many Chinese decoders were trained."""
    words = ["[UNK]", "山", "上", "有", "，", "a", "cat", "##s"]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: id for id, word in enumerate(words)}, unk_token="[UNK]")
    )
    made.decoder = tokenizers.decoders.WordPiece()
    tokens = Tokens(made)
    assert tokens.text([1, 2, 4, 3, 5, 6, 7, 1]) == "山上，有 a cats 山"
    assert tokens.continuation([1, 2], [3, 5]) == "有 a"
    growing = GrowingText(tokens, [1])
    assert [growing.add(id) for id in (2, 3, 5, 6, 7)] == ["上", "有", " a", " cat", "s"]


def test_unknown_words_are_noted(tiny_models: Path):
    notes: list[Any] = []
    inlaid.generate(load_model(tiny_models / "decoder"), "猫 I", report=notes.append)
    assert "does not know 猫" in str(notes[0])


def test_without_torch_the_error_names_the_extra(tiny_models: Path, monkeypatch: pytest.MonkeyPatch):
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Missing())
from inlaid.cli import main
for command in (["generate"], ["translate"], ["next"], ["fill"], ["embed"]):
    assert main([*command, {str(tiny_models / "decoder")!r}, "I ___"]) == 2
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("run `pip install 'inlaid[neural]'`") == 5


def test_a_python_caller_is_told_what_to_load():
    with pytest.raises(
        SettingError, match="generate takes a model; found str. Load one with inlaid.load_mod"
    ):
        check_use("folder", "generate")


@pytest.mark.parametrize(
    ("token", "shown"),
    [("Ġking", '" king"'), ("▁国王", '" 国王"'), ("ĠĠĠ", '"   "'), ("国王", "国王"), ("##ing", "##ing")],
)
def test_tokens_show_the_spaces_before_them(token: str, shown: str):
    from inlaid.study.use.encoding import visible
    from inlaid.study.use.next import LikelyToken, NextTokens
    from inlaid.study.use.trace import Step, Trace

    likely = LikelyToken(token, 3, 0.5)
    assert visible(token) == shown
    assert NextTokens(text="a", read=("a",), tokens=(likely,)).rows() == [("0.5000", shown)]
    start, step = Trace(start=(token,), steps=(Step((likely,), likely, ends=True),)).rows()
    assert str(start) == f"start: {shown}"
    assert step[1] == f"{shown} 0.500"
    assert str(step[-1]) == f"-> {shown} 0.500 (end)"


def test_what_a_model_cannot_do_is_said_in_words(typed: Any):
    assert "encoder cannot predict the next token. Use `inlaid fill`" in typed("next", "masked", "我", code=2)


def test_info_and_verify_know_the_folder_of_a_model(typed: Any):
    found = json.loads(typed("info", "masked", "--json"))
    assert (found["kind"], found["family"], found["network"]) == ("model", "inlaid", "encoder")
    assert "is the folder of a model" in typed("verify", "masked", code=2)
