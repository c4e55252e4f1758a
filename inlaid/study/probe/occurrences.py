"""Where a word occurs in a text, and a sample of the text around it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from inlaid.collect import sentences as splitting
from inlaid.collect.truth import Span, Usage
from inlaid.encode.corpus import Corpus, is_corpus, open_corpus
from inlaid.encode.tokenizers import Token, Word
from inlaid.errors import OutOfVocabulary
from inlaid.report import Progress, Report
from inlaid.study.use.texts import texts_of

T = TypeVar("T")
WINDOW = 30
"""Words kept on each side of a word whose sentence is longer."""


@dataclass(frozen=True)
class TextSample:
    """Occurrences of a word, and words of other sentences with where they are."""

    word: str
    usages: tuple[Usage, ...]
    found: int
    """Sentences of the text with the word; `usages` may be a sample of them."""
    total: int
    """All sentences of the text."""
    others: tuple[tuple[str, Usage], ...]
    """Every word of a sample of sentences."""


def sample_text(
    corpus: Path, word: str, dictionary: tuple[str, ...], *, most: int, others: int, seed: int, report: Report
) -> TextSample:
    """Up to `most` occurrences of a word, and the words of up to `others` sentences, drawn at random."""
    tokenizer = Word(dictionary=(*dictionary, word), force_dictionary=bool(dictionary))
    wanted = word.lower()
    with_word = Reservoir[str](3 * most, seed)
    without = Reservoir[str](others, seed + 1)
    for number, text in enumerate(read_sentences(corpus, report), 1):
        (with_word if wanted in text.lower() else without).add(text)
        if number % 100_000 == 0:
            report(Progress("reading", number, None, "sentences"))
    usages: dict[str, Usage] = {}
    for text in with_word.kept:
        usage = next(iter(_usages(text, tokenizer, lambda token: token == wanted)), None)
        if usage is not None and len(usages) < most:
            usages[usage[1].sentence] = usage[1]
    if not usages:
        raise OutOfVocabulary(
            "'{word}' does not occur in {corpus} as a word of its own. Check the spelling, or give a larger "
            "text.",
            word=word,
            corpus=corpus,
        )
    total = with_word.seen + without.seen
    listed = [each for text in without.kept for each in _usages(text, tokenizer, lambda _: True)]
    return TextSample(word, tuple(usages.values()), with_word.seen, total, tuple(listed))


def _usages(text: str, tokenizer: Word, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Usage]]:
    """The words of a sentence in lower case, with where they are. Of a long sentence, the part around the
    first wanted word is taken."""
    tokens = tokenizer.tokenize(text)
    first = next((place for place, token in enumerate(tokens) if wanted(token.text.lower())), None)
    if first is None:
        return
    near = tokens[max(0, first - WINDOW) : first + WINDOW + 1]
    start = 0 if near[0] is tokens[0] else near[0].start
    end = len(text) if near[-1] is tokens[-1] else near[-1].end
    for token in near:
        if wanted(token.text.lower()):
            yield token.text.lower(), Usage(text[start:end], _moved(token, start))


def _moved(token: Token, start: int) -> Span:
    return Span(token.start - start, token.end - start)


def read_sentences(corpus: Path, report: Report) -> Iterator[str]:
    """The sentences of a file of text or of the folder of a corpus, whose words are joined by spaces."""
    if is_corpus(corpus):
        yield from _of_corpus(open_corpus(corpus))
        return
    for line in texts_of((), corpus, "text", report):
        yield from (text for text in splitting.split(line) if text.strip())


def _of_corpus(corpus: Corpus) -> Iterator[str]:
    words = corpus.vocabulary.words
    for start, end in zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist(), strict=True):
        yield " ".join(words[id] for id in corpus.ids[start:end].tolist())


class Reservoir(Generic[T]):
    """A sample of so many items, each with the same chance, of a stream of any length (Vitter's R)."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seen = 0
        self.kept: list[T] = []
        self.random = random.Random(seed)

    def add(self, item: T) -> None:
        self.seen += 1
        if len(self.kept) < self.size:
            self.kept.append(item)
            return
        place = int(self.random.random() * self.seen)
        if place < self.size:
            self.kept[place] = item
