"""Chinese word segmentation."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a regular-expression class."""

Cutter = Callable[[str], list[str]]


@functools.lru_cache(maxsize=8)
def cutter(dictionary: tuple[str, ...] = ()) -> Cutter:
    """A function that cuts a run of Chinese characters into words.

    Words of `dictionary` come first: the run is cut into the fewest pieces they allow, and only what lies
    between them is left to rjieba. So a dictionary word is one token wherever it stands, unless two of them
    overlap.

    >>> cutter()("小明说他喜欢")
    ['小', '明说', '他', '喜欢']
    >>> cutter(("小明",))("小明说他喜欢")
    ['小明', '说', '他', '喜欢']
    """
    import rjieba  # a 5 MB dictionary is read on import: only when the first Chinese word comes along

    cut = rjieba.cut
    if not dictionary:
        return cut
    own = _user_jieba(dictionary).cut
    known = frozenset(dictionary)
    return lambda run: list(_between(own(run, hmm=False), known, cut))


def _between(pieces: list[str], known: frozenset[str], cut: Cutter) -> Iterator[str]:
    for is_known, group in itertools.groupby(pieces, known.__contains__):
        together = list(group)
        yield from together if is_known else cut("".join(together))


def _user_jieba(dictionary: tuple[str, ...]):
    import rjieba

    own = rjieba.Jieba.empty()
    for word in dictionary:
        own.add_word(word, 1000, "n")  # all equally likely: the fewest pieces win
    return own
