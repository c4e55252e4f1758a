"""Prompted lines: source, separator, target, end; by default only the target is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.feed.masked_text import IGNORED
from inlaid.feed.prompt_text import PromptText

PADDING = 900
END = 901
SEPARATOR = 902


@pytest.fixture
def corpus() -> Corpus:
    return encode([["a", "b"], ["x", "y", "z"], ["a"], ["x"]], Encoding(min_count=1))


def prompts(corpus: Corpus, **settings: Any) -> PromptText:
    given: dict[str, Any] = {"padding": PADDING, "end": END, "separator": SEPARATOR, "tokens": 100}
    return PromptText(corpus=corpus, **given | {"max_length": 12} | settings)


def test_a_line_is_predicted_from_the_separator_on(corpus: Corpus):
    ids = {word: id for id, word in enumerate(corpus.vocabulary.words)}
    a, b, x, y, z = (ids[word] for word in "abxyz")
    batch = prompts(corpus).batch(0, 0)
    order = np.argsort(-(batch.ids != PADDING).sum(1))
    assert batch.ids[order].tolist() == [[a, b, SEPARATOR, x, y, z], [a, SEPARATOR, x, *[PADDING] * 3]]
    skipped = IGNORED
    assert batch.targets[order].tolist() == [
        [skipped, skipped, x, y, z, END],
        [skipped, x, END, skipped, skipped, skipped],
    ]


def test_the_source_is_predicted_on_request(corpus: Corpus):
    batch = prompts(corpus, predicts_source=True).batch(0, 0)
    real = batch.targets != IGNORED
    assert real.sum() == 6 + 3
    assert (batch.targets[:, :-1][real[:, :-1]][:2] != SEPARATOR).any()


def test_lines_are_as_long_as_both_sides(corpus: Corpus):
    text = prompts(corpus, max_length=6)
    assert text.lengths.ravel().tolist() == [7, 4]
    assert text.training.tolist() == [1]
