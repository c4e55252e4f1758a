"""Phrases beside gensim's: the same pairs, the same scores, the same sentences."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.phrases import Phrases, collocations, join

peer = pytest.importorskip("gensim.models.phrases", reason="gensim comes with the extra `peers`")

HOW = [
    Phrases(passes=1, chinese_joiner="_"),
    Phrases(passes=1, chinese_joiner="_", min_count=2, threshold=1.0),
    Phrases(passes=1, chinese_joiner="_", score="npmi", threshold=0.3, min_count=3),
]


def texts(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [
        [words[id] for id in corpus.ids[start:stop]]
        for start, stop in zip(corpus.offsets, corpus.offsets[1:], strict=False)
    ]


def agree(corpus: Corpus, how: Phrases) -> int:
    """Hold one corpus to gensim; says how many phrases there were."""
    sentences = texts(corpus)
    theirs = peer.Phrases(
        sentences, min_count=how.min_count, threshold=how.threshold, scoring=how.score, delimiter="_"
    )
    words = list(corpus.vocabulary.words)
    found = collocations(corpus.ids, corpus.offsets, len(corpus.vocabulary), how)
    ours = {
        f"{words[a]}_{words[b]}": score
        for a, b, score in zip(
            found.first.tolist(), found.second.tolist(), found.scores.tolist(), strict=True
        )
    }
    expected = theirs.export_phrases()
    assert ours.keys() == expected.keys()
    np.testing.assert_allclose(
        [ours[phrase] for phrase in expected],
        list(expected.values()),
        rtol=1e-14 if how.score == "npmi" else 0,
    )
    everything = encode(sentences, Encoding(min_count=1))  # gensim counts nothing after joining
    assert texts(join(everything, how)) == [theirs[sentence] for sentence in sentences]
    return len(expected)


@pytest.mark.parametrize("how", HOW, ids=["default", "low", "npmi"])
def test_random_text_agrees(how: Phrases):
    random = np.random.default_rng(8)
    chain = [random.permutation(300) for _ in range(3)]  # each word has words it likes to be followed by
    sentences: list[list[str]] = []
    for _ in range(1500):
        ids = [int(random.integers(300))]
        for _ in range(int(random.integers(1, 25))):
            ids.append(
                int(chain[random.integers(3)][ids[-1]])
                if random.random() < 0.4
                else int(random.zipf(1.3)) % 300
            )
        sentences.append([f"词{id}" if id % 2 else f"w{id}" for id in ids])
    assert agree(encode(sentences, Encoding(min_count=1)), how) > 20


@pytest.mark.parametrize("how", HOW, ids=["default", "low", "npmi"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_wikipedia_agrees(data: Path, language: str, how: Phrases):
    with lzma.open(
        data / f"corpus_{language}wiki" / f"{language}wiki_slice.txt.xz", "rt", encoding="utf-8"
    ) as file:
        text = file.read(500_000)
    assert agree(encode(re.split(r"[\n。]+", text), Encoding(min_count=2)), how) > 100
