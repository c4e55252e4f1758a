"""The loss of predicted words: what torch says of the logits, in pieces, with its gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural import loss
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
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


def test_columns_beyond_the_words_have_no_gradient():
    logits = torch.randn(4, 10)
    wider = torch.cat([logits, torch.full((4, 3), 50.0)], 1)
    targets = torch.tensor([1, -100, 9, 0])
    share = torch.tensor(0.5)
    torch.testing.assert_close(
        cross_entropy_(wider, targets, share, 10), cross_entropy_(logits, targets, share, 10)
    )
    torch.testing.assert_close(wider, functional.pad(logits, (0, 3)))
    assert not wider[1].any()


def test_what_does_not_belong_together_is_named():
    hidden, head, targets = make(True, False, 1.0)
    with pytest.raises(SettingError, match=r"\(3, 5, 8\) and targets \(2, 5\)"):
        word_loss(hidden, head, targets[:2])
