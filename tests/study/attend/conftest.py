"""Commands typed beside the folders of tiny models, and networks with heads that were set by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = [f"w{number}" for number in range(40)]
PLACES = 40


@pytest.fixture(autouse=True)
def one_thread():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    torch.set_num_threads(1)


@pytest.fixture
def typed(
    typed: Callable[..., str], tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Commands are typed where the folders of tiny models are."""
    monkeypatch.chdir(tiny_models)
    return typed


def random_model(kind: str = "encoder", seed: int = 0, scale: float = 1.0, **settings: Any) -> Any:
    """A network with fresh weights, whose queries and keys are `scale` times as large as usual."""
    import tokenizers
    import torch

    from inlaid.neural.config import make_config
    from inlaid.neural.model import Model
    from inlaid.neural.network import make_network

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "。", "，"]
    characters = ["小", "明", "我", "喜", "欢", "吃", "苹", "果", "手", "机"]
    words = [*special, *characters, *WORDS]
    vocabulary = {word: id for id, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"w\d+|\[MASK\]|."), "isolated"),
        ]
    )
    tokenizer.add_special_tokens(special[:5])
    if kind == "encoder":
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    torch.manual_seed(seed)
    given = {
        "kind": kind,
        "vocab_size": len(words),
        "dim": 32,
        "layers": 2,
        "attention.heads": 4,
        "special.padding": 0,
        "positions.max_length": PLACES,
    }
    if kind == "encoder":
        given["head.kind"] = "masked"
    network = make_network(make_config(given | settings)).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if ".query." in name or ".key." in name:
                parameter *= scale
    return Model(network, tokenizer)


@pytest.fixture(scope="session")
def made_by_hand() -> Any:
    """A decoder of two layers with two heads: 0.0 attends to the previous token, 0.1 to the same word, 1.0 is
    an induction head, 1.1 attends uniformly.

    A hidden state has three parts: the position, the word, and the word before it, which head 0.0 writes.
    """
    import torch

    words = len(WORDS) + 17
    dim = PLACES + 2 * words
    model = random_model(
        "decoder",
        **{
            "dim": dim,
            "attention.head_dim": dim,
            "attention.heads": 2,
            "positions.kind": "learned",
            "norm.placement": "pre",
            "norm.final": False,
        },
    )
    position = slice(0, PLACES)
    word = slice(PLACES, PLACES + words)
    before = slice(PLACES + words, dim)
    network = model.network.requires_grad_(False)
    for name, parameter in network.named_parameters():
        if "norm" not in name:
            parameter.zero_()
    network.tokens.weight[:, word] = torch.eye(words)
    network.stack.positions.table[:, position] = torch.eye(PLACES)
    first, second = (block.attention for block in network.stack.blocks)
    # The scores of what is meant are far above the others: softmax is nearly one-hot.
    strength = 30.0
    first.query.weight[position, position] = strength * torch.eye(PLACES)
    first.key.weight[position, position] = torch.eye(PLACES).roll(1, 0)
    first.value.weight[word, word] = torch.eye(words)
    first.output.weight[before, word] = torch.eye(words)
    second_head = slice(dim + PLACES, dim + PLACES + words)
    first.query.weight[second_head, word] = strength * torch.eye(words)
    first.key.weight[second_head, word] = torch.eye(words)
    second.query.weight[word, word] = strength * torch.eye(words)
    second.key.weight[word, before] = torch.eye(words)
    return model
