"""Fill a blank by a masked model, or by the two tables of a method that learns two, such as word2vec.

Word2vec learns two vectors for each word: one as a center, in `vectors.table`, and one as a context, in
`vectors.contexts`. A dot product across the two is what was trained: how well a word fits its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.collect.normalize import normalizer
from inlaid.config import Fraction, Positive, changed_from_default, check
from inlaid.encode.dictionary import normalized, words_of
from inlaid.encode.subwords.spelling import plain as plain_word
from inlaid.encode.tokenizers import Word
from inlaid.errors import OutOfVocabulary, SettingError, SourceError
from inlaid.marked import Marked
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.explain.blanks import Objective, context_weights, strongest_contexts, word_scores
from inlaid.study.use.masks import BLANK, FilledMasks, fill_masks
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class FillSettings:
    """How words for a blank are scored."""

    n: Positive = 10
    """How many words to return."""
    prior: Fraction = 0.125
    """Vectors: exponent of the frequency of a word, by which its fit is multiplied. 0 ranks by fit alone, and
    rare words move up; with 1, function words are first."""
    include: bool = False
    """Vectors: let words of the text be answers."""
    objective: Objective | None = None
    """Vectors: score as this objective does; as in training when not given."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Candidate:
    """A word for the blank, its score, and its softmax probability over the vocabulary."""

    word: str
    score: float
    probability: float
    reason: str
    """The word of the text that adds most to the score; empty where none adds anything."""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """Words for a blank, the best first, and what they were scored by."""

    words: tuple[Candidate, ...]
    sentence: Marked
    """The text with the best word in the blank, marked."""
    context: tuple[str, ...]
    """Words around the blank that have a vector, in the order of the text."""
    weights: tuple[float, ...]
    """How much each of them counts."""
    unknown: tuple[str, ...]
    """Words of the text that are out of vocabulary."""
    objective: Objective
    prior: float
    """Exponent of the frequency of a word; 0 where counts are unknown."""

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        if self.words:
            rows += [self.sentence, "", (Message("score"), Message("word"), Message("mostly by"))]
        rows += [(f"{each.score:+.3f}", each.word, each.reason) for each in self.words]
        if self.unknown:
            rows.append(Message("without a vector: {words}", words=" ".join(self.unknown)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
@local_only("dictionary")
def fill(
    vectors: Vectors | AnyModel,
    text: str,
    settings: FillSettings | None = None,
    *,
    dictionary: str | Path | Sequence[str | Path] = (),
    report: Report = silent,
) -> Filled | FilledMasks:
    """The words that best fit a blank: "这是一个___的苹果".

    A masked language model (BERT) reads the whole sentence. Each token has a probability; with several
    blanks, each is filled while the others stay blank. [MASK], <mask> and ___ mean the same.

    Vectors fill a blank by the two tables of a method such as sgns. With cbow, the weighted mean of the
    vectors of the context words is multiplied with each word's context vector. With skipgram, each word's
    vector is multiplied with the context vectors of the context words, and the other way round, since
    skip-gram learns every pair in both directions; the mean of both is summed with weights.

    A context word weighs less the farther it is from the blank (1/distance) and the more frequent it is.
    Negative sampling learns how much better than chance a word fits; `prior` adds a part of its log
    frequency. No method with two tables knows word order: these are words of the neighborhood.

    >>> fill(vectors, "这是一个___的苹果", n=3)
    >>> fill(model, "我喜欢吃[MASK]")

    Args:
        vectors: the folder of a masked model, or a file of vectors of a method with two tables, such as sgns
        text: a sentence with a blank, written ___ or [MASK]
        dictionary: with vectors, words for the segmenter: files with one a line, words, or both; as in
            training when not given

    Examples:
        inlaid fill vectors.inlaid "This is a ___ apple."
        inlaid fill vectors.inlaid 这是一个___的苹果 -n 5
    """
    settings = settings or FillSettings()
    if isinstance(vectors, AnyModel):
        _refuse_for_models(settings, dictionary)
        return fill_masks(check_use(vectors, "fill"), text, settings.n, report)
    return _by_tables(vectors, text, settings, words_of(dictionary, AUTO))


def _refuse_for_models(settings: FillSettings, dictionary: str | Path | Sequence[str | Path]) -> None:
    """Raise SettingError for settings that mean nothing to a model."""
    given = [name for name in changed_from_default(settings) if name != "n"]
    if dictionary:
        given.append("dictionary")
    if given:
        raise SettingError(
            "{name} is for word vectors; a model has no such setting. Leave it out.", name=given[0]
        )


def _by_tables(vectors: Vectors, text: str, settings: FillSettings, dictionary: tuple[str, ...]) -> Filled:
    if vectors.contexts is None:
        raise SettingError(
            "Filling a blank takes two tables; these vectors have one. "
            "Train with sgns, or keep both tables when saving."
        )
    objective = settings.objective or _training_objective(vectors)
    before, after = _around_blank(vectors, text, dictionary)
    # A corpus drops unknown words before windows are drawn, so they do not count for distances.
    left = _known(vectors, before)
    right = _known(vectors, after)
    if not left and not right:
        raise OutOfVocabulary(
            "No word around the blank of '{text}' has a vector. Write more of the sentence.", text=text
        )
    context = tuple(word for word, _ in left + right)
    ids = np.array([id for _, id in left + right])
    weights = context_weights(vectors, ids, len(left))
    prior = 0.0 if vectors.counts is None else settings.prior
    scores = word_scores(vectors, ids, weights, objective, prior)
    if not settings.include:
        scores[ids] = -np.inf
    best = _best(scores, settings.n)
    reasons = strongest_contexts(vectors, ids, weights, objective, best)
    probabilities = _softmax(scores)
    words = tuple(
        Candidate(
            vectors.words[id],
            float(scores[id]),
            float(probabilities[id]),
            "" if reason is None else context[reason],
        )
        for id, reason in zip(best.tolist(), reasons, strict=True)
    )
    return Filled(
        words=words,
        sentence=_filled_in(vectors, text, words),
        context=context,
        weights=tuple(weights.tolist()),
        unknown=tuple(word for word in before + after if _find(vectors, word) is None),
        objective=objective,
        prior=prior,
    )


def _filled_in(vectors: Vectors, text: str, words: tuple[Candidate, ...]) -> Marked:
    """The text with the first word in its blank."""
    start, end = next((found.span() for found in BLANK.finditer(text)), (0, 0))
    if not words:
        return Marked(text, ((start, end),))
    word = plain_word(words[0].word) if vectors.mark else words[0].word
    return Marked(text[:start] + word + text[end:], ((start, start + len(word)),))


def _training_objective(vectors: Vectors) -> Objective:
    return "cbow" if vectors.card.settings.get("objective") == "cbow" else "skipgram"


def _known(vectors: Vectors, words: list[str]) -> list[tuple[str, int]]:
    return [(word, id) for word in words if (id := _find(vectors, word)) is not None]


def _find(vectors: Vectors, word: str) -> int | None:
    """The id of a word of the tokenized text. Tokens are looked up as they are: "king" is not "Ġking"."""
    return vectors.words.find(word) if vectors.mark else vectors.find(word)


def _best(scores: np.ndarray, n: int) -> np.ndarray:
    """The ids of the `n` highest scores; of equal ones, the first."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:n]
    return order[scores[order] > -np.inf]


def _softmax(scores: np.ndarray) -> np.ndarray:
    if scores.max() == -np.inf:
        return np.zeros(len(scores))
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def _around_blank(vectors: Vectors, text: str, dictionary: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The words before and after the blank, tokenized as the training text was."""
    sides = BLANK.split(text)
    if len(sides) != 2:
        raise SettingError(
            "The text holds {blanks} blanks; expected one, written ___: '{text}'.",
            blanks=len(sides) - 1,
            text=text,
        )
    tokenize = _tokenize(vectors, dictionary)
    before = tokenize(sides[0])
    after = tokenize(sides[1])
    if not before and not after:
        raise SourceError(
            "There is no word around the blank of '{text}'. Write the whole sentence.", text=text
        )
    return before, after


def _tokenize(vectors: Vectors, dictionary: tuple[str, ...]) -> Callable[[str], list[str]]:
    encoding = dict(vectors.card.encoding)
    if not encoding:
        return Word(dictionary=dictionary).words
    from inlaid.encode.corpus import tokenizer_of  # it imports Numba

    normalize = normalizer(encoding.get("normalize", ()))
    if dictionary:
        encoding["dictionary"] = normalized(dictionary, normalize)
    tokenizer = vectors.tokenizer or tokenizer_of(encoding, vectors.words)
    return lambda text: tokenizer.words(normalize(text))
