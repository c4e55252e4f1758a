"""Skip-gram and CBOW with the exact softmax over all words: the form the method is taught in.

Every step visits every word, so it is for small vocabularies, and to compare the sampled loss with.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel
from inlaid.kernels.sgns.cpu import CBOW_MEAN, CBOW_SUM, LOSS, PAIRS, SKIPGRAM, learning_rate_at


def train_softmax(stream, tables, schedule, objective, sums):
    """Train on a stream, or with learning rate 0 measure it; arguments as in `cpu.train_stream`.

    sums: -log of the probability of what is predicted, and the number of predictions, are added.
    """
    size, columns = tables.vectors.shape
    scores = np.empty(size, np.float32)
    hidden = np.empty(columns, np.float32)
    hidden_update = np.empty(columns, np.float32)
    softmax_kernel(stream, tables, schedule, objective, sums, scores, hidden, hidden_update)


@kernel
def softmax_kernel(stream, tables, schedule, objective, sums, scores, hidden, hidden_update):
    # scores (V,) f4, which become gradients; hidden and its update (D,) f4
    size = tables.vectors.shape[0]
    for center in range(stream.length):
        low = stream.low[center]
        high = stream.high[center]
        word = stream.words[center]
        contexts = high - low - 1
        if contexts == 0:
            continue
        learning_rate = learning_rate_at(schedule, center, stream.length)
        predictions = contexts if objective == SKIPGRAM else 1
        _combine(stream, center, tables.vectors, objective, hidden)
        log_total = _scores(hidden, tables.contexts, scores)
        for q in range(low, high):
            if objective == SKIPGRAM and q != center:
                sums[LOSS] += log_total - scores[stream.words[q]]
        if objective != SKIPGRAM:
            sums[LOSS] += log_total - scores[word]
        sums[PAIRS] += predictions
        if learning_rate == 0:
            continue
        # gradient: how often a word was there to predict, less how often it was expected
        for other in range(size):
            scores[other] = -learning_rate * predictions * np.exp(scores[other] - np.float32(log_total))
        for q in range(low, high):
            if (q == center) == (objective != SKIPGRAM):
                scores[stream.words[q]] += learning_rate
        _update(hidden, tables.contexts, scores, hidden_update)
        share = np.float32(1.0 / contexts if objective == CBOW_SUM else 1.0)
        for q in range(low, high):
            if (q == center) == (objective == SKIPGRAM):
                for column in range(hidden.shape[0]):
                    tables.vectors[stream.words[q], column] += share * hidden_update[column]


@kernel
def _combine(stream, center, vectors, objective, hidden):
    # hidden (D,), filled: the center's row, or the mean or sum of its contexts
    low = stream.low[center]
    high = stream.high[center]
    hidden[:] = 0
    for q in range(low, high):
        if (q == center) == (objective == SKIPGRAM):
            for column in range(vectors.shape[1]):
                hidden[column] += vectors[stream.words[q], column]
    if objective == CBOW_MEAN:
        for column in range(vectors.shape[1]):
            hidden[column] /= np.float32(high - low - 1)


@kernel
def _scores(hidden, contexts, scores):
    # scores (V,), filled; returns the log of the sum of their exponentials
    largest = -np.inf
    for other in range(contexts.shape[0]):
        score = np.float32(0)
        for column in range(contexts.shape[1]):
            score += hidden[column] * contexts[other, column]
        scores[other] = score
        largest = max(largest, score)
    total = 0.0
    for other in range(contexts.shape[0]):
        total += np.exp(scores[other] - largest)
    return largest + np.log(total)


@kernel
def _update(hidden, contexts, gradients, hidden_update):
    # every row of contexts changes by its gradient times `hidden`; hidden_update (D,), filled: the gradients
    # times the rows as they were
    hidden_update[:] = 0
    for other in range(contexts.shape[0]):
        for column in range(contexts.shape[1]):
            hidden_update[column] += gradients[other] * contexts[other, column]
            contexts[other, column] += gradients[other] * hidden[column]
