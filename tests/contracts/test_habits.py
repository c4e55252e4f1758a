"""What other tools call a setting is answered with our name for it: by keyword, by flag and in TOML."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import registry
from inlaid.config import settings_of, unknown_setting
from inlaid.encode.corpus import Encoding
from inlaid.encode.phrases import Phrases
from inlaid.errors import UnknownName
from inlaid.formats.reading import Reading
from inlaid.habits import BY_NAME, HABITS, TRAINING
from inlaid.study.search.neighbors import NeighborsSettings

TEXT = ["a b c a b c"] * 20
GENSIM = "vector_size size alpha min_alpha sample negative sg hs iter ns_exponent cbow_mean max_vocab_size"
FASTTEXT = "lr ws neg minn maxn bucket wordNgrams thread epoch minCount t lrUpdateRate pretrainedVectors loss"
GLOVE = "vector-size window-size x-max eta iter threads max-vocab symmetric"
TRAINERS = [*registry.entries("method"), *registry.entries("classifier")]
OF_TRAINING = {
    TRAINING,
    *(field.name for entry in TRAINERS for field in dataclasses.fields(entry.load())),
    *(field.name for field in dataclasses.fields(Encoding)),
}


def known_to(name: str) -> set[str]:
    """What a method and its encoding have."""
    return {
        each.name for kind in (registry.find("method", name), Encoding) for each in dataclasses.fields(kind)
    }


def test_every_habit_leads_to_a_setting_that_exists():
    others = {
        field.name for kind in (Phrases, Reading, NeighborsSettings) for field in dataclasses.fields(kind)
    }
    flags = {"output", "encoding", "n", "init_from"}
    for habit in HABITS:
        assert not habit.setting or habit.setting in OF_TRAINING | others | flags, habit
        assert habit.setting or habit.more, habit
    names = [typed for habit in HABITS for typed in habit.typed.split()]
    assert len(names) == len(BY_NAME)  # none is there twice


@pytest.mark.parametrize("name", [*GENSIM.split(), *FASTTEXT.split(), *GLOVE.split()])
@pytest.mark.parametrize("method", [entry.name for entry in registry.entries("method")])
def test_no_name_of_gensim_fasttext_or_glove_is_met_with_silence(name: str, method: str):
    """It is a setting here, or the answer says what it is called, who has it, or why there is none."""
    known = known_to(method)
    if name.replace("-", "_") in known:
        return
    error = str(unknown_setting(name, known))
    assert re.search(r"is called `\w+` here|There is no `\S+` here\. \w|is a setting of: \w", error), error
    called = re.search(r"is called `(\w+)` here", error)
    assert called is None or called[1] in known


ANSWERS = {
    "vector_size": "`vector_size` is called `dim` here.",
    "vector-size": "`vector-size` is called `dim` here.",
    "alpha": "`alpha` is called `learning_rate` here.",
    "minCount": "`minCount` is called `min_count` here.",
    "sg": "`sg` is called `objective` here. 1 is skipgram, 0 is cbow.",
    "hs": "There is no `hs` here. Hierarchical softmax is not offered; negative sampling is the default.",
    "min_alpha": "There is no `min_alpha` here. The learning rate falls to almost zero: leave it out.",
    "x_max": "No setting is called 'x_max'. `x_max` is a setting of: glove.",
    "wordNgrams": "No setting is called 'wordNgrams'. `word_ngrams` is a setting of: ngrams.",
    "minn": "No setting is called 'minn'. `min_n` is a setting of: fasttext, ngrams.",
}


@pytest.mark.parametrize(("theirs", "answer"), ANSWERS.items())
def test_by_keyword_and_in_toml(theirs: str, answer: str, tmp_path: Path, typed: Any):
    with pytest.raises(UnknownName) as raised:
        inlaid.train(TEXT, "sgns", **{theirs: 1})
    assert str(raised.value) == answer
    with pytest.raises(UnknownName) as raised:
        inlaid.plan(TEXT, "word2vec", **{theirs: 1})
    assert str(raised.value) == answer
    (tmp_path / "text.txt").write_text("\n".join(TEXT))
    (tmp_path / "c.toml").write_text(f"{theirs} = 1\n")
    words = [
        str(tmp_path / "text.txt"),
        "-o",
        str(tmp_path / "v.inlaid"),
        "--config",
        str(tmp_path / "c.toml"),
    ]
    assert answer in typed("train", "sgns", *words, code=2).err


FLAGS = {
    "-size": "-size is called --dim here.",
    "-dim": "-dim is called --dim here.",
    "-minCount": "-minCount is called --min-count here.",
    "-output": "-output is called --output here.",
    "--vector-size": "--vector-size is called --dim here.",
    "--cbow": "--cbow is called --objective here. 1 is cbow, 0 is skipgram.",
    "--hs": "There is no option --hs. Hierarchical softmax is not offered",
    "-train": "There is no option -train. The text is named first",
    "--x-max": "There is no option --x-max. `x_max` is a setting of: glove.",
}


@pytest.mark.parametrize(("flag", "answer"), FLAGS.items())
def test_by_flag(flag: str, answer: str, typed: Any):
    error = typed("train", "sgns", "text.txt", "-o", "v.inlaid", flag, "3", code=2).err
    assert answer in error
    assert error.count("\n") == 1


def test_a_classifier_answers_too(typed: Any):
    for theirs, answer in {"lr": "`learning_rate`", "wordNgrams": "`word_ngrams`", "minn": "`min_n`"}.items():
        with pytest.raises(UnknownName, match=f"`{theirs}` is called {answer} here"):
            inlaid.train_classifier(["good", "bad"], ["a", "b"], **{theirs: 1})
    with pytest.raises(
        UnknownName, match=r"No setting is called 'lr'. `learning_rate` is a setting of: sgns,"
    ):
        inlaid.train_classifier(["good", "bad"], ["a", "b"], "logistic", embedder="v.inlaid", lr=1)
    for theirs, answer in {"-lr": "--learning-rate", "-wordNgrams": "--word-ngrams"}.items():
        error = typed("classify", "train", "t.tsv", "-o", "c.classifier", theirs, "2", code=2).err
        assert f"{theirs} is called {answer} here." in error


def test_a_setting_that_a_method_has_is_never_taken_for_that_of_another_tool():
    assert inlaid.train(TEXT, "glove", alpha=0.5, epochs=1, dim=3).card.settings["alpha"] == 0.5


@pytest.mark.parametrize(
    ("name", "objective"), [("word2vec", "skipgram"), ("skipgram", "skipgram"), ("cbow", "cbow")]
)
def test_names_of_word2vec_are_methods(name: str, objective: str, tmp_path: Path, typed: Any):
    card = inlaid.train(TEXT, name, dim=3, epochs=1).card
    assert (card.method, card.settings["objective"]) == ("sgns", objective)
    (tmp_path / "text.txt").write_text("\n".join(TEXT))
    output = tmp_path / "v.inlaid"
    typed("train", name, str(tmp_path / "text.txt"), "-o", str(output), "--dim", "3", "--epochs", "1")
    assert inlaid.load(output).card.settings["objective"] == objective


def test_a_command_that_trains_nothing_takes_words_like_those_for_words(typed: Any):
    """-sample is a word to subtract here, not an option."""
    with pytest.raises(UnknownName, match="`topn` is called `n` here"):
        settings_of(NeighborsSettings, {"topn": 3})
    assert "--hs. (" in typed("world", "-o", "w.txt", "--hs", "1", code=2).err
    error = typed("analogy", "no.inlaid", "-sample", code=2).err
    assert "no file" in error.lower()
