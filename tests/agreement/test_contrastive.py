"""`train contrastive` against sentence-transformers: the same losses step by step, the same embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)
peer = pytest.importorskip(
    "sentence_transformers", reason="sentence-transformers is not installed: pip install 'inlaid[peers]'"
)
tokenizers = pytest.importorskip("tokenizers")

from sentence_transformers.sentence_transformer import losses, modules  # noqa: E402

from inlaid import cli  # noqa: E402
from inlaid.encode.corpus import encode  # noqa: E402
from inlaid.fit.contrastive import Contrastive  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402

ENGLISH = {"猫": "cat", "狗": "dog", "坐": "sits", "跑": "runs", "大": "big", "小": "small"}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *ENGLISH, *ENGLISH.values()]


def pairs(count: int) -> list[tuple[str, str]]:
    """Different sentences of 1 to 6 words and their translations, word by word."""
    random = np.random.default_rng(1)
    found: dict[str, str] = {}
    while len(found) < count:
        words = random.choice(list(ENGLISH), random.integers(1, 7))
        found[" ".join(words)] = " ".join(ENGLISH[word] for word in words)
    return list(found.items())


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT without dropout, whose tokenizer has these words."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=24,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    network = transformers.BertModel(config)
    for parameter in network.parameters():
        parameter.data.normal_(std=0.2)
    network.save_pretrained(folder)
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named, model_max_length=24).save_pretrained(
        folder
    )
    return folder


def theirs_of(bert: Path, *, dense: bool) -> Any:
    torch.manual_seed(2)
    parts = [modules.Transformer(str(bert)), modules.Pooling(32, "cls" if dense else "mean")]
    parts.append(modules.Dense(32, 24) if dense else modules.Normalize())
    return peer.SentenceTransformer(modules=parts, device="cpu")


@pytest.mark.parametrize(
    ("settings", "dense"),
    [
        ({}, False),
        ({"dims": (16, 8)}, False),
        ({"symmetric": True}, False),
        ({"dims": (12,), "scale": 10.0}, True),
    ],
)
def test_the_first_losses_are_those_of_sentence_transformers(
    bert: Path, tmp_path: Path, settings: dict[str, Any], dense: bool
):
    theirs = theirs_of(bert, dense=dense)
    start = bert
    if dense:  # its pooling and its layer are kept, and the layer is trained
        start = tmp_path / "theirs"
        theirs.save(str(start), create_model_card=False)
    given = pairs(60)
    method = Contrastive(
        init_from=start, batch_pairs=12, epochs=4, learning_rate=1e-3, held_out=0.0, **settings
    )
    corpus = encode([side for pair in given for side in pair], method.prepared(_default()))
    ours: Any = method.start(corpus)
    loss: Any = losses.MultipleNegativesRankingLoss(theirs, scale=settings.get("scale", 20.0))
    if settings.get("symmetric"):
        loss = losses.MultipleNegativesRankingLoss(
            theirs, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
        )
    if "dims" in settings:
        loss = losses.MatryoshkaLoss(theirs, loss, [24 if dense else 32, *settings["dims"]])
    weights = list(theirs.parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [each for each in weights if each.dim() > 1], "weight_decay": 0.01},
            {"params": [each for each in weights if each.dim() <= 1], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
    )
    theirs.train()
    done = 0
    for number in range(20):
        batch = ours.batches.batch(number // 5, number % 5)
        assert not batch.same.any()
        step = ours.step(done)
        done = step.done
        features = [
            {"input_ids": torch.from_numpy(side.ids), "attention_mask": torch.from_numpy(side.real).long()}
            for side in (batch.source, batch.target)
        ]
        expected = loss(features, None)
        expected.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = method.learning_rate_at(number, 20)
        optimizer.step()
        optimizer.zero_grad()
        assert step.loss / step.pairs == pytest.approx(float(expected.detach()), abs=1e-4)


def _default() -> Any:
    from inlaid.jobs.arguments import default_encoding

    return default_encoding(Contrastive)


@pytest.mark.parametrize("start", ["fresh", "bert", "sentence-transformers", "masked"])
def test_the_folder_gives_them_the_same_embeddings(bert: Path, tmp_path: Path, start: str):
    text = tmp_path / "pairs.tsv"
    given = pairs(300)
    text.write_text("".join(f"{one}\t{two}\n" for one, two in given), encoding="utf-8")
    flags = ["--init-from", str(bert)]
    if start == "fresh":
        flags = ["--dim", "16", "--layers", "1", "--tokenizer", "char", "--min-count", "1"]
    if start == "sentence-transformers":
        theirs_of(bert, dense=True).save(str(tmp_path / "start"), create_model_card=False)
        flags = ["--init-from", str(tmp_path / "start")]
    if start == "masked":
        lines = tmp_path / "text.txt"
        lines.write_text("".join(f"{one}\n{two}\n" for one, two in given), encoding="utf-8")
        words = ["--tokenizer", "whitespace", "--min-count", "1"]
        masked = ["--dim", "16", "--layers", "1", "--epochs", "1", *words]
        cli.main(["train", "masked", str(lines), "-o", str(tmp_path / "start"), *masked])
        flags = ["--init-from", str(tmp_path / "start")]
    out = tmp_path / "out"
    cli.main(["train", "contrastive", str(text), "-o", str(out), "--epochs", "2", *flags])
    texts = [side for pair in given[:40] for side in pair]
    found = load_model(out).embed(texts)
    expected = peer.SentenceTransformer(str(out), device="cpu").encode(texts)
    products = (found * expected).sum(1)
    cosines = products / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert np.abs(cosines - 1).max() < 1e-6
    if start == "sentence-transformers":
        assert found.shape[1] == 24  # its Dense layer is still there
        assert load_model(out).sentence.poolings == ("cls",)  # pyright: ignore[reportOptionalMemberAccess]
