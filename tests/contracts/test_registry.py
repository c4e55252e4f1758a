"""Every name in the registry leads somewhere."""

from __future__ import annotations

import pytest

from inlaid import registry
from inlaid.errors import UnknownName


@pytest.mark.parametrize("entry", registry.ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_an_entry_loads_and_says_what_it_is(entry: registry.Entry):
    assert entry.load() is not None
    assert entry.summary
    assert len(entry.summary) < 90


def test_names_are_unique_within_a_kind():
    names = [(entry.kind, entry.name) for entry in registry.ENTRIES]
    assert len(names) == len(set(names))


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(UnknownName, match="No method is called 'pmi'. Did you mean 'ppmi'?"):
        registry.find("method", "pmi")
    with pytest.raises(UnknownName, match="There are: onehot, ppmi"):
        registry.find("method", "xyzzy")
