"""The method bilm: it learns what is planted in a text, resumes to the bit, and its folder embeds text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import inlaid  # noqa: E402
from inlaid import cli  # noqa: E402
from inlaid.encode.corpus import Corpus, Encoding, encode  # noqa: E402
from inlaid.encode.word_characters import characters_of  # noqa: E402
from inlaid.errors import SettingError  # noqa: E402
from inlaid.fit.bilm import BiLM  # noqa: E402
from inlaid.fit.masked import Masked  # noqa: E402
from inlaid.fit.networks.losses import both_directions_loss  # noqa: E402
from inlaid.jobs.checkpoint import identity_of  # noqa: E402
from inlaid.jobs.run import run  # noqa: E402
from inlaid.jobs.safety import Safety  # noqa: E402
from inlaid.neural.bilm import character_ids  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.spelled_texts import spelled_texts  # noqa: E402

SMALL: dict[str, Any] = {"dim": 24, "cell_dim": 48, "batch_tokens": 200, "learning_rate": 0.01}
FLAGS = ["--dim", "24", "--cell-dim", "48", "--batch-tokens", "200", "--min-count", "1"]
ANIMALS = ("cat", "dog", "hen", "owl", "猫", "狗")
SOUNDS = ("meows", "barks", "clucks", "hoots", "睡觉", "跑步")
DAYS = ("monday", "sunday", "friday")


def planted(count: int = 300) -> list[str]:
    """Each animal makes its sound, on any day: one is known from the left, one from the right."""
    random = np.random.default_rng(1)
    found = list[str]()
    for animal, day in zip(random.integers(0, 6, count), random.integers(0, 3, count), strict=True):
        found.append(f"{DAYS[day]} the {ANIMALS[animal]} {SOUNDS[animal]} loudly")
    return found


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return encode(planted(), BiLM().prepared(Encoding(min_count=1)))


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> Any:
    return inlaid.train(corpus, BiLM(**SMALL, epochs=30, dropout=0.0))


def held_out(model: Any) -> float:
    return model.card.outcome.marks[-1].held_out


def logits(model: Any, sentence: str) -> tuple[Any, Any]:
    with torch.no_grad():
        batch = model._batch([sentence])
        read = model.network(batch.ids, batch.mask)
    return read.forward_logits[0], read.backward_logits[0]


@pytest.mark.parametrize(("animal", "sound"), list(zip(ANIMALS, SOUNDS, strict=True)))
def test_each_direction_learns_what_its_side_decides(model: Any, animal: str, sound: str):
    forward, backward = logits(model, f"monday the {animal} {sound} loudly")
    name = model.tokenizer.id_to_token
    # boundary, monday, the, animal, sound, loudly, boundary
    assert name(int(forward[3].argmax())) == sound
    assert name(int(backward[4].argmax())) == animal
    assert name(int(forward[5].argmax())) == "[SEP]"
    assert name(int(backward[1].argmax())) == "[CLS]"


def test_the_held_out_loss_is_that_of_the_planted_choices(model: Any):
    """Forward and backward alike, a sentence of 6 targets leaves a day and an animal open."""
    best = (math.log(len(DAYS)) + math.log(len(ANIMALS))) / 6
    assert held_out(model) == pytest.approx(best, abs=0.1)


@pytest.mark.parametrize("characters", [True, False])
@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_the_first_loss_is_that_of_guessing(characters: bool, preset: Any):
    words = [f"w{number:03}" for number in range(400)]
    text = encode([" ".join(words[at : at + 8]) for at in range(0, 400, 8)] * 5, Encoding(min_count=1))
    training: Any = BiLM(characters=characters, preset=preset).start(text)
    training.network.eval()
    loss = training.loss(training.network, training.batches.batch(0, 0))
    size = training.network.config.vocab_size
    assert float(loss.total.detach()) / loss.targets == pytest.approx(math.log(size), rel=0.1)


def test_the_loss_is_the_mean_of_both_cross_entropies(corpus: Corpus):
    """With padding, which changes nothing, and each distinct word computed once."""
    training: Any = BiLM(**SMALL).start(corpus)
    network = training.network.eval()
    spread = np.concatenate(
        [training.batches._rows(np.array([0, 5])), [np.array([1, 2], np.int32)]], axis=None
    )
    rows = [spread[:5], spread[5:10], spread[10:]]
    batch = training.batches.make(rows, 0, 0)
    assert not batch.real.all()
    with torch.no_grad():
        found = both_directions_loss(network, batch)
        words = [[corpus.vocabulary.words[int(id)] for id in row] for row in rows]
        total = 0.0
        for sentence, row in zip(words, rows, strict=True):
            read = network(character_ids([sentence], 50)[0])
            ids = torch.tensor([training.batches.start, *row.tolist(), training.batches.end])
            for rest in (read.forward_logits[0, :-1], ids[1:]), (read.backward_logits[0, 1:], ids[:-1]):
                total += float(torch.nn.functional.cross_entropy(*rest, reduction="sum"))
    assert found.targets == sum(len(row) + 1 for row in rows)
    assert float(found.total) == pytest.approx(total / 2, rel=1e-5)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("characters", [True, False])
def test_a_run_resumes_to_the_bit(corpus: Corpus, tmp_path: Path, characters: bool):
    method = BiLM(**SMALL, epochs=2, characters=characters)
    identity = identity_of("bilm", {}, "c0ffee")
    whole: Any = method.start(corpus)
    run(whole, Safety(), identity)
    safety = Safety(checkpoint=tmp_path / "a.checkpoint", checkpoint_minutes=0.0)
    stopped: Any = method.start(corpus)
    steps = stopped.step
    left = iter(range(5))

    def step(done: int) -> Any:
        if next(left, None) is None:
            raise Killed
        return steps(done)

    stopped.step = step
    with pytest.raises(Killed):
        run(stopped, safety, identity)
    resumed: Any = method.start(corpus)
    resuming = Safety(checkpoint=tmp_path / "a.checkpoint", checkpoint_minutes=0.0, resume=True)
    run(resumed, resuming, identity)
    bits = [
        {name: array.tobytes() for name, array in each.state.arrays().items()} for each in (whole, resumed)
    ]
    assert bits[0] == bits[1]


def test_a_saved_folder_embeds_the_same(model: Any, tmp_path: Path):
    save_model(model, tmp_path / "bilm")
    again = load_model(tmp_path / "bilm")
    assert again.config == model.config
    texts = ["Monday the cat meows loudly", "the 狗跑步 loudly", "the zebra sleeps"]
    for layer in (0, 1, -1):
        found = model.embed(texts, layer=layer)
        assert found.shape == (3, 48)
        # not to the bit: products of tensors with another memory layout may round differently
        np.testing.assert_allclose(again.embed(texts, layer=layer), found, atol=1e-6)
        one_by_one = np.stack([again.embed(text, layer=layer) for text in texts])
        np.testing.assert_allclose(one_by_one, found, atol=1e-5)


def test_a_text_is_the_mean_of_its_words_without_boundaries(model: Any):
    text = "monday the cat meows"
    with torch.no_grad():
        layers = model.network(*character_ids([text.split()])).layers
    for layer in (0, 1, 2):
        expected = layers[layer][0, 1:-1].numpy()
        np.testing.assert_allclose(model.embed(text, layer=layer), expected.mean(0), atol=1e-5)
        (words,) = model.embed_words([text], layer=layer)
        assert words.words == text.split()
        np.testing.assert_allclose(words.table, expected, atol=1e-5)


def test_words_out_of_the_vocabulary_are_read_by_their_characters(model: Any):
    """Upper case is normalized as the text was; two unknown words are two vectors."""
    one, two, three = model.embed_words(["the Zebra meows", "the zebra meows", "the zebu meows"], layer=0)
    np.testing.assert_allclose(one.table, two.table, atol=1e-6)
    assert not np.allclose(two.table[1], three.table[1], atol=1e-3)
    with torch.no_grad():
        expected = model.network(*character_ids([["zebra"]])).layers[0][0, 1]
    np.testing.assert_allclose(one.table[1], expected.numpy(), atol=1e-5)


def test_a_context_decides_the_vector_of_a_word(model: Any):
    """loudly after the sounds of two animals: the same word vector, other layers."""
    low = model.embed_words(["the cat meows loudly", "the dog barks loudly"], layer=0)
    high = model.embed_words(["the cat meows loudly", "the dog barks loudly"])
    np.testing.assert_allclose(low[0].table[3], low[1].table[3], atol=1e-6)
    assert not np.allclose(high[0].table[3], high[1].table[3], atol=1e-2)


@pytest.mark.parametrize("text", ["", "  \n", "?!"])
def test_a_text_without_words_is_refused(model: Any, text: str):
    with pytest.raises(SettingError, match="no tokens"):
        model.embed(["the cat", text])


def test_a_long_word_is_noted(model: Any, corpus: Corpus):
    notes = list[Any]()
    model.embed("the " + "x" * 60, report=notes.append)
    assert "1 of 4 words have more than 48 bytes" in str(notes[0])
    notes.clear()
    BiLM(**SMALL, max_characters=7).start(corpus, notes.append)
    assert "of 18 words have more than 5 bytes" in str(notes[0])


@pytest.mark.parametrize(
    ("tokenizer", "sized"), [("bpe", {"subwords": 300}), ("wordpiece", {"subwords": 90}), ("char", {})]
)
def test_subwords_are_spelled_alike_in_training_and_in_use(tokenizer: str, sized: dict[str, Any]):
    text = [f"{sentence} über café" for sentence in planted(60)]
    found: Any = inlaid.train(text, BiLM(**SMALL, epochs=1), tokenizer=tokenizer, min_count=1, **sized)
    corpus = inlaid.corpus(
        text, encoding=BiLM().prepared(Encoding(tokenizer=tokenizer, min_count=1, **sized))
    )
    training: Any = BiLM(**SMALL).start(corpus)
    spelled = spelled_texts(found.tokenizer, text[:20], found.config, print)
    used = characters_of(spelled.words, 50)
    known = {row.tobytes() for row in training.batches.characters}
    assert len(spelled.words) > 15
    assert {row.tobytes() for row in used} <= known
    assert found.embed(text[:3]).shape == (3, 48)


def test_a_model_goes_on_training(model: Any, corpus: Corpus, tmp_path: Path):
    save_model(model, tmp_path / "bilm")
    start: Any = BiLM(init_from=tmp_path / "bilm").start(corpus)
    for name, weight in start.network.state_dict().items():
        assert torch.equal(weight, model.network.state_dict()[name])
    more = inlaid.train(corpus, BiLM(init_from=tmp_path / "bilm", epochs=1, learning_rate=1e-4))
    assert held_out(more) == pytest.approx(held_out(model), abs=0.05)
    with pytest.raises(SettingError, match=r"dim is 13, and .* has 24. Leave out dim"):
        BiLM(init_from=tmp_path / "bilm", dim=13).start(corpus)
    with pytest.raises(SettingError, match="characters is False"):
        BiLM(init_from=tmp_path / "bilm", characters=False).start(corpus)
    with pytest.raises(SettingError, match="of the kind bilm; this method trains one of the kind encoder"):
        Masked(init_from=tmp_path / "bilm").start(corpus)


def test_vectors_start_a_table_and_not_characters(corpus: Corpus, tmp_path: Path):
    vectors = inlaid.train(corpus, "ppmi", dim=16)
    inlaid.save(vectors, tmp_path / "v.inlaid")
    settings: dict[str, Any] = {
        **SMALL,
        "dim": 16,
        "init_from": tmp_path / "v.inlaid",
        "freeze": True,
        "epochs": 1,
    }
    with pytest.raises(SettingError, match="Turn off characters"):
        BiLM(**settings).start(corpus)
    method = BiLM(**settings, characters=False)
    before: Any = method.start(corpus)
    found = inlaid.train(corpus, method)
    assert np.array_equal(found.input_vectors().table, before.network.tokens.weight.numpy())


def test_an_original_elmo_cannot_go_on_training(corpus: Corpus, tmp_path: Path, model: Any):
    folder = tmp_path / "bilm"
    save_model(model, folder)
    raw = json.loads((folder / "config.json").read_text())
    raw["config"]["head"]["kind"] = "none"
    (folder / "config.json").write_text(json.dumps(raw))
    with pytest.raises(SettingError, match="no output layer"):
        BiLM(init_from=folder).start(corpus)


def test_dropout_is_in_training_alone(corpus: Corpus):
    training: Any = BiLM(**SMALL, dropout=0.5).start(corpus)
    batch = training.batches.batch(0, 0)

    def losses() -> Iterator[float]:
        for _ in range(2):
            yield float(training.loss(training.network, batch).total.detach())

    training.network.train()
    assert len(set(losses())) == 2
    training.network.eval()
    assert len(set(losses())) == 1


# ---- The command line


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(planted()), "utf-8")
    folder = tmp_path / "bilm"
    assert cli.main(["train", "bilm", str(text), "-o", str(folder), *FLAGS, "--epochs", "1"]) == 0
    assert "by bilm" in capsys.readouterr().out
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["method"] == "bilm"
    assert (card["settings"]["layers"], card["settings"]["cell_dim"]) == (2, 48)
    assert card["outcome"]["marks"][-1]["held_out"] < math.log(20)
    assert load_model(folder).embed(["the cat", "猫睡觉"]).shape == (2, 48)
    assert cli.main(["inspect", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "2 layers in each direction" in shown
    assert "output layer: config not tied, names not tied, content no evidence; they agree" in shown
    assert "head.table" in shown


@pytest.mark.parametrize("flag", ["--heads", "--positions", "--norm", "--activation", "--tied"])
def test_what_an_lstm_has_not_is_not_offered(flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "text.txt").write_text("a b")
    with pytest.raises(SystemExit):
        cli.main(["train", "bilm", "--help"])
    assert flag not in capsys.readouterr().out.split()
    with pytest.raises(SystemExit):
        cli.main(["train", "masked", "--help"])
    assert flag in capsys.readouterr().out.replace("--no-", "--").split()


@pytest.mark.parametrize("content", ["", "\n\n", "?!\n"])
def test_an_empty_text_is_an_error(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "text.txt").write_text(content)
    assert cli.main(["train", "bilm", str(tmp_path / "text.txt"), "-o", str(tmp_path / "m"), *FLAGS]) != 0
    assert "error" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
