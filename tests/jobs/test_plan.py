"""What a run will take is known before it starts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.plan import check_memory, epochs_that_fit
from inlaid.jobs.safety import Safety

GB = 10**9


def test_a_run_that_does_not_fit_is_refused_with_what_would():
    with pytest.raises(SettingError) as error:
        check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=2 * GB)
    assert str(error.value) == (
        "This run needs about 8.0 GB of memory, and 2.0 GB are free. dim 75 or 750,000 words would fit. "
        "Lower dim (now 300), or have fewer words (now 3,000,000) with a larger min_count or with max_size."
    )
    check_memory(8 * GB, Safety(), dim=300, words=3_000_000, available=8 * GB)


def test_early_stopping_needs_a_second_copy():
    check_memory(3 * GB, Safety(), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match=r"about 6.0 GB of memory \(two copies"):
        check_memory(3 * GB, Safety(patience=2), dim=300, words=1000, available=4 * GB)
    with pytest.raises(SettingError, match="Lower dim") as error:
        check_memory(3 * GB, Safety(), dim=300, words=1000, other=5 * GB, available=4 * GB)
    assert "would fit" not in str(error.value)


def test_epochs_that_fit_into_the_minutes(toy: ModuleType):
    """An epoch of one step that takes 5 ms or more: 6 s hold at most 1080 of them."""
    made = list[object]()

    def make(epochs: int) -> object:
        made.append(toy.Toy(epochs, pause=0.005))
        return made[-1]

    assert 1 <= epochs_that_fit(make, Safety(minutes=0.1), trial=0.15) <= 1080
    assert len(made) >= 2  # a trial longer than an epoch continues with a fresh training


def test_minutes_too_few_for_an_epoch(toy: ModuleType):
    with pytest.raises(
        SettingError, match=r"minutes is 0.001, but one epoch takes about \d+ .*Give more time"
    ):
        epochs_that_fit(lambda epochs: toy.Toy(1000 * epochs, pause=0.005), Safety(minutes=0.001), trial=0.02)


def test_a_run_to_be_resumed_has_its_epochs_from_its_checkpoint(tmp_path: Path, toy: ModuleType):
    checkpoint.save(tmp_path / "c", toy.Toy().state, None, toy.identity(epochs=7), checkpoint.Progress())
    safety = Safety(minutes=5.0, checkpoint=tmp_path / "c", resume=True)
    assert epochs_that_fit(lambda epochs: toy.Toy(20 * epochs), safety, trial=0.01) == 7
