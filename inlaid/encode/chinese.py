"""Chinese word segmentation."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a regular-expression class."""

Segmenter = Callable[[str], list[str]]


@functools.lru_cache(maxsize=8)
def segmenter(dictionary: tuple[str, ...] = ()) -> Segmenter:
    """A function that segments a run of Chinese characters into words.

    Words of `dictionary` take precedence: the run is cut into the fewest pieces they allow, and rjieba
    segments only what is between them. So a dictionary word is always one token, unless two overlap.

    >>> segmenter()("小明说他喜欢")
    ['小', '明说', '他', '喜欢']
    >>> segmenter(("小明",))("小明说他喜欢")
    ['小明', '说', '他', '喜欢']
    """
    import rjieba  # importing it reads a dictionary of 5 MB, so only when there is Chinese text

    segment = rjieba.cut
    if not dictionary:
        return segment
    match = _dictionary_matcher(dictionary).cut
    known = frozenset(dictionary)
    return lambda run: list(_segment_between(match(run, hmm=False), known, segment))


def _segment_between(pieces: list[str], known: frozenset[str], segment: Segmenter) -> Iterator[str]:
    """Dictionary words as they are; everything between two of them is segmented together."""
    for is_known, group in itertools.groupby(pieces, known.__contains__):
        if is_known:
            yield from group
        else:
            yield from segment("".join(group))


def _dictionary_matcher(dictionary: tuple[str, ...]):
    import rjieba

    matcher = rjieba.Jieba.empty()
    for word in dictionary:
        matcher.add_word(word, 1000, "n")  # all equally likely, so the fewest pieces win
    return matcher
