"""What heads of a seq2seq's decoder do: in its own text, and from its text to the source.

The decoder reads what the model itself generates. Its self-attention is asked about places. Cross-attention
is asked about the first token and the delimiters of the source, and, on sentences of the embedded world,
which word it attends to: the translation of the word that was just read, or of the one that comes next. The
random sequences and the relations of `heads` need a text of known words, which a decoder writes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inlaid.collect import world
from inlaid.encode.tokenizers import Tokenizer
from inlaid.errors import SettingError
from inlaid.report import Note, Progress, Report
from inlaid.study.attend.patterns import (
    Crossing,
    Link,
    Measured,
    Sentence,
    measured_links,
    measured_places,
)
from inlaid.study.attend.reading import Reading, is_punctuation, read_target
from inlaid.study.attend.weights import LONGEST, Part, run

if TYPE_CHECKING:
    from inlaid.neural.model import Model

READ = "translation of the word read"
NEXT = "translation of the next word"
SHORTEST = 3
"""Tokens of a target, the start token included, that is worth looking at."""


class Translated(NamedTuple):
    """A sentence, what the model makes of it, and the weights between them."""

    source: Reading
    target: Reading
    weights: dict[Part, np.ndarray]


class Aligned(NamedTuple):
    """Numbers of a word of the target and of the word of the source that it translates."""

    target: int
    source: int


def translated(
    model: Model, sources: Iterable[Reading], count: int, words: Tokenizer, report: Report
) -> list[Translated]:
    """Up to `count` sentences with what the model itself generates from them."""
    from inlaid.neural.generate import GenerationSettings, generate_texts

    readings = list(islice(sources, count))
    limit = model.config.max_length
    length = LONGEST if limit is None else min(LONGEST, limit - 1)
    settings = GenerationSettings(method="greedy", max_new_tokens=length)
    texts = generate_texts(model, [each.text for each in readings], settings) if readings else []
    found: list[Translated] = []
    for source, text in zip(readings, texts, strict=True):
        report(Progress("measuring", len(found), len(readings), "sentences"))
        try:
            target = read_target(model, text.strip(), tokenizer=words)
        except SettingError:  # empty, or too long
            continue
        if len(target.ids) >= SHORTEST:
            found.append(Translated(source, target, run(model, source, target)))
    if not found:
        raise SettingError(
            "This model generates nothing from these sentences, so its decoder has nothing to read. Give a "
            "text of the language that it reads."
        )
    report(Note("The decoder reads what the model itself generates, such as {text!r}.", text=texts[0]))
    return found


def measured_decoder(sentences: Sequence[Translated]) -> list[Measured]:
    """Self-attention of the decoder: places."""
    read: list[Sentence] = []
    for each in sentences:
        special = each.target.special[each.target.groups]
        text = " ".join(each.target.words[1:])
        read.append(Sentence(text, each.weights["decoder"], special, _delimiters(each.target), True))
    return measured_places(read)


def measured_cross(sentences: Sequence[Translated], *, aligned: bool, seed: int) -> list[Measured]:
    """Cross-attention: first token, delimiters and, where `aligned`, translations of words."""
    crossings = [
        Crossing(_shown(each), each.weights["cross"], ~_delimiters(each.target), _delimiters(each.source))
        for each in sentences
    ]
    found = measured_places(crossings)
    if not aligned:
        return found
    rng = Random(seed)
    links: dict[str, list[Link]] = {READ: [], NEXT: []}
    for each in sentences:
        known = alignments(each.source.words, each.target.words)
        if known:  # one of each sentence: words of one sentence are not independent
            chosen = known[int(rng.random() * len(known))]
            for name, made in links.items():
                made.append(_link(each, chosen, ahead=name == NEXT))
    for name, made in links.items():
        measured = measured_links(name, "", made)
        if measured is not None:
            found.append(measured)
    return found


def alignments(source: Sequence[str], target: Sequence[str]) -> list[Aligned]:
    """Words of the world that stand once on each side, as translations of each other."""
    lower = [word.lower() for word in target]
    found: list[Aligned] = []
    for place, word in enumerate(source):
        meant = _translations().get(word.lower(), frozenset())
        places = [number for number, each in enumerate(lower) if each in meant]
        if len(places) == 1 and places[0] > 0 and source.count(word) == 1:
            found.append(Aligned(places[0], place))
    return found


@cache
def _translations() -> dict[str, frozenset[str]]:
    """Each word of the world, in lower case, with its translations; English nouns also in the plural."""
    found: dict[str, set[str]] = {}
    for concept in world.concepts():
        english = concept.en.lower()
        for form in (english, f"{english}s"):
            found.setdefault(concept.zh, set()).add(form)
            found.setdefault(form, set()).add(concept.zh)
    return {word: frozenset(each) for word, each in found.items()}


def _link(each: Translated, aligned: Aligned, *, ahead: bool) -> Link:
    """The rows of the word, or of the token before it, which predicts its first token."""
    tokens = np.flatnonzero(each.target.groups == aligned.target)
    places = tokens[:1] - 1 if ahead else tokens
    rows = each.source.merged_columns(each.weights["cross"])[:, :, places].mean(2, keepdims=True)
    query = aligned.target - int(ahead)
    own = np.flatnonzero(~each.source.special)
    shown = f"{each.target.words[query]} → {each.source.words[aligned.source]}"
    return Link(
        _shown(each),
        shown,
        rows,
        np.array([query]),
        int(own[0]),
        np.array([int(own[-1])]),
        aligned.source - query,
    )


def _shown(each: Translated) -> str:
    return f"{each.source.text} → {each.target.text}"


def _delimiters(reading: Reading) -> np.ndarray:
    special = reading.special[reading.groups]
    return special | np.array([is_punctuation(token) for token in reading.tokens])


def readable(lines: Iterable[str], read: Callable[[str], Reading | None]) -> Iterable[Reading]:
    """Different sentences that a model can read."""
    for line in dict.fromkeys(lines):
        reading = read(line) if line.strip() else None
        if reading is not None and len(reading.ids) >= SHORTEST:
            yield reading
