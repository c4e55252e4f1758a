"""The cache: rows that are selected are those that the next token is added to."""

from __future__ import annotations

import pytest
import torch

from inlaid.errors import SettingError
from inlaid.neural.cache import Cache, KeyValueCache


@pytest.mark.parametrize("gradients", [False, True])
def test_rows_that_were_selected_are_extended(gradients: bool):
    first = torch.randn(3, 2, 4, 5, requires_grad=gradients)
    cache = KeyValueCache()
    cache.extend(first, first * 2)
    cache.select(torch.tensor([2, 2, 0, 1]))
    cache.select(torch.tensor([1, 3]))
    assert (cache.texts, cache.length) == (2, 4)
    new = torch.randn(2, 5, 2, 1).permute(0, 2, 3, 1)
    keys, values = cache.extend(new, new)
    rows = first[torch.tensor([2, 1])]
    assert torch.equal(keys, torch.cat([rows, new], 2))
    assert torch.equal(values, torch.cat([rows * 2, new], 2))
    assert (cache.texts, cache.length) == (2, 5)
    assert keys.requires_grad == gradients


def test_a_cache_of_other_texts_is_refused():
    cache = Cache(1)
    cache.check(1, 3)
    cache.layers[0].self_attention.extend(torch.zeros(3, 1, 1, 2), torch.zeros(3, 1, 1, 2))
    cache.select(torch.tensor([0, 1]))
    cache.check(1, 2)
    with pytest.raises(SettingError, match="holds 2 texts; found 3"):
        cache.check(1, 3)
    with pytest.raises(SettingError, match="has 1 layers and the network 2"):
        cache.check(2, 2)
