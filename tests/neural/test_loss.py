"""The loss of predicted words: what torch says of the logits, in pieces, with its gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.kernels.loss import reference
from inlaid.neural import loss
from inlaid.neural.config import make_config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.encoder import Encoder, MaskedHead
from inlaid.neural.loss import cross_entropy_, word_loss

WORDS = 37
DIM = 8


def make(tied: bool, bias: bool, scale: float) -> tuple[torch.Tensor, OutputEmbedding, torch.Tensor]:
    table = TokenEmbedding(WORDS, DIM, padding_idx=4, dtype=torch.float64)
    head = OutputEmbedding(
        WORDS, DIM, tied_to=table if tied else None, bias=bias, scale=scale, dtype=torch.float64
    )
    if head.bias is not None:
        torch.nn.init.normal_(head.bias)
    targets = torch.randint(0, WORDS, (3, 5))
    targets[1, 2] = -100
    return torch.randn(3, 5, DIM, dtype=torch.float64, requires_grad=True), head, targets


def gradients(value: torch.Tensor, hidden: torch.Tensor, head: OutputEmbedding) -> list[torch.Tensor]:
    wanted = [hidden, head.weight, *([] if head.bias is None else [head.bias])]
    return list(torch.autograd.grad(3 * value, wanted))


@pytest.mark.parametrize("at_once", [1, 4 * WORDS, 1 << 20])
@pytest.mark.parametrize(
    ("tied", "bias", "scale"), [(True, False, 1.0), (True, True, 0.5), (False, True, 1.0)]
)
def test_loss_and_gradients_are_torchs(
    monkeypatch: pytest.MonkeyPatch, at_once: int, tied: bool, bias: bool, scale: float
):
    monkeypatch.setattr(loss, "LOGITS_AT_ONCE", at_once)
    hidden, head, targets = make(tied, bias, scale)
    expected = functional.cross_entropy(head(hidden).flatten(0, 1), targets.flatten())
    found = word_loss(hidden, head, targets)
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(gradients(found, hidden, head), gradients(expected, hidden, head), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_without_gradients_only_the_loss_is_made():
    hidden, head, targets = make(True, False, 1.0)
    with torch.no_grad():
        found = word_loss(hidden, head, targets)
    assert not found.requires_grad
    torch.testing.assert_close(
        found, functional.cross_entropy(head(hidden).flatten(0, 1), targets.flatten()).detach()
    )


def test_autocast_makes_the_products_in_its_type():
    table = TokenEmbedding(WORDS, DIM)
    head = OutputEmbedding(WORDS, DIM, tied_to=table)
    hidden = torch.randn(6, DIM, requires_grad=True)
    targets = torch.arange(6)
    with torch.autocast("cpu", torch.bfloat16):
        found = word_loss(hidden, head, targets)
        expected = functional.cross_entropy(head(hidden), targets)
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
    assert [each.dtype for each in gradients(found, hidden, head)] == [torch.float32, torch.float32]


@pytest.mark.parametrize("words", [1, 10, 13])
def test_logits_become_what_the_reference_says(words: int):
    given = torch.randn(4, 13, dtype=torch.float64) * 20
    targets = torch.tensor([0, -100, words - 1, words // 2])
    expected = given.numpy().copy()
    losses = reference.cross_entropy_(expected, targets.numpy(), 0.5, words)
    found = given.clone()
    torch.testing.assert_close(
        cross_entropy_(found, targets, torch.tensor(0.5), words), torch.from_numpy(losses)
    )
    torch.testing.assert_close(found, torch.from_numpy(expected))
    assert not found[1].any()
    assert not found[:, words:].any()


@pytest.mark.parametrize("tied", [False, True])
def test_the_head_of_masked_models_is_taken_too(tied: bool):
    fields = {"kind": "encoder", "vocab_size": WORDS, "dim": DIM, "head.kind": "masked", "head.bias": True}
    network = Encoder(make_config({**fields, "head.tied": tied})).double()
    assert isinstance(network.head, MaskedHead)
    torch.nn.init.normal_(network.head.output.bias)  # pyright: ignore[reportArgumentType]
    targets = torch.tensor([[1, -100, 3]])
    found = list[list[torch.Tensor]]()
    for ours in (True, False):
        output = network(torch.tensor([[5, 6, 7]]))
        value = functional.cross_entropy(output.logits[0], targets[0])
        if ours:
            value = word_loss(output.hidden, network.head, targets)
        found.append([value, *torch.autograd.grad(value, list(network.parameters()))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("hidden", "targets", "said"),
    [
        ((3, 5, DIM), torch.zeros(3, 4, dtype=torch.int64), "do not fit"),
        ((2, DIM), torch.zeros(2), "targets that are integers; found torch.float32"),
        ((2, DIM + 1), torch.zeros(2, dtype=torch.int64), f"dimension {DIM + 1}; this head takes {DIM}"),
        (
            (2, DIM),
            torch.tensor([1, WORDS]),
            r"Target 37 at position \[1\] is not one of 37 words \(0 to 36\)",
        ),
        ((2, DIM), torch.tensor([-1, 0]), r"Target -1 at position \[0\]"),
    ],
)
def test_what_does_not_fit_is_named(hidden: tuple[int, ...], targets: torch.Tensor, said: str):
    with pytest.raises(SettingError, match=said):
        word_loss(torch.zeros(hidden), OutputEmbedding(WORDS, DIM), targets)


def test_where_nothing_counts_the_gradients_are_zero():
    hidden = torch.randn(2, DIM, requires_grad=True)
    head = OutputEmbedding(WORDS, DIM, bias=True)
    value = word_loss(hidden, head, torch.tensor([-100, -100]))
    assert value.isnan()  # as in torch
    value.backward()
    for gradient in (hidden.grad, head.weight.grad, head.bias.grad):  # pyright: ignore
        assert not gradient.any()  # pyright: ignore
