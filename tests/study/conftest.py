"""A small space of the world in each language and the corpus it was learned from, made once for all tests
that look into one."""

from __future__ import annotations

import pytest

from inlaid import pipeline
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.report import silent
from inlaid.vectors import Vectors


@pytest.fixture(scope="session")
def english() -> tuple[Vectors, Corpus]:
    corpus = encode(world.sentences("en", words=30_000), Encoding(), workers=1)
    return pipeline.train(corpus, "ppmi", dim=60, report=silent), corpus


@pytest.fixture(scope="session")
def chinese() -> tuple[Vectors, Corpus]:
    corpus = encode(
        world.sentences("zh", words=60_000),
        Encoding(dictionary=world.dictionary(), force_dictionary=True),
        workers=1,
    )
    return pipeline.train(corpus, "ppmi", dim=60, report=silent), corpus
