"""Every name in the registry leads somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from inlaid import registry
from inlaid.errors import UnknownName


@pytest.mark.parametrize("entry", registry.ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_an_entry_loads_and_says_what_it_is(entry: registry.Entry):
    assert entry.load() is not None
    assert entry.summary
    assert len(entry.summary) < 60


def test_names_are_unique_within_a_kind():
    names = [(entry.kind, entry.name) for entry in registry.ENTRIES]
    assert len(names) == len(set(names))


def test_an_entry_is_one_line():
    source = Path(registry.__file__ or "").read_text("utf-8")
    lines = [line for line in source.splitlines() if line.startswith("    Entry(")]
    assert len(lines) == len(registry.ENTRIES)
    assert all(line.endswith("),") for line in lines), "shorten the summary until the entry is one line"


def test_an_alias_leads_to_an_entry_and_hides_none():
    names = {(entry.kind, entry.name) for entry in registry.ENTRIES}
    typed = [(alias.kind, name) for alias in registry.ALIASES for name in alias.typed.split()]
    assert all((alias.kind, alias.name) in names for alias in registry.ALIASES)
    assert len(typed) == len(set(typed))
    assert not names & set(typed)


def test_an_alias_with_settings_is_accepted_and_one_without_is_suggested():
    assert registry.entry("method", "cbow").name == "sgns"
    assert registry.accepted("method", "cbow", "sgns") == {"objective": "cbow"}
    assert registry.accepted("analysis", "most_similar", "neighbors") is None
    with pytest.raises(UnknownName, match="No analysis is called 'most_similar'. Did you mean 'neighbors'?"):
        registry.entry("analysis", "most_similar")


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(UnknownName, match="No method is called 'pmi'. Did you mean 'ppmi'?"):
        registry.find("method", "pmi")
    with pytest.raises(UnknownName, match="There are: onehot, ppmi"):
        registry.find("method", "xyzzy")
