"""The stream: the words that subsampling keeps, with the window drawn for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel
from inlaid.kernels.random import KEEP, WINDOW, below, counter, draw

PADDING = 64
"""Entries after the last word of a stream, plus a window more: a tile and a group fit in."""


class Stream(NamedTuple):
    """The kept words in the order of the text; the contexts of word n are words low[n] to high[n] - 1 without
    n."""

    words: np.ndarray
    """(length + PADDING + window,) i4: ids."""
    low: np.ndarray
    high: np.ndarray
    """The first context of each word, and the last plus one: positions in the stream."""
    draws: np.ndarray
    """What the random draws of each word are numbered from: see `random.counter`."""
    length: int
    """Words in the stream; entries after them are centers without contexts."""


class Text(NamedTuple):
    """What streams are made of."""

    ids: np.ndarray
    """i4: the tokens that are read, from token `first` of the text on."""
    first: int
    offsets: np.ndarray
    """(S+1,) i8: where sentences start."""
    keep: np.ndarray
    """(V,) u4: subsampling keeps an occurrence of a word if its draw is not above."""
    window: int
    held_out_every: int
    """Every n-th sentence is left out; 0: none."""


def empty_stream(words: int, window: int) -> Stream:
    """A stream with space for `words` words."""
    entries = np.empty((4, words + PADDING + window), np.int32)
    return Stream(entries[0], entries[1], entries[2], entries[3], 0)


@kernel
def subsample(text, start, stop, sentence, key, stream):
    # tokens start..stop of the text, from `sentence` on; key u8 from `key_of`; stream, filled
    # returns the number of words kept
    kept = 0
    while start < stop:
        end = min(text.offsets[sentence + 1], stop)
        if text.held_out_every == 0 or sentence % text.held_out_every != text.held_out_every - 1:
            first = kept
            for position in range(start, end):
                word = text.ids[position - text.first]
                numbers = counter(key, position)
                stream.words[kept] = word
                stream.low[kept] = 1 + below(draw(numbers, WINDOW), text.window)
                stream.draws[kept] = np.int32(numbers)
                # no branch, which would be mispredicted: the next word overwrites one that is not kept
                kept += draw(numbers, KEEP) <= text.keep[word]
            for center in range(first, kept):
                width = stream.low[center]
                stream.low[center] = max(center - width, first)
                stream.high[center] = min(center + width + 1, kept)
        start = end
        sentence = sentence + 1
    for center in range(kept, kept + PADDING + text.window):
        stream.words[center] = stream.words[0]
        stream.low[center] = kept
        stream.high[center] = kept
        stream.draws[center] = 0
    return kept
