"""Fill a blank by a masked model, or by the two tables of a method that learns two, such as word2vec.

Word2vec learns two vectors for each word: one as a center, in `vectors.table`, and one as a context, in
`vectors.contexts`. A dot product across the two is what was trained: how well a word fits its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.collect.charsets import AUTO
from inlaid.collect.normalize import normalizer
from inlaid.config import Positive, changed_from_default, check
from inlaid.encode.dictionary import normalized, words_of
from inlaid.encode.tokenizers import Word
from inlaid.errors import OutOfVocabulary, SettingError, SourceError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.use.masks import BLANK, FilledMasks, fill_masks
from inlaid.vectors import LazyTable, Vectors

WINDOW = 5
"""Used where the card of the vectors gives no window."""
ROW_BLOCK = 1 << 16

Objective = Literal["cbow", "skipgram"]


@dataclass(frozen=True, kw_only=True)
class FillSettings:
    """How words for a blank are scored."""

    n: Positive = 10
    """How many words to return."""
    prior: bool = True
    """Vectors: rank by fit and by the log frequency of a word, where counts are known. `--no-prior`: by fit
    alone."""
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


@dataclass(frozen=True, kw_only=True)
class Filled:
    """Words for a blank, the best first, and what they were scored by."""

    words: tuple[Candidate, ...]
    context: tuple[str, ...]
    """Words around the blank that have a vector, in the order of the text."""
    unknown: tuple[str, ...]
    """Words of the text that are out of vocabulary."""
    objective: Objective
    prior: bool
    """Whether the frequency of a word counted."""

    def rows(self) -> list[Row]:
        rows: list[Row] = [(f"{each.score:+.3f}", each.word) for each in self.words]
        if self.unknown:
            rows.append(Message("without a vector: {words}", words=" ".join(self.unknown)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
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

    Vectors fill a blank by the two tables of a method such as sgns:

    cbow      the weighted mean of the vectors of the context words, times each word's context vector
    skipgram  each word's vector times the context vectors of the context words, summed

    Nearer words have larger weights, as in training, where each center draws its own window. Negative
    sampling learns how much better than chance a word fits; `prior` adds its log frequency, which gives its
    probability at that position. No method with two tables knows word order: these are words of the
    neighborhood.

    >>> fill(vectors, "这是一个___的苹果", n=3)
    >>> fill(model, "我喜欢吃[MASK]")

    Args:
        vectors: the folder of a masked model, or a file of vectors of a method with two tables, such as sgns
        text: a sentence with a blank, written ___ or [MASK]
        dictionary: with vectors, words for the segmenter: files with one a line, words, or both; as in
            training when not given
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
    window = int(vectors.card.settings.get("window") or WINDOW)
    # A corpus drops unknown words before windows are drawn.
    left = _known(vectors, before)[-window:]
    right = _known(vectors, after)[:window]
    if not left and not right:
        raise OutOfVocabulary(
            "No word around the blank of '{text}' has a vector. Write more of the sentence.", text=text
        )
    ids = np.array([id for _, id in left + right])
    distances = np.array([*range(len(left), 0, -1), *range(1, len(right) + 1)])
    weights = (window + 1 - distances) / window  # how often a window drawn from 1 to `window` reaches so far
    scores = _scores(vectors, ids, weights, objective)
    prior = settings.prior and vectors.counts is not None
    if prior:
        scores += _log_prior(vectors, objective)
    if not settings.include:
        scores[ids] = -np.inf
    return Filled(
        words=_best(vectors, scores, settings.n),
        context=tuple(word for word, _ in left + right),
        unknown=tuple(word for word in before + after if _find(vectors, word) is None),
        objective=objective,
        prior=prior,
    )


def _training_objective(vectors: Vectors) -> Objective:
    return "cbow" if vectors.card.settings.get("objective") == "cbow" else "skipgram"


def _known(vectors: Vectors, words: list[str]) -> list[tuple[str, int]]:
    return [(word, id) for word in words if (id := _find(vectors, word)) is not None]


def _find(vectors: Vectors, word: str) -> int | None:
    """The id of a word of the tokenized text. Tokens are looked up as they are: "king" is not "Ġking"."""
    return vectors.words.find(word) if vectors.mark else vectors.find(word)


def _scores(vectors: Vectors, ids: np.ndarray, weights: np.ndarray, objective: Objective) -> np.ndarray:
    contexts = vectors.contexts if vectors.contexts is not None else vectors.stored
    if objective == "cbow":
        total = 1.0 if vectors.card.settings.get("cbow_combine") == "sum" else weights.sum()
        return _times(contexts, weights @ vectors.rows(ids).astype(np.float64) / total)
    rows = contexts[ids] if isinstance(contexts, np.ndarray) else contexts.rows(ids)
    return _times(vectors.table, weights @ rows.astype(np.float64))


def _times(table: np.ndarray | LazyTable, row: np.ndarray) -> np.ndarray:
    """Each row of the table times one row, in float64, block by block."""
    size = table.shape[0]
    out = np.empty(size)
    for start in range(0, size, ROW_BLOCK):
        stop = min(start + ROW_BLOCK, size)
        rows = table[start:stop] if isinstance(table, np.ndarray) else table.rows(np.arange(start, stop))
        out[start:stop] = rows.astype(np.float64) @ row
    return out


def _log_prior(vectors: Vectors, objective: Objective) -> np.ndarray:
    """What the frequency of a word adds to its score.

    CBOW learns scores relative to the noise distribution, count^noise_exponent. In skip-gram the word is the
    center, which is given, so its whole frequency is missing.
    """
    settings = vectors.card.settings
    counts = vectors.counts if vectors.counts is not None else np.ones(len(vectors))
    exponent = 1.0
    if objective == "cbow":
        softmax = settings.get("loss") == "softmax"
        exponent = 0.0 if softmax else float(settings.get("noise_exponent", 0.75))
    return exponent * np.log(np.maximum(counts, 1))


def _best(vectors: Vectors, scores: np.ndarray, n: int) -> tuple[Candidate, ...]:
    order = np.lexsort((np.arange(len(scores)), -scores))[:n]
    if scores.max() == -np.inf:
        return ()
    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    return tuple(
        Candidate(vectors.words[id], float(scores[id]), float(probabilities[id]))
        for id in order.tolist()
        if scores[id] > -np.inf
    )


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
