"""Networks: what the tour asks of them beyond the analyses: a word in a sentence, and a blank for ELMo."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from inlaid.errors import OutOfVocabulary
from inlaid.tour.models import Models
from inlaid.vectors import Vectors


class Near(NamedTuple):
    """A word and its cosine."""

    word: str
    score: float


def word_in_sentence(models: Models, name: str, sentence: str, word: str) -> np.ndarray:
    """The contextual vector of a word: that of its only place, or of its first, in the sentence."""
    from inlaid.encode.tokenizers import Token

    start = sentence.lower().find(word.lower())
    if start < 0:
        raise OutOfVocabulary("'{word}' is not in the sentence '{sentence}'.", word=word, sentence=sentence)
    cut = _OneToken(Token(sentence[start : start + len(word)], start, start + len(word)))
    found = models[name].embed_words([sentence], tokenizer=cut, report=models.report)[0]
    if not len(found.table):
        raise OutOfVocabulary("'{word}' has no token in this model.", word=word)
    return found.table[0]


class _OneToken:
    """A tokenizer that gives one token of a text."""

    def __init__(self, token: Any) -> None:
        self.token = token

    def tokenize(self, text: str) -> list[Any]:
        return [self.token]

    def words(self, text: str) -> list[str]:
        return [self.token.text]


def nearest_of(vectors: Vectors, row: np.ndarray, words: Collection[str]) -> Near:
    """The one of some words whose vector is nearest to a contextual vector, by cosine."""
    known = [word for word in words if word in vectors]
    if not known:
        raise OutOfVocabulary("None of these words has a vector: {words}.", words=" ".join(words))
    cosines = vectors.unit[[vectors.id(word) for word in known]] @ (row / np.linalg.norm(row))
    return Near(known[int(cosines.argmax())], float(cosines.max()))


def nearest_in_sentence(vectors: Vectors, row: np.ndarray, n: int, without: Collection[str]) -> list[Near]:
    """The words nearest to a contextual vector, by cosine."""
    cosines = vectors.unit @ (row / np.linalg.norm(row))
    order = np.argsort(-cosines, kind="stable")
    found = [Near(vectors.words[id], float(cosines[id])) for id in order[: n + len(without) + 1].tolist()]
    return [each for each in found if each.word not in without][:n]


def pooled_cosine(models: Models, name: str, one: str, two: str) -> float:
    """The cosine of two sentences, each the mean of its hidden states."""
    rows = models[name].embed([one, two], pooling="mean", report=models.report).astype(np.float64)
    return float(rows[0] @ rows[1] / (np.linalg.norm(rows[0]) * np.linalg.norm(rows[1])))


def blank_by_bilm(models: Models, text: str, n: int) -> list[str]:
    """Words that both directions of a biLM expect in a blank: log p(word | left) + log p(word | right)."""
    import torch

    model = models.bilm
    before, _, after = text.partition("___")
    left = models.tokenizer.words(before)
    right = models.tokenizer.words(after)
    anything = left[0]  # neither direction reads the blank itself
    ids, mask = _characters([[*left, anything, *right]], model.config.characters.max_length)
    with torch.no_grad():
        output = model.network(ids, mask)
    place = 1 + len(left)  # after the start of the sentence
    forward = output.forward_logits[0, place - 1].log_softmax(-1)
    backward = output.backward_logits[0, place + 1].log_softmax(-1)
    known = model.tokenizer.get_vocab(with_added_tokens=True)
    words = {id: word for word, id in known.items()}
    scores = (forward + backward).numpy()
    order = np.argsort(-scores, kind="stable").tolist()
    return [words[id] for id in order if id in words and words[id].isalnum()][:n]


def _characters(sentences: list[list[str]], length: int) -> Any:
    from inlaid.neural.bilm import character_ids

    return character_ids(sentences, length)
