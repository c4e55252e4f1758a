"""Constraints: which tokens may come next, by rules that do not depend on the network."""

from __future__ import annotations

import torch
from torch import Tensor

from inlaid.neural.generation import Rules


class Constraints:
    """Changes scores (row, word) in the order in which `transformers` does."""

    def __init__(self, rules: Rules, prompt: int, words: int, device: torch.device) -> None:
        self.rules = rules
        self.prompt = prompt
        self.end = [id for id in rules.end if id < words]
        bad = [word for word in rules.bad_words if word not in [(id,) for id in rules.end]]
        self.bad_words = [torch.tensor(word, device=device) for word in bad if len(word) > 1]
        self.bad_tokens = sorted({word[0] for word in bad if len(word) == 1})
        self.suppress = [id for id in rules.suppress if id < words]
        self.suppress_first = [id for id in rules.suppress_first if id < words]
        # a forced first token is not yet the text's own
        self.first = prompt + 1 if prompt == 1 and rules.forced_first else prompt

    def apply(self, scores: Tensor, ids: Tensor, used: Tensor | None) -> Tensor:
        """`ids` (row, token) are all so far, those of the prompt included; `used` as in `penalized`."""
        rules = self.rules
        length = ids.shape[1]
        scores = penalized(scores, used, rules.repetition_penalty)
        if rules.no_repeat_ngram_size:
            scores = without_repeated_ngrams(scores, ids, rules.no_repeat_ngram_size)
        scores = without(scores, self.bad_tokens)
        for word in self.bad_words:
            scores = _without_word(scores, ids, word)
        if length - self.prompt < rules.min_new_tokens:
            scores = without(scores, self.end)
        if length == 1 and rules.forced_first:
            scores = _only(scores, rules.forced_first)
        if length - self.prompt == rules.max_new_tokens - 1 and rules.forced_last:
            scores = _only(scores, rules.forced_last)
        scores = without(scores, self.suppress)
        return without(scores, self.suppress_first) if length == self.first else scores


def penalized(scores: Tensor, used: Tensor | None, penalty: float) -> Tensor:
    """Scores (row, word), lowered for the words already `used` (row, word)."""
    if used is None:
        return scores
    return torch.where(used, torch.where(scores < 0, scores * penalty, scores / penalty), scores)


def without(scores: Tensor, banned: list[int]) -> Tensor:
    """Scores (row, word), those of banned words set to minus infinity in place."""
    if not banned:
        return scores
    return scores.index_fill_(1, torch.tensor(banned, device=scores.device), -torch.inf)


def without_repeated_ngrams(scores: Tensor, ids: Tensor, n: int) -> Tensor:
    """Scores without the words that would complete an n-gram a second time, in place."""
    if ids.shape[1] < n:
        return scores
    ngrams = ids.unfold(1, n, 1)
    begun = (ngrams[..., :-1] == ids[:, None, ids.shape[1] - n + 1 :]).all(-1)
    rows, places = begun.nonzero(as_tuple=True)
    scores[rows, ngrams[rows, places, -1]] = -torch.inf
    return scores


def _without_word(scores: Tensor, ids: Tensor, word: Tensor) -> Tensor:
    before = len(word) - 1
    if before <= ids.shape[1]:
        rows = (ids[:, ids.shape[1] - before :] == word[:-1]).all(1)
        scores[rows, word[-1]] = -torch.inf
    return scores


def _only(scores: Tensor, allowed: tuple[int, ...]) -> Tensor:
    """Nothing but these words, all equally likely."""
    scores = torch.full_like(scores, -torch.inf)
    scores[:, list(allowed)] = 0
    return scores
