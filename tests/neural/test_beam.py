"""The likeliest words: by blocks, the same as topk over all."""

from __future__ import annotations

import pytest
import torch

from inlaid.neural.beam import BLOCK, top_words


@pytest.mark.parametrize("words", [3, 50, 32 * BLOCK, 40 * BLOCK + 7])
def test_the_likeliest_are_those_of_all_words(words: int):
    scores = torch.randperm(5 * words).float().view(5, words)  # no two alike
    best, found = top_words(scores, 8)
    expected = scores.topk(min(8, words))
    assert torch.equal(best, expected.values)
    assert torch.equal(found, expected.indices)


def test_all_in_one_block_and_among_the_last_words():
    scores = torch.zeros(2, 40 * BLOCK + 7)
    scores[0, 5 * BLOCK : 5 * BLOCK + 4] = torch.tensor([4.0, 3.0, 2.0, 1.0])
    scores[1, -4:] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    scores[1, 0] = -torch.inf
    _, found = top_words(scores, 4)
    assert found.tolist() == [
        [5 * BLOCK + place for place in range(4)],
        [40 * BLOCK + place for place in (6, 5, 4, 3)],
    ]
