"""How many epochs fit into some minutes is known from a trial."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from inlaid.config import MAX_EPOCHS
from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.safety import Safety
from inlaid.jobs.trial import epochs_that_fit


def test_epochs_that_fit_into_the_minutes(toy: ModuleType):
    """An epoch of one step that takes 5 ms or more: 6 s hold at most 1080 of them."""
    made = list[object]()

    def make(epochs: int) -> object:
        made.append(toy.Toy(epochs, pause=0.005))
        return made[-1]

    assert 1 <= epochs_that_fit(make, Safety(minutes=0.1), trial=0.15) <= 1080
    assert len(made) >= 2  # a trial longer than an epoch continues with a fresh training


def test_minutes_too_few_for_an_epoch(toy: ModuleType):
    with pytest.raises(SettingError, match=r"minutes is 0.001, but one epoch takes \d+ .*Give more time"):
        epochs_that_fit(lambda epochs: toy.Toy(1000 * epochs, pause=0.005), Safety(minutes=0.001), trial=0.02)


def test_no_more_epochs_than_can_be_asked_for(toy: ModuleType):
    assert epochs_that_fit(lambda epochs: toy.Toy(epochs), Safety(minutes=1e300), trial=0.01) == MAX_EPOCHS


def test_a_run_to_be_resumed_has_its_epochs_from_its_checkpoint(tmp_path: Path, toy: ModuleType):
    checkpoint.save(tmp_path / "c", toy.Toy().state, None, toy.identity(epochs=7), checkpoint.RunProgress())
    safety = Safety(minutes=5.0, checkpoint=tmp_path / "c", resume=True)
    assert epochs_that_fit(lambda epochs: toy.Toy(20 * epochs), safety, trial=0.01) == 7
