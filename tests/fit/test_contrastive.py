"""Sentence embeddings from pairs: what is planted is found, runs resume to the bit, bad input is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from inlaid import cli, pipeline, storage  # noqa: E402
from inlaid.encode.corpus import Encoding, encode  # noqa: E402
from inlaid.errors import SourceError  # noqa: E402
from inlaid.feed.contrastive_text import ContrastiveText, even_bounds  # noqa: E402
from inlaid.fit.networks.losses import ContrastiveLoss  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402
from inlaid.neural.pooling import POOLINGS, pool, pool_padded  # noqa: E402
from inlaid.report import silent  # noqa: E402
from inlaid.vectors import Vectors  # noqa: E402

ENGLISH = {"猫": "cat", "狗": "dog", "坐": "sits", "跑": "runs", "大": "big", "小": "small", "红": "red"}
TINY = ["--dim", "16", "--layers", "1", "--tokenizer", "whitespace", "--min-count", "1"]


def translations(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Different sentences and their translations, word by word."""
    random = np.random.default_rng(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        words = random.choice(list(ENGLISH), random.integers(2, 6))
        found[" ".join(words)] = " ".join(ENGLISH[word] for word in words)
    return list(found.items())


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{one}\t{two}\n" for one, two in translations(400)), encoding="utf-8")
    return path


def train(*words: object) -> int:
    return cli.main(["train", "contrastive", *map(str, words)])


def share_found(embed: Any) -> float:
    """How often the translation of a sentence is the nearest of all."""
    given = translations(60, seed=2)
    sides = [embed([pair[side] for pair in given]) for side in (0, 1)]
    one, two = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    return float(((one @ two.T).argmax(1) == np.arange(len(given))).mean())


def test_translations_are_found_with_all_components_and_with_some(pairs: Path, tmp_path: Path):
    out = tmp_path / "model"
    assert train(pairs, "-o", out, *TINY, "--epochs", 30, "--learning-rate", 0.01, "--dims", 8) == 0
    model = load_model(out)
    assert share_found(model.embed) > 0.5  # chance: 0.017
    assert share_found(lambda texts: model.embed(texts)[:, :8]) > 0.3
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    assert card["method"] == "contrastive"
    assert card["outcome"]["reason"] == "finished"
    assert card["outcome"]["marks"][-1]["held_out"] < card["outcome"]["marks"][0]["held_out"]


def test_word_vectors_learn_to_be_near_their_translations(pairs: Path, tmp_path: Path):
    words = [*ENGLISH, *ENGLISH.values()]
    table = np.random.default_rng(1).standard_normal((len(words), 12)).astype(np.float32)
    storage.save(Vectors.of(words, table), tmp_path / "v.inlaid")
    fast = ["--epochs", 40, "--learning-rate", 0.05]
    out = tmp_path / "out"
    assert train(pairs, "-o", out, "--init-from", tmp_path / "v.inlaid", *fast) == 0
    found = storage.load(out)
    assert list(found.words)[: len(words)] == words
    assert found.card.method == "contrastive"
    for chinese, english in ENGLISH.items():
        one, two = found[chinese], found[english]
        assert one @ two > 0.9 * np.linalg.norm(one) * np.linalg.norm(two)
    assert (out / "modules.json").is_file()


def test_vectors_of_a_folder_read_capitals_as_before(tmp_path: Path):
    """The tokenizer of the folder lower-cases: after training, 'Cat' must not become an unknown word."""
    texts = ["Cat eats fish", "Dog eats meat", "Cow eats grass"] * 5
    start = tmp_path / "start"
    trained = pipeline.train(texts, "ppmi", dim=3, min_count=1, report=silent)
    storage.save(trained, start, format="static-embedding", report=silent)
    (tmp_path / "pairs.tsv").write_text("Cat\tfish\nDog\tmeat\nCow\tgrass\n", "utf-8")
    assert train(tmp_path / "pairs.tsv", "-o", tmp_path / "learned", "--init-from", start, "--epochs", 1) == 0
    before, after = (storage.load(path, report=silent) for path in (start, tmp_path / "learned"))
    assert after.card.encoding["normalize"] == before.card.encoding["normalize"]
    assert "Cat" in after
    again = tmp_path / "again"
    storage.save(after, again, format="static-embedding", report=silent)
    for folder in (start, tmp_path / "learned", again):
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        assert tokenizer.encode("Cat eats").tokens == ["cat", "eats"]


def test_a_stopped_run_resumes_to_the_bit(pairs: Path, tmp_path: Path):
    flags = [*TINY, "--epochs", 3, "--checkpoint-minutes", 0]
    assert train(pairs, "-o", tmp_path / "whole", *flags) == 0
    given = {"dim": 16, "layers": 1, "tokenizer": "whitespace", "min_count": 1, "epochs": 3}

    class StopError(Exception):
        pass

    def stop(event: Any) -> None:
        if getattr(event, "stage", "") == "training" and event.done > event.total // 2:
            raise StopError

    from inlaid.jobs.safety import Safety

    safety = Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0)
    with pytest.raises(StopError):
        pipeline.train(pairs, "contrastive", safety=safety, report=stop, **given)
    safety = Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0, resume=True)
    resumed = pipeline.train(pairs, "contrastive", safety=safety, **given)
    whole = load_model(tmp_path / "whole").network.state_dict()
    for name, tensor in resumed.network.state_dict().items():
        assert torch.equal(tensor, whole[name]), name


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("猫\tcat\n", (), "two pairs or more"),
        ("\t\n \t \n", (), "no pairs of texts"),
        ("猫\tcat\n狗\tdog\n", ("--dims", "17"), "dims has 17, and the vectors have 16 components"),
        ("猫\tcat\n狗\tdog\n", ("--init-from", "nowhere"), "no file or folder 'nowhere'"),
        ("猫 坐\tcat sits\n狗 跑\tdog runs\n", ("--max-length", "2"), "special tokens are around every text"),
    ],
)
def test_bad_input_is_named(
    text: str, flags: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "pairs.tsv"
    path.write_text(text, encoding="utf-8")
    tiny = () if "--init-from" in flags else TINY
    assert train(path, "-o", tmp_path / "out", *tiny, *flags) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_an_encoder_without_a_tokenizer_is_named(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    start = tmp_path / "start"
    assert train(pairs, "-o", start, *TINY, "--epochs", 1) == 0
    for name in ("tokenizer.json", "words.json", "tokenizer_config.json"):
        (start / name).unlink(missing_ok=True)
    assert train(pairs, "-o", tmp_path / "out", "--init-from", start) != 0
    assert "tokenizer" in capsys.readouterr().err


def test_pairs_that_have_a_text_in_common_are_no_negatives():
    sides = [("猫", "cat"), ("猫", "kitten"), ("狗", "dog"), ("犬", "dog"), ("cat", "feline")]
    corpus = encode([side for pair in sides for side in pair], Encoding(tokenizer="whitespace", min_count=1))
    text = ContrastiveText(corpus=corpus, padding=0, max_length=8, pairs=5)
    batch = text.of(np.arange(5))
    expected = np.zeros((5, 5), bool)
    expected[0, 1] = expected[1, 0] = True  # the same source
    expected[2, 3] = expected[3, 2] = True  # the same target
    expected[4, 0] = True  # the source of one is the target of the other
    assert np.array_equal(batch.same, expected)


def test_the_loss_leaves_them_out():
    """One pair and its duplicate: without the mask, the loss would be log 2 for each."""
    from inlaid.feed.contrastive_text import ContrastiveBatch, TextBatch

    network = torch.nn.Embedding(3, 4)

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = network

        def forward(self, ids: Any, real: Any) -> Any:
            return self.table(ids[:, 0])

    side = TextBatch(np.array([[1], [1]]), np.ones((2, 1), bool))
    loss = ContrastiveLoss(20.0, (), symmetric=True)
    alone = loss(First(), ContrastiveBatch(side, side, np.array([[False, True], [True, False]])))
    assert float(alone.total.detach()) == pytest.approx(0.0, abs=1e-6)
    counted = loss(First(), ContrastiveBatch(side, side, np.zeros((2, 2), bool)))
    assert float(counted.total.detach()) == pytest.approx(2 * np.log(2), rel=1e-5)


def test_every_pair_is_in_one_batch_of_an_epoch_and_meets_others_in_the_next():
    corpus = encode(
        [side for pair in translations(200) for side in pair], Encoding(tokenizer="whitespace", min_count=1)
    )
    text = ContrastiveText(corpus=corpus, padding=0, max_length=8, pairs=16)
    seen = [[frozenset(map(tuple, text.batch(epoch, n).source.ids)) for n in range(13)] for epoch in (0, 1)]
    assert len(text.ends(0)) == 13
    assert text.ends(0)[-1] == text.ends(1)[-1]
    assert set(seen[0]) != set(seen[1])
    order = np.concatenate([text._epoch(0)[0]])  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted(order.tolist()) == list(range(200))


def test_batches_are_even():
    assert np.diff(even_bounds(65, 64)).tolist() == [32, 33]
    assert np.diff(even_bounds(3, 2)).tolist() == [3]  # none has one pair alone


def test_long_texts_are_cut_and_one_pair_is_refused():
    corpus = encode(["a b c d", "e", "a", "b"], Encoding(tokenizer="whitespace", min_count=1))
    text = ContrastiveText(corpus=corpus, padding=0, before=(9,), max_length=3, pairs=2)
    assert text.of(np.array([0])).source.ids.shape == (1, 3)
    with pytest.raises(SourceError, match="two pairs or more"):
        ContrastiveText(corpus=encode(["a", "b"], Encoding(min_count=1)), padding=0, max_length=3, pairs=2)


@pytest.mark.parametrize("name", POOLINGS)
def test_pooling_with_padding_is_pooling_without(name: str):
    torch.manual_seed(1)
    hidden = torch.randn(2, 5, 3)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    found = pool_padded(hidden, real, [name])
    torch.testing.assert_close(found[:1], pool(hidden[:1], [name]))
    torch.testing.assert_close(found[1:], pool(hidden[1:, :3], [name]))
