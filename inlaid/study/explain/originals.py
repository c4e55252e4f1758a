"""The original text of sentences of a corpus, found again in the files it was encoded from.

A corpus stores ids alone. Lines that hold the rarest words of a sentence are tokenized again, and the line
with the same ids is the one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.collect.charsets import UTF8
from inlaid.collect.normalize import normalizer
from inlaid.collect.sentences import spans, split
from inlaid.collect.sources import Source
from inlaid.encode.corpus import Corpus
from inlaid.encode.tokenize import tokenize
from inlaid.marked import Span
from inlaid.report import Report, silent
from inlaid.study.explain.sentences import Sentence, shown_part

NEEDLES = 4
"""Words of a sentence that a line must hold before it is tokenized."""
LONG = 400
"""Characters of an original above which only the part around the words is shown."""


def with_originals(
    corpus: Corpus, sentences: Sequence[Sentence], text: Sequence[Path], report: Report = silent
) -> tuple[Sentence, ...]:
    """The sentences as `text` has them, which the corpus was encoded from; those not found stay as they
    are."""
    wanted = {each.number: each for each in sentences}
    needles = {number: _needles(corpus, number) for number in wanted}
    found = dict[int, tuple[str, list[Span]]]()
    for line, normalized in _lines(corpus, text, report):
        if not needles:
            break
        candidates = [
            number for number, words in needles.items() if all(each in normalized for each in words)
        ]
        if not candidates:
            continue
        known = _known_tokens(corpus, line)
        if known is None:
            continue
        ids, places = known
        for number in candidates:
            if ids == _ids(corpus, number):
                found[number] = (line, places)
                del needles[number]
    return tuple(_restored(each, *found[each.number]) if each.number in found else each for each in sentences)


def _ids(corpus: Corpus, number: int) -> list[int]:
    return corpus.ids[int(corpus.offsets[number]) : int(corpus.offsets[number + 1])].tolist()


def _needles(corpus: Corpus, number: int) -> list[str]:
    """The rarest words of a sentence. Subword tokens and phrases may be spelled otherwise in the text."""
    if corpus.tokenizer_json is not None or "phrases" in corpus.manifest:
        return []
    ids = np.unique(_ids(corpus, number))
    rarest = ids[np.argsort(corpus.vocabulary.counts[ids], kind="stable")][:NEEDLES]
    unknown = corpus.manifest["encoding"].get("unknown")
    return [word for id in rarest.tolist() if (word := corpus.vocabulary.words[id]) != unknown]


def _lines(corpus: Corpus, text: Sequence[Path], report: Report) -> Iterator[tuple[str, str]]:
    """The sentences of the files, as they are and normalized."""
    encoding: dict[str, Any] = corpus.manifest["encoding"]
    source = Source(
        list(text), encoding.get("field", "text"), report, encoding.get("charset", UTF8), "replace"
    )
    normalize = normalizer(encoding["normalize"])
    for block in source.blocks():
        lines = _sentences(block.data.decode("utf-8", "replace"), encoding.get("sentences", "line"))
        # All lines of a block in one call: converting to simplified Chinese has a high cost for each.
        normalized = normalize("\n".join(lines)).split("\n")
        if len(normalized) == len(lines):
            yield from zip(lines, normalized, strict=True)


def _sentences(text: str, kind: str) -> list[str]:
    if kind == "document":
        return []
    if kind == "split":
        return split(text)
    return text.replace("\r", "\n").split("\n")


def _known_tokens(corpus: Corpus, line: str) -> tuple[list[int], list[Span]] | None:
    """The ids of a line as the corpus would have them, and where they are in it; None where the
    normalization loses their places."""
    tokenized = tokenize(line, corpus=corpus)
    if tokenized.original is None:
        return None
    words = corpus.vocabulary.words
    unknown = words.find(corpus.manifest["encoding"].get("unknown") or "")
    texts = [token.text for token in tokenized.tokens]
    ids: Iterable[int | None] = tokenized.ids or (words.find(each) for each in texts)
    pairs = zip(ids, tokenized.original, strict=True)
    known = [(unknown if id is None else id, place) for id, place in pairs]
    kept = [(id, place) for id, place in known if id is not None]
    return [id for id, _ in kept], [place for _, place in kept]


def _restored(sentence: Sentence, line: str, places: list[Span]) -> Sentence:
    """The sentences of the line that hold the marked words, with their punctuation; of long ones, the part
    around the words."""
    marks = [places[token] for token in sentence.tokens]
    start, stop = _around(line, marks)
    before = after = ""
    if stop - start > LONG:
        first, last = shown_part(sentence.tokens, len(places))
        if places[first][0] > start:
            start = places[first][0]
            before = "… "
        if places[last - 1][1] < stop:
            stop = places[last - 1][1]
            after = " …"
    moved = tuple((one - start + len(before), other - start + len(before)) for one, other in marks)
    return replace(sentence, text=before + line[start:stop] + after, marks=moved, original=True)


def _around(line: str, marks: list[Span]) -> Span:
    """From the start of the sentence with the first mark to the end of that with the last."""
    touched = [span for span in spans(line) if any(span[0] <= one < span[1] for one, _ in marks)]
    if not touched:
        return 0, len(line)
    return min(touched[0][0], marks[0][0]), max(touched[-1][1], marks[-1][1])
