"""Large untied tables are updated row by row: AdamW for words in every batch, and no other word moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from inlaid.fit.networks.optimization import Optimization  # noqa: E402
from inlaid.fit.networks.optimizers import Optimizers, large_tables  # noqa: E402
from inlaid.fit.networks.training import LossSum, NetworkTraining  # noqa: E402
from inlaid.neural.config import make_config  # noqa: E402
from inlaid.neural.loss import word_loss  # noqa: E402
from inlaid.neural.network import make_network  # noqa: E402

WORDS = 20
LENGTH = 8


class Rows:
    """Rows of the first `used` words, each of which is in every batch."""

    one_shape = True

    def __init__(self, used: int) -> None:
        self.used = used

    def ends(self, epoch: int) -> np.ndarray:
        return np.arange(1, 7) * 8 * LENGTH

    def batch(self, epoch: int, number: int) -> Tensor:
        random = np.random.default_rng((epoch, number))
        every = np.resize(random.permutation(self.used), 8 * (LENGTH + 1))
        return torch.from_numpy(every.reshape(8, LENGTH + 1))

    def held_out(self) -> list[Tensor]:
        return []


def loss(network: Any, rows: Tensor) -> LossSum:
    targets = rows[:, 1:]
    hidden = network(rows[:, :-1], logits=False).hidden
    return LossSum(word_loss(hidden, network.head, targets) * targets.numel(), targets.numel())


def learned(used: int, *, kind: str = "decoder", **settings: Any) -> NetworkTraining:
    torch.manual_seed(3)
    sizes = {
        "vocab_size": WORDS,
        "dim": 16,
        "layers": 1,
        "attention.heads": 2,
        "positions.max_length": LENGTH,
    }
    network = make_network(make_config({"kind": kind, "head.tied": False, **sizes}))
    made = NetworkTraining(
        network, Rows(used), loss, Optimization(epochs=5, learning_rate=0.01, weight_decay=0.1, **settings)
    )
    done = 0
    while done < made.total:
        done = made.step(done).done
    return made


@pytest.mark.parametrize("accumulate", [1, 3])
def test_it_is_adamw_where_every_word_is_in_the_batch(accumulate: int):
    dense = learned(WORDS, rowwise_from=0, accumulate=accumulate)
    by_row = learned(WORDS, rowwise_from=WORDS, accumulate=accumulate)
    assert "tokens.weight:exp_avg" in dense.state
    assert "tokens.weight:means" in by_row.state
    for name, weights in dense.network.state_dict().items():
        if name.endswith("key.bias"):
            continue  # its gradient is 0 but for rounding, which Adam scales up
        torch.testing.assert_close(by_row.network.state_dict()[name], weights, rtol=1e-4, atol=1e-5)


def test_words_that_are_not_in_the_text_stay_as_they_are():
    torch.manual_seed(3)
    fresh = learned(6, rowwise_from=0, clip=0.0).network.tokens.weight.detach().clone()
    by_row = learned(6, rowwise_from=1)
    torch.manual_seed(3)
    sizes = {
        "vocab_size": WORDS,
        "dim": 16,
        "layers": 1,
        "attention.heads": 2,
        "positions.max_length": LENGTH,
    }
    start: Any = make_network(make_config({"kind": "decoder", "head.tied": False, **sizes}))
    table = by_row.network.tokens.weight
    assert torch.equal(table[6:], start.tokens.weight[6:])
    assert not torch.isclose(table[:6], start.tokens.weight[:6]).all(1).any()
    assert not torch.equal(fresh[6:], start.tokens.weight[6:])  # AdamW decays them
    assert by_row.state["tokens.weight:steps"].flatten().tolist() == [30] * 6 + [0] * 14


def test_a_tied_or_frozen_or_small_table_is_not_among_them():
    sizes = {"kind": "decoder", "vocab_size": WORDS, "dim": 16, "layers": 1, "attention.heads": 2}
    untied: Any = make_network(make_config({**sizes, "head.tied": False}))
    tied = make_network(make_config({**sizes, "head.tied": True}))
    assert list(large_tables(untied, WORDS)) == [untied.tokens]
    assert not list(large_tables(untied, WORDS + 1))
    assert not list(large_tables(untied, 0))
    assert not list(large_tables(tied, 1))
    untied.tokens.weight.requires_grad_(False)
    assert not list(large_tables(untied, 1))


def test_both_tables_of_a_translator_are():
    sizes = {"kind": "seq2seq", "vocab_size": WORDS, "target_vocab_size": 15, "dim": 16, "layers": 1}
    network: Any = make_network(
        make_config({**sizes, "decoder_layers": 1, "attention.heads": 2, "head.tied": False})
    )
    assert list(large_tables(network, 1)) == [network.tokens, network.target_tokens]
    assert len(Optimizers(network, Optimization(rowwise_from=16)).notes()) == 1


def test_the_result_can_be_trained_by_any_optimizer():
    """Its gradients are dense again."""
    model: Any = learned(WORDS, rowwise_from=1).result()
    assert model.card.notes == ("a table of 20 token vectors was updated row by row",)
    model.network(torch.arange(5)[None]).logits.sum().backward()
    assert not model.network.tokens.weight.grad.is_sparse
